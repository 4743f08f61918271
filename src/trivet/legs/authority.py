"""Authority: does an owner stand behind an oracle change? Pure.

Each moved oracle or control path needs an owner in base's CODEOWNERS. Then either the people whom its rules ask for are the change's
author or approved exactly this head, or every commit of the change is signed by a key of base's signers file. Labels, messages and names
in commits are never authority.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trivet.model import Duty, Finding, Review, Signed, text_of
from trivet.rules import RULES

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A moved path and what base's CODEOWNERS asks for it."""

    path: bytes
    duties: tuple[Duty, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Who stands behind a change: findings against it, and in words by what it has authority ("" = by nothing)."""

    findings: tuple[Finding, ...]
    by: str


def judge(
    claims: Sequence[Claim],
    *,
    head: str,
    commits: Sequence[str],
    review: Review | None,
    signed: Sequence[Signed],
    codeowners: str,
) -> Standing:
    """Judge the authority of a change.

    Args:
        claims: every moved oracle or control path with its duties.
        head: object id of the judged commit; an approval of another commit does not count.
        commits: the commits of the change.
        review: evidence of a trusted job, None without any.
        signed: what is known about their signatures.
        codeowners: path of CODEOWNERS on base, "" without one.
    """
    signers = {row.commit: row.principal for row in signed if row.principal}
    all_signed = bool(commits) and all(commit in signers for commit in commits)
    findings: list[Finding] = []
    for claim in claims:
        if not claim.duties:
            # Without any CODEOWNERS the signers file alone says who owns; with one, a path that it leaves out is nobody's.
            if not (all_signed and not codeowners):
                findings.append(_unowned(claim, codeowners))
        elif not all_signed:
            lacking = _lacking(claim.duties, review, head)
            if lacking:
                findings.append(_refused(claim, lacking, review, signed))
    if not findings:
        return Standing(findings=(), by=_by(signers, review, head, all_signed=all_signed))
    more = len(findings) - _SHOWN
    if more > 0:
        last = findings[_SHOWN]
        findings = [*findings[:_SHOWN], Finding(rule=last.rule, message=f"and {more} more paths likewise", next=last.next)]
    return Standing(findings=tuple(findings), by="")


def people_of(owner: str, review: Review) -> frozenset[str]:
    """The logins (lower case) that an owner of CODEOWNERS stands for, as far as the review evidence says."""
    if not owner.startswith("@"):
        address = _fold(owner)
        return frozenset({address, *(_fold(login) for login, rows in review.emails if address in map(_fold, rows))})
    name = _fold(owner[1:])
    names = {name}
    if not name.startswith("@") and "/" in name:
        names.add(name.split("/", 1)[1])
    teams = [rows for team, rows in review.teams if _fold(team.removeprefix("@")) in names or _fold(team) == _fold(owner)]
    members = {_fold(login) for rows in teams for login in rows}
    return frozenset(members if "/" in name or name.startswith("@") else {name, *members})


def _lacking(duties: Sequence[Duty], review: Review | None, head: str) -> tuple[Duty, ...]:
    """The duties that nobody has met."""
    required = [duty for duty in duties if not duty.optional]
    if not required:
        # Only invited people are named: then one of them has to speak.
        required = [Duty(owners=tuple(owner for duty in duties for owner in duty.owners), line=duties[0].line)]
    if review is None:
        return tuple(required)
    author = _fold(review.author)
    voices = {author, *(_fold(login) for login, commit in review.approvals if commit.lower() == head)}
    lacking = []
    for duty in required:
        owners = frozenset(person for owner in duty.owners for person in people_of(owner, review))
        if len(voices & owners) < duty.needed:
            lacking.append(duty)
    return tuple(lacking)


def _unowned(claim: Claim, codeowners: str) -> Finding:
    where = f"{codeowners} on base names nobody for it" if codeowners else "base has no CODEOWNERS"
    return Finding(rule="TRV116", message=f"{text_of(claim.path)} has no owner: {where}", path=claim.path, next=RULES["TRV116"].next)


def _refused(claim: Claim, lacking: Sequence[Duty], review: Review | None, signed: Sequence[Signed]) -> Finding:
    asked = "; ".join(f"{duty.needed} of {', '.join(duty.owners)}" if duty.needed > 1 else " or ".join(duty.owners) for duty in lacking)
    if review is None:
        why = "no review evidence was given"
    elif any(commit for _, commit in review.approvals):
        why = f"neither {review.author!r} nor an approval of this head comes from them"
    else:
        why = f"its author {review.author!r} is none of them and none of them approved this head"
    problem = next((row for row in signed if row.problem), None)
    if problem is not None:
        why += f"; commit {problem.commit[:10]} does not count as signed: {problem.problem}"
    message = f"{text_of(claim.path)} belongs to {asked}; {why}"
    return Finding(rule="TRV103", message=message, path=claim.path, next=RULES["TRV103"].next)


def _by(signers: dict[str, str], review: Review | None, head: str, *, all_signed: bool) -> str:
    if all_signed:
        return "signed by " + ", ".join(sorted(set(signers.values())))
    if review is None:
        return ""
    approvers = sorted({login for login, commit in review.approvals if commit.lower() == head})
    return f"author {review.author}" + (f", approved by {', '.join(approvers)}" if approvers else "")


def _fold(name: str) -> str:
    """Lower the ASCII letters only: other foldings make two logins one."""
    return "".join(char.lower() if char.isascii() else char for char in name)
