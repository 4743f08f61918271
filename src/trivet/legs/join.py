"""The join: three verdicts, ANDed. It stays boring for ever."""

from __future__ import annotations

from collections.abc import Mapping

from trivet.model import Decision, LegName, Verdict


def join(
    *,
    src_score: Verdict | None,
    oracle_integrity: Verdict | None,
    flake_lease: Verdict | None,
    facts: Mapping[str, object] | None = None,
) -> Decision:
    """AND three verdicts; a leg that is missing was not run, and a verdict never stands in for another leg."""
    return Decision(
        src_score=_own("src-score", src_score),
        oracle_integrity=_own("oracle-integrity", oracle_integrity),
        flake_lease=_own("flake-lease", flake_lease),
        facts=dict(facts or {}),
    )


def _own(leg: LegName, verdict: Verdict | None) -> Verdict:
    if verdict is None or verdict.leg != leg:
        return Verdict(leg=leg, status="NOT_RUN")
    return verdict
