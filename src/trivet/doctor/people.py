"""Who may change what decides: gate files in zones that a patch may move, paths without an owner, owners files that fail in silence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from trivet.doctor.words import Problem
from trivet.git import Tree
from trivet.model import Entry, Policy, text_of
from trivet.sealed.owners import PLACES, Owners, read_owners
from trivet.sealed.signers import read_signers
from trivet.zones import Zones

_BUILD = b"pyproject.toml"
_SETTINGS = (b"trivet.toml", b".pyrefix-lanes.toml", _BUILD)
_CI = (".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".gitlab/", ".gitea/workflows/", ".forgejo/workflows/", "ci/", ".ci/")
_DANGEROUS = re.compile(
    r"^(tool\.(pytest|coverage|tox|hatch|setuptools|pdm|poetry)|build-system|project\.(dependencies|optional|scripts|entry)|project$|tool$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The owners of a tree, its sealed paths, and the files on which a verdict rests beside them."""

    tree: Tree
    policy: Policy
    zones: Zones
    owners: Owners
    signers: bool
    sealed: tuple[bytes, ...]
    gate: tuple[bytes, ...]
    modes: dict[bytes, int]


def look(tree: Tree, policy: Policy, zones: Zones) -> Seen:
    """Gather what decides in a tree."""
    entries = tree.entries()
    sealed = tuple(entry.path for entry in entries if zones.place(entry.path, entry.mode).zone == "oracle")
    data = read_signers(tree, policy)
    rows = [row for row in (data or b"").splitlines() if row.strip() and not row.lstrip().startswith(b"#")]
    owners = read_owners(tree, policy)
    gate = tuple(_gate_files(entries, policy, owners))
    modes = {entry.path: entry.mode for entry in entries}
    return Seen(tree=tree, policy=policy, zones=zones, owners=owners, signers=bool(rows), sealed=sealed, gate=gate, modes=modes)


def writable(seen: Seen) -> Iterator[Problem]:
    """Gate files that a patch may move together with production code, and what CI runs from such a zone."""
    there = seen.modes
    for path in seen.gate:
        placed = seen.zones.place(path, there.get(path, 0o100644))
        if placed.zone in ("source", "proposed", "inert"):
            text = f"{text_of(path)} decides, and lies in the zone {placed.zone} ({placed.by})"
            yield Problem(detail=text, remedy=f'control = ["/{text_of(path)}"] under [zones]', place=text_of(path))
    for path, line in _called_by_ci(seen):
        placed = seen.zones.place(path, there[path])
        if placed.zone in ("source", "proposed", "inert"):
            text = f"{text_of(path)} is run by CI outside the wall, and lies in the zone {placed.zone} ({placed.by})"
            yield Problem(detail=text, remedy=f'control = ["/{text_of(path)}"] under [zones]', place=line)
    for row in seen.policy.zones.allow:
        for key in row.keys:
            if _DANGEROUS.match(key) or key in ("*", "**"):
                text = f"a patch may move {key} of {row.path}, which changes what is built, installed or run"
                yield Problem(detail=text, remedy=f"take {key!r} out of [[zones.allow]]", place="trivet.toml")


def silent(seen: Seen) -> Iterator[Problem]:
    """An owners file that a forge would skip in parts, or never reads."""
    for drift in seen.owners.problems:
        place = f"{drift.path}:{drift.line}" if drift.line else drift.path
        yield Problem(
            detail=f"{drift.rule} {drift.message}", remedy="mend the line; trivet explain --owner PATH shows who is left", place=place
        )
    places = [place for place in PLACES[seen.owners.dialect] if place.encode() in seen.modes]
    for place in places:
        if seen.owners.path and place != seen.owners.path:
            text = f"{place} is never read: {seen.owners.path} is found first"
            yield Problem(detail=text, remedy="keep one CODEOWNERS file", place=place, level="warning")
    for dialect, others in PLACES.items():
        elsewhere = [place for place in others if place.startswith(".") and place.encode() in seen.modes]
        for place in elsewhere:
            if place not in PLACES[seen.owners.dialect]:
                text = f"{place} is for {dialect}, and this repository is read as one on {seen.owners.dialect}"
                yield Problem(detail=text, remedy="put it where the forge in use looks", place=place, level="warning")


def unowned(seen: Seen, agents: tuple[str, ...]) -> Iterator[Problem]:
    """Paths for which nobody speaks, and paths for which an agent does."""
    remedy = "trivet init --owner @WHO adds the lines"
    if not seen.owners.path:
        if not seen.signers:
            text = "nobody owns the oracles: no CODEOWNERS, and no signer in " + seen.policy.owners.signers
            yield Problem(detail=text, remedy=remedy + f", or name signers in {seen.policy.owners.signers}")
        return
    folders: dict[str, int] = {}
    wild = {agent.casefold().removeprefix("@") for agent in agents}
    for path in dict.fromkeys((*seen.sealed, *seen.gate)):
        named = seen.owners.of(path)
        if not named and path == _BUILD:
            # Most of what it says is the project's own business, and the gate lets nobody move the rest with production code.
            yield Problem(detail="pyproject.toml has no owner", remedy=remedy, place=seen.owners.path, level="warning")
        elif not named:
            folder = text_of(path).rpartition("/")[0] if path in seen.sealed else text_of(path)
            folders[folder] = folders.get(folder, 0) + 1
        for owner in named:
            if owner.casefold().removeprefix("@") in wild:
                text = f"{text_of(path)} belongs to {owner}, which writes patches"
                yield Problem(detail=text, remedy="let a person or a team of people own it", place=seen.owners.path)
    for folder, number in folders.items():
        what = folder or "the root"
        text = f"{what} has no owner" if number == 1 else f"{number} paths below {what} have no owner"
        yield Problem(detail=text, remedy=remedy, place=seen.owners.path)


def _gate_files(entries: tuple[Entry, ...], policy: Policy, owners: Owners) -> Iterator[bytes]:
    named = [policy.oracle.manifest, *policy.oracle.digests, policy.oracle.leases, policy.owners.signers, policy.owners.keys, owners.path]
    wanted = {*_SETTINGS, *(name.encode("utf-8", "surrogateescape") for name in named if name)}
    for part in policy.score.prepare:
        wanted |= {word.removeprefix("./").encode("utf-8", "surrogateescape") for word in _words(part)}
    for entry in entries:
        if entry.path in wanted or text_of(entry.path).startswith(_CI):
            yield entry.path


def _called_by_ci(seen: Seen) -> Iterator[tuple[bytes, str]]:
    """Files of the tree that a CI file names as a word of its own."""
    there = seen.modes
    seen_before: set[bytes] = set()
    for path in seen.gate:
        name = text_of(path)
        if not name.startswith((".github/workflows/", ".gitlab-ci.yml", ".gitlab/", ".gitea/", ".forgejo/")):
            continue
        text = (seen.tree.read(path) or b"").decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith("#"):
                continue
            for word in re.findall(r"[A-Za-z0-9_.][A-Za-z0-9_./-]*\.(?:py|sh|bash|pl|rb|js)\b", line):
                called = word.removeprefix("./").encode()
                if called in there and called not in seen_before and not called.startswith(path):
                    seen_before.add(called)
                    yield called, f"{name}:{number}"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
