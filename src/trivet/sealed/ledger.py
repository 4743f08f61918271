"""The lease ledger: read strictly, each fault under its own rule, and edited row by row.

``{"leases": [{"qualname", "bytecode_hash", "failure_signature", "expires_at", "owner", "reason"}]}``, optional ``python``, ``path`` and
``source_hash``. A row with a fault is a drift and grants nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping

from trivet.git import Tree
from trivet.model import Drift, Lease, Ledger, Policy
from trivet.sealed.strict_json import Document, Row, StrictError, read_document
from trivet.sealed.sums import name_problem
from trivet.signature import signature_problem

LARGEST_B = 10_485_760
"""A ledger over this size is refused unread."""

DAY_S = 86_400.0
KEYS = ("qualname", "path", "bytecode_hash", "source_hash", "python", "failure_signature", "expires_at", "owner", "reason")
"""The keys of a row, in the order in which they are written."""

_STRONG = re.compile(r"v1:[0-9a-f]{64}")
_WEAK = re.compile(r"[0-9a-f]{16}")
_SOURCE = re.compile(r"(?:v1:)?[0-9a-f]{64}")
_TAG = re.compile(r"[a-z]+-?\d+(?:\.\d+)*")
_SHORT = re.compile(r"[\w-]+(?:\.[^\W\d]\w*)+")
_LONG = re.compile(r"(?P<path>[^:]+\.py)::(?P<function><module>|[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*)")
_RULE_OF_KIND = {"syntax": "TRV310", "duplicate": "TRV312", "number": "TRV313"}
# A clock that is a little off between the host that writes a lease and the one that reads it must not void it.
_GRACE_S = 3_600.0


def read_ledger(tree: Tree, policy: Policy, *, now: float) -> Ledger:
    """Read the ledger that the policy names; a ledger that does not exist grants nothing.

    Args:
        tree: where to read it (base, for a patch).
        policy: base's policy.
        now: the one clock reading of the process, seconds since the epoch.
    """
    path = policy.oracle.leases
    data = tree.read(path.encode("utf-8", "surrogateescape")) if path else None
    if path is None or data is None:
        return Ledger(path=path or "", leases=(), drifts=())
    return parse_ledger(data, path, now=now, max_lease_days=policy.oracle.max_lease_days)


def parse_ledger(data: bytes, path: str, *, now: float, max_lease_days: int) -> Ledger:
    """Read the bytes of a ledger: the good rows, and a drift (TRV310 to TRV319) for each fault."""
    if len(data) > LARGEST_B:
        return Ledger(path=path, leases=(), drifts=(Drift(rule="TRV310", message=f"larger than {LARGEST_B} bytes", path=path),))
    try:
        document = read_document(data, "leases")
    except StrictError as error:
        broken = Drift(rule=_RULE_OF_KIND[error.kind], message=error.message, path=path, line=error.line)
        return Ledger(path=path, leases=(), drifts=(broken,))
    drifts = [Drift(rule=_RULE_OF_KIND[kind], message=message, path=path) for kind, message in document.problems]
    drifts += [Drift(rule="TRV317", message=f"unknown key {name!r}", path=path) for name in document.other]
    if document.rows is None:
        drifts.append(Drift(rule="TRV310", message="`leases` is missing or no list", path=path))
        return Ledger(path=path, leases=(), drifts=tuple(drifts))
    leases: list[Lease] = []
    twice = _repeated(document)
    for number, row in enumerate(document.rows):
        faults = [*_faults(row, now, max_lease_days)]
        if number in twice:
            faults.append(("TRV311", f"{twice[number]} has several rows"))
        drifts += [Drift(rule=rule, message=message, path=path, line=row.line) for rule, message in faults]
        if not faults and not document.problems and not document.other:
            leases.append(_lease(row))
    return Ledger(path=path, leases=tuple(leases), drifts=tuple(drifts))


def _repeated(document: Document) -> dict[int, str]:
    """Rows that name one test as another row does: index → name. The two forms of a name count as one where ``path`` tells."""
    seen: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(document.rows or ()):
        value = row.value
        if isinstance(value, dict) and isinstance(value.get("qualname"), str):
            seen.setdefault(_identity(value), []).append(number)
    return {number: name[1] for name, numbers in seen.items() if len(numbers) > 1 for number in numbers}


def _identity(value: Mapping[str, object]) -> tuple[str, str]:
    qualname, path = str(value["qualname"]), value.get("path")
    long = _LONG.fullmatch(qualname)
    if long is not None:
        return long["path"], long["function"].replace("::", ".")
    if isinstance(path, str):
        return path, qualname.partition(".")[2]
    return "", qualname


def _faults(row: Row, now: float, max_lease_days: int) -> Iterator[tuple[str, str]]:
    yield from ((_RULE_OF_KIND[kind], message) for kind, message in row.problems)
    value = row.value
    if not isinstance(value, dict):
        yield "TRV310", "a lease is an object"
        return
    for name in value:
        if name not in KEYS:
            yield "TRV317", f"unknown key {name!r}"
    yield from _name_faults(value)
    yield from _digest_faults(value)
    signature = value.get("failure_signature")
    problem = signature_problem(signature) if isinstance(signature, str) else "the signature is missing or no text"
    if problem:
        yield "TRV316", problem
    for name in ("owner", "reason"):
        text = value.get(name)
        if not isinstance(text, str) or not text.strip():
            yield "TRV315", f"`{name}` is missing or blank"
    yield from _expiry_faults(value.get("expires_at"), now, max_lease_days)


def _name_faults(value: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    qualname, path = value.get("qualname"), value.get("path")
    if not isinstance(qualname, str) or not (_SHORT.fullmatch(qualname) or _LONG.fullmatch(qualname)):
        yield "TRV318", "`qualname` is not `<file stem>.<function>` or `<path>::<Class>.<function>`"
        return
    if "path" in value and (not isinstance(path, str) or not path.endswith(".py") or name_problem(path.encode("utf-8", "surrogatepass"))):
        yield "TRV318", "`path` is no path of a sealed file"
        return
    long = _LONG.fullmatch(qualname)
    if long is not None and name_problem(long["path"].encode("utf-8", "surrogatepass")):
        yield "TRV318", "the path in `qualname` is no path of a sealed file"
    elif isinstance(path, str) and long is not None and long["path"] != path:
        yield "TRV318", "`path` and `qualname` name different files"
    elif isinstance(path, str) and long is None and _stem(path) != qualname.partition(".")[0]:
        yield "TRV318", "`path` is not a file of the stem that `qualname` names"


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".py")


def _digest_faults(value: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    digest = value.get("bytecode_hash")
    if not isinstance(digest, str) or not (_STRONG.fullmatch(digest) or _WEAK.fullmatch(digest)):
        yield "TRV319", "`bytecode_hash` is not `v1:` and 64 hex digits, nor 16 hex digits"
    for name, shape in (("source_hash", _SOURCE), ("python", _TAG)):
        text = value.get(name)
        if name in value and (not isinstance(text, str) or not shape.fullmatch(text)):
            yield "TRV319", f"`{name}` is malformed"


def _expiry_faults(expires: object, now: float, max_lease_days: int) -> Iterator[tuple[str, str]]:
    if isinstance(expires, bool) or not isinstance(expires, int | float):
        yield "TRV313", "`expires_at` is missing or no number"
    elif isinstance(expires, float) and not math.isfinite(expires):
        yield "TRV313", "`expires_at` is not finite"
    elif expires > now + max_lease_days * DAY_S + _GRACE_S:
        unit = ": it looks like milliseconds" if 500 * now < expires < 2_000 * now else ""
        yield "TRV314", f"`expires_at` lies more than {max_lease_days} days ahead{unit}"


def _lease(row: Row) -> Lease:
    value = row.value
    assert isinstance(value, dict)  # noqa: S101 - _faults has seen to it
    long = _LONG.fullmatch(value["qualname"])
    digest = value["bytecode_hash"]
    return Lease(
        qualname=value["qualname"],
        digest=digest,
        signature=value["failure_signature"],
        expires_at=float(max(value["expires_at"], -1.0)),
        owner=value["owner"],
        reason=value["reason"],
        path=value.get("path") or (long["path"] if long else None),
        python=value.get("python"),
        source_hash=value.get("source_hash"),
        weak=_WEAK.fullmatch(digest) is not None,
        line=row.line,
    )


def function_of(lease: Lease) -> str:
    """The function that a lease names: ``name``, ``Class.name`` or ``<module>``."""
    long = _LONG.fullmatch(lease.qualname)
    return long["function"].replace("::", ".") if long else lease.qualname.partition(".")[2]


# --- edits ----------------------------------------------------------------------------------------

EMPTY = b'{\n  "leases": []\n}\n'
"""A ledger without rows, as it is written."""


def row_text(value: Mapping[str, object]) -> str:
    """One row in one line, keys in the order of ``KEYS``; keys without a value are left out."""
    ordered = {key: value[key] for key in KEYS if value.get(key) is not None}
    return json.dumps(ordered, ensure_ascii=False)


def add_row(data: bytes, value: Mapping[str, object]) -> bytes:
    """Append one row; every other byte stays.

    Raises:
        StrictError: the ledger is broken.
    """
    document = _editable(data)
    rows = document.rows or ()
    text = document.text
    if rows:
        last = rows[-1]
        before = text[: last.start]
        indent = before[before.rfind("\n") + 1 :] if before[before.rfind("\n") + 1 :].isspace() else "    "
        return (text[: last.stop] + ",\n" + indent + row_text(value) + text[last.stop :]).encode()
    start, stop = _empty_list(text)
    return (text[:start] + "\n    " + row_text(value) + "\n  " + text[stop:]).encode()


def replace_row(data: bytes, line: int, value: Mapping[str, object]) -> bytes:
    """Write the row that begins in ``line`` anew; every other byte stays."""
    document = _editable(data)
    row = _row_at(document, line)
    return (document.text[: row.start] + row_text(value) + document.text[row.stop :]).encode()


def remove_row(data: bytes, line: int) -> bytes:
    """Take away the row that begins in ``line``, with the comma and the blanks that belong to it."""
    document = _editable(data)
    rows = document.rows or ()
    number = rows.index(_row_at(document, line))
    text = document.text
    if len(rows) == 1:
        start, stop = text.rindex("[", 0, rows[0].start) + 1, text.index("]", rows[0].stop)
    elif number + 1 < len(rows):
        start, stop = rows[number].start, rows[number + 1].start
    else:
        start, stop = rows[number - 1].stop, rows[number].stop
    return (text[:start] + text[stop:]).encode()


def raw_row(data: bytes, line: int) -> dict[str, object]:
    """The JSON object of the row that begins in ``line``."""
    value = _row_at(_editable(data), line).value
    return dict(value) if isinstance(value, dict) else {}


def _editable(data: bytes) -> Document:
    document = read_document(data, "leases")
    if document.rows is None:
        raise StrictError("syntax", "`leases` is missing or no list")
    return document


def _row_at(document: Document, line: int) -> Row:
    for row in document.rows or ():
        if row.line == line:
            return row
    raise StrictError("syntax", f"no lease begins in line {line}", line)


def _empty_list(text: str) -> tuple[int, int]:
    match = re.search(r'"leases"\s*:\s*\[(?P<inner>\s*)\]', text)
    if match is None:
        raise StrictError("syntax", "`leases` is no plain list")
    return match.start("inner"), match.end("inner")
