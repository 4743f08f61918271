"""The steps of a score: accept, fetch, score, join, sign, publish, finish. Each may be repeated, on another machine if need be.

The job engine (``jobs``) remembers which step is done; what a step leaves is in the store, or can be had again from there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from trivet.attest import decided
from trivet.attest.envelope import open_envelope
from trivet.attest.keys import key_id, load_private
from trivet.attest.log import Log, verdict_entry
from trivet.attest.signer import KeySigner
from trivet.attest.statement import decision_statement
from trivet.errors import TrivetError
from trivet.model import Decision
from trivet.report.document import decision_of
from trivet.service import reading
from trivet.service.asking import REVIEW
from trivet.service.mirrors import Brought, Mirrors
from trivet.service.pictures import keep_pictures
from trivet.service.rows import ScoreRow
from trivet.service.settings import Repository, Settings
from trivet.service.store import (
    Decided,
    Store,
    decide,
    end,
    finish,
    keep_evidence,
    keep_log_index,
    keep_oracle,
    move,
    note,
    pictured,
    score,
)
from trivet.service.worker import Worker

ENVELOPE = "decision.dsse.json"


class Publisher(Protocol):
    """Tells a forge; ``forging.Publishing`` does it through the adapters in ``trivet.forge``."""

    def begin(self, repo: Repository, row: ScoreRow) -> None:
        """Show that a head is being judged."""

    def finish(self, repo: Repository, row: ScoreRow, decision: Decision) -> str:
        """Show a decision; says in a few words what was shown. It may be called again for the same one."""


class Silent:
    """Publishes nowhere."""

    def begin(self, repo: Repository, row: ScoreRow) -> None:
        """Nothing to show."""

    def finish(self, repo: Repository, row: ScoreRow, decision: Decision) -> str:  # noqa: ARG002
        """Nothing to show."""
        return ""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What the steps work with."""

    settings: Settings
    store: Store
    clock: Callable[[], float]
    mirrors: Mirrors
    worker: Worker
    publisher: Publisher = field(default_factory=Silent)
    _brought: dict[str, Brought] = field(default_factory=dict)

    def repository(self, row: ScoreRow) -> Repository:
        """The settings of a score's repository.

        Raises:
            TrivetError: it was taken out of the settings while the score waited.
        """
        found = self.settings.repository(row.repo)
        if found is None:
            raise TrivetError(f"the repository {row.repo!r} is not listed any more")
        return found

    def accept(self, identity: str) -> bool:
        """Begin; False where the score has ended already."""
        if not move(self.store, identity, "fetching", self.clock()):
            return False
        row = score(self.store, identity)
        try:
            self.publisher.begin(self.repository(row), row)
        except TrivetError as error:  # a forge that is down must not keep anybody from an answer; the check stays absent, never green
            note(self.store, identity, "warning", f"the forge was not told that judging began: {error.message}", self.clock())
        return True

    def fetch(self, identity: str) -> None:
        """Bring the objects in."""
        row = score(self.store, identity)
        self._brought[identity] = self._bring(row)
        move(self.store, identity, "scoring", self.clock(), f"objects of {row.head[:12]} are here")

    def _bring(self, row: ScoreRow) -> Brought:
        repo = self.repository(row)
        brought = self.mirrors.bring(repo, row.base, row.head)
        if brought.oracle:
            keep_oracle(self.store, repo.name, brought.oracle)
        return brought

    def judge(self, identity: str) -> int:
        """Run the command and keep its files; its exit status. Base is calibrated in it, once for a base and environment."""
        row = score(self.store, identity)
        if reading.evidence(self.store, row.n, "decision.json") is not None:
            return -1  # was killed between keeping the files and saying so
        # Fetched again where this is not the process that fetched before; asks nobody where all is there.
        brought = self._brought.pop(identity, None) or self._bring(row)
        judged = self.worker.judge(
            self.repository(row),
            brought.path,
            base=brought.base,
            head=brought.head,
            review=reading.evidence(self.store, row.n, REVIEW),
            say=lambda line: note(self.store, identity, "progress", line, self.clock()),
            wanted=lambda: score(self.store, identity).open,
        )
        keep_evidence(self.store, identity, judged.files)
        return judged.status

    def join(self, identity: str) -> None:
        """Read the files back, see that they do not contradict each other, and let the decision stand."""
        move(self.store, identity, "joining", self.clock())
        row = score(self.store, identity)
        data, decision = self._decision(row)
        for verdict in decision.verdicts:
            word = reading.evidence(self.store, row.n, f"{verdict.leg.replace('-', '_')}.txt")
            if word != f"{verdict.status}\n".encode():
                raise TrivetError(f"the word of {verdict.leg} contradicts the decision", where=identity)
        head = data.get("head")
        if isinstance(head, dict) and head.get("commit") != row.head:
            raise TrivetError("the decision is about another head", where=identity)
        decide(self.store, identity, decided_of(data, decision), self.clock())
        if pictured(self.store, row.repo) != row.base:
            keep_pictures(self.store, self._bring(row), row.repo, row.base, self.clock())

    def _decision(self, row: ScoreRow) -> tuple[dict[str, object], Decision]:
        content = reading.evidence(self.store, row.n, "decision.json")
        if content is None:
            raise TrivetError("the files of the verdict are gone", where=row.id)
        data = msgspec.json.decode(content, type=dict[str, object])
        return data, decision_of(data)

    def sign(self, identity: str) -> None:
        """Sign the decision and put it into the log, if there is a key. It is read here and now: no run ever had it in reach."""
        row = score(self.store, identity)
        table = self.settings.sign
        if row.merge is None or table is None:
            return
        content = reading.evidence(self.store, row.n, "decision.json")
        if content is None:
            return
        private = load_private(str(table.key_file))
        envelope = reading.evidence(self.store, row.n, ENVELOPE)
        if envelope is None:
            digest, data = hashlib.sha256(content).hexdigest(), msgspec.json.decode(content, type=dict[str, object])
            statement = decision_statement(data, decision_sha256=digest, now=self.clock(), session=f"trivet-service {identity}")
            keep_evidence(self.store, identity, {ENVELOPE: KeySigner(private).sign(statement)})
            envelope = reading.evidence(self.store, row.n, ENVELOPE)
        if table.log is None or row.log_index is not None or envelope is None:
            return
        public = private.public_key()
        attested = decided.decision_of(open_envelope(envelope, {key_id(public): public}))
        entry = verdict_entry(envelope, attested.facts, merge=attested.merge, key=attested.key)
        keep_log_index(self.store, identity, Log(table.log).append(entry, now=self.clock()).number)

    def publish(self, identity: str) -> None:
        """Tell the forge; tried again with growing pauses by the engine. What a forge shows is never greener than the decision."""
        if not move(self.store, identity, "publishing", self.clock()):
            return
        row = score(self.store, identity)
        if row.merge is None:
            return
        told = self.publisher.finish(self.repository(row), row, self._decision(row)[1])
        if told:
            note(self.store, identity, "published", told, self.clock())

    def finish(self, identity: str) -> None:
        """All is done."""
        finish(self.store, identity, self.clock())

    def fail(self, identity: str, problem: str) -> None:
        """End a score without a decision. One that is decided stays decided; that it could not be published is noted."""
        self._brought.pop(identity, None)
        if not end(self.store, identity, "failed", problem, self.clock()):
            row = score(self.store, identity)
            if row.open:
                note(self.store, identity, "warning", problem, self.clock())
                finish(self.store, identity, self.clock())


