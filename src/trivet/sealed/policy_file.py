"""``trivet.toml`` as it is written: its tables, their ranges, and messages that name key, line and commit."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, NoReturn

import msgspec

from trivet.errors import PolicyError

MAX_B = 10 * 1024 * 1024
"""Longer configuration, manifest and ledger files are refused unread."""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
Bytes = Annotated[int, msgspec.Meta(ge=1024, le=1 << 50)]
Few = Annotated[int, msgspec.Meta(ge=0, le=100)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class AllowRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[zones.allow]]``."""

    path: Text
    keys: tuple[Text, ...]


class ZonesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[zones]``: gitignore-style patterns."""

    source: tuple[Text, ...] | None = None
    oracle: tuple[Text, ...] | None = None
    proposed: tuple[Text, ...] | None = None
    inert: tuple[Text, ...] | None = None
    control: tuple[Text, ...] | None = None
    allow: tuple[AllowRow, ...] | None = None


class OracleTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[oracle]``."""

    manifest: Text | None = None
    digests: tuple[Text, ...] | None = None
    leases: Text | None = None
    max_lease_days: Annotated[int, msgspec.Meta(ge=1, le=3660)] = 90


class ExcludeRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[score.exclude]]``."""

    id: Text
    reason: Text


class OverrideRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[score.override]]``."""

    path: Text
    isolation: Literal["shared", "split", "auto"]


class ScoreTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[score]``."""

    python: Text | None = None
    paths: tuple[Text, ...] = ("src", ".")
    prepare: tuple[Text, ...] = ()
    clock: Any = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=4_294_967_295)] = 20260922
    isolation: Literal["shared", "split", "auto"] = "auto"
    split_budget: Annotated[float, msgspec.Meta(ge=1, le=1000)] = 3.0
    controls: Literal["all", "sample", "off"] = "sample"
    wall: Literal["auto", "kernel", "bubblewrap", "none"] = "auto"
    network: Literal["none", "loopback"] = "none"
    timeout_s: Seconds = 600.0
    test_timeout_s: Seconds = 60.0
    memory_b: Bytes = 2_147_483_648
    processes: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 64
    output_b: Bytes = 10_485_760
    scratch_b: Bytes = 1_073_741_824
    reruns: Few = 2
    fresh: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 25
    vary: bool = False
    env: dict[str, str] = {}
    exclude: tuple[ExcludeRow, ...] = ()
    override: tuple[OverrideRow, ...] = ()


class AdvisoryTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[advisory]``."""

    timeout_s: Seconds = 300.0
    reruns: Few = 2
    coverage: bool = True


class OwnersTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[owners]``."""

    codeowners: Text = "auto"
    signers: Text = "ci/oracle_owners"
    keys: Text = "ci/trivet_keys.toml"


class PolicyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole file."""

    schema: Literal[1]
    preset: Literal["verdicts", "lanes"] | None = None
    zones: ZonesTable | None = None
    oracle: OracleTable | None = None
    score: ScoreTable | None = None
    advisory: AdvisoryTable | None = None
    owners: OwnersTable | None = None


TABLES: dict[str, type[msgspec.Struct]] = {
    "": PolicyFile, "zones": ZonesTable, "oracle": OracleTable, "score": ScoreTable, "advisory": AdvisoryTable, "owners": OwnersTable,
    "zones.allow": AllowRow, "score.exclude": ExcludeRow, "score.override": OverrideRow,
}  # fmt: skip


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``trivet.toml``."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "trivet.toml", **msgspec.json.schema(PolicyFile)}


def load_toml(data: bytes, name: str, label: str) -> dict[str, Any]:
    """Parse a TOML file of a trusted tree.

    Raises:
        PolicyError: it is over 10 MB, not UTF-8 or not TOML.
    """
    if len(data) > MAX_B:
        raise PolicyError(f"{name} is {len(data)} bytes long; at most {MAX_B} are read", where=f"{name} at {label}")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise PolicyError(f"{name} is not UTF-8", where=f"{name} line {line} at {label}") from error
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        found = re.search(r"line (\d+)", str(error))
        where = f"{name} line {found[1]} at {label}" if found else f"{name} at {label}"
        raise PolicyError(f"{name} is not TOML: {error}", where=where, hint="an owner repairs it in a change of its own") from error


def parse(data: bytes, name: str, label: str) -> PolicyFile:
    """Read ``trivet.toml`` strictly.

    Raises:
        PolicyError: an unknown key, a wrong type or a value out of range; the message names key, line and commit.
    """
    table = load_toml(data, name, label)
    text = data.decode("utf-8")
    _refuse_unknown(table, "", text, name, label)
    try:
        file = msgspec.convert(table, PolicyFile)
    except msgspec.ValidationError as error:
        message, _, at = str(error).partition(" - at ")
        key = at.strip("`").removeprefix("$").lstrip(".")
        missing = re.search(r"missing required field `(\w+)`", message)
        if missing:
            key = f"{key}.{missing[1]}" if key else missing[1]
            message = "is required"
        fail(key or "schema", message[:1].lower() + message[1:], text, name, label)
    _check_values(file, text, name, label)
    return file


def fail(key: str, problem: str, text: str, name: str, label: str, hint: str = "") -> NoReturn:
    """Raise the one kind of policy error: key, problem, line, commit."""
    line = line_of(text, key)
    raise PolicyError(
        f"{key}: {problem}",
        where=f"{key}, {name}{f' line {line}' if line else ''} at {label}",
        hint=hint or f"see `trivet policy schema` for the type of `{key}`",
    )


