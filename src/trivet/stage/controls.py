"""Plan negative controls, and read what became of them.

Which tests have a working control is learnt on base: a few admission runs try one alteration a test each, and what was seen red is
admitted. On head it must be red again. A test that is red on base and passes on head gets controls all the same, which count only where
that can be decided without base: the altered assertion was reached, and the test passed in spite of it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from trivet.model import Calibration, ControlResult, RunRecord, TestResult
from trivet.probe import mutate_sites

Texts = Mapping[str, str]
"""Sources of the sealed tree: path relative to its root → text. Test files, and the helpers and conftest files that hold assertions."""

Admitted = Mapping[str, tuple[tuple[str, int], ...]]
"""Test id → admitted (kind, line). A kind ``KIND@FILE`` alters an assertion in another sealed file."""

ATTEMPTS = 6
"""Admission runs at most; the later ones only take tests that still have no control."""

_SHARE = 0.1
_PER_FILE = 2
_SAME_NAME = 3
_SPECIFICATIONS = 200
_TURNS = (
    ("slight", "raises", "negate"),
    # A parameter that is altered before the test finds code that takes the answer from the test: it goes first.
    ("given", "gross", "sentinel", "intruder"),
    ("intruder", "slight", "sentinel", "raises", "negate", "gross"),
)
"""What is tried for a test that is red on base, best first; a turn is a process of its own."""

_WEIGHTS = {"slight": 6, "gross": 2, "sentinel": 2, "negate": 1, "raises": 3, "intruder": 3, "canary": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One control to run: alter the assertion at ``file``:``line``-``end`` for the test ``id``.

    ``sure``: the assertion is reached whenever the test passes. ``admitted``: it was seen red on base.
    """

    id: str
    kind: str
    file: str
    line: int
    end: int
    sure: bool
    admitted: bool
    text: str = ""
    last: int = 0
    """Last line of the function that holds the assertion."""

    def wire(self) -> dict[str, object]:
        """The control as the probe's job names it."""
        return {"id": self.id, "kind": self.kind, "file": self.file, "line": self.line}

    @property
    def key(self) -> tuple[str, int]:
        """(kind, line) as the calibration keeps it."""
        return (self.kind if self.file == file_of(self.id) else f"{self.kind}@{self.file}", self.line)


def file_of(test: str) -> str:
    """The file part of a test id."""
    return test.partition("::")[0]


def function_of(test: str) -> str:
    """The function part of a test id, without parameters: ``Class::name`` or ``name``."""
    return test.partition("::")[2].partition("[")[0]


