"""How long until a tree is ready to be run in, warm, after a small patch, against `git archive | tar` and `git diff-tree` of the same pair?

python benchmarks/bench_tree.py [--rounds 15] [--loaded] [--json FILE]

Repositories of 3,400 and of 50,000 files, and a patch of five files. The pool of warm trees is switched from base to head and back, with
the repository open, as the gate does it: claimed by its lock, switched, read back and checked. The rivals are the published
`git archive | tar` into an empty folder (which is removed outside of the time taken), and `git diff-tree -r` of the same two trees. All of
it lies on tmpfs where `/dev/shm` has room, so that no disk is measured.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_classify import ENV
from measure import Figure, arguments, finish, in_turn, quartiles, under_load

from trivet.git import Repository, open_repository
from trivet.stage.pool import Pool

SIZES = (3_400, 50_000)
PATCH = 5


def build(root: Path, files: int) -> None:
    """Two commits by one `git fast-import`: files of 1.5 kB in folders of ten, and a patch of five of them."""

    def blob(path: str, text: str) -> str:
        return f"M 100644 inline {path}\ndata {len(text)}\n{text}\n"

    body = "# a line of an ordinary file\n" * 50
    who = "committer b <b@example.org> 1700000000 +0000\n"
    paths = [f"src/p{number // 500:03}/d{number // 10 % 50:02}/m{number}.py" for number in range(files)]
    first = "".join(blob(path, f"x = {number}\n{body}") for number, path in enumerate(paths))
    second = "".join(blob(path, f"x = -1\n{body}") for path in paths[:: files // PATCH][:PATCH])
    stream = f"commit refs/tags/base\nmark :1\n{who}data 4\nbase\n{first}\ncommit refs/tags/head\n{who}data 4\nhead\nfrom :1\n{second}\n"
    subprocess.run(["git", "init", "-q", str(root)], env=ENV, check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, env=ENV, input=stream.encode(), check=True)


class Subject:
    """One repository with its pool and the rivals."""

    def __init__(self, folder: Path, files: int) -> None:
        self.root, self.files = folder / f"repo{files}", files
        build(self.root, files)
        self.repository: Repository = open_repository(self.root)
        self.trees = [self.repository.commit(name).tree for name in ("base", "head")]
        self.pool_folder, self.unpacked = folder / f"pool{files}", folder / f"unpacked{files}"
        self.at = 0

    def warm(self) -> None:
        """Switch to the other tree."""
        self.at = 1 - self.at
        pool = Pool.find(print, self.pool_folder)
        if pool is None or pool.take(self.repository, self.trees[self.at], self.entries) is None:
            raise SystemExit("no room for a pool")
        pool.close()

    def entries(self) -> tuple:
        """The leaves of the tree that is asked for."""
        return self.repository.tree(self.trees[self.at])

    def archive(self) -> None:
        """The published script."""
        self.unpacked.mkdir()
        subprocess.run(f"git archive head | tar -x -C {self.unpacked}", shell=True, cwd=self.root, env=ENV, check=True)

    def difference(self) -> None:
        """What git alone takes to say what differs."""
        subprocess.run(["git", "diff-tree", "-r", *self.trees], cwd=self.root, env=ENV, stdout=subprocess.DEVNULL, check=True)

    def tidy(self) -> None:
        """Remove what the script unpacked."""
        shutil.rmtree(self.unpacked, ignore_errors=True)


def memory() -> Path | None:
    """A folder on tmpfs, or None where there is none with a gigabyte to spare."""
    place = Path("/dev/shm")
    return place if place.is_dir() and shutil.disk_usage(place).free > 2**30 else None


def figures_of(taken, subjects) -> list[Figure]:
    figures = []
    for subject in subjects:
        name = f"{subject.files} files"
        quicker = taken.ratios(f"archive, {name}", f"warm, {name}")
        slower = taken.ratios(f"warm, {name}", f"diff-tree, {name}")
        limit = "read-back and checks of five files and their folders; a process start alone is 1 to 3 ms"
        what = f"tree ready, {name}, 5 switched, "
        figures.append(
            Figure(id="P1", what=what + "git archive | tar over warm", value=statistics.median(quicker), unit="times", way="at least",
                   goal=50, limit=limit, spread=quartiles(quicker)))  # fmt: skip
        figures.append(
            Figure(id="P1", what=what + "warm over git diff-tree", value=statistics.median(slower), unit="times", goal=2, limit=limit,
                   spread=quartiles(slower)))  # fmt: skip
    small, large = (f"warm, {subject.files} files" for subject in subjects)
    growth = taken.ratios(large, small)
    figures.append(
        Figure(id="P1", what="tree ready, 50,000 over 3,400 files", value=statistics.median(growth), unit="times", goal=1.5,
               limit="wider levels of the tree are read", spread=quartiles(growth)))  # fmt: skip
    return figures


def main() -> int:
    parser = arguments(__doc__, rounds=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=memory()) as name, under_load(options):
        subjects = [Subject(Path(name), files) for files in SIZES]
        calls = {}
        for subject in subjects:
            subject.warm()
            label = f"{subject.files} files"
            calls |= {f"warm, {label}": subject.warm, f"archive, {label}": subject.archive, f"diff-tree, {label}": subject.difference}

        def before(_: str) -> None:
            for subject in subjects:
                subject.tidy()

        taken = in_turn(calls, rounds=options.rounds, before=before)
        figures = figures_of(taken, subjects)
        for subject in subjects:
            subject.repository.close()
            subprocess.run(["chmod", "-R", "u+w", str(subject.pool_folder)], check=True)
    return finish(options, __file__, figures, taken, patch=PATCH, sizes=SIZES)


if __name__ == "__main__":
    sys.exit(main())
