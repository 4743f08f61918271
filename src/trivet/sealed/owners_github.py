r"""CODEOWNERS as GitHub reads it: gitignore-like patterns, the last match wins, an empty owner list releases the path.

What GitHub documents as not working (``!``, ``[ ]``, ``\#``) and every line that it would skip is reported as a problem: a skipped line
leaves a path with an earlier owner, or with none.
"""

from __future__ import annotations

import re

from trivet.model import Duty
from trivet.sealed.owners_words import Problems, owner_kind, split_words

_PATTERN_WORDS = re.compile(r"(?:\\.|\S)+", re.DOTALL)


class GitHubRules:
    """The rules of one file; ``duties(path)`` gives what its last matching line asks for."""

    def __init__(self, lines: tuple[str, ...], problems: Problems) -> None:
        rows: list[tuple[re.Pattern[str], Duty]] = []
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            row = _row(text, number, problems)
            if row is not None:
                rows.append(row)
        self._rows = tuple(reversed(rows))

    def duties(self, path: str) -> tuple[Duty, ...]:
        """The duty of the last line that matches; none when that line names nobody."""
        for pattern, duty in self._rows:
            if pattern.match(path):
                return (duty,) if duty.owners else ()
        return ()


def _row(text: str, number: int, problems: Problems) -> tuple[re.Pattern[str], Duty] | None:
    word = _PATTERN_WORDS.match(text)
    pattern = word.group() if word else ""
    if pattern.startswith(("!", "\\#", "\\!")):
        problems.add(number, f"GitHub skips patterns that begin with {pattern[0]!r}: {text!r}")
        return None
    if re.search(r"(?<!\\)[\[\]]", pattern):
        problems.add(number, f"GitHub knows no character ranges in patterns: {pattern!r}")
        return None
    if "\\/" in pattern:
        problems.add(number, f"how GitHub reads a backslash before a slash is not documented: {pattern!r}")
        return None
    owners = []
    for owner in split_words(text[len(pattern) :], comment=True):
        if owner_kind(owner) not in ("user", "team", "mail") or owner.count("/") > 1:
            problems.add(number, f"GitHub skips this line: {owner!r} is no owner")
            return None
        owners.append(owner)
    compiled = _compiled(pattern)
    if compiled is None:
        problems.add(number, f"pattern {pattern!r} matches nothing")
        return None
    return compiled, Duty(owners=tuple(owners), line=number)


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Translate one pattern; ``X/*`` takes direct children only, every other form also takes what lies below a match."""
    parts = _parts(pattern)
    if parts is None:
        return None
    if set(parts) == {"**"}:
        return re.compile(r".+/.+\Z" if pattern.endswith("/") else r".+\Z", re.DOTALL)
    out: list[str] = []
    last = len(parts) - 1
    slash = False
    for index, part in enumerate(parts):
        if part == "**":
            out.append(("/.+" if index == last else "(?:/.+)?") if slash else "(?:.+/)?")
            continue
        out.append(("/" if slash else "") + _segment(part))
        slash = True
        if index == last and part != "*":
            out.append("(?:/.*)?")
    return re.compile("".join(out) + r"\Z", re.DOTALL)


def _parts(pattern: str) -> list[str] | None:
    """Split at slashes; a pattern without an inner slash may begin anywhere, a closing slash means everything below."""
    if not pattern.strip("/") or (pattern.endswith("\\") and not pattern.endswith("\\\\")):
        return None
    parts = pattern.split("/")
    if parts[0] == "":
        parts = parts[1:]
    elif len([part for part in parts if part]) == 1 and parts[0] != "**":
        parts = ["**", *parts]
    if parts[-1] == "":
        parts[-1] = "**"
    return None if any(part in ("", ".", "..") for part in parts) else parts


def _segment(part: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(part):
        char = part[at]
        if char == "\\" and at + 1 < len(part):
            at += 1
            out.append(re.escape(part[at]))
        elif char == "*":
            while at + 1 < len(part) and part[at + 1] == "*":
                at += 1
            out.append("[^/]+" if part.strip("*") == "" else "[^/]*")
        elif char == "?":
            out.append("[^/]")
        else:
            out.append(re.escape(char))
        at += 1
    return "".join(out)