class Book:
    """All alterations of all tests, read once from the sources.

    A file that this interpreter cannot parse has no alterations.
    """

    def __init__(self, texts: Texts) -> None:
        self._functions: dict[str, dict[str, mutate_sites.Function]] = {}
        for file, text in texts.items():
            try:
                self._functions[file] = mutate_sites.find(text)
            except (SyntaxError, ValueError, RecursionError):
                self._functions[file] = {}
        self._known: dict[tuple[str, str], tuple[Planned, ...]] = {}
        self._names: dict[str, list[tuple[str, str, mutate_sites.Function]]] = {}
        for file, functions in self._functions.items():
            for name, function in functions.items():
                self._names.setdefault(name.rpartition("::")[2], []).append((file, name, function))

    def of(self, test: str) -> tuple[Planned, ...]:
        """The alterations of one test, best first; the last is a canary."""
        key = (file_of(test), function_of(test))
        if key not in self._known:
            self._known[key] = tuple(self._list(*key))
        return tuple(replace(one, id=test) for one in self._known[key])

    def find(self, test: str, key: tuple[str, int]) -> Planned | None:
        """The alteration that a calibration names."""
        return next((replace(one, admitted=True) for one in self.of(test) if one.key == key), None)

    def _list(self, file: str, name: str) -> Iterable[Planned]:
        found = self._function(file, name)
        if found is None:
            return
        home, function = found
        test = f"{file}::{name}"
        places = [(home, site) for site in function.sites]
        places.sort(key=lambda place: not place[1].sure)
        places += self._helpers(home, name, function, depth=2)
        first: list[Planned] = []
        later: list[Planned] = []
        for where, site in places:
            for rank, kind in enumerate(site.kinds):
                one = Planned(id=test, kind=kind, file=where, line=site.line, end=site.end, sure=site.sure, admitted=False, text=site.text)
                (later if rank else first).append(replace(one, last=function.last if function.sites else 0))
        yield from first
        yield from later
        first_line = function.first
        yield Planned(id=test, kind="canary", file=home, line=first_line, end=first_line, sure=True, admitted=False, text="first statement")

    def _function(self, file: str, name: str) -> tuple[str, mutate_sites.Function] | None:
        """A test's function: its own, or one that its class inherits from another class of the sealed tree."""
        here = self._functions.get(file, {})
        if name in here:
            return file, here[name]
        method = name.rpartition("::")[2]
        if method == name:
            return None
        for home, functions in [(file, here), *self._functions.items()]:
            same = [function for known, function in functions.items() if known.endswith("::" + method)]
            if len(same) == 1:
                return home, same[0]
        return None

    def _helpers(self, file: str, name: str, function: mutate_sites.Function, *, depth: int) -> list[tuple[str, mutate_sites.Site]]:
        """Assertions in functions of the sealed tree that a function calls by name."""
        if depth == 0 or function.sites:
            return []
        found: list[tuple[str, mutate_sites.Site]] = []
        owner = name.rpartition("::")[0]
        for called in dict.fromkeys(function.calls):
            for home, candidate in self._called(file, owner, called):
                found += [(home, site._replace(sure=False)) for site in candidate.sites]
                found += self._helpers(home, candidate.name, candidate, depth=depth - 1)
        return found

    def _called(self, file: str, owner: str, called: str) -> list[tuple[str, mutate_sites.Function]]:
        here = self._functions.get(file, {})
        for name in (f"{owner}::{called}" if owner else called, called):
            if name in here:
                return [(file, here[name])]
        known = self._names.get(called, [])
        plain = [(home, function) for home, name, function in known if name == called]
        # Which of several methods of one name is meant is found out by trying.
        return (plain or [(home, function) for home, _, function in known])[:_SAME_NAME]


# --- planning -------------------------------------------------------------------------------------


def admission(book: Book, tests: Iterable[str], attempt: int, admitted: Admitted) -> tuple[Planned, ...]:
    """Plan one admission run on base; ``attempt`` counts from 0.

    The first run tries the best alteration of each test, the second one of another kind, the others what is left for tests without a
    control; the last one tries canaries. Each function is altered once a run, so a parametrised test is admitted id by id.
    """
    chosen: dict[tuple[str, str], Planned] = {}
    batch = []
    for test in tests:
        have = admitted.get(test, ())
        if attempt > 1 and have:
            continue
        function = (file_of(test), function_of(test))
        if function not in chosen:
            one = _attempt(book.of(test), attempt)
            if one is None:
                continue
            chosen[function] = one
        batch.append(replace(chosen[function], id=test))
    return _compatible(batch)


def _attempt(ways: tuple[Planned, ...], attempt: int) -> Planned | None:
    values = [one for one in ways if one.kind != "canary"]
    if attempt >= ATTEMPTS - 1 or not values:
        return ways[-1] if ways and (values or attempt == 0) else None
    if attempt == 0:
        return values[0]
    others = [one for one in values[1:] if one.kind != values[0].kind and one.sure == values[0].sure]
    if attempt == 1:
        return others[_spread(values[0]) % len(others)] if others else None
    rest = [one for one in values[1:] if not others or one != others[_spread(values[0]) % len(others)]]
    return rest[attempt - 2] if attempt - 2 < len(rest) else None


def _spread(one: Planned) -> int:
    return one.line + len(one.id)


def _compatible(batch: Iterable[Planned]) -> tuple[Planned, ...]:
    """Keep one alteration for each place: two tests that share a helper or an inherited method share its alteration."""
    kinds: dict[tuple[str, int], str] = {}
    return tuple(one for one in batch if kinds.setdefault((one.file, one.line), one.kind) == one.kind)


def seen_red(record: RunRecord, batch: Iterable[Planned]) -> dict[str, tuple[tuple[str, int], ...]]:
    """What an admission run admits: test id → (kind, line)."""
    planned = tuple(batch)
    keys = {one.id: one.key for one in planned}
    return {row.id: (keys[row.id],) for row in _outcomes(record, planned) if row.outcome == "red"}


