"""Negative controls in the walk: which of them work is learnt on base, as far as it is needed; then head's are run.

With ``controls = "sample"`` base is asked only about controls that were not red on head, so that a first judgement stays cheap.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from trivet.model import Calibration, ControlResult, RunRecord
from trivet.stage.cache import Cache
from trivet.stage.control_runs import admit, confirmed, judge, runner_of
from trivet.stage.controls import Book, Planned, file_of
from trivet.stage.runner import Runner

Known = dict[str, tuple[tuple[str, int], ...]]
"""Test id → admitted controls (kind, line); an id without any was tried in vain."""

_SHARE = 0.1
_PER_FILE = 2
_GREEN = ("passed", "xpassed")


@dataclass(slots=True)
class Controls:
    """The controls of one judgement.

    Args:
        texts: gives the Python files of the oracle zone.
        mode: the policy's ``controls``.
        secret: decides which tests are sampled, and how they are altered.
        cache: where admitted controls are kept, under ``key``.
        key: what base, environment and build make the admission valid for.
        say: is told one line a step.
    """

    texts: Callable[[], dict[str, str]]
    mode: str
    secret: int
    cache: Cache
    key: str
    say: Callable[[str], None]
    _book: Book | None = None

    @property
    def book(self) -> Book:
        """All alterations, read once."""
        if self._book is None:
            self._book = Book(self.texts())
        return self._book

    def read(self) -> None:
        """Read the sealed texts now, while the repository is free."""
        self._book = self._book or Book(self.texts())

    def run(
        self, calibration: Calibration, runs: Iterable[RunRecord], head: Runner, base: Runner
    ) -> tuple[Calibration, tuple[ControlResult, ...]]:
        """Run the controls of what passed on head, each file in its own isolation; the calibration holds those that were meant.

        With ``all`` every control is first seen red on base. With ``sample`` that is found out afterwards, and only for those that were not
        red on head: what is red on head needs no proof that it can be.
        """
        passed = [result.id for run in runs for result in run.results if result.outcome in _GREEN]
        if self.mode == "off" or not passed:
            return calibration, ()
        if self.mode == "all":
            calibration = self._admitted(calibration, base)
            return calibration, judge(self.book, calibration, passed, runner_of(head), mode="all", secret=self.secret)
        wanted = sample((test.id for test in calibration.tests if test.outcome == "passed" and "::" in test.id), self.secret)
        return self._sampled(calibration, passed, wanted, head, base)

    def _sampled(
        self, calibration: Calibration, passed: list[str], wanted: set[str], head: Runner, base: Runner
    ) -> tuple[Calibration, tuple[ControlResult, ...]]:
        known = frozenset(self.cache.get("vain", self.key, list[tuple[str, str, int]]) or ())
        vain, kept = known, list[ControlResult]()
        meant: dict[str, tuple[tuple[str, int], ...]] = {}
        for _ in range(_TURNS):
            turn = self._provisional(calibration, vain, wanted)
            results = judge(self.book, turn, passed, runner_of(head), mode="all", secret=self.secret)
            tried = {test.id: test.controls for test in turn.tests if test.controls}
            doubtful = [row for row in results if row.outcome != "red" and row.id in tried]
            proven = frozenset[tuple[str, str, int]]()
            if doubtful:
                self.say(f"{len(doubtful)} controls are not red: trying them on base")
                proven = confirmed(self.book, doubtful, runner_of(base), seed=self.secret % 1000)
            useless = {_key(row) for row in doubtful} - proven
            kept += [row for row in results if _key(row) not in useless]
            meant.update(tried)
            vain |= useless
            wanted = {row[0] for row in useless}
            passed = sorted(wanted)
            if not wanted:
                break
        if vain != known:
            self.cache.put("vain", self.key, sorted(vain))
        tests = tuple(replace(test, controls=meant.get(test.id, ())) for test in calibration.tests)
        return replace(calibration, tests=tests), tuple(kept)

    def _provisional(self, calibration: Calibration, vain: frozenset[tuple[str, str, int]], wanted: set[str]) -> Calibration:
        """One alteration for each sampled test, of the best that are not known to be useless."""
        rng = random.Random(self.secret)  # noqa: S311 - the seed is the secret
        functions: dict[str, Planned] = {}
        tests = []
        for test in calibration.tests:
            own: tuple[tuple[str, int], ...] = ()
            if test.id in wanted:
                function = test.id.partition("[")[0]
                if function not in functions:
                    ways = [one for one in self.book.of(test.id) if (test.id, one.kind, one.line) not in vain]
                    if ways:
                        functions[function] = rng.choice(ways[:_BEST])
                own = (functions[function].key,) if function in functions else ()
            tests.append(replace(test, controls=own))
        return replace(calibration, tests=tuple(tests))

    def _admitted(self, calibration: Calibration, base: Runner) -> Calibration:
        """The calibration with every control that is red on base."""
        known: Known = self.cache.get("controls", self.key, Known) or {}
        passing = {test.id for test in calibration.tests if test.outcome == "passed" and "::" in test.id}
        missing = passing - known.keys()
        if missing:
            self.say(f"trying negative controls for {len(missing)} tests on base")
            part = replace(calibration, tests=tuple(test for test in calibration.tests if test.id in missing))
            tried = admit(self.book, part, runner_of(base), seed=self.secret % 1000, note=self.say)
            known = {**known, **{test.id: test.controls for test in tried.tests}}
            self.cache.put("controls", self.key, known)
        return replace(calibration, tests=tuple(replace(test, controls=known.get(test.id, ())) for test in calibration.tests))


_BEST = 2
"""Of how many of the best alterations one is drawn."""
_TURNS = 2
"""How often another alteration is tried for a test whose first proved nothing."""


def _key(row: ControlResult) -> tuple[str, str, int]:
    return (row.id, row.kind, row.line)


def sample(tests: Iterable[str], secret: int) -> set[str]:
    """About one test in ten, at least two of each file, by a secret."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(file_of(test), []).append(test)
    rng = random.Random(secret)  # noqa: S311 - the seed is the secret, the generator only has to be repeatable
    return {test for names in files.values() for test in rng.sample(names, min(len(names), max(_PER_FILE, math.ceil(len(names) * _SHARE))))}
