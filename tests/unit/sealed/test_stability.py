"""Digests of a thousand test functions: equal where nothing of a function changed, different where anything did."""

from __future__ import annotations

import random

import pytest

from trivet.sealed.digest import Digests
from unit.sealed.trees import MemoryTree

COUNT = 1_000
FIXTURES = 10
CALLS = ("len", "sum", "sorted", "max", "double", "halve")


def function(number: int, **change: str) -> str:
    """The text of one test; a change replaces one part of it."""
    rng = random.Random(number)
    parts = {
        "decorator": f"@pytest.mark.parametrize('n', [{number}, {number + 1}])",
        "fixture": f"data{rng.randrange(FIXTURES)}",
        "name": f"found_{rng.randrange(50)}",
        "call": rng.choice(CALLS),
        "constant": rng.choice([str(rng.randrange(10**6)), repr(rng.random()), repr(f"text {rng.randrange(999)}"), f"({number}, 'a')"]),
        "operator": rng.choice(["==", "!=", "<=", ">"]),
        **change,
    }
    shape = rng.randrange(3)
    inner = f"    {parts['name']} = {parts['call']}([n, {parts['constant']}])\n"
    if shape == 1:
        inner = f"    for {parts['name']} in {parts['call']}([n]):\n        assert {parts['name']}\n    {parts['name']} = {parts['constant']}\n"
    elif shape == 2:
        inner = f"    with pytest.raises(ValueError, match={parts['constant']!r}):\n        {parts['name']} = {parts['call']}(n)\n"
    head = f"{parts['decorator']}\ndef test_{number}(n, {parts['fixture']}):\n"
    return f"{head}{inner}    assert {parts['fixture']} {parts['operator']} {parts['name']}\n\n\n"


def module(**change: str) -> str:
    return "import pytest\nfrom helper import double, halve\n\n\n" + "".join(function(number, **change) for number in range(COUNT))


def conftest(value: int = 1) -> str:
    rows = (f"@pytest.fixture\ndef data{number}():\n    return {number + value}\n\n\n" for number in range(FIXTURES))
    return "import pytest\n\n\n" + "".join(rows)


def digests(text: str, *, folder: str = "tests/sealed", fixtures: str = conftest()) -> list[tuple[str, str]]:
    files = {
        f"{folder}/test_x.py": text,
        f"{folder}/conftest.py": fixtures,
        f"{folder}/helper.py": "def double(n):\n    return 2 * n\n\n\ndef halve(n):\n    return n / 2\n",
    }
    made = Digests(MemoryTree(files), lambda _path: True).all([(f"{folder}/test_x.py", f"test_{number}") for number in range(COUNT)])
    found = [digest for digest in made.values() if digest is not None]
    assert len(found) == COUNT
    return [(digest.strong, digest.source_hash) for digest in found]


@pytest.fixture(scope="module")
def base() -> list[tuple[str, str]]:
    return digests(module())


def test_no_two_of_them_are_equal(base: list[tuple[str, str]]) -> None:
    assert len({strong for strong, _ in base}) == len({source for _, source in base}) == COUNT


def test_another_run_another_folder_and_lines_above_change_none(base: list[tuple[str, str]]) -> None:
    moved = module().replace("import pytest\n", "# one\n\n# two\nimport pytest\n", 1).replace("\n\n\n@pytest", "\n\n# above\n\n\n@pytest")
    assert digests(moved, folder="tests/elsewhere/sealed") == base


@pytest.mark.parametrize(
    "change",
    [
        {"constant": "-77"},
        {"name": "other"},
        {"call": "min"},
        {"operator": "is"},
        {"fixture": "tmp_path"},
        {"decorator": "@pytest.mark.parametrize('n', [-1])"},
        {"decorator": "@pytest.mark.usefixtures('data3')"},
    ],
    ids=str,
)
def test_any_change_of_a_part_changes_every_one(base: list[tuple[str, str]], change: dict[str, str]) -> None:
    assert not [number for number, (old, new) in enumerate(zip(base, digests(module(**change)), strict=True)) if old[0] == new[0] or old[1] == new[1]]


def test_a_change_of_the_fixtures_changes_every_one(base: list[tuple[str, str]]) -> None:
    assert not [number for number, (old, new) in enumerate(zip(base, digests(module(), fixtures=conftest(2)), strict=True)) if old[0] == new[0]]