def line_of(text: str, key: str) -> int | None:
    """The line (from 1) on which a dotted key, ``table.row[2].key`` included, is written; the nearest parent where it is not."""
    steps = [re.sub(r"\[(\d+|\.\.\.)\]$", "", step) for step in key.split(".") if step]
    counts = {m: int(n) for m, n in re.findall(r"([\w.]+)\[(\d+)\]", key)}
    best: int | None = None
    here = ""
    seen: dict[str, int] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        header = re.fullmatch(r"\[+\s*([\w.\- \"]+?)\s*\]+\s*(#.*)?", line)
        if header and not line.startswith("[ "):
            here = header[1].replace('"', "").replace(" ", "")
            seen[here] = seen.get(here, -1) + 1
            if here == ".".join(steps) or (best is None and here == ".".join(steps[:-1])):
                best = number if seen[here] == counts.get(here, 0) else best
            continue
        found = re.match(r"([\w.\-\"]+)\s*=", line)
        if found:
            full = ".".join(part for part in (here, found[1].replace('"', "")) if part)
            wanted = ".".join(steps)
            if full == wanted and seen.get(here, 0) == counts.get(here, 0):
                return number
            if wanted.startswith(full + ".") and best is None:
                best = number
    return best


def _refuse_unknown(table: object, at: str, text: str, name: str, label: str) -> None:
    kind = TABLES.get(at)
    if kind is None:
        return
    rows = table if isinstance(table, list) else [table]
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            continue
        known = [field.encode_name for field in msgspec.structs.fields(kind)]
        place = f"{at}[{number}]" if isinstance(table, list) else at
        for key, value in row.items():
            full = f"{place}.{key}" if place else key
            if key not in known:
                near = difflib.get_close_matches(key, known, 1, 0.5)
                elsewhere = next(
                    (
                        f"{other}.{key}"
                        for other, struct in TABLES.items()
                        if other and key in {f.encode_name for f in msgspec.structs.fields(struct)}
                    ),
                    "",
                )
                hint = (
                    f"did you mean `{near[0]}`?"
                    if near
                    else f"did you mean `{elsewhere}`?"
                    if elsewhere
                    else f"known here: {', '.join(known)}"
                )
                fail(full, "unknown key", text, name, label, hint)
            _refuse_unknown(value, f"{at}.{key}" if at else key, text, name, label)


def _check_values(file: PolicyFile, text: str, name: str, label: str) -> None:
    for key, problem, hint in (*_score_problems(file.score or ScoreTable()), *_zone_problems(file), *_path_problems(file)):
        fail(key, problem, text, name, label, hint)


def _score_problems(score: ScoreTable) -> Iterator[tuple[str, str, str]]:
    clock, example = score.clock, 'for example: clock = "2026-09-22T12:00:00Z"'
    if isinstance(clock, datetime):
        if clock.tzinfo is None:
            yield "score.clock", "a time needs a zone", example
    elif clock is not None and clock != "real" and not (isinstance(clock, str) and _is_moment(clock)):
        yield "score.clock", f'must be an ISO time with a zone, or "real", not {clock!r}', example
    for key in score.env:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            yield "score.env", f"{key!r} is no name of an environment variable", ""
        elif key in _KEPT_ENV or key.startswith(("PYTHON", "PYTEST", "LD_", "TRIVET", "GIT_", "COV_")):
            yield "score.env", f"{key!r} is set by trivet or steers the interpreter, and cannot be set here", ""


def _path_problems(file: PolicyFile) -> Iterator[tuple[str, str, str]]:
    for key, paths in _paths_of(file):
        for path in paths:
            if path.startswith("/") or "\\" in path or ".." in path.split("/") or "\0" in path:
                yield key, f"{path!r} must be a path inside the repository, with `/` and without `..`", ""


def _zone_problems(file: PolicyFile) -> Iterator[tuple[str, str, str]]:
    zones = file.zones or ZonesTable()
    for key in ("source", "oracle", "proposed", "inert", "control"):
        for pattern in getattr(zones, key) or ():
            if "\n" in pattern or not pattern.strip():
                yield f"zones.{key}", f"{pattern!r} is not a gitignore-style pattern", ""
    for row in zones.allow or ():
        if row.path in ("trivet.toml", ".pyrefix-lanes.toml"):
            yield "zones.allow", f"{row.path!r} is the policy itself; no key of it may move with production code", ""
    if zones.source == ():
        yield "zones.source", "an empty source zone leaves nothing to judge", ""


_KEPT_ENV = frozenset({"PATH", "HOME", "TZ", "LANG", "LC_ALL", "SOURCE_DATE_EPOCH", "TMPDIR", "BASH_ENV", "ENV", "IFS"})


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _paths_of(file: PolicyFile) -> list[tuple[str, tuple[str, ...]]]:
    oracle, score, owners = file.oracle or OracleTable(), file.score or ScoreTable(), file.owners or OwnersTable()
    rows = [
        ("oracle.manifest", (oracle.manifest,) if oracle.manifest else ()),
        ("oracle.digests", oracle.digests or ()),
        ("oracle.leases", (oracle.leases,) if oracle.leases else ()),
        ("score.paths", score.paths),
        ("owners.signers", (owners.signers,)),
        ("owners.keys", (owners.keys,)),
    ]
    rows += [("zones.allow", (row.path,)) for row in (file.zones.allow or () if file.zones else ())]
    return rows
