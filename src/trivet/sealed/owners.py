"""CODEOWNERS of one tree: who may speak for a path, read as the forge in use reads it, and closed where a forge would be silent.

Forges ignore a file over their limit and lines that they cannot read, so that paths lose their owner unseen. Here each of these is a
problem (rule TRV117), and a path without an owner is nobody's to change (TRV116).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol
from unicodedata import category

from trivet.model import Drift, Duty, Entry, Policy, text_of
from trivet.sealed.owners_gitea import GiteaRules
from trivet.sealed.owners_github import GitHubRules
from trivet.sealed.owners_gitlab import GitLabRules
from trivet.sealed.owners_words import Problems

Dialect = Literal["github", "gitlab", "gitea"]

PLACES: dict[Dialect, tuple[str, ...]] = {
    "github": (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"),
    "gitlab": ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
    "gitea": ("CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS", ".forgejo/CODEOWNERS"),
}
"""Where each forge looks, first found wins."""

LIMIT_B = 3_000_000
"""GitHub loads no file of 3 MB or more, which leaves everything without an owner."""


_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cf"})
_SIGNS = (b".github", b".gitlab", b".gitea", b".forgejo", b".gitlab-ci.yml", b"CODEOWNERS", b"docs/CODEOWNERS")
"""All that tells the forge or can be its file; nothing else of the tree is listed."""


class _Tree(Protocol):
    @property
    def label(self) -> str: ...
    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]: ...
    def read(self, path: bytes) -> bytes | None: ...


class _Rules(Protocol):
    def duties(self, path: str) -> tuple[Duty, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """The owners of one tree. ``path`` is the file ("" = there is none); ``problems`` are findings of rule TRV117."""

    path: str
    dialect: Dialect
    problems: tuple[Drift, ...]
    rules: _Rules

    def duties(self, path: bytes) -> tuple[Duty, ...]:
        """What the file asks for a path; empty when nobody owns it."""
        return self.rules.duties(text_of(path))

    def of(self, path: bytes) -> tuple[str, ...]:
        """Everybody who is named for a path, as written (``@user``, ``@org/team``, ``@@role``, an address), without doubles."""
        return tuple(dict.fromkeys(owner for duty in self.duties(path) for owner in duty.owners))


def read_owners(tree: _Tree, policy: Policy) -> Owners:
    """Read the CODEOWNERS file that the forge in use would read.

    ``policy.owners.codeowners`` is ``auto`` (the forge is told from the tree), the name of a dialect, a path, or ``dialect:path``.
    """
    named = policy.owners.codeowners.rpartition(":")[2].removeprefix("./").lstrip("/").encode("utf-8", "surrogateescape")
    files = {entry.path: entry for entry in tree.entries((*_SIGNS, named))}
    dialect, places, sure = _choice(policy.owners.codeowners, files)
    problems = Problems()
    place = next((place for place in places if place.encode() in files), "")
    if not place:
        return Owners(path="", dialect=dialect, problems=(), rules=parse_rules((), dialect, problems))
    data = None
    if files[place.encode()].mode in (0o120000, 0o160000):
        problems.add(None, "CODEOWNERS is a link; a forge does not follow it")
    else:
        data = tree.read(place.encode())
    lines = _lines(data or b"", problems)
    if not sure and dialect == "github" and any(line.lstrip().startswith(("[", "^[")) for line in lines):
        dialect = "gitlab"
    rules = parse_rules(lines, dialect, problems)
    drifts = tuple(Drift(rule="TRV117", message=text, path=place, line=line) for line, text in problems.rows)
    return Owners(path=place, dialect=dialect, problems=drifts, rules=rules)


def parse_owners(data: bytes, dialect: Dialect, path: str = "CODEOWNERS") -> Owners:
    """Read the bytes of one file in a given dialect."""
    problems = Problems()
    rules = parse_rules(_lines(data, problems), dialect, problems)
    drifts = tuple(Drift(rule="TRV117", message=text, path=path, line=line) for line, text in problems.rows)
    return Owners(path=path, dialect=dialect, problems=drifts, rules=rules)


def parse_rules(lines: tuple[str, ...], dialect: Dialect, problems: Problems) -> _Rules:
    """Hand the lines to the reader of a dialect."""
    match dialect:
        case "github":
            return GitHubRules(lines, problems)
        case "gitlab":
            return GitLabRules(lines, problems)
        case "gitea":
            return GiteaRules(lines, problems)


def _choice(wanted: str, files: dict[bytes, Entry]) -> tuple[Dialect, tuple[str, ...], bool]:
    """Choose dialect and places; the last value says whether the dialect is certain."""
    name, colon, path = wanted.partition(":")
    for dialect, places in PLACES.items():
        if name == dialect:
            return dialect, ((path.removeprefix("./").lstrip("/"),) if colon else places), True
    if wanted != "auto":
        place = wanted.removeprefix("./").lstrip("/")
        dialect, sure = _forge(files, place)
        return dialect, (place,), sure
    dialect, sure = _forge(files, "")
    return dialect, PLACES[dialect], sure


def _forge(files: dict[bytes, Entry], place: str) -> tuple[Dialect, bool]:
    """Tell the forge from the folder of the file, then from what the tree holds for its forge."""
    for folder, dialect in ((".github/", "github"), (".gitlab/", "gitlab"), (".gitea/", "gitea"), (".forgejo/", "gitea")):
        if place.startswith(folder):
            return dialect, True  # type: ignore[return-value]
    if any(path.startswith(b".github/") for path in files):
        return "github", True
    if b".gitlab-ci.yml" in files or any(path.startswith(b".gitlab/") for path in files):
        return "gitlab", True
    if any(path.startswith((b".gitea/", b".forgejo/")) for path in files):
        return "gitea", True
    return "github", False


def _lines(data: bytes, problems: Problems) -> tuple[str, ...]:
    if len(data) >= LIMIT_B:
        problems.add(None, f"the file has {len(data)} bytes; a forge loads none of 3 MB or more, and then nobody owns anything")
        return ()
    if data.startswith(b"\xef\xbb\xbf"):
        problems.add(1, "the file begins with a byte order mark, which may hide its first line")
        data = data[3:]
    lines: list[str] = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        row = raw.removesuffix(b"\r")
        try:
            text = row.decode()
        except UnicodeDecodeError:
            problems.add(number, "this line is not UTF-8")
            text = ""
        if any(category(char) == "Cc" and char != "\t" for char in text):
            problems.add(number, "this line holds a control character")
            text = ""
        elif not text.lstrip().startswith("#") and any(category(char) in _UNSEEN and char != " " for char in text):
            problems.add(number, "this line holds a blank or invisible character that forges read differently")
            text = ""
        lines.append(text)
    return tuple(lines)