def decided_of(data: Mapping[str, object], decision: Decision) -> Decided:
    """What the store keeps of a decision in columns and rows."""
    run, change, key = (_map(data.get(name)) for name in ("run", "change", "replay_key"))
    isolation, wall, took = run.get("isolation"), run.get("wall"), run.get("duration_s")
    findings: tuple[dict[str, object], ...] = tuple(
        {
            "leg": verdict.leg,
            "rule": finding.rule,
            "level": finding.level,
            "message": finding.message,
            "path": None if finding.path is None else finding.path.decode("utf-8", "backslashreplace"),
            "line": finding.line,
            "next": finding.next,
        }
        for verdict in reversed(decision.verdicts)
        for finding in verdict.findings
    )
    flaky = tuple((row["path"], str(row["message"])) for row in findings if row["rule"] in _FLAKY and isinstance(row["path"], str))
    return Decided(
        merge=decision.merge,
        src_score=decision.src_score.status,
        oracle_integrity=decision.oracle_integrity.status,
        flake_lease=decision.flake_lease.status,
        cause=_cause(decision),
        kind=str(change.get("kind") or ""),
        replay_key=str(key.get("digest") or ""),
        isolation=" ".join(sorted(_map(isolation))) if isinstance(isolation, dict) else str(isolation or ""),
        wall=str(_map(wall).get("name") or "") if isinstance(wall, dict) else str(wall or ""),
        duration_s=float(took) if isinstance(took, (int, float)) else None,
        findings=findings,
        flaky=flaky,
    )


_FLAKY = ("TRV206",)
"""Rules that say that one tree gave different outcomes."""


def _cause(decision: Decision) -> str:
    """Why a decision blocks, in one word. A leg that objects outweighs one that could not be run, as in the command's exit status."""
    order = tuple(reversed(decision.verdicts))
    objecting = [verdict.cause for verdict in order if verdict.status == "FAIL"]
    if objecting:
        return next((cause for cause in objecting if cause), "")
    return next((verdict.cause for verdict in order if verdict.cause), "")


def _map(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
