"""Manifests: what is sealed, compared with what exists, and built anew.

``MANIFEST.txt`` names the sealed tests, one path a line, in the order of ``trivet seal``. ``MANIFEST.sha256`` holds a digest for every
file below its folder. Both must say exactly what the tree says; every difference is a ``Drift``, and nothing is repaired silently.
"""

from __future__ import annotations

import fnmatch
import hashlib
import posixpath
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from trivet.git import Tree
from trivet.model import Drift, Entry, Policy, Seal, text_of
from trivet.sealed.sums import format_sums, name_problem, parse_sums
from trivet.sealed.twins import twins
from trivet.zones import Zones, match

LARGEST_B = 10_485_760
"""Manifests and ledgers over this size are refused unread."""

_LINK = 0o120000
_GITLINK = 0o160000
_REGULAR = 0o100000
_FOLLOWED = 8


def read_seal(tree: Tree, policy: Policy, zones: Zones) -> Seal:
    """Read what ``tree`` seals.

    Returns:
        The test files that exist, in manifest order, and every drift: rows that are malformed (TRV111, TRV113), differ (TRV110,
        TRV112, TRV114), links (TRV119), tests defined twice (TRV118, a warning here), an empty oracle (TRV115).
    """
    view = _View(tree, policy, zones)
    drifts = [*view.links()]
    tests = view.tests()
    if policy.oracle.manifest is not None:
        tests, found = _compare_tests(view, policy.oracle.manifest.encode("utf-8", "surrogateescape"), tests)
        drifts += found
    for digests in policy.oracle.digests:
        drifts += _compare_sums(view, digests.encode("utf-8", "surrogateescape"))
    if not tests:
        where = policy.oracle.manifest or ", ".join(policy.zones.oracle)
        drifts.append(Drift(rule="TRV115", message=f"no sealed test exists in {tree.label}", path=where))
    names = tuple(map(text_of, tests))
    drifts += twins(tree, names, level="warning")
    return Seal(tests=names, drifts=tuple(drifts))


def rebuilt(tree: Tree, policy: Policy, zones: Zones) -> dict[bytes, bytes]:
    """Build the manifest files as they should be: path → content. Preset ``lanes`` has no list of tests to write.

    A digest manifest that only the preset names is written where it exists or where there is something to digest.
    """
    view = _View(tree, policy, zones)
    files: dict[bytes, bytes] = {}
    if policy.oracle.manifest is not None:
        files[policy.oracle.manifest.encode("utf-8", "surrogateescape")] = b"".join(path + b"\n" for path in view.tests())
    for digests in policy.oracle.digests:
        path = digests.encode("utf-8", "surrogateescape")
        sums = view.sums(path)
        if sums or path in view.entries or path in view.named:
            files[path] = format_sums(sums)
    return files


