"""The long way of ``trivet gate`` with whole verdicts in the cache: what is known is shown, one in a hundred judged anew, news is kept."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trivet import quick, recall
from trivet.cli import Door, output
from trivet.model import LEGS, Decision, LegName
from trivet.report import terminal
from trivet.report.document import decision_of, document
from trivet.store import Store

_NEUTRAL = frozenset(("format", "json", "report", "no_cache", "sign", "review", "session", "vsa"))
"""Options that say how a decision is told or signed, or that are looked at before anything is asked."""


@dataclass(slots=True)
class Memory:
    """What is kept about one call: nothing where the question is one that is never kept (single legs, review evidence, no cache)."""

    asked: recall.Asked | None
    folder: str
    found: recall.Found | None = None
    audit: bool = False

    @classmethod
    def of(cls, args: argparse.Namespace, door: Door, legs: tuple[LegName, ...]) -> Memory:
        """Look once."""
        folder = quick.folder_of(door.environ)
        if legs != LEGS or args.no_cache or getattr(args, "review", None) is not None:
            return cls(None, folder)
        # An option that nobody thought of here makes another question: that costs a run, and never gives a wrong answer.
        given = {name.replace("_", "-"): value for name, value in vars(args).items() if name not in _NEUTRAL}
        asked = quick.question(given, str(door.cwd))
        found = recall.find(asked, folder, output.warn)
        return cls(asked, folder, found, audit=found is not None and (quick.audit or recall.drawn()))

    def decision(self) -> Decision | None:
        """What was decided before; None where it must be judged."""
        if self.found is None or self.audit:
            return None
        return decision_of(json.loads(self.found.parts["decision.json"]))

    def settle(self, decision: Decision, out: Path, door: Door) -> None:
        """Keep a new decision whose files stand in ``out``; where it was judged for an audit, compare it with the kept one first."""
        if self.found is not None and essence(document(decision)) != essence(json.loads(self.found.parts["decision.json"])):
            why = f"a verdict on {self.found.key[:12]} that was kept is not the one of a new run"
            Store(self.folder, output.warn).quarantine(self.found.family, why, made=door.now)
            output.warn(f"{why}: the new one counts, and nothing that was kept of this base is used any more (`trivet cache info`)")
            return
        facts = decision.facts.get("recall")
        if self.asked is None or not isinstance(facts, Mapping) or not facts["lasting"] or not decision.merge:
            return
        parts = {name: (out / name).read_bytes() for name in (*quick.FILES, *quick.WORDS)}
        parts["text"] = terminal.render(decision).encode("utf-8", "surrogateescape")
        recall.keep(self.asked, self.folder, parts, python=str(facts["python"]), family=str(facts["family"]), now=door.now)


def essence(data: Mapping[str, object]) -> object:
    """What two judgements of one change must agree on: statuses, what was judged, how many tests ended how, what turned green."""
    verdicts, run = data["verdicts"], data.get("run")
    words = {leg: row["status"] for leg, row in verdicts.items()} if isinstance(verdicts, Mapping) else {}
    tests = run.get("tests") if isinstance(run, Mapping) else None
    return words, data.get("score_tree"), data.get("policy"), data.get("turned_green"), tests


