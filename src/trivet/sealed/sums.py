"""``MANIFEST.sha256``: the format of ``sha256sum``, read strictly and written so that ``sha256sum -c`` accepts it.

A row is ``digest``, two blanks, name; names are relative to the manifest's folder. A name that holds a backslash, newline or carriage
return is written as coreutils writes it: the row starts with a backslash and the three are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ROW = re.compile(rb"(\\?)([0-9a-f]{64})  (.+)", re.DOTALL)
_ESCAPES = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SumRow:
    """One good row: line number (from 1), lower-case hex digest, name relative to the manifest's folder."""

    line: int
    digest: str
    name: bytes


def format_sums(digests: Mapping[bytes, str]) -> bytes:
    """Write the rows of ``name → hex digest``, sorted by the bytes of the name."""
    return b"".join(_format_row(name, digests[name]) for name in sorted(digests))


def _format_row(name: bytes, digest: str) -> bytes:
    escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    return (b"" if escaped == name else b"\\") + digest.encode() + b"  " + escaped + b"\n"


def parse_sums(data: bytes) -> tuple[list[SumRow], list[tuple[int, str]]]:
    """Read rows strictly.

    Returns:
        The good rows, and ``(line, what is wrong)`` for each bad one.
    """
    rows: list[SumRow] = []
    bad: list[tuple[int, str]] = []
    if not data:
        return rows, bad
    lines = data.split(b"\n")
    if lines[-1]:
        bad.append((len(lines), "the last line has no newline"))
    else:
        lines.pop()
    for number, line in enumerate(lines, 1):
        row, problem = _parse_row(number, line)
        if row is not None:
            rows.append(row)
        if problem:
            bad.append((number, problem))
    return rows, bad


def _parse_row(number: int, line: bytes) -> tuple[SumRow | None, str]:
    if b"\r" in line:
        return None, "carriage return in the line"
    match = _ROW.fullmatch(line)
    if match is None:
        return None, "not `digest`, two blanks, name" if line else "empty line"
    name = match[3]
    if match[1]:
        plain = _unescape(name)
        if plain is None or plain == name:
            return None, "the escapes of the name are not those of sha256sum"
        name = plain
    problem = name_problem(name)
    if problem:
        return None, problem
    return SumRow(line=number, digest=match[2].decode(), name=name), ""


def _unescape(name: bytes) -> bytes | None:
    parts: list[bytes] = []
    at = 0
    while at < len(name):
        if name[at : at + 1] == b"\\":
            plain = _ESCAPES.get(name[at : at + 2])
            if plain is None:
                return None
            parts.append(plain)
            at += 2
        else:
            parts.append(name[at : at + 1])
            at += 1
    return b"".join(parts)


def name_problem(name: bytes) -> str:
    """Say why a name can't be a row of a manifest ("" = it can): absolute, climbing, or not in plain form."""
    segments = name.split(b"/")
    problems = {
        "empty name": not name,
        "absolute path": name.startswith(b"/") or re.match(rb"[A-Za-z]:[\\/]", name) is not None,
        "byte order mark": name.startswith(b"\xef\xbb\xbf"),
        "`..` in the path": b".." in segments,
        "path not in plain form": b"." in segments or b"" in segments,
        "zero byte in the path": b"\0" in name,
    }
    return next((problem for problem, found in problems.items() if found), "")