def unfinished(record: RunRecord, batch: Iterable[Planned]) -> tuple[Planned, ...]:
    """The controls that did not get their turn because the run ended early, without the one that ended it; empty for a closed run."""
    if record.end.how == "closed":
        return ()
    begun = {result.id for result in record.results}
    return tuple(one for one in batch if one.id not in begun and one.id != record.end.test)


def plan(
    book: Book, calibration: Calibration, passed: Iterable[str], *, mode: Literal["all", "sample", "off"], secret: int
) -> tuple[tuple[Planned, ...], ...]:
    """Plan the controls of a head run: batches, each for one process.

    Args:
        book: the alterations.
        calibration: what base's run says, with its admitted controls.
        passed: ids that passed on head; only they have controls.
        mode: the policy's ``controls``. ``sample``: about one test in ten and two of each file, by ``secret``, and besides all tests that
            are red on base and passed on head (what a patch would have to fake).
        secret: a number that the patch could not know; recorded in the decision.
    """
    if mode == "off":
        return ()
    # Not for secrets: the seed is, the generator only has to be repeatable.
    rng = random.Random(secret)  # noqa: S311
    known = {test.id: test for test in calibration.tests}
    green = list(passed)
    fresh = [test for test in green if test in known and known[test].outcome != "passed"][:_SPECIFICATIONS]
    settled: dict[str, list[Planned]] = {}
    for test in green:
        ways = [] if test not in known or test in fresh else [one for key in known[test].controls if (one := book.find(test, key))]
        if ways:
            settled[test] = ways
    tests = list(settled) if mode == "all" else _sample(settled, rng)
    batches = _specifications(book, fresh, rng)
    batches[0] += _one_kind_a_function(tests, settled, rng)
    return tuple(batch for batch in map(_compatible, batches) if batch)


def _sample(settled: Mapping[str, list[Planned]], rng: random.Random) -> list[str]:
    """About one test in ten, at least two of each file: one whose value can be altered, and another one."""
    files: dict[str, list[str]] = {}
    for test in settled:
        files.setdefault(file_of(test), []).append(test)
    chosen = []
    for tests in files.values():
        order = rng.sample(tests, len(tests))
        valued = next((test for test in order if any(one.kind in mutate_sites.VALUE_KINDS for one in settled[test])), order[0])
        order.remove(valued)
        functions = {function_of(valued)}
        order.sort(key=lambda test: function_of(test) in functions)
        chosen += [valued, *order[: max(_PER_FILE, math.ceil(len(tests) * _SHARE)) - 1]]
    return chosen


def _one_kind_a_function(tests: Iterable[str], settled: Mapping[str, list[Planned]], rng: random.Random) -> list[Planned]:
    """Choose an admitted alteration for each test; ids of one function share it, an id for which it is not admitted has none this time."""
    chosen: dict[tuple[str, str], tuple[str, int]] = {}
    seen: dict[str, set[str]] = {}
    places: dict[tuple[str, int], str] = {}
    batch = []
    for test in tests:
        function = (file_of(test), function_of(test))
        if function not in chosen:
            # A place that is altered for another test already is altered the same way, or not at all.
            ways = [one for one in settled[test] if places.get((one.file, one.line), one.kind) == one.kind] or settled[test]
            kinds = seen.setdefault(function[0], set())
            missing = [one for one in ways if one.kind not in kinds] or ways
            if kinds.isdisjoint(mutate_sites.VALUE_KINDS):
                missing = [one for one in missing if one.kind in mutate_sites.VALUE_KINDS] or missing
            pick = rng.choices(missing, weights=[_WEIGHTS.get(one.kind, 1) for one in missing])[0]
            kinds.add(pick.kind)
            chosen[function] = pick.key
            places[pick.file, pick.line] = pick.kind
        batch += [one for one in settled[test] if one.key == chosen[function]]
    return batch


def _specifications(book: Book, fresh: Iterable[str], rng: random.Random) -> list[list[Planned]]:
    """Controls for tests that are red on base: one batch a turn, of different kinds and, where there are several assertions, places."""
    ways: dict[tuple[str, str], list[Planned]] = {}
    batches: list[list[Planned]] = [[] for _ in _TURNS]
    for test in fresh:
        function = (file_of(test), function_of(test))
        if function not in ways:
            ways[function] = _turns([one for one in book.of(test) if _decidable(one)], rng)
        for batch, one in zip(batches, ways[function], strict=False):
            batch.append(replace(one, id=test))
    return batches


