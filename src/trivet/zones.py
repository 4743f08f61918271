"""Zones: what a path is. Decided on the exact bytes of the path; a path in no zone is control (fail closed)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trivet.model import Placed, RawChange, ZonePolicy, text_of
from trivet.zones_names import CONTROL_NAMES, CONTROL_PLACES, ODD_PATH, influence_of, is_generated_metadata
from trivet.zones_ordinary import Key, Ordinary
from trivet.zones_patterns import matcher

_GITLINK = 0o160000
_HOW = {
    "oracle": "it is what production code is measured with",
    "source": "it is what is measured: executed behind the wall, with no say in the result",
    "proposed": "the advisory lane runs it: reported, never joined",
    "inert": "",
    "control": "it may decide how, or whether, production code is measured",
}
_PLACES = matcher(tuple(pattern for pattern, _ in CONTROL_PLACES))
_NAMES = matcher(tuple(pattern for pattern, _ in CONTROL_NAMES))
_GLOB = re.compile(rb"[*?\[\\]")


def match(patterns: tuple[str, ...], path: bytes | str) -> bool:
    """Whether gitignore-style patterns match a path; the last pattern that matches decides (``!`` takes a path out again)."""
    return bool(patterns) and matcher(patterns)(path if isinstance(path, str) else text_of(path))


def literal_roots(patterns: tuple[str, ...]) -> tuple[bytes, ...] | None:
    """Folders and files below which everything lies that the patterns match, or None when that can't be bounded."""
    roots = set()
    for pattern in patterns:
        text = pattern.strip()
        if not text or text.startswith(("#", "!")):
            continue
        raw = text.lstrip("/").encode("utf-8", "surrogateescape")
        if "/" not in text.rstrip("/"):
            return None
        fixed = raw[: found.start()].rpartition(b"/")[0] if (found := _GLOB.search(raw)) else raw.rstrip(b"/")
        if not fixed:
            return None
        roots.add(fixed)
    return tuple(sorted(roots))


class Zones:
    """The zones of one policy. Pure: names and modes only; what needs other files (links, shadows, keys) is judged elsewhere."""

    def __init__(self, policy: ZonePolicy) -> None:
        self.policy = policy
        self._oracle, self._source, self._proposed = matcher(policy.oracle), matcher(policy.source), matcher(policy.proposed)
        self._inert, self._own = matcher(policy.inert), matcher(policy.control)
        self._ordinary = Ordinary.of(self._oracle, self._source, self._proposed, self._inert, self._own, _PLACES, _NAMES)
        self._seen: dict[Key, Placed] = {}

    @property
    def oracle_roots(self) -> tuple[bytes, ...]:
        """What to list to see the whole oracle zone; ``()`` means everything."""
        return literal_roots(self.policy.oracle) or ()

    @property
    def source_roots(self) -> tuple[bytes, ...]:
        """What to list to see the whole source zone; ``()`` means everything."""
        return literal_roots(self.policy.source) or ()

    def place(self, path: bytes, mode: int = 0o100644) -> Placed:
        """The zone of one path. Oracle wins over all, built-in control over source and inert, source over inert.

        Ordinary names of one suffix fare alike in one folder, and in ordinary folders below it: only the first of them is looked at.
        """
        if self._ordinary is None or mode == _GITLINK:
            return self._placed(text_of(path), mode)
        return self._known(path, mode, self._ordinary.keys((path,))[0], self._ordinary)

    def place_all(self, rows: Sequence[RawChange]) -> list[Placed]:
        """``place`` for many rows."""
        if self._ordinary is None:
            return [self._placed(text_of(row.path), row.new_mode or row.old_mode) for row in rows]
        known, found = self._seen, []
        for row, key in zip(rows, self._ordinary.keys([row.path for row in rows]), strict=True):
            placed = known.get(key) if row.new_mode != _GITLINK else None
            found.append(self._known(row.path, row.new_mode or row.old_mode, key, self._ordinary) if placed is None else placed)
        return found

    def _known(self, path: bytes, mode: int, key: Key, ordinary: Ordinary) -> Placed:
        if not key[0] or mode == _GITLINK:
            return self._placed(text_of(path), mode)
        return self._below(key, ordinary)

    def _below(self, key: Key, ordinary: Ordinary) -> Placed:
        """What any ordinary name of this suffix is in this folder: the same as one folder up, unless the folder has a meaning itself."""
        known = self._seen.get(key)
        if known is None:
            folder, suffix = text_of(key[0]), key[1]
            above, slash, part = folder.rpartition("/")
            inherits = slash and ordinary.is_folder(folder, part)
            above_key = (above.encode("utf-8", "surrogateescape"), suffix)
            known = self._below(above_key, ordinary) if inherits else self._placed(f"{folder}/_.{suffix.decode()}", 0)
            self._seen[key] = known
        return known

    def _placed(self, text: str, mode: int) -> Placed:
        acts = influence_of(text)
        if self._oracle(text):
            return Placed(zone="oracle", by=_first("zones.oracle", self.policy.oracle, text), influence=acts[1] if acts else _HOW["oracle"])
        forced = self._control(text, mode, acts)
        if forced is not None:
            return forced
        if self._proposed(text):
            return Placed(zone="proposed", by=_first("zones.proposed", self.policy.proposed, text), influence=_HOW["proposed"])
        return self._usual(text, acts)

    def _control(self, text: str, mode: int, acts: tuple[str, str] | None) -> Placed | None:
        """What is control even inside the proposed zone."""
        if _PLACES(text):
            return _built_in(CONTROL_PLACES, text)
        if self._own(text):
            return Placed(zone="control", by=_first("zones.control", self.policy.control, text), influence=_HOW["control"])
        if mode == _GITLINK:
            return Placed(zone="control", by="gitlink", influence="its bytes lie in another repository")
        if acts is not None and acts[0] == ODD_PATH:
            return Placed(zone="control", by=f"influence name: {ODD_PATH}", influence=acts[1])
        return None

    def _usual(self, text: str, acts: tuple[str, str] | None) -> Placed:
        inert = self._inert(text)
        if inert and is_generated_metadata(text) and (acts is None or "egg-info" in acts[0]):
            return Placed(zone="inert", by=_first("zones.inert", self.policy.inert, text))
        if _NAMES(text):
            return _built_in(CONTROL_NAMES, text)
        if acts is not None:
            return Placed(zone="control", by=f"influence name: {acts[0]}", influence=acts[1])
        if self._source(text):
            return Placed(zone="source", by=_first("zones.source", self.policy.source, text), influence=_HOW["source"])
        if inert:
            return Placed(zone="inert", by=_first("zones.inert", self.policy.inert, text))
        return Placed(zone="control", by="in no zone", influence=_HOW["control"])


def _first(key: str, patterns: tuple[str, ...], text: str) -> str:
    return f"{key}: {next((pattern for pattern in patterns if match((pattern,), text)), '')}"


def _built_in(rows: tuple[tuple[str, str], ...], text: str) -> Placed:
    pattern, how = next(row for row in rows if match((row[0],), text))
    return Placed(zone="control", by=f"built-in control list: {pattern}", influence=how)
