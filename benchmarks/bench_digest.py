"""What does it cost to digest every test of 1,000 test files, against `compile()` of them, and what when their blobs are known?

    python benchmarks/bench_digest.py [--files 1000] [--rounds 7] [--json FILE]

The files are of the sizes that real ones have. Each call runs in a forked child of its
own, so that the heap of one does not slow the collector of the other; what is compared is the CPU of these children.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from measure import Figure, arguments, finish, in_turn, quartiles

from trivet.git import PlainTree
from trivet.sealed.digest import Digests

Files = dict[bytes, bytes]


def test_file(number: int) -> tuple[str, list[str]]:
    """The text of one file and the names of its tests."""
    rng = random.Random(number)
    names: list[str] = []
    rows = ["import json", "import pytest", f"from tests.sealed.helper_{number % 20} import check, make", "from src.shop import price", ""]
    rows += [f"LIMIT = {number}", f"ROWS = [{', '.join(str(rng.randrange(999)) for _ in range(20))}]", ""]
    rows += ["@pytest.fixture", "def data():", f"    return {{'a': {number}, 'b': ROWS}}", ""]
    for test in range(14):
        names.append(f"test_{test}")
        rows += [f"@pytest.mark.parametrize('n', [{test}, {test + 1}])"] if test % 3 == 0 else []
        rows += (
            [f"def test_{test}(data{', n' if test % 3 == 0 else ''}):", f'    """Says what number {test} is for."""']
            if test % 2
            else [f"def test_{test}(data{', n' if test % 3 == 0 else ''}):"]
        )
        for line in range(rng.randrange(3, 9)):
            rows += [
                f"    found_{line} = make(data['a'] + {rng.randrange(99)}, name='row {rng.randrange(99)}')",
                f"    assert check(found_{line}) == price(LIMIT, {rng.randrange(99)}), json.dumps({{'row': found_{line}}})",
            ]
        rows += ["    with pytest.raises(ValueError, match='no such row'):", f"        make(None, name={test})", "", ""]
    rows += ["class TestMore:", "    size = 5", "", "    def setup_method(self):", "        self.kept = [make(n) for n in ROWS]", ""]
    for test in range(6):
        names.append(f"TestMore.test_m{test}")
        rows += [
            f"    def test_m{test}(self, data):",
            f"        for row in self.kept[:{test + 1}]:",
            "            assert check(row) != self.size",
        ]
        rows += [f"        assert len(self.kept) == {rng.randrange(99)}", ""]
    return "\n".join(rows) + "\n", names


def corpus(count: int) -> tuple[Files, list[tuple[str, str]]]:
    """The files, and every test as (file, function)."""
    files: Files = {b"tests/sealed/conftest.py": b"import pytest\n\n\n@pytest.fixture(autouse=True)\ndef quiet(monkeypatch):\n    yield\n"}
    for number in range(20):
        helper = f"K = {number}\n\n\ndef make(n, name=''):\n    return [n, name, K]\n\n\ndef check(row):\n    return row[0]\n"
        files[f"tests/sealed/helper_{number}.py".encode()] = helper.encode()
    places = []
    for number in range(count):
        text, names = test_file(number)
        path = f"tests/sealed/d{number % 30}/test_{number}.py"
        files[path.encode()] = text.encode()
        places += [(path, name) for name in names]
    return files, places


class Memory:
    """Stands for the cache, with what it costs to write and read its bytes."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], bytes] = {}

    def get(self, kind: str, key: str, as_: Any) -> Any:
        """Read."""
        return msgspec.json.decode(self.rows[kind, key], type=as_) if (kind, key) in self.rows else None

    def put(self, kind: str, key: str, value: object) -> None:
        """Write."""
        self.rows[kind, key] = msgspec.json.encode(value)


def compiled(files: Files) -> None:
    for path, data in files.items():
        compile(data, path.decode(), "exec", dont_inherit=True)


def digested(files: Files, places: list[tuple[str, str]], memory: Memory | None = None) -> None:
    digests = Digests(PlainTree(files), lambda path: path.startswith(b"tests/sealed/"), ("src", "."))
    if memory is not None:
        digests.remember(memory, {file for file, _ in places}, ["tests/sealed/**"])
    found = digests.all(places)
    if None in found.values():
        raise SystemExit("every test must have a digest")
    if digests.book is not None:
        digests.book.save()


def apart(call: Callable[[], None]) -> None:
    """Run in a forked child and wait for it; its CPU counts as that of a child."""
    pid = os.fork()
    if pid == 0:
        try:
            call()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def main() -> int:
    """Measure."""
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--files", type=int, default=1_000)
    options = parser.parse_args()
    files, places = corpus(options.files)
    one = list({file: (file, name) for file, name in places}.values())
    memory = Memory()
    digested(files, places, memory)
    calls = {
        "compile()": partial(compiled, files),
        "digests of all tests": partial(digested, files, places),
        "digests of one test a file": partial(digested, files, one),
        "digests of all tests, known": partial(digested, files, places, memory),
    }
    taken = in_turn({name: partial(apart, call) for name, call in calls.items()}, rounds=options.rounds)
    figures = []
    for name, goal in (("digests of all tests", 1.5), ("digests of one test a file", 1.5), ("digests of all tests, known", 0.1)):
        ratios = taken.ratios(name, "compile()", cpu=True)
        what = f"{name}, {len(places)} tests in {options.files} files, over compile() of the files (CPU)"
        limit = "compile() parses once and keeps no tree: 1.0"
        figures.append(
            Figure(id="", what=what, value=statistics.median(ratios), unit="times", goal=goal, limit=limit, spread=quartiles(ratios))
        )
    return finish(options, __file__, figures, taken, files=options.files, tests=len(places))


if __name__ == "__main__":
    sys.exit(main())
