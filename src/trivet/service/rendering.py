"""Views to HTML: one Jinja2 environment with autoescape, and one function a page. No request, no database, no clock.

Templates are read from the package. Foreign text reaches a page only through autoescape; the only markup that is passed through is that of
``charts``, which escapes what it is given.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from trivet.service import charts, wording
from trivet.service.views import Frame, LeaseList, RunFilter, Word
from trivet.service.views_run import seen

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

STATIC = {
    "trivet.css": "text/css; charset=utf-8",
    "trivet.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files of the dashboard, all from this package, and their types."""
WORDS: dict[Word, str] = {
    "merge": "may merge",
    "blocked": "blocked",
    "undecided": "not judged",
    "running": "running",
    "queued": "waiting",
    "superseded": "superseded",
}
_WEEK_S = 7 * 86400


@cache
def static(name: str) -> bytes:
    """The content of one file of the dashboard.

    Raises:
        KeyError: there is no such file.
    """
    if name not in STATIC:
        raise KeyError(name)
    return (files("trivet.service") / "static" / name).read_bytes()


@cache
def static_href(name: str) -> str:
    """Where a page finds a file: the address changes with the content, so that browsers may keep it for ever."""
    return f"/static/{hashlib.sha256(static(name)).hexdigest()[:12]}/{name}"


@cache
def environment() -> Environment:
    """The templates, with autoescape and without silent holes.

    Raises:
        ModuleNotFoundError: Jinja2 is not installed (extra ``trivet[service]``).
    """
    import jinja2  # noqa: PLC0415 - of the extra

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("trivet.service", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    for name in ("stamp", "machine", "day", "ago", "counted", "span", "percent", "short"):
        made.filters[name] = getattr(wording, name)
    made.filters["seen"] = seen
    made.globals.update(static=static_href, words=WORDS, query=query, address=quote)
    for name in ("patterns", "days", "bar", "split_bar", "spark", "lifeline"):
        made.globals[f"chart_{name}"] = _markup(getattr(charts, name))
    return made


def _markup(draw: object) -> object:
    from markupsafe import Markup  # noqa: PLC0415 - of the extra

    def drawn(*args: object, **kwargs: object) -> Markup:
        return Markup(draw(*args, **kwargs))  # type: ignore[operator]  # noqa: S704 - charts escape what they are given

    return drawn


def query(narrow: RunFilter, **changed: str) -> str:
    """The query of a list of runs: what it is narrowed to, with some of it changed; empty parts are left out."""
    parts = {name: getattr(narrow, name) for name in ("repo", "word", "rule", "head")} | changed
    asked = urlencode({name: value for name, value in parts.items() if value})
    return f"?{asked}" if asked else "?"


def render(name: str, frame: Frame, **values: object) -> str:
    """One page or fragment: ``name`` is a template without its ending."""
    return environment().get_template(f"{name}.html").render(frame=frame, **values)


def lease_states(view: LeaseList, now: float) -> list[str]:
    """The state of each lease shown."""
    return [row.state(now) for row in view.rows]


def axis(view: LeaseList, now: float) -> tuple[float, float]:
    """From when to when the timeline of leases goes: it always holds now, and a week to both sides."""
    starts = [row.since for row in view.rows if row.since is not None]
    ends = [row.expires_at for row in view.rows]
    first = max(min([now - _WEEK_S, *starts]), now - 52 * _WEEK_S)
    last = min(max([now + _WEEK_S, *ends]), now + 52 * _WEEK_S)
    return first, last
