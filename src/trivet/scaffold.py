"""The walk of ``trivet init``: configuration, folders, owners and CI jobs for a repository. Overwrites nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trivet import __version__
from trivet.errors import OutputError, UsageError

Preset = Literal["verdicts", "lanes"]
Forge = Literal["", "github", "gitlab"]
ACTIONS_APP = 15368
"""The number of GitHub's own App for Actions."""
_TEMPLATES = Path(__file__).parent / "templates"
_NOT_PRODUCTION = {"tests", "test", "testing", "docs", "doc", "examples", "benchmarks", "scripts", "tools", "build", "dist"}
CODEOWNERS = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
_MARK = "# trivet: oracles and what decides how code is measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the caller asked for; empty patterns are detected or taken from the preset."""

    preset: Preset = "verdicts"
    forge: Forge = ""
    source: tuple[str, ...] = ()
    oracle: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    app: int = ACTIONS_APP
    """The number of the App that alone may set the required check on GitHub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What happened: paths that were written or extended, paths that were there and stay, and what the caller should know."""

    wrote: tuple[str, ...]
    extended: tuple[str, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]


def scaffold(root: Path, wishes: Wishes) -> Written:
    """Write what is missing below ``root``.

    Raises:
        UsageError: ``root`` is not a folder, or the other preset is already in use there.
        OutputError: something could not be written.
    """
    if not root.is_dir():
        raise UsageError("no such folder", where=str(root))
    if wishes.preset == "verdicts" and (root / ".pyrefix-lanes.toml").exists():
        raise UsageError("this repository has lanes already", where=".pyrefix-lanes.toml", hint="use --preset lanes")
    wrote: list[str] = []
    kept: list[str] = []
    extended: list[str] = []
    try:
        for path, content in _files(root, wishes):
            target = root / path
            if target.exists() or target.is_symlink():
                kept.append(path)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8", newline="\n") as file:
                file.write(content)
            wrote.append(path)
        owners = _own(root, wishes)
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", where=str(error.filename or root)) from error
    if owners:
        path, is_new = owners
        (wrote if is_new else extended).append(path)
    return Written(wrote=tuple(wrote), extended=tuple(extended), kept=tuple(kept), notes=tuple(_notes(root, wishes, kept)))


def _files(root: Path, wishes: Wishes) -> Iterator[tuple[str, str]]:
    verdicts = wishes.preset == "verdicts"
    sealed, proposed = ("tests/sealed", "tests/proposed") if verdicts else ("tests/oracles", "tests/advisory")
    yield "trivet.toml", _policy(root, wishes)
    if not verdicts:
        yield ".pyrefix-lanes.toml", _template("lanes.toml")
        yield f"{sealed}/properties/README.md", _template("sealed.md")
        yield f"{sealed}/flake_leases.json", _ledger()
    else:
        if not wishes.oracle:
            yield f"{sealed}/README.md", _template("sealed.md")
            yield f"{sealed}/MANIFEST.txt", ""
        yield "ci/flake_leases.json", _ledger()
    yield f"{proposed}/README.md", _template("proposed.md")
    yield "ci/oracle_owners", _template("oracle_owners")
    if wishes.forge == "github":
        yield ".github/workflows/trivet.yml", _template("github.yml")
        yield ".github/rulesets/trivet-branch.json", _template("ruleset-branch.json").replace("@APP@", str(wishes.app))
        yield ".github/rulesets/trivet-push.json", _template("ruleset-push.json")
    if wishes.forge == "gitlab":
        yield ("ci/trivet.gitlab-ci.yml" if (root / ".gitlab-ci.yml").exists() else ".gitlab-ci.yml"), _template("gitlab.yml")


