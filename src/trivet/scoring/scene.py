"""The two trees of a judgement, laid out when they are needed: base's own, and the scoring tree."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from trivet.git import Repository
from trivet.model import Commit, Entry, Policy, text_of
from trivet.stage.forkserver import Warmth
from trivet.stage.overlay import Overlay, lay, loosen
from trivet.stage.pool import Pool
from trivet.stage.runner import RUNNER_NEEDS, Stand
from trivet.stage.split import is_visible
from trivet.zones import Zones

_CODE = (".py", ".pyi", ".so", ".pyd")


class Scene:
    """What is scored.

    Args:
        repository: where the bytes come from.
        base: the trusted commit.
        overlay: the scoring tree of head.
        policy: base's policy.
        zones: its zones.
        tests: the sealed test files in manifest order.
        folder: an existing empty folder of ours for the trees.
        pool: warm trees; None lays both anew.
    """

    def __init__(
        self,
        repository: Repository,
        base: Commit,
        overlay: Overlay,
        policy: Policy,
        zones: Zones,
        tests: tuple[str, ...],
        folder: Path,
        pool: Pool | None = None,
    ) -> None:
        self.base_tree = base.tree
        self.head_tree = overlay.tree
        self.conflicts = overlay.conflicts
        self.policy = policy
        self.tests = tests
        self._repository, self._overlay, self._zones = repository, overlay, zones
        self._folder, self._pool = folder, pool
        self._stands: dict[str, Stand] = {}
        self._zone_of: dict[bytes, str] = {}
        self._code: dict[str, dict[str, tuple[str, str]]] = {}

    def base(self) -> Stand:
        """Base's tree, laid out at the first call."""
        if self.base_tree not in self._stands:
            self._stands[self.base_tree] = self._lay("base", self._repository.tree(self.base_tree))
        return self._stands[self.base_tree]

    def head(self) -> Stand:
        """The scoring tree, laid out at the first call; base's own when the patch changes nothing in it."""
        if self.head_tree not in self._stands:
            self._stands[self.head_tree] = self._lay("head", self._overlay.entries)
        return self._stands[self.head_tree]

    def texts(self) -> dict[str, str]:
        """The Python files of the oracle zone on base: path to text; files that are not UTF-8 are left out."""
        found = {}
        for entry in self._repository.tree(self.base_tree):
            if entry.path.endswith(b".py") and entry.mode != _LINK and self._zone(entry.path, entry.mode) == "oracle":
                try:
                    found[text_of(entry.path)] = self._repository.blob(entry.oid).decode("utf-8")
                except UnicodeDecodeError:
                    continue
        return found

    def warmth(self) -> Warmth:
        """What servers of this judgement's runs know: both trees' modules, each file once."""
        base, head = self.base(), self.head()
        files, tests = self._code[self.base_tree], frozenset(self.tests)
        rows = [(base.root, path, zone) for path, (zone, _) in files.items()]
        if head is not base:
            rows += [(head.root, path, row[0]) for path, row in self._code[self.head_tree].items() if files.get(path) != row]
        make = [
            (str(root / path), "source" if zone == "source" else "test" if path in tests or path.endswith("conftest.py") else "sealed")
            for root, path, zone in rows
            if path.endswith(".py") and zone in ("source", "oracle")
        ]
        names = tuple(sorted({*base.source_names, *head.source_names}))
        return Warmth(root=str(base.root), files=self.tests, source_names=names, make=tuple(make))

    def makes_runner(self) -> bool:
        """Whether base's source has a module that the runner itself imports."""
        return bool(self._names_on_base() & set(RUNNER_NEEDS))

    def close(self) -> None:
        """Remove the trees, or give them back."""
        for stand in self._stands.values():
            if stand.root.parent == self._folder.resolve():
                loosen(stand.root)
                shutil.rmtree(stand.root, ignore_errors=True)
        self._stands.clear()
        if self._pool is not None:
            self._pool.close()

    def _zone(self, path: bytes, mode: int) -> str:
        zone = self._zone_of.get(path)
        if zone is None:
            zone = self._zone_of[path] = self._zones.place(path, mode).zone
        return zone

    def _lay(self, name: str, entries: tuple[Entry, ...]) -> Stand:
        tree = self.base_tree if name == "base" else self.head_tree
        warm = self._pool.take(self._repository, tree, lambda: entries) if self._pool is not None else None
        root = (self._folder / name).resolve() if warm is None else warm
        if warm is None:
            root.mkdir()
            lay(self._repository, entries, root)
        self._code[tree] = {
            text_of(entry.path): (self._zone(entry.path, entry.mode), entry.oid) for entry in entries if entry.path.endswith(_CODE_BYTES)
        }
        code = [(path, zone) for path, (zone, _) in self._code[tree].items()]
        roots = tuple(text_of(path) for path in self._zones.source_roots) or ("",)
        names = top_level((path for path, zone in code if zone == "source"), self.policy.score.paths)
        on_base = names if name == "base" else self._names_on_base()
        return Stand(
            root=root,
            source_roots=tuple(os.path.normpath(root / path) for path in roots),
            source_names=tuple(sorted(names)),
            own_runner=tuple(sorted(on_base & set(RUNNER_NEEDS))),
            visible=tuple(
                text_of(entry.path)
                for entry in entries
                if entry.mode != _GITLINK and is_visible(text_of(entry.path), self._zone(entry.path, entry.mode))
            ),
            sealed=tuple(path for path, zone in code if zone == "oracle" and (roots == ("",) or below(path, roots))),
            recordings=recordings_of(self.policy, root),
        )

    def _names_on_base(self) -> set[str]:
        if self.base_tree in self._stands:
            return set(self._stands[self.base_tree].source_names)
        entries = self._repository.tree(self.base_tree)
        source = (text_of(e.path) for e in entries if e.path.endswith(_CODE_BYTES) and self._zone(e.path, e.mode) == "source")
        return top_level(source, self.policy.score.paths)


def recordings_of(policy: Policy, root: Path) -> str:
    """The folder of recorded HTTP exchanges of a laid tree, relative to it; "" where it has none."""
    folders = (os.path.join(os.path.dirname(path), "http") for path in policy.oracle.digests)  # noqa: PTH118, PTH120 - text in, text out
    return next((folder for folder in folders if (root / folder).is_dir()), "")


_LINK = 0o120000
_GITLINK = 0o160000
_CODE_BYTES = tuple(suffix.encode() for suffix in _CODE)


def below(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of the roots or lies in one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def top_level(paths: Iterable[str], import_paths: Iterable[str]) -> set[str]:
    """The top-level module names that source files have on the import paths (both relative to the root of the tree)."""
    prefixes = ["" if path in ("", ".") else path.strip("/").removeprefix("./") + "/" for path in import_paths]
    found = set()
    for path in paths:
        for prefix in prefixes:
            if path.startswith(prefix):
                name = path[len(prefix) :].split("/", 1)[0].split(".", 1)[0]
                if name.isidentifier():
                    found.add(name)
    return found