def _turns(ways: list[Planned], rng: random.Random) -> list[Planned]:
    """Choose an alteration a turn: of the kind that is wanted most, then at a place that no turn has had, then one surely reached."""
    chosen: list[Planned] = []
    for wanted in _TURNS:
        used = {one.line for one in chosen}
        fit = [one for one in ways if one.kind.partition("=")[0] in wanted and one not in chosen]
        rng.shuffle(fit)
        if fit:
            chosen.append(min(fit, key=lambda one: (wanted.index(one.kind.partition("=")[0]), one.line in used, not one.sure)))
    return chosen or ways[-1:]


def _decidable(one: Planned) -> bool:
    """Whether an alteration must fail whatever the code does: a value that is compared with a tolerance need not, if altered slightly."""
    return not (one.kind == "slight" and any(word in one.text for word in ("close", "lmost", "approx", "allclose")))


# --- reading --------------------------------------------------------------------------------------


def read_results(record: RunRecord, planned: Iterable[Planned]) -> tuple[ControlResult, ...]:
    """Say what became of the controls of one run: every admitted one, and of the others those that count.

    Not ``red`` is a sign of tampering. A control whose original is red is not in ``planned`` (see ``plan``).
    """
    batch = tuple(planned)
    rows = _outcomes(record, batch)
    failed_at = {result.id: (result.failure.file, result.failure.line) for result in record.results if result.failure is not None}
    counted = []
    for row, one in zip(rows, batch, strict=True):
        # Tests share helpers: one that failed at an assertion that was altered for another test says nothing about its own.
        file, line = failed_at.get(one.id, ("", 0))
        others = row.outcome == "elsewhere" and any(other.file == file and other.line <= line <= other.end for other in batch)
        if not others and (one.admitted or _counts(row, one, record)):
            counted.append(row)
    return tuple(counted)


def _counts(row: ControlResult, one: Planned, record: RunRecord) -> bool:
    """Whether an alteration that base did not admit says something: red, or passed although it was reached."""
    # Parameter sets share a function, and one of them may take another branch: what counts was reached in this very test.
    mine = [note for note in _notes(record) if note.get("test", one.id) == one.id]
    here = {note.get("state") for note in mine if note.get("file") == one.file and note.get("line") == one.line}
    if row.outcome == "elsewhere":
        # It failed further on in the same test: the altered assertion let it through.
        failure = next((result.failure for result in record.results if result.id == one.id), None)
        later = failure is not None and failure.file == one.file == file_of(one.id) and one.end < failure.line <= one.last
        return later and "reached" in here and one.kind != "raises"
    if row.outcome in ("passed", "skipped"):
        return "reached" in here or (one.sure and "absent" not in here)
    return row.outcome == "red"


def _outcomes(record: RunRecord, batch: tuple[Planned, ...]) -> list[ControlResult]:
    results = {result.id: result for result in record.results}
    altered: dict[object, str] = {}
    for note in _notes(record):
        altered[note.get("file"), note.get("line")] = altered[note.get("id")] = str(note.get("altered", ""))
    rows = []
    for one in batch:
        outcome, detail = _outcome(results.get(one.id), one, record)
        text = altered.get(one.id, "") or altered.get((one.file, one.line), "") or one.text
        rows.append(ControlResult(id=one.id, kind=one.kind, line=one.line, altered=text, outcome=outcome, detail=detail))
    return rows


def _notes(record: RunRecord) -> list[Mapping[str, object]]:
    return [note for note in record.notes if note.get("k") == "control"]


_Outcome = Literal["red", "passed", "elsewhere", "skipped", "missing", "timeout"]


def _outcome(result: TestResult | None, one: Planned, record: RunRecord) -> tuple[_Outcome, str]:
    if record.end.how != "closed" and record.end.test == one.id:
        return ("timeout" if record.end.how == "timeout" else "missing"), record.end.detail or record.end.how
    if result is None:
        return "missing", record.end.detail or f"no record ({record.end.how})"
    if result.outcome not in ("failed", "error"):
        return ("skipped", result.reason) if result.outcome in ("skipped", "xfailed") else ("passed", "")
    failure = result.failure
    if failure is None:
        return "elsewhere", "no place was recorded"
    if failure.file == one.file and one.line <= failure.line <= one.end:
        return "red", ""
    return "elsewhere", f"{failure.type} at {failure.file or 'no sealed file'}:{failure.line}"
