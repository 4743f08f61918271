"""Negative controls in the walk: which of them work is learnt on base, as far as it is needed; then head's are run.

With ``controls = "sample"`` only the tests that this judgement samples are tried on base, so that a first judgement stays cheap; what was
learnt is kept and grows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from trivet.model import Calibration, ControlResult, RunRecord
from trivet.stage.cache import Cache
from trivet.stage.control_runs import admit, judge, runner_of
from trivet.stage.controls import ATTEMPTS, Book, file_of
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

    def admitted(self, calibration: Calibration, base: Callable[[], Runner]) -> Calibration:
        """The calibration with the admitted controls of the tests that this judgement may alter."""
        if self.mode == "off":
            return calibration
        known: Known = self.cache.get("controls", self.key, Known) or {}
        passing = [test.id for test in calibration.tests if test.outcome == "passed" and "::" in test.id]
        wanted = set(passing) if self.mode == "all" else sample(passing, self.secret)
        missing = wanted - known.keys()
        if missing:
            self.say(f"trying negative controls for {len(missing)} tests on base")
            part = replace(calibration, tests=tuple(test for test in calibration.tests if test.id in missing))
            attempts = range(ATTEMPTS) if self.mode == "all" else (0, ATTEMPTS - 1)
            tried = admit(self.book, part, runner_of(base()), seed=self.secret % 1000, note=self.say, attempts=attempts)
            known = {**known, **{test.id: test.controls for test in tried.tests}}
            self.cache.put("controls", self.key, known)
        tests = tuple(replace(test, controls=known.get(test.id, ()) if test.id in wanted else ()) for test in calibration.tests)
        return replace(calibration, tests=tests)

    def run(self, calibration: Calibration, runs: Iterable[RunRecord], head: Runner) -> tuple[ControlResult, ...]:
        """Run the controls of what passed on head, each file in its own isolation."""
        passed = [result.id for run in runs for result in run.results if result.outcome in _GREEN]
        if self.mode == "off" or not passed:
            return ()
        # The calibration holds only controls of sampled tests, so all of them are meant.
        return judge(self.book, calibration, passed, runner_of(head), mode="all", secret=self.secret)


def sample(tests: Iterable[str], secret: int) -> set[str]:
    """About one test in ten, at least two of each file, by a secret."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(file_of(test), []).append(test)
    rng = random.Random(secret)  # noqa: S311 - the seed is the secret, the generator only has to be repeatable
    return {test for names in files.values() for test in rng.sample(names, min(len(names), max(_PER_FILE, math.ceil(len(names) * _SHARE))))}