def _policy(root: Path, wishes: Wishes) -> str:
    source, paths = _sources(root)
    verdicts = wishes.preset == "verdicts"
    oracle: tuple[str, ...] = ("tests/sealed/**", "fixtures/sealed/**", "/ci/flake_leases.json") if verdicts else ("/tests/oracles/**",)
    manifest = ""
    if wishes.oracle:
        oracle = (*wishes.oracle, "/ci/oracle/**", "/ci/flake_leases.json")
        manifest = 'manifest = "ci/oracle/MANIFEST.txt"\ndigests = []\n'
    words = {
        "PRESET": wishes.preset,
        "SOURCE": _list(wishes.source or source),
        "ORACLE": _list(oracle),
        "PROPOSED": _list(("tests/proposed/**",) if verdicts else ("/tests/advisory/**",)),
        "PATHS": _list(paths),
        "MANIFEST": manifest,
    }
    text = _template("trivet.toml")
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def _sources(root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where production code lies: below src/, or in the packages at the root."""
    if (root / "src").is_dir():
        return ("src/**",), ("src", ".")
    packages = sorted(path.parent.name for path in root.glob("*/__init__.py") if path.parent.name not in _NOT_PRODUCTION)
    return (tuple(f"/{name}/**" for name in packages), (".",)) if packages else (("src/**",), ("src", "."))


def _own(root: Path, wishes: Wishes) -> tuple[str, bool] | None:
    """Add the owners' lines to the CODEOWNERS file that the forge reads; (path, whether it is new), None where nothing was to do."""
    if not wishes.owners:
        return None
    there = next((path for path in CODEOWNERS if (root / path).is_file()), None)
    path = there or {"github": ".github/CODEOWNERS", "gitlab": ".gitlab/CODEOWNERS"}.get(wishes.forge, "CODEOWNERS")
    before = (root / path).read_text("utf-8", "surrogateescape") if there else ""
    if _MARK in before:
        return None
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    with (root / path).open("a", encoding="utf-8", newline="\n") as file:  # the last match wins, so the end is the right place
        file.write(gap + "\n".join(owner_lines(wishes)) + "\n")
    return path, there is None


def owner_lines(wishes: Wishes) -> tuple[str, ...]:
    """The lines of CODEOWNERS that protect what decides."""
    who = " ".join(wishes.owners) or "@OWNERS"
    sealed: tuple[str, ...] = ("/tests/sealed/", "/fixtures/sealed/") if wishes.preset == "verdicts" else ("/tests/oracles/",)
    if wishes.oracle:
        sealed = tuple("/" + pattern.removeprefix("/").removesuffix("**") for pattern in wishes.oracle)
    forge = {"github": ("/.github/",), "gitlab": ("/.gitlab/", "/.gitlab-ci.yml")}.get(wishes.forge, ("/CODEOWNERS",))
    rest = ("/trivet.toml", "/.pyrefix-lanes.toml", "/pyproject.toml", "/ci/", "conftest.py", *forge)
    width = max(map(len, (*sealed, *rest)))
    return (_MARK, *(f"{pattern:{width}} {who}" for pattern in (*sealed, *rest)))


def _notes(root: Path, wishes: Wishes, kept: list[str]) -> Iterator[str]:
    there = next((path for path in CODEOWNERS if (root / path).is_file()), None)
    if not wishes.owners and not (there and _MARK in (root / there).read_text("utf-8", "surrogateescape")):
        where = there or "CODEOWNERS"
        yield f"nobody owns the oracles yet: `trivet init --owner @LOGIN` adds these lines to {where}"
        yield from (f"    {line}" for line in owner_lines(wishes)[1:])
    if wishes.forge == "github":
        yield from _conditions_github(wishes)
    if wishes.forge == "gitlab":
        yield "a merge request cannot turn the gate off when, and only when:"
        yield "    1. Settings, Merge requests: `Pipelines must succeed`, skipped pipelines not counting as a success"
        yield "    2. the protected branch asks for approval by code owners, and CODEOWNERS names owners of the CI files"
        yield "    3. better: the CI configuration lives in another project, or a pipeline execution policy injects the job"
        if ".gitlab-ci.yml" in kept or (root / "ci" / "trivet.gitlab-ci.yml").exists():
            yield "include the job in .gitlab-ci.yml: `include: [{local: ci/trivet.gitlab-ci.yml}]`"
    place = "the sealed tests" if wishes.oracle else "tests/sealed/" if wishes.preset == "verdicts" else "tests/oracles/properties/"
    yield f"next: put tests that must hold into {place}, run `trivet seal`, commit, then `trivet gate --base REV --head REV`"


def _conditions_github(wishes: Wishes) -> Iterator[str]:
    """What has to be true outside of the repository, in the order in which it is done."""
    who = "GitHub Actions" if wishes.app == ACTIONS_APP else f"the App {wishes.app}"
    yield "a pull request cannot turn the gate off when, and only when:"
    yield "    1. .github/rulesets/trivet-branch.json is imported (Settings, Rules, Rulesets, New, Import): it requires `trivet/join` from"
    yield f"       {who}, reviews by code owners, and forbids to rewrite the branch"
    yield "    2. CODEOWNERS names people for .github/, the oracles and trivet.toml"
    if wishes.app == ACTIONS_APP:
        yield "    3. nobody who writes patches can push a branch with a workflow of their own, since each one speaks as GitHub Actions:"
        yield "       import .github/rulesets/trivet-push.json (private repositories), run the workflow by a ruleset of the organisation,"
        yield "       or let an App judge (trivet serve) and bind the check to it (trivet init --github --app NUMBER)"
    yield "    `trivet doctor --forge github` checks all of it"


def _ledger() -> str:
    return '{\n "leases": []\n}\n'


def _list(patterns: tuple[str, ...]) -> str:
    return "[" + ", ".join(json.dumps(pattern) for pattern in patterns) + "]"


def _template(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8").replace("@VERSION@", __version__)
