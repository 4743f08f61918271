"""The walk of ``trivet join``: verdict files that separate jobs wrote, ANDed if they belong together.

A leg whose files are missing was not run, which blocks. Files that contradict each other, or are about another change, are refused:
nothing can be said about a mixture. With trusted keys every word but NOT_RUN must be signed by a key that may sign that leg, over the very
bytes that are read here (each file is read once), lately, and in the same CI run as the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trivet.attest import LEGS as ORDER
from trivet.attest import Data
from trivet.attest.decided import Leg, leg_of
from trivet.attest.envelope import Opened
from trivet.attest.statement import leg_file_statement, leg_statement
from trivet.attest.times import written
from trivet.attest.trust import Trust
from trivet.errors import SignatureError, TrivetError, UsageError
from trivet.legs.join import join
from trivet.model import LEGS, Decision, LegName, Verdict
from trivet.report import files
from trivet.report.document import document
from trivet.verifying import opened

TOGETHER = ("repository", "base", "head", "policy", "merge_base", "score_tree", "tool")
"""Facts that must be the same in every verdict file that knows them."""
MAX_AGE_S = 86_400
"""A signed verdict that is older does not join, unless the caller says otherwise."""
_AGAIN = "run the jobs again for this change; files of an earlier run are not evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the caller knows that the verdicts must be about; "" for whatever they agree on.

    ``base`` and ``head`` may be the beginning of a commit id. ``max_age_s`` counts for signed verdicts alone.
    """

    repository: str = ""
    base: str = ""
    head: str = ""
    policy: str = ""
    session: str = ""
    max_age_s: float = MAX_AGE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A joined decision; of the legs that were signed, the statements and who signed them. ``present`` are the legs that had files."""

    decision: Decision
    present: tuple[LegName, ...]
    session: str = ""
    legs: Mapping[str, Leg] = field(default_factory=dict)
    envelopes: Mapping[str, bytes] = field(default_factory=dict)

    def statements(self, now: float) -> dict[str, Data]:
        """The statement of every leg: as it was signed, or, for a leg that was not run, as it follows from the decision."""
        plain = dict(document(self.decision))
        made = {leg: leg_statement(plain, leg, now=now, session=self.session) for leg in ORDER if leg not in self.legs}
        return made | {name: dict(leg.statement) for name, leg in self.legs.items()}


def join_folder(
    folder: Path, *, expected: Expected = Expected(), trust: Trust | None = None, now: float = 0.0, root: str | None = None
) -> Joined:
    """AND the verdict files of a folder.

    Args:
        folder: where the jobs' files were gathered.
        expected: what they must be about.
        trust: whose signatures count; None asks for no signatures.
        now: the clock reading of the process.
        root: a file with Sigstore's roots of trust, for legs that were signed keyless.

    Raises:
        SignatureError: a verdict file is not signed as it must be.
        UsageError: there are no verdict files.
        TrivetError: the files do not belong together, or a ``PASS`` does not say what it is about.
    """
    found: dict[LegName, tuple[Verdict, Mapping[str, object]]] = {}
    signed: dict[str, Leg] = {}
    envelopes: dict[str, bytes] = {}
    for leg in LEGS:
        if not any((folder / f"{files.stem(leg)}{ending}").exists() for ending in (".txt", ".json")):
            continue
        verdict, facts, content = _read(folder, leg)
        bare = verdict.status == "NOT_RUN" and not any((folder / f"{files.stem(leg)}{ending}").exists() for ending in files.ENVELOPES)
        if trust is not None and bare:  # nobody signed it: it blocks, and says nothing else
            verdict, facts = Verdict(leg=leg, status="NOT_RUN"), {}
        found[leg] = verdict, facts
        if trust is not None and not bare:
            name, data = _envelope(folder, leg)
            envelopes[name] = data
            statement = opened(data, trust, root)
            signed[leg] = _signed(statement, content, leg, trust=trust, now=now, max_age_s=expected.max_age_s)
    if not found:
        raise UsageError("no verdict files", where=str(folder), hint="gather the files of `trivet verdict` jobs in one folder")
    agreed = _agreed(folder, found)
    _check_expected(folder, agreed, expected)
    session = _session(folder, signed, expected.session)
    verdicts = {leg: verdict for leg, (verdict, _) in found.items()}
    decision = join(
        src_score=verdicts.get("src-score"),
        oracle_integrity=verdicts.get("oracle-integrity"),
        flake_lease=verdicts.get("flake-lease"),
        facts=agreed,
    )
    return Joined(decision=decision, present=tuple(found), session=session, legs=signed, envelopes=envelopes)


def _envelope(folder: Path, leg: LegName) -> tuple[str, bytes]:
    for name in (f"{files.stem(leg)}{ending}" for ending in files.ENVELOPES):
        if (folder / name).exists() or (folder / name).is_symlink():
            return name, files.read_bytes(folder / name)
    raise SignatureError(f"the verdict of {leg} is not signed", where=str(folder), hint="sign it: `trivet verdict NAME … --sign KEY`")


def _signed(statement: Opened, content: bytes, leg: LegName, *, trust: Trust, now: float, max_age_s: float) -> Leg:
    """One leg's statement, if it is about exactly these bytes, by a key that may, and young enough."""
    found = leg_of(statement, leg)
    trust.check(found.key, leg, found.at, now=now)
    if statement.statement != leg_file_statement(content, leg, now=found.at, session=found.facts["session"]):
        raise SignatureError(f"the signed statement is not about this verdict file of {leg}")
    if now - found.at > max_age_s:
        raise SignatureError(f"the verdict of {leg} is stale: it is of {written(found.at)}", hint=f"{_AGAIN}; or say --max-age")
    return found