@dataclass(slots=True)
class _View:
    """One tree seen through its policy: leaves by path, and which of them are sealed tests."""

    tree: Tree
    policy: Policy
    zones: Zones
    entries: dict[bytes, Entry]

    def __init__(self, tree: Tree, policy: Policy, zones: Zones) -> None:
        self.tree, self.policy, self.zones = tree, policy, zones
        under = zones.oracle_roots
        if under:  # a large tree is not listed for the sake of a few folders
            digests = [path.encode("utf-8", "surrogateescape") for path in policy.oracle.digests]
            lists = [(policy.oracle.manifest or "trivet.toml").encode("utf-8", "surrogateescape"), b"trivet.toml"]
            folders = [_folder(path).rstrip(b"/") for path in digests]
            under = (*under, *lists, *digests, *folders) if all(folders) else ()
        self.entries = {entry.path: entry for entry in tree.entries(under)}

    @property
    def named(self) -> frozenset[bytes]:
        """The digest manifests that ``trivet.toml`` itself names: those must exist."""
        data = self.tree.read(b"trivet.toml") if b"trivet.toml" in self.entries else None
        if data is None:
            return frozenset()
        try:
            oracle = tomllib.loads(data.decode()).get("oracle", {})
        except (UnicodeDecodeError, tomllib.TOMLDecodeError):
            return frozenset()  # read_policy has said so already
        rows = oracle.get("digests", ()) if isinstance(oracle, dict) else ()
        return frozenset(row.encode("utf-8", "surrogateescape") for row in rows if isinstance(row, str))

    def is_oracle(self, entry: Entry) -> bool:
        """Whether the policy's patterns put the leaf into the oracle zone (influence names stay sealed there)."""
        return match(self.policy.zones.oracle, entry.path)

    def tests(self) -> list[bytes]:
        """The sealed test files, sorted by bytes: collected by base's own pytest, not data below a digest manifest."""
        oracle = self.policy.oracle
        manifest = (oracle.manifest or "").encode("utf-8", "surrogateescape")
        folders = [_folder(row.encode("utf-8", "surrogateescape")) for row in oracle.digests]
        data = [folder for folder in folders if folder and not manifest.startswith(folder)]
        return sorted(
            path
            for path, entry in self.entries.items()
            if entry.mode & _REGULAR == _REGULAR and entry.mode not in (_LINK, _GITLINK)
            and self._is_test_name(path)
            and (match(oracle.generated, path) if oracle.manifest is None and oracle.generated else self.is_oracle(entry))
            and not any(path.startswith(folder) for folder in data)
            and not self._is_left_out(text_of(path))
        )  # fmt: skip

    def _is_left_out(self, path: str) -> bool:
        """Whether pytest does not go into a folder above the path (``norecursedirs``), by its own rule for such patterns."""
        parts = path.split("/")[:-1]
        folders = ["/".join(parts[: count + 1]) for count in range(len(parts))]
        for pattern in self.policy.oracle.not_collected:
            by_path = "/" in pattern
            names = [f"/{folder}" if by_path else posixpath.basename(folder) for folder in folders]
            if any(fnmatch.fnmatchcase(name, f"*/{pattern}" if by_path else pattern) for name in names):
                return True
        return False

    def _is_test_name(self, path: bytes) -> bool:
        name = text_of(posixpath.basename(path))
        return any(fnmatch.fnmatchcase(name, posixpath.basename(pattern)) for pattern in self.policy.oracle.test_patterns)

    def links(self) -> list[Drift]:
        """Sealed paths whose bytes lie elsewhere."""
        found: list[Drift] = []
        for path, entry in sorted(self.entries.items()):
            if entry.mode not in (_LINK, _GITLINK) or not self.is_oracle(entry):
                continue
            if entry.mode == _GITLINK:
                found.append(Drift(rule="TRV119", message="a gitlink stands in the sealed tree", path=text_of(path)))
            elif self.behind(entry) is None and not self._inner_folder(entry):
                message = f"a link leaves the sealed tree: it points to {text_of(self._target(entry))}"
                found.append(Drift(rule="TRV119", message=message, path=text_of(path)))
        return found

    def _target(self, entry: Entry) -> bytes:
        return self.tree.read(entry.path) or b""

    def _inner_folder(self, entry: Entry) -> bool:
        folder = _joined(entry.path, self._target(entry)) + b"/"
        below = [leaf for path, leaf in self.entries.items() if path.startswith(folder)]
        return bool(below) and all(self.is_oracle(leaf) for leaf in below)

    def behind(self, entry: Entry) -> Entry | None:
        """The regular leaf that holds the bytes of ``entry``; None where a link leaves the sealed tree or dangles."""
        for _ in range(_FOLLOWED):
            if entry.mode != _LINK:
                return entry if entry.mode != _GITLINK else None
            target = self._target(entry)
            following = None if target.startswith(b"/") else self.entries.get(_joined(entry.path, target))
            if following is None or not self.is_oracle(following):
                return None
            entry = following
        return None

    def sums(self, manifest: bytes) -> dict[bytes, str]:
        """``name → hex digest`` of every file below the manifest's folder but the manifest itself."""
        folder = _folder(manifest)
        found: dict[bytes, str] = {}
        for path, entry in self.entries.items():
            if not path.startswith(folder) or path == manifest:
                continue
            leaf = self.behind(entry)
            data = None if leaf is None else self.tree.read(leaf.path)
            if data is not None:
                found[path[len(folder) :]] = hashlib.sha256(data).hexdigest()
        return found


def _folder(path: bytes) -> bytes:
    folder = posixpath.dirname(path)
    return folder + b"/" if folder else b""


def _joined(link: bytes, target: bytes) -> bytes:
    return posixpath.normpath(posixpath.join(posixpath.dirname(link), target))


