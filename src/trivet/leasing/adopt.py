"""``trivet lease adopt``: a dated lease for every skip that stands today, so that an existing project can start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trivet import signature as signatures
from trivet.leasing.desk import Desk
from trivet.leasing.lab import Lab
from trivet.legs.lease import MODULE, function_of, needs_lease, of_environment
from trivet.model import RunRecord, TestResult

Place = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """Rows that were written, and tests for which none could be made, each with the reason."""

    rows: tuple[dict[str, object], ...]
    left: tuple[tuple[str, str], ...]


def adopt(desk: Desk, lab: Lab, *, owner: str, days: float) -> Adopted:
    """Write the rows.

    Leased are tests that a site skips unconditionally, and tests that end skipped or xfailed in a run of the work tree although no
    condition of the environment says so. The signature is how the test fails with its marks lifted.

    Raises:
        UsageError: the ledger is broken, or ``days`` is past the policy's longest lease.
        ProbeError: the project's interpreter or its pytest can't run.
    """
    expires_at = desk.expiry(days)
    record = lab.run()
    spoken = of_environment(desk.sites)
    ended = [result for result in record.results if needs_lease(result, None, spoken)]
    places = _places(desk, ended)
    held = {(match.file, match.function) for match in desk.matches if not match.problem}
    wanted = [place for place in places if place not in held]
    lifted = lab.lifted([result.id for result in _of(record, wanted) if "::" in result.id])
    rows: list[dict[str, object]] = []
    left: list[tuple[str, str]] = []
    for file, function in wanted:
        name = f"{file}::{function}"
        if desk.digests.of(file, function) is None:
            left.append((name, "no such function is written in the file"))
            continue
        mine = [result for result in ended if function_of(result.id) == (file, function)]
        seen = [result for result in lifted if function_of(result.id) == (file, function)]
        reason = next((result.reason.strip() for result in mine if result.reason.strip()), "") or _form(desk, file, function)
        row = desk.row(
            file,
            function,
            signature=signature_of(file, mine, seen),
            expires_at=expires_at,
            owner=owner,
            reason=f"adopted: {signatures.plain(reason)[: signatures.LONGEST]}",
        )
        rows.append(row)
    stale = {match.lease.line for match in desk.matches if match.lease and match.problem and (match.file, match.function) in wanted}
    if rows:
        desk.save(desk.replaced(rows, stale))
    return Adopted(rows=tuple(rows), left=tuple(left))


def _places(desk: Desk, ended: Iterable[TestResult]) -> list[Place]:
    written = [(site.file, site.function or MODULE) for site in desk.sites if not site.conditional]
    return list(dict.fromkeys([*written, *(function_of(result.id) for result in ended)]))


def _of(record: RunRecord, places: Sequence[Place]) -> list[TestResult]:
    wanted = set(places)
    return [result for result in record.results if function_of(result.id) in wanted and result.outcome in ("skipped", "xfailed")]


def _form(desk: Desk, file: str, function: str) -> str:
    return next((site.form for site in desk.sites if (site.file, site.function or MODULE) == (file, function)), "skipped at run time")


def signature_of(file: str, ended: Sequence[TestResult], lifted: Sequence[TestResult]) -> str:
    """The signature of a test's failures with its marks lifted; of its skip where nothing fails then."""
    failing = [result.failure for result in lifted if result.failure is not None]
    if failing:
        return signatures.joined([signatures.signature_of(failure.type, failure.message, failure.file or file) for failure in failing])
    reasons = [result.reason.removeprefix("Skipped: ") for result in (*lifted, *ended) if result.outcome == "skipped"]
    return signatures.joined([signatures.signature_of("Skipped", reason, file) for reason in dict.fromkeys(reasons)]) or f"Skipped @ {file}"