def _session(folder: Path, signed: Mapping[str, Leg], wanted: str) -> str:
    """The one CI run that all signed legs name: an older PASS about the same change must not stand in for today's FAIL."""
    sessions = {name: str(leg.facts["session"]) for name, leg in signed.items()}
    for name, session in sessions.items():
        if wanted and session != wanted:
            told = f"the verdict of {name} is of session {session or 'none'!r}, not {wanted!r}"
            raise SignatureError(told, where=str(folder), hint=_AGAIN)
    if len(set(sessions.values())) > 1:
        told = ", ".join(f"{name}: {session or 'none'!r}" for name, session in sessions.items())
        raise SignatureError(f"the verdicts are of different sessions ({told})", where=str(folder), hint=_AGAIN)
    return next(iter(sessions.values()), wanted)


def _check_expected(folder: Path, facts: Mapping[str, object], expected: Expected) -> None:
    for name, wanted in (("base", expected.base), ("head", expected.head)):
        commit = facts.get(name)
        actual = str(commit["commit"]) if isinstance(commit, Mapping) and "commit" in commit else ""
        if wanted and not actual.startswith(wanted.lower()):
            raise TrivetError(f"the verdicts are about {name} {actual[:12] or 'nothing'}, not {wanted[:12]}", where=str(folder))
    if expected.repository and facts.get("repository") != expected.repository:
        actual = str(facts.get("repository") or "none")
        raise TrivetError(f"the verdicts are about repository {actual!r}, not {expected.repository!r}", where=str(folder))
    policy = facts.get("policy")
    digest = str(policy["digest"]) if isinstance(policy, Mapping) and "digest" in policy else ""
    if expected.policy and digest.removeprefix("sha256:") != expected.policy.removeprefix("sha256:"):
        raise TrivetError(f"the verdicts used policy {digest[:16] or 'none'}, not {expected.policy[:16]}", where=str(folder))


def _read(folder: Path, leg: LegName) -> tuple[Verdict, Mapping[str, object], bytes]:
    """One leg; a word ``NOT_RUN`` without its reasons is what an interrupted job leaves."""
    if not (folder / f"{files.stem(leg)}.json").exists() and files.read_word(folder, leg) == "NOT_RUN":
        return Verdict(leg=leg, status="NOT_RUN"), {}, b""
    return files.read_leg(folder, leg)


def _agreed(folder: Path, found: Mapping[LegName, tuple[Verdict, Mapping[str, object]]]) -> dict[str, object]:
    """All facts of the files; those of ``TOGETHER`` must be equal wherever they are known. What only one run can tell, src-score tells."""
    facts: dict[str, object] = {}
    origin: dict[str, LegName] = {}
    for leg, (verdict, own) in reversed(list(found.items())):
        for key, value in own.items():
            if value is None:
                if verdict.status == "PASS" and key in ("base", "head", "policy"):
                    raise TrivetError(f"{leg} says PASS without its {key}", where=str(folder), hint=_AGAIN)
                continue
            if key in TOGETHER and key in facts and facts[key] != value:
                raise TrivetError(f"{origin[key]} and {leg} are about different things: {key} differs", where=str(folder), hint=_AGAIN)
            facts.setdefault(key, value)
            origin.setdefault(key, leg)
        missing = [key for key in ("base", "head", "policy") if key not in own] if verdict.status == "PASS" else []
        if missing:
            raise TrivetError(f"{leg} says PASS without its {missing[0]}", where=str(folder), hint=_AGAIN)
    if len({own.get("repository") for _, own in found.values() if own}) > 1:
        raise TrivetError("the verdicts are about different things: repository differs", where=str(folder), hint=_AGAIN)
    return facts
