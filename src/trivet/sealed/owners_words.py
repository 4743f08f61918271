"""The words that the three readers of CODEOWNERS share: owners' spellings, problems with a line number."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

_USER = re.compile(r"@[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\Z")
_TEAM = re.compile(r"@[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9._-]*[A-Za-z0-9_-])+\Z")
_ROLE = re.compile(r"@@(?:developer|maintainer|owner)s?\Z", re.IGNORECASE)
_MAIL = re.compile(r"[^\s@,;:<>()\[\]\\\"#]+@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+\Z")


@dataclass(slots=True)
class Problems:
    """Lines that a forge would skip or read differently; each becomes a finding."""

    rows: list[tuple[int | None, str]] = field(default_factory=list)

    def add(self, line: int | None, message: str) -> None:
        """Note one problem; ``line`` None: the whole file."""
        self.rows.append((line, message))


def owner_kind(word: str) -> Literal["user", "team", "role", "mail", ""]:
    """Say what a word names; "" when it names nobody."""
    if _ROLE.match(word):
        return "role"
    if _USER.match(word):
        return "user"
    if _TEAM.match(word):
        return "team"
    return "mail" if _MAIL.match(word) else ""


def split_words(text: str, *, comment: bool) -> tuple[str, ...]:
    """Split at blanks; with ``comment`` a word that begins with ``#`` ends the line."""
    words: list[str] = []
    for word in text.split():
        if comment and word.startswith("#"):
            break
        words.append(word)
    return tuple(words)
