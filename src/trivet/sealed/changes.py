"""What a change set is: its rows with their zones, and what names alone do not tell (links, shadows, collisions, moved keys).

Base is the measure: what stands there already is not held against a change that leaves it alone.
"""

from __future__ import annotations

import configparser
import gc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trivet.git import FOLDER, GITLINK, LINK, Repository
from trivet.model import Change, ChangeFacts, Commit, Placed, Policy, RawChange, text_of
from trivet.sealed.changed_keys import changed_keys
from trivet.sealed.collisions import collisions, contradictions
from trivet.zones import Zones
from trivet.zones_links import link_place
from trivet.zones_names import MODULE_SUFFIXES, shadowed, top_module

_REGULAR = (0o100644, 0o100755)


def read_changes(repository: Repository, base: Commit, head: Commit, policy: Policy, zones: Zones) -> ChangeFacts:
    """Read the change set from the merge base(s) to head and place every path; rows are in tree order.

    Raises:
        GitError: the commits share no history, or an object is missing.
    """
    look = _Look(repository, base, head, policy, zones)
    found = _placed(repository.batches(base, head), look)
    changes = {change.raw.path: change for change in found}
    if len(changes) != len(found):
        # Several merge bases may show one path in several ways; the strictest reading counts.
        changes = {change.path: change for change in sorted(found, key=lambda change: (change.path, change.zone == "control"))}
    rows = tuple(changes.values())
    twins = dict(collisions(repository, base, head, rows))
    return ChangeFacts(
        changes=tuple(_collided(change, twins.get(change.path)) for change in rows) if twins else rows,
        links=tuple(dict.fromkeys(look.links)),
        collisions=tuple(twins.items()),
        shadows=tuple(dict.fromkeys(look.shadows)),
        keys=tuple(dict.fromkeys(look.keys)),
        plugins=tuple(dict.fromkeys(look.plugins)),
        tricks=tuple((path, "it names this path twice or out of order") for path in contradictions(repository, base, head)),
    )


def _placed(batches: Iterable[Sequence[RawChange]], look: _Look) -> list[Change]:
    found: list[Change] = []
    collects = gc.isenabled()
    gc.disable()  # ten thousand small values that all stay: looking for garbage among them takes a fifth of the time
    try:
        for batch in batches:
            for raw, placed in zip(batch, look.zones.place_all(batch), strict=True):
                usual = placed.zone == "source" and raw.old_mode and raw.new_mode in _REGULAR
                found.append(Change(raw=raw, placed=placed if usual else look.refined(raw, placed)))
    finally:
        if collects:
            gc.enable()
    return found


def place_one(repository: Repository, commit: Commit, policy: Policy, path: bytes) -> Placed:
    """The zone of one path as if it were new in a change on top of ``commit``, or as it stands there."""
    item = repository.find(commit.tree, path)
    mode, oid, old = (item.mode, item.oid, item.mode) if item is not None else (0o100644, "", 0)
    raw = RawChange(path=path, status="M" if item else "A", old_mode=old, new_mode=mode, old_oid=oid, new_oid=oid)
    look = _Look(repository, commit, commit, policy, Zones(policy.zones))
    return look.zones.place(path, mode) if mode in _REGULAR and item is not None else look.refined(raw, look.zones.place(path, mode))


