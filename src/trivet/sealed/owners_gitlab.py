r"""CODEOWNERS as GitLab reads it: sections, default owners, exclusions, patterns of Ruby's ``File.fnmatch`` with dot files and path names.

Each section stands for itself: its last matching entry counts, unless one of its exclusions matches. ``[Name][2]`` asks for two people,
``^[Name]`` for none. Inline comments do not exist: whoever is named in one is an owner, which is reported as a problem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from trivet.model import Duty
from trivet.sealed.owners_words import Problems, owner_kind

_HEADER = re.compile(r"(?P<optional>\^)?\[(?P<name>[^\]]*)\](?:\[(?P<needed>\d+)\])?(?:\s+(?P<owners>\S.*))?\Z")
_SPLIT = re.compile(r"(?<!\\)\s+")


@dataclass(frozen=True, slots=True)
class _Entry:
    pattern: re.Pattern[str]
    duty: Duty
    excludes: bool


@dataclass(slots=True)
class _Heading:
    name: str = "codeowners"
    optional: bool = False
    needed: int = 1
    owners: tuple[str, ...] = ()


@dataclass(slots=True)
class _Section:
    entries: dict[str, _Entry] = field(default_factory=dict)


class GitLabRules:
    """The sections of one file; ``duties(path)`` gives one duty for each section that has a say."""

    def __init__(self, lines: tuple[str, ...], problems: Problems) -> None:
        heading = _Heading()
        sections: dict[str, _Section] = {heading.name: _Section()}
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            if text.startswith(("[", "^[")):
                found = _heading(text, number, problems)
                if found is not None:
                    heading = found
                    sections.setdefault(heading.name, _Section())
                continue
            _entry(text, number, heading, sections[heading.name], problems)
        self._sections = tuple(sections.values())

    def duties(self, path: str) -> tuple[Duty, ...]:
        """One duty for each section whose last matching entry names somebody; nothing where an exclusion matches."""
        duties = []
        for section in self._sections:
            hits = [entry for entry in section.entries.values() if entry.pattern.match("/" + path)]
            if not hits or any(entry.excludes for entry in hits) or not hits[-1].duty.owners:
                continue
            # A section is optional only if it is so each time that it is opened.
            required = any(not entry.duty.optional for entry in section.entries.values())
            duty = hits[-1].duty
            if required and duty.optional:
                duty = Duty(owners=duty.owners, line=duty.line, needed=duty.needed, section=duty.section)
            duties.append(duty)
        return tuple(duties)


def _heading(text: str, number: int, problems: Problems) -> _Heading | None:
    match = _HEADER.match(text)
    if match is None or not match["name"].strip():
        problems.add(number, f"GitLab cannot read this section heading: {text!r}")
        return None
    return _Heading(
        name=match["name"].strip().lower(),
        optional=bool(match["optional"]),
        needed=max(1, int((match["needed"] or "1")[:6])),
        owners=_owners(match["owners"] or "", number, problems),
    )


def _entry(text: str, number: int, heading: _Heading, section: _Section, problems: Problems) -> None:
    words = _SPLIT.split(text, maxsplit=1)
    excludes = words[0].startswith("!")
    pattern = words[0][1:] if excludes else words[0]
    rest = words[1] if len(words) > 1 else ""
    owners: tuple[str, ...] = ()
    if not excludes:
        owners = _owners(rest, number, problems)
        # Whatever follows the pattern, even a comment, keeps the default owners away.
        owners = owners if rest else heading.owners
        if not owners:
            problems.add(number, f"nobody is named for {pattern!r}, so GitLab asks nobody")
    compiled = _compiled(pattern)
    if compiled is None:
        problems.add(number, f"pattern {pattern!r} cannot be read")
        return
    key, expression = compiled
    duty = Duty(owners=owners, line=number, needed=heading.needed, section=heading.name, optional=heading.optional)
    # A pattern that comes again replaces the earlier entry in its place, as in GitLab's own table.
    section.entries[key] = _Entry(expression, duty, excludes)


def _owners(text: str, number: int, problems: Problems) -> tuple[str, ...]:
    owners: list[str] = []
    comment = False
    for word in text.split():
        comment = comment or word.startswith("#")
        if owner_kind(word):
            if comment:
                problems.add(number, f"GitLab has no inline comments: {word!r} is an owner here")
            owners.append(word)
        elif not comment:
            problems.add(number, f"{word!r} is no owner")
    return tuple(owners)


def _compiled(pattern: str) -> tuple[str, re.Pattern[str]] | None:
    if not pattern or "\0" in pattern:
        return None
    if pattern == "*":
        normal = "/**/*"
    else:
        normal = re.sub(r"\\\s+", " ", re.sub(r"\A\\#", "#", pattern))
        normal = normal if normal.startswith("/") else f"/**/{normal}"
        normal = normal + "**/*" if normal.endswith("/") else normal
    expression = _fnmatch(normal)
    try:
        return normal, re.compile(expression + r"\Z", re.DOTALL)
    except re.error:
        return None


def _fnmatch(pattern: str) -> str:
    """Translate a pattern of ``File.fnmatch`` with path names: ``**/`` at a segment's start takes folders, else ``**`` is ``*``."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        start = at == 0 or pattern[at - 1] == "/"
        if char == "*":
            if start and pattern.startswith("**/", at):
                while pattern.startswith("**/", at):
                    at += 3
                out.append("(?:[^/]+/)*")
                continue
            while at + 1 < len(pattern) and pattern[at + 1] == "*":
                at += 1
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[":
            close = _bracket(pattern, at)
            if close is None:
                out.append(r"(?!)")  # Ruby: an open bracket that never closes matches nothing
            else:
                out.append(close[0])
                at = close[1]
        elif char == "\\" and at + 1 < len(pattern):
            at += 1
            out.append(re.escape(pattern[at]))
        else:
            out.append(re.escape(char))
        at += 1
    return "".join(out)


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    end = at + 1
    negated = end < len(pattern) and pattern[end] in "!^"
    end += negated
    body: list[str] = []
    while end < len(pattern) and (pattern[end] != "]" or not body):
        if pattern[end] == "/":
            return None
        if pattern[end] == "\\" and end + 1 < len(pattern):
            end += 1
        body.append("-" if pattern[end] == "-" and body else re.escape(pattern[end]))
        end += 1
    if end >= len(pattern):
        return None
    return f"(?!/)[{'^' if negated else ''}{''.join(body)}]", end
