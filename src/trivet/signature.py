"""What a lease says about the failure it covers: ``TYPE[: MESSAGE][ @ FILE]``, alternatives parted by `` || ``.

``TYPE`` is the exception's name with or without its module, MESSAGE its first line, in which ``*`` stands for any text, FILE the sealed
file in which it was raised. Addresses and absolute folders in messages are made plain first, for they differ between runs. ``Skipped``
is the type of a skip that the test raises itself: ``Skipped: reason``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

GENERIC = frozenset({"AssertionError", "Exception", "BaseException", "Failed", "Skipped", "Error", "RuntimeError", "XFailed"})
"""Types so common that a lease must also name the message or the place."""

LONGEST = 200
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_FOLDER = re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)+(?=[\w.@+-])")
_SHAPE = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?::(?P<message>.*?))?(?: @ (?P<file>\S+))?", re.DOTALL)
_LITERAL = re.compile(r"[^\W_]")
_FEW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One alternative. ``message`` None: any message; ``file`` None: any place."""

    type: str
    message: str | None
    file: str | None


def parse_signature(text: str) -> tuple[Signature, ...]:
    """Read a signature; an alternative that has not the form above gives an empty tuple."""
    parts: list[Signature] = []
    for part in text.split(" || "):
        match = _SHAPE.fullmatch(part.strip())
        if match is None:
            return ()
        message = match["message"]
        parts.append(Signature(type=match["type"], message=None if message is None else plain(message), file=match["file"]))
    return tuple(parts)


def signature_problem(text: str) -> str:
    """Say why a signature can't stand in a ledger ("" = it can): blank, without an exception type, or it matches everything."""
    if not text.strip():
        return "the signature is blank"
    parts = parse_signature(text)
    if not parts:
        return "the signature is not `TYPE[: MESSAGE][ @ FILE]`"
    for part in parts:
        # `.*` and the like are catch-alls to whoever reads them as regular expressions
        letters = len(_LITERAL.findall(re.sub(r"\\.|\.[*+?]", "", part.message or "")))
        if part.type.rpartition(".")[2] in GENERIC and letters < _FEW and part.file is None:
            return f"the signature covers every {part.type}: name the message or the file"
        if part.type.lower() in {"any", "anything", "all"}:
            return "the signature matches everything"
    return ""


def matches(text: str, *, type_: str, message: str, file: str) -> bool:
    """Whether a failure is one that the signature names."""
    said = plain(message).removeprefix(f"{type_}: ")
    return any(_one(part, type_, said, file) for part in parse_signature(text))


def _one(part: Signature, type_: str, message: str, file: str) -> bool:
    if part.type != type_ and part.type.rpartition(".")[2] != type_.rpartition(".")[2]:
        return False
    if "." in part.type and "." in type_ and part.type != type_:
        return False
    if part.file is not None and file and part.file != file:
        return False
    if part.message is None:
        return True
    pattern = ".*".join(map(re.escape, part.message.split("*")))
    return re.fullmatch(pattern, message, re.DOTALL) is not None


def plain(message: str) -> str:
    """The first line of a message without what differs between two runs of one failure."""
    first = message.strip().splitlines()[0].strip() if message.strip() else ""
    return _FOLDER.sub("", _ADDRESS.sub("0x", first))


def signature_of(type_: str, message: str, file: str) -> str:
    """Write the signature of one failure as it was seen; the place is named where type and message alone would cover too much."""
    first = re.sub(r"(?:^| )@ (?=\S+$)", "*", plain(message).replace("||", "*"))  # the two marks of the form itself
    if len(first) > LONGEST:
        first = first[:LONGEST] + "*"
    text = f"{type_}: {first}" if first else type_
    if file and signature_problem(text):
        text += f" @ {file}"
    return text


def joined(signatures: list[str]) -> str:
    """One signature for the failures of a test's parameter sets: alternatives, in which messages of one type share a pattern."""
    by_kind: dict[tuple[str, str | None], list[str | None]] = {}
    for text in signatures:
        for part in parse_signature(text):
            by_kind.setdefault((part.type, part.file), []).append(part.message)
    written: list[str] = []
    for (type_, file), messages in by_kind.items():
        texts = list(dict.fromkeys(message for message in messages if message))
        kept = [] if None in messages else [_common(texts)] if len(texts) > 1 else texts
        text = f"{type_}: {kept[0]}" if kept else type_
        if signature_problem(text + (f" @ {file}" if file else "")) and len(texts) > 1:
            written += [f"{type_}: {one}" + (f" @ {file}" if file else "") for one in texts]
            continue
        written.append(text + (f" @ {file}" if file else ""))
    return " || ".join(dict.fromkeys(written))


def _common(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    head = 0
    while head < min(len(first), len(last)) and first[head] == last[head]:
        head += 1
    reverse = [text[head:][::-1] for text in texts]
    low, high = min(reverse), max(reverse)
    tail = 0
    while tail < min(len(low), len(high)) and low[tail] == high[tail]:
        tail += 1
    return f"{texts[0][:head]}*{texts[0][len(texts[0]) - tail :] if tail else ''}"
