"""Which CODEOWNERS is read, and what of it cannot be relied on."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trivet.model import Entry, OraclePolicy, OwnersPolicy, Policy, ZonePolicy
from trivet.sealed.owners import LIMIT_B, Dialect, parse_owners, read_owners


@dataclass(frozen=True)
class _Folder:
    files: dict[bytes, bytes]
    label: str = "base"

    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        inside = [path for path in self.files if not under or any(path == root or path.startswith(root + b"/") for root in under)]
        return tuple(Entry(path=path, mode=0o100644, oid="0" * 40) for path in inside)

    def read(self, path: bytes) -> bytes | None:
        return self.files.get(path)


def _policy(codeowners: str = "auto") -> Policy:
    return Policy(
        preset="verdicts",
        source="",
        digest="",
        zones=ZonePolicy(source=(), oracle=(), proposed=(), inert=()),
        oracle=OraclePolicy(manifest=None, digests=(), leases=None),
        owners=OwnersPolicy(codeowners=codeowners),
    )


@pytest.mark.parametrize("dialect", ["github", "gitlab", "gitea"])
@pytest.mark.parametrize(
    "data",
    [b".* @a\n" + b"#" * LIMIT_B, b"\xef\xbb\xbf.* @a\n", b".* @a\nx\xff @b\n", b".* @a\rx @b\n", b".* @a\nx\0 @b\n"],
    ids=["too long", "byte order mark", "not UTF-8", "bare carriage return", "NUL"],
)
def test_bytes_that_a_forge_may_drop_are_a_problem(data: bytes, dialect: Dialect) -> None:
    """What a forge would ignore in silence is told."""
    assert parse_owners(data, dialect).problems


def test_a_file_over_the_limit_owns_nothing() -> None:
    """GitHub loads no such file, so nobody owns anything."""
    assert parse_owners(b"* @a\n" + b"#" * LIMIT_B, "github").of(b"x") == ()


def test_carriage_returns_at_line_ends_change_nothing() -> None:
    """A file with DOS line ends is read like one without."""
    found = parse_owners(b"* @a\r\n/x/ @b\r\n", "github")
    assert (found.of(b"x/y"), found.problems) == (("@b",), ())


@pytest.mark.parametrize(
    ("files", "setting", "place", "dialect"),
    [
        ({b"CODEOWNERS": b"* @a"}, "auto", "CODEOWNERS", "github"),
        ({b"CODEOWNERS": b"* @a", b".github/CODEOWNERS": b"* @b", b"docs/CODEOWNERS": b""}, "auto", ".github/CODEOWNERS", "github"),
        ({b"CODEOWNERS": b"* @a", b"docs/CODEOWNERS": b""}, "auto", "CODEOWNERS", "github"),
        ({b"docs/CODEOWNERS": b"* @a"}, "auto", "docs/CODEOWNERS", "github"),
        ({b"CODEOWNERS": b"[S] @a\n*", b".gitlab-ci.yml": b""}, "auto", "CODEOWNERS", "gitlab"),
        ({b"CODEOWNERS": b"[S] @a\n*"}, "auto", "CODEOWNERS", "gitlab"),
        ({b".gitlab/CODEOWNERS": b"* @a"}, "auto", ".gitlab/CODEOWNERS", "gitlab"),
        ({b".gitea/CODEOWNERS": b".* @a"}, "auto", ".gitea/CODEOWNERS", "gitea"),
        ({b"CODEOWNERS": b".* @a", b".forgejo/workflows/x.yml": b""}, "auto", "CODEOWNERS", "gitea"),
        ({b"CODEOWNERS": b".* @a"}, "gitea", "CODEOWNERS", "gitea"),
        ({b"owners/list": b"* @a"}, "owners/list", "owners/list", "github"),
        ({b"owners/list": b"* @a"}, "gitlab:owners/list", "owners/list", "gitlab"),
        ({b"src/CODEOWNERS": b"* @a"}, "auto", "", "github"),
    ],
)
def test_the_file_of_the_forge_in_use_is_read(files: dict[bytes, bytes], setting: str, place: str, dialect: str) -> None:
    """Search order and dialect are those of the forge that the tree shows."""
    found = read_owners(_Folder(files), _policy(setting))
    assert (found.path, found.dialect) == (place, dialect)


def test_sections_under_github_are_a_problem() -> None:
    """A GitLab file in a GitHub repository protects nothing, and that is told."""
    found = read_owners(_Folder({b".github/CODEOWNERS": b"[S] @a\n* @b"}), _policy())
    assert [drift.line for drift in found.problems] == [1]


def test_a_section_tells_how_many_people_it_needs() -> None:
    """Approvals, optional sections and names reach the duty."""
    found = parse_owners(b"[S][2] @d @e\ndocs/\n^[T] @f\ndocs/\n", "gitlab")
    assert [(d.needed, d.optional, d.section) for d in found.duties(b"docs/a")] == [(2, False, "s"), (1, True, "t")]
