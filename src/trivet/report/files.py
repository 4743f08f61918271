"""The files of a verdict: three words, their reasons, the decision. Written to a temporary name and renamed.

What an earlier run left is removed before anything else happens, and each word is set to ``NOT_RUN``: whatever interrupts a run, no
stale ``PASS`` outlives its start.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from trivet import strict
from trivet.errors import OutputError, TrivetError
from trivet.model import LEGS, Decision, LegName, Status, Verdict
from trivet.report import junit, markdown
from trivet.report.document import decision_of, document, leg_document, text, verdict_of

SIZE_LIMIT_B = 64 * 1024 * 1024
"""A verdict file larger than this was not written by us."""
ENVELOPES = (".dsse.json", ".sigstore.json")
"""Endings of what is signed."""
WHOLE = ("decision.json", *(f"decision{part}{ending}" for part in ("", ".vsa") for ending in ENVELOPES), "summary.md", "junit.xml")
_TEMPORARY = ".trivet-"


def stem(leg: LegName) -> str:
    """The file name of a leg without its ending: ``src-score`` gives ``src_score``."""
    return leg.replace("-", "_")


def clear(out: Path, legs: Iterable[LegName] = LEGS) -> None:
    """Make the folder if need be, remove what an earlier run left there, and set the words of ``legs`` to ``NOT_RUN``.

    Raises:
        OutputError: the folder cannot be made or written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        for leg in legs:
            for ending in (".txt", ".json", *ENVELOPES):
                (out / f"{stem(leg)}{ending}").unlink(missing_ok=True)
        for name in WHOLE:
            (out / name).unlink(missing_ok=True)
        for left in out.glob(f"{_TEMPORARY}*"):
            left.unlink(missing_ok=True)
        for leg in legs:
            replace(out / f"{stem(leg)}.txt", b"NOT_RUN\n")
    except OSError as error:
        raise _unwritable(out, error) from error


def write(
    decision: Decision,
    out: Path,
    *,
    legs: Iterable[LegName] = LEGS,
    keep: Iterable[LegName] = (),
    envelopes: Mapping[str, bytes] | None = None,
) -> tuple[Path, ...]:
    """Write the files of a decision; with fewer ``legs``, only the files of these (for a CI job that judges one leg).

    The words come last: when the disk is full half-way, they still say ``NOT_RUN``.

    Args:
        decision: what to write.
        out: the folder; made if need be.
        legs: the legs whose files are written; all of them also write the decision, the summary and the JUnit file.
        keep: legs whose own files stay as they are, since signatures are about their very bytes.
        envelopes: names and bytes of what was signed.

    Raises:
        OutputError: something could not be written; no word of this decision is left.
    """
    chosen = tuple(legs)
    own = {verdict.leg: verdict for verdict in decision.verdicts if verdict.leg in chosen}
    parts: dict[str, bytes] = {f"{stem(leg)}.json": text(leg_document(decision, verdict)).encode() for leg, verdict in own.items()}
    if set(own) == set(LEGS):
        parts["decision.json"] = text(document(decision)).encode()
        parts["summary.md"] = markdown.render(decision).encode("utf-8", "backslashreplace")
        parts["junit.xml"] = junit.render(decision).encode("utf-8", "backslashreplace")
    parts |= envelopes or {}
    parts |= {f"{stem(leg)}.txt": f"{verdict.status}\n".encode() for leg, verdict in own.items()}
    kept = {f"{stem(leg)}{ending}" for leg in keep for ending in (".txt", ".json", *ENVELOPES)}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in parts.items():
            if name not in kept:
                replace(out / name, content)
    except OSError as error:
        for leg in own:
            with suppress(OSError):
                (out / f"{stem(leg)}.txt").unlink(missing_ok=True)
                replace(out / f"{stem(leg)}.txt", b"NOT_RUN\n")
        raise _unwritable(out, error) from error
    return tuple(out / name for name in parts)


def read(out: Path) -> Decision:
    """Read ``decision.json`` of a folder back, and check that the words agree with it.

    Raises:
        TrivetError: a file is missing, unreadable, or contradicts another.
    """
    decision = decision_of(_json(out / "decision.json"))
    for verdict in decision.verdicts:
        word = read_word(out, verdict.leg)
        if word != verdict.status:
            raise TrivetError(f"{stem(verdict.leg)}.txt says {word}, decision.json says {verdict.status}", where=str(out))
    return decision


def read_leg(out: Path, leg: LegName) -> tuple[Verdict, dict[str, object], bytes]:
    """Read the verdict file of one leg: its verdict, the facts it carries, and the bytes that were read (each file is read once).

    Raises:
        TrivetError: a file is missing, unreadable, of another leg, or contradicts the word beside it.
    """
    path = out / f"{stem(leg)}.json"
    content = read_bytes(path)
    data = _json_of(content, path)
    if data.get("leg") != leg:
        raise TrivetError(f"this is not the verdict file of {leg}", where=str(path))
    verdict = verdict_of(leg, data)
    word = read_word(out, leg)
    if word != verdict.status:
        raise TrivetError(f"{stem(leg)}.txt says {word}, {path.name} says {verdict.status}", where=str(out))
    return verdict, {key: data.get(key) for key in data if key not in ("schema", "leg", "status", "cause", "findings")}, content


def read_word(out: Path, leg: LegName) -> Status:
    """Read the one word of a leg.

    Raises:
        TrivetError: the file is missing or holds anything else than one of the three words and a newline.
    """
    path = out / f"{stem(leg)}.txt"
    words: dict[bytes, Status] = {b"PASS\n": "PASS", b"FAIL\n": "FAIL", b"NOT_RUN\n": "NOT_RUN"}
    content = read_bytes(path)
    if content not in words:
        raise TrivetError("a verdict file holds PASS, FAIL or NOT_RUN and a newline, and nothing else", where=str(path))
    return words[content]


def _json(path: Path) -> dict[str, object]:
    return _json_of(read_bytes(path), path)


def _json_of(content: bytes, path: Path) -> dict[str, object]:
    try:
        data = strict.loads(content)
    except (ValueError, RecursionError) as error:
        raise TrivetError(f"not strict JSON: {error}", where=str(path)) from error
    if not isinstance(data, dict):
        raise TrivetError("not a JSON object", where=str(path))
    return data


def read_bytes(path: Path) -> bytes:
    """The bytes of one file of a verdict.

    Raises:
        TrivetError: it is missing, unreadable, no regular file, or too large.
    """
    try:
        if not path.is_file() or path.stat().st_size > SIZE_LIMIT_B:
            raise TrivetError(
                "no such verdict file, or one that is too large", where=str(path), hint="run `trivet gate` or `trivet verdict` again"
            )
        return path.read_bytes()
    except OSError as error:
        raise TrivetError(f"cannot be read: {error.strerror}", where=str(path)) from error


def replace(path: Path, content: bytes) -> None:
    """Write a file under a temporary name beside it, then rename it: a reader sees the old bytes or the new ones.

    Raises:
        OSError: it could not be written; no temporary file is left.
    """
    descriptor, name = tempfile.mkstemp(prefix=_TEMPORARY, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _unwritable(out: Path, error: OSError) -> OutputError:
    return OutputError(
        f"the verdict files cannot be written: {error.strerror or error}",
        where=str(out),
        hint="name a folder that can be written with --out",
    )
