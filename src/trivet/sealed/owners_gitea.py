r"""CODEOWNERS as Gitea and Forgejo read it: anchored regular expressions, ``!`` turns a rule round, every matching rule counts.

``\`` escapes a blank, ``#`` and itself before the expression is compiled, so a literal dot is written ``\\.``. Expressions are Go's (RE2);
what Go cannot compile, or Python reads differently, is a problem.
"""

from __future__ import annotations

import re
import warnings

from trivet.model import Duty
from trivet.sealed.owners_words import Problems, owner_kind

# Go has neither look-around, back-references, possessive or atomic forms; Python lacks \z, \Q..\E, POSIX and Unicode classes, (?U).
_FOREIGN = re.compile(r"\(\?(?:[=!>#(]|<[=!]|P=|P>|[a-zA-Z-]*[auxLU])|\\[1-9QEzZpPCGhHRX]|\[\[:|\[\^?\[:|[*+?}]\+")


class GiteaRules:
    """The rules of one file; ``duties(path)`` gives one duty for each rule that applies to the path."""

    def __init__(self, lines: tuple[str, ...], problems: Problems) -> None:
        rows: list[tuple[re.Pattern[str], bool, Duty]] = []
        for number, line in enumerate(lines, 1):
            words = tokens(line)
            if not words:
                continue
            if len(words) == 1:
                problems.add(number, f"Gitea skips this line: nobody is named for {words[0]!r}")
                continue
            row = _row(words, number, problems)
            if row is not None:
                rows.append(row)
        self._rows = tuple(rows)

    def duties(self, path: str) -> tuple[Duty, ...]:
        """One duty for each matching rule: Gitea asks the owners of all of them."""
        return tuple(duty for pattern, turned, duty in self._rows if bool(pattern.search(path)) != turned)


def tokens(line: str) -> tuple[str, ...]:
    r"""Split a line as Gitea does: a backslash keeps the next character, ``#`` ends the line."""
    words: list[str] = []
    word = ""
    escape = False
    for char in line.strip().replace("\t", " "):
        if escape:
            word += char
            escape = False
        elif char == "\\":
            escape = True
        elif char == "#":
            break
        elif char == " ":
            if word:
                words.append(word)
            word = ""
        else:
            word += char
    if word:
        words.append(word)
    return tuple(words)


def _row(words: tuple[str, ...], number: int, problems: Problems) -> tuple[re.Pattern[str], bool, Duty] | None:
    turned = words[0].startswith("!")
    expression = words[0].removeprefix("!")
    compiled = _compiled(expression)
    if isinstance(compiled, str):
        problems.add(number, f"Gitea's expression {expression!r} cannot be used: {compiled}")
        return None
    owners = []
    for word in words[1:]:
        owner = word if word.startswith("@") or "@" in word else "@" + word
        if owner_kind(owner) not in ("user", "team") or owner.count("/") > 1:
            problems.add(number, f"{word!r} is no owner")
            continue
        owners.append(owner)
    if not owners:
        problems.add(number, "Gitea skips this line: it names no owner")
        return None
    return compiled, turned, Duty(owners=tuple(owners), line=number)


def _compiled(expression: str) -> re.Pattern[str] | str:
    if _FOREIGN.search(expression):
        return "Go reads it differently"
    flags = re.match(r"\(\?([is]+)\)", expression)
    front, rest = (flags.group(), expression[flags.end() :]) if flags else ("", expression)
    try:
        with warnings.catch_warnings():
            # Python warns of sets that it may read differently one day.
            warnings.simplefilter("error")
            # Gitea writes "^" + expression + "$" without a group, so "a|b" is "^a" or "b$".
            return re.compile(front + "^" + rest + r"\Z", re.ASCII)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        return str(error)
