"""Known digests are used exactly as long as everything that they depend on is as it was."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trivet.sealed import digest as digest_module
from trivet.sealed.digest import Digests
from trivet.sealed.digest_memory import closure
from unit.sealed.trees import MemoryTree

FILE = "tests/sealed/test_a.py"
FILES = {
    FILE: "from helper import twice\n\n\ndef test_a(data):\n    assert twice(data) == 2\n\n\ndef test_b():\n    assert 1\n",
    "tests/sealed/helper.py": "from deeper import FACTOR\n\n\ndef twice(n):\n    return FACTOR * n\n",
    "tests/sealed/deeper.py": "FACTOR = 2\n",
    "tests/sealed/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef data():\n    return 1\n",
    "tests/sealed/other.py": "X = 1\n",
}


class Kept:
    """A memory that holds what a cache would: bytes."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], bytes] = {}

    def get(self, kind: str, key: str, as_: Any) -> Any:
        return msgspec.json.decode(self.rows[kind, key], type=as_) if (kind, key) in self.rows else None

    def put(self, kind: str, key: str, value: object) -> None:
        self.rows[kind, key] = msgspec.json.encode(value)


def read(files: dict[str, str], memory: Kept, function: str = "test_a") -> tuple[str, str, str]:
    digests = Digests(MemoryTree(files), lambda path: path.startswith(b"tests/sealed/"))
    digests.remember(memory, [FILE], ["tests/sealed/**"])
    digest = digests.of(FILE, function)
    assert digests.book is not None
    digests.book.save()
    return ("", "", "") if digest is None else (digest.strong, digest.source_hash, digest.weak)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often something was compiled for a strong digest."""
    calls: list[str] = []
    plain = digest_module.code_digest

    def counted(*args: Any, **words: Any) -> bytes:
        calls.append("x")
        return plain(*args, **words)

    monkeypatch.setattr(digest_module, "code_digest", counted)
    return calls


def test_a_second_reading_compiles_nothing_and_says_the_same(compiled: list[str]) -> None:
    memory = Kept()
    first = read(FILES, memory)
    count = len(compiled)
    assert count
    digests = Digests(MemoryTree({**FILES, "tests/sealed/other.py": "X = 2\n"}), lambda path: path.startswith(b"tests/sealed/"))
    digests.remember(memory, [FILE], ["tests/sealed/**"])
    digest = digests.of(FILE, "test_a")
    assert digest is not None
    assert (digest.strong, digest.weak) == (first[0], first[2])
    assert len(compiled) == count
    assert digest.source_hash == first[1]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (FILE, FILES[FILE].replace("== 2", "== 3")),
        ("tests/sealed/helper.py", FILES["tests/sealed/helper.py"].replace("*", "+")),
        ("tests/sealed/deeper.py", "FACTOR = 3\n"),
        ("tests/sealed/conftest.py", FILES["tests/sealed/conftest.py"].replace("1", "5")),
        ("tests/conftest.py", None),
        ("tests/sealed/helper/__init__.py", None),
        ("tests/sealed/deeper.py", None),
    ],
)
def test_a_change_anywhere_it_looked_is_seen(path: str, text: str | None) -> None:
    memory = Kept()
    read(FILES, memory)
    changed = {**FILES, path: text if text is not None else "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef more():\n    return 7\n\n\ndef twice(n):\n    return n\n"}
    assert read(changed, memory) == read(changed, Kept())


def test_one_file_of_several_is_digested_anew_alone() -> None:
    memory = Kept()
    assert read(FILES, memory, "test_none") == read(FILES, memory, "test_none") == ("", "", "")
    assert read(FILES, memory, "test_b")[0] == read(FILES, Kept(), "test_b")[0]


def test_a_damaged_record_is_no_record() -> None:
    memory = Kept()
    first = read(FILES, memory)
    for key in memory.rows:
        memory.rows[key] = msgspec.json.encode({FILE: {"says": {FILE: "0" * 64}, "strong": {"test_a": "v1:" + "0" * 64}}})
    assert read(FILES, memory) == first


def test_what_was_looked_at_is_followed_through_what_was_found() -> None:
    assert closure("a", {"a": ["b"], "b": ["c", "a"], "x": ["y"]}) == {"a", "b", "c"}