@dataclass(slots=True)
class _Look:
    """One reading of one change set; collects what it finds."""

    repository: Repository
    base: Commit
    head: Commit
    policy: Policy
    zones: Zones
    links: list[tuple[bytes, str]]
    shadows: list[tuple[bytes, str, str]]
    keys: list[tuple[bytes, str]]
    plugins: list[tuple[bytes, str]]
    helpers: frozenset[str] | None

    def __init__(self, repository: Repository, base: Commit, head: Commit, policy: Policy, zones: Zones) -> None:
        self.repository, self.base, self.head, self.policy, self.zones = repository, base, head, policy, zones
        self.links, self.shadows, self.keys, self.plugins = [], [], [], []
        self.helpers = None

    def refined(self, raw: RawChange, placed: Placed) -> Placed:
        """What the zone of a path becomes by what only other files tell."""
        if raw.new_mode in (LINK, GITLINK) and (problem := self._link_problem(raw, placed)):
            self.links.append((raw.path, problem))
            return (
                placed if placed.zone == "oracle" else Placed(zone="control", by="link or gitlink that leaves its zone", influence=problem)
            )
        if placed.zone == "control":
            return self._allowed(raw, placed)
        if placed.zone == "source":
            return self._shadowing(raw, placed) if raw.new_mode and not raw.old_mode else placed
        if placed.zone == "inert" and (group := self._plugin(raw)):
            self.plugins.append((raw.path, group))
            return Placed(
                zone="control", by="influence name: entry_points.txt", influence=f"its group {group} loads code into the test runner"
            )
        return placed

    # --- links ---------------------------------------------------------------------------------------

    def _link_problem(self, raw: RawChange, placed: Placed) -> str:
        if raw.new_mode == GITLINK:
            return "its files lie in another repository"
        if placed.zone == "oracle":
            return "a sealed path must be a regular file"
        target = self.repository.blob(raw.new_oid)
        place = link_place(raw.path, target)
        if place is None:
            return f"it points out of the repository: {text_of(target)!r}"
        found = self.repository.find(self.head.tree, place) if place else None
        inner = place + b"/_" if place == b"" or (found is not None and found.mode == FOLDER) else place
        zone = self.zones.place(inner).zone
        if zone == placed.zone or (placed.zone == "inert" and zone == "source"):
            return ""
        return f"it leaves its zone: {text_of(target)!r} is {zone}"

    # --- keys of control files -------------------------------------------------------------------------

    def _allowed(self, raw: RawChange, placed: Placed) -> Placed:
        keys = next((row.keys for row in self.policy.zones.allow if row.path == text_of(raw.path)), None)
        if keys is None or raw.old_mode != raw.new_mode or raw.new_mode not in _REGULAR:
            return placed
        moved = changed_keys(self.repository.blob(raw.old_oid), self.repository.blob(raw.new_oid))
        if moved is None:
            self.keys.append((raw.path, "(the file is not TOML)"))
            return placed
        bad = [key for key in moved if not any(key == leave or key.startswith(leave + ".") for leave in keys)]
        if bad:
            self.keys += [(raw.path, key) for key in bad]
            return placed
        return Placed(zone="inert", by=f"zones.allow: {', '.join(moved) or 'no key'} of {text_of(raw.path)}")

    # --- modules ---------------------------------------------------------------------------------------

    def _shadowing(self, raw: RawChange, placed: Placed) -> Placed:
        name = top_module(raw.path, self.policy.score.paths)
        if not name or self._stands(name):
            return placed
        what = shadowed(name) or ("sealed helper" if name in self._helpers() else "")
        if not what:
            return placed
        self.shadows.append((raw.path, name, what))
        return Placed(zone="control", by="influence name: module that shadows", influence=f"it hides {name!r} of the {what}")

    def _stands(self, name: str) -> bool:
        """Whether base has a top-level module of that name already (a runner's own project, for one)."""
        for root in self.policy.score.paths:
            prefix = "" if root in (".", "") else root.strip("/") + "/"
            for suffix in MODULE_SUFFIXES:
                for place in (f"{prefix}{name}{suffix}", f"{prefix}{name}/__init__{suffix}"):
                    if self.repository.find(self.base.tree, place.encode("utf-8", "surrogateescape")) is not None:
                        return True
        return False

    def _helpers(self) -> frozenset[str]:
        if self.helpers is None:
            paths = {entry.path for entry in self.repository.tree(self.base.tree, self.zones.oracle_roots)}
            self.helpers = frozenset(
                name for path in paths if (name := _imported_as(path, paths)) and self.zones.place(path).zone == "oracle"
            )
        return self.helpers

    # --- metadata --------------------------------------------------------------------------------------

    def _plugin(self, raw: RawChange) -> str:
        """The first entry point group, new or changed, that is not a script; only those load into a test runner."""
        if raw.path.rpartition(b"/")[2] != b"entry_points.txt" or raw.new_mode not in _REGULAR or not raw.new_oid:
            return ""
        new = _groups(self.repository.blob(raw.new_oid))
        if new is None:
            return "(not readable)"
        old = _groups(self.repository.blob(raw.old_oid)) if raw.old_mode in _REGULAR else {}
        scripts = ("console_scripts", "gui_scripts")
        return next((group for group, rows in new.items() if group not in scripts and rows != (old or {}).get(group)), "")


def _collided(change: Change, other: bytes | None) -> Change:
    """A name that some file system takes for another one has no zone of its own; sealed and proposed paths stay what they are."""
    if other is None or change.zone in ("oracle", "proposed", "control"):
        return change
    influence = f"some file systems take it for {text_of(other)!r}"
    return Change(raw=change.raw, placed=Placed(zone="control", by="path that collides by case or Unicode form", influence=influence))


def _imported_as(path: bytes, paths: set[bytes]) -> str:
    """The top-level name under which pytest's default import mode imports a sealed file, or ""."""
    if not path.endswith(b".py"):
        return ""
    folder, _, file = path.rpartition(b"/")
    name = file[:-3]
    while folder and folder + b"/__init__.py" in paths:
        folder, _, name = folder.rpartition(b"/")
    return text_of(name)


def _groups(data: bytes) -> dict[str, dict[str, str]] | None:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(data.decode("utf-8"))
    except (UnicodeDecodeError, configparser.Error):
        return None
    return {section.strip(): dict(parser[section]) for section in parser.sections()}