def _orders(paths: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The two orders in which a list may stand: by bytes (`trivet seal`, git), and by path segments (``sorted(Path.rglob())``)."""
    listed = list(paths)
    return sorted(listed), sorted(listed, key=lambda path: path.split(b"/"))


def _compare_tests(view: _View, manifest: bytes, exist: list[bytes]) -> tuple[list[bytes], list[Drift]]:
    where = text_of(manifest)
    data = view.tree.read(manifest) if manifest in view.entries else None
    if data is None:
        return exist, [Drift(rule="TRV110", message=f"the manifest does not exist in {view.tree.label}", path=where)]
    rows, drifts = parse_list(data, where)
    listed = [path for _, path in rows]
    known = set(exist)
    for line, path in rows:
        if path not in known:
            drifts.append(Drift(rule="TRV110", message=f"{text_of(path)} is listed but is no sealed test", path=where, line=line))
    missing = known - set(listed)
    drifts += [Drift(rule="TRV110", message=f"{text_of(path)} exists but is not listed", path=where) for path in sorted(missing)]
    if drifts:
        return exist, drifts
    orders = _orders(exist)
    if listed in orders:
        return listed, []
    line = next(number for number, (row, right) in enumerate(zip(listed, orders[0], strict=True), 1) if row != right)
    message = f"the order differs: {text_of(orders[0][line - 1])} belongs here"
    return exist, [Drift(rule="TRV110", message=message, path=where, line=line)]


def parse_list(data: bytes, where: str) -> tuple[list[tuple[int, bytes]], list[Drift]]:
    """Read ``MANIFEST.txt`` strictly: ``(line, path)`` of each good row, and a TRV111 drift for each bad one."""

    def drift(message: str, line: int | None) -> Drift:
        return Drift(rule="TRV111", message=message, path=where, line=line)

    if len(data) > LARGEST_B:
        return [], [drift(f"larger than {LARGEST_B} bytes", None)]
    rows: list[tuple[int, bytes]] = []
    drifts: list[Drift] = []
    seen: dict[bytes, int] = {}
    lines = data.split(b"\n") if data else [b""]
    if lines[-1]:
        drifts.append(drift("the last line has no newline", len(lines)))
    else:
        lines.pop()
    for number, line in enumerate(lines, 1):
        problem = _line_problem(line)
        if problem:
            drifts.append(drift(problem, number))
        elif line in seen:
            drifts.append(drift(f"{text_of(line)} stands in line {seen[line]} already", number))
        else:
            seen[line] = number
            rows.append((number, line))
    return rows, drifts


def _line_problem(line: bytes) -> str:
    if not line.strip():
        return "empty line"
    if b"\r" in line:
        return "carriage return in the line"
    if line != line.strip():
        return "blanks before or after the path"
    return name_problem(line)


def _compare_sums(view: _View, manifest: bytes) -> list[Drift]:
    where = text_of(manifest)
    data = view.tree.read(manifest) if manifest in view.entries else None
    if data is None:
        if manifest in view.named:
            message = f"the policy names this digest manifest, but it does not exist in {view.tree.label}"
            return [Drift(rule="TRV114", message=message, path=where)]
        return []
    if len(data) > LARGEST_B:
        return [Drift(rule="TRV113", message=f"larger than {LARGEST_B} bytes", path=where)]
    rows, bad = parse_sums(data)
    drifts = [Drift(rule="TRV113", message=message, path=where, line=line) for line, message in bad]
    exist = view.sums(manifest)
    seen: dict[bytes, int] = {}
    for row in rows:
        name = text_of(row.name)
        if row.name in seen:
            drifts.append(Drift(rule="TRV113", message=f"{name} stands in line {seen[row.name]} already", path=where, line=row.line))
        elif row.name not in exist:
            drifts.append(Drift(rule="TRV112", message=f"{name} is listed but does not exist", path=where, line=row.line))
        elif exist[row.name] != row.digest:
            drifts.append(Drift(rule="TRV112", message=f"{name} has the digest {exist[row.name]}", path=where, line=row.line))
        seen.setdefault(row.name, row.line)
    drifts += [Drift(rule="TRV114", message=f"{text_of(name)} has no row", path=where) for name in sorted(exist) if name not in seen]
    names = [row.name for row in rows]
    if not drifts and names not in _orders(exist):
        line = next(row.line for row, right in zip(rows, sorted(exist), strict=True) if row.name != right)
        drifts.append(Drift(rule="TRV113", message="the order differs from `trivet seal`", path=where, line=line))
    return drifts
