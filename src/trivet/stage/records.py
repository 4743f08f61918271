"""Records of the probe, read strictly and folded into a ``RunRecord``.

Nothing here believes what a run says of itself as a whole: a test has passed only if setup, call and teardown each said so, and a run
is closed only if its closing message came last and its number fits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trivet.model import Failure, Isolation, Outcome, RunEnd, RunRecord, TamperSign, TestResult
from trivet.probe import wire

_KEPT = 2_000
_PYTEST_OF = re.compile(rb"pytest-of-[^/\"\\]+/")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_RANK: tuple[Outcome, ...] = ("passed", "xpassed", "xfailed", "skipped", "failed", "error")
_PHASES = ("setup", "call", "teardown")


class ProtocolError(Exception):
    """The stream of records is not what a probe writes."""


@dataclass(slots=True)
class _Open:
    phases: list[tuple[str, str, float]] = field(default_factory=list)
    reason: str = ""
    failure: Failure | None = None
    env: bool = True
    skipped: bool = False
    by_source: bool = False
    subtest: Outcome | None = None
    done: bool = False


class Fold:
    """Takes the bytes of a record stream as they come.

    Args:
        nonce: the nonce that each record must carry.
        root: the folder of the tree; taken out of texts, since it is another one in each run.
        scratch: the run's own folder; it is called ``scratch`` in texts.
    """

    def __init__(self, nonce: str, root: str = "", scratch: str = "") -> None:
        self.nonce = nonce
        self._root = json.dumps(root.rstrip("/") + "/")[1:-1].encode() if root else b""
        self._scratch = json.dumps(scratch)[1:-1].encode() if scratch else b""
        self.started = False
        self.refused = ""
        self.internal = ""
        self.closed = False
        self.current = ""
        self.collected: list[str] = []
        self.collecting = True
        self.finished = 0
        self._number = 0
        self._rest = b""
        self._tests: dict[str, _Open] = {}
        self._skipped_files: list[TestResult] = []
        self._errors: list[tuple[str, str]] = []
        self._signs: list[TamperSign] = []
        self._facts: dict[str, str] = {}
        self._notes: list[Mapping[str, object]] = []
        self._readers: dict[str, Callable[[dict[str, object]], None]] = {
            "begin": self._begin,
            "phase": self._full_phase,
            "sub": self._subtest,
            "done": self._done,
            "collected": self._collected,
            "collect_error": self._error,
            "collect_skip": self._skip_file,
            "sign": self._sign,
            "start": self._fact,
            "env": self._fact,
            "refused": self._refused,
            "internal": self._internal,
            "end": self._end,
        }

    def feed(self, data: bytes) -> None:
        """Take bytes; raises ``ProtocolError`` at the first that do not belong there."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._line(line)
        if len(self._rest) > wire.MAX_LINE:
            raise ProtocolError("a record without an end")
        if self._rest and self.closed:
            raise ProtocolError("bytes after the closing message")

    def _line(self, line: bytes) -> None:
        if self.closed:
            raise ProtocolError("a record after the closing message")
        try:
            record = wire.load_record(self._steady(line))
        except (ValueError, RecursionError) as error:
            raise ProtocolError("bytes that are no record") from error
        if record.get("n") != self.nonce:
            raise ProtocolError("a record that does not come from this run")
        if record["i"] != self._number:
            raise ProtocolError(f"record {record['i']} where {self._number} was due")
        self._number += 1
        try:
            self._take(str(record["k"]), record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProtocolError(f"a malformed record of kind {record['k']}") from error

    def _steady(self, line: bytes) -> bytes:
        """The line without what names one run: its folders, and the user in the name of pytest's own."""
        line = line.replace(self._root, b"") if self._root else line
        line = line.replace(self._scratch, b"scratch") if self._scratch else line
        return _PYTEST_OF.sub(b"pytest-of-user/", line) if b"pytest-of-" in line else line

    def _take(self, kind: str, record: dict[str, object]) -> None:
        reader = self._readers.get(kind)
        if reader is None:
            self._notes.append(record)
        else:
            reader(record)

    def _begin(self, record: dict[str, object]) -> None:
        self.collecting = False
        self.current = str(record["id"])
        self._tests.setdefault(self.current, _Open())

    def _done(self, record: dict[str, object]) -> None:
        self._tests[str(record["id"])].done = True
        self.finished += 1
        self.current = ""

    def _collected(self, record: dict[str, object]) -> None:
        self.collecting = False
        self.collected += [str(i) for i in _list(record["ids"])]

    def _error(self, record: dict[str, object]) -> None:
        self._errors.append((str(record["file"]), str(record["text"])[:_KEPT]))

    def _sign(self, record: dict[str, object]) -> None:
        detail = str(record["detail"])[:_KEPT]
        self._signs.append(TamperSign(kind=str(record["kind"]), detail=detail, blocking=record["blocking"] is True))

    def _fact(self, record: dict[str, object]) -> None:
        self.started = True
        facts = record.get("facts", {k: v for k, v in record.items() if k not in ("n", "i", "k", "pid")})
        self._facts.update({str(k): str(v)[:_KEPT] for k, v in _mapping(facts).items()})

    def _refused(self, record: dict[str, object]) -> None:
        self.refused = str(record["text"])[:_KEPT]

    def _internal(self, record: dict[str, object]) -> None:
        self.internal = str(record["text"])[:_KEPT]

    def _end(self, record: dict[str, object]) -> None:
        if record["count"] != self._number - 1:
            raise ProtocolError("the closing message counts other records than came")
        self.closed = True

    def _full_phase(self, record: dict[str, object]) -> None:
        self._phase("phase", record)

    def _subtest(self, record: dict[str, object]) -> None:
        self._phase("sub", record)

    def _phase(self, kind: str, record: dict[str, object]) -> None:
        test = self._tests[str(record["id"])]
        out = str(record["out"])
        fail = record.get("fail")
        if fail is not None:
            failure = _failure(_mapping(fail))
            test.failure = test.failure or failure
        test.by_source = test.by_source or record.get("src") is True
        if out in ("skipped", "xfailed"):
            test.skipped = True
            test.env = test.env and record.get("env") is True
        test.reason = test.reason or str(record.get("reason", ""))[:_KEPT]
        if kind == "sub":
            worst = _outcome(out)
            if worst in ("failed", "error") or (worst == "skipped" and record.get("src") is True):
                test.subtest = worst if test.subtest is None else max(test.subtest, worst, key=_RANK.index)
            return
        test.phases.append((str(record["when"]), out, float(str(record.get("s", 0.0)))))

    def _skip_file(self, record: dict[str, object]) -> None:
        file = str(record["file"])
        self._skipped_files.append(
            TestResult(
                id=file,
                file=file.split("::", maxsplit=1)[0],
                outcome="skipped",
                seconds=0.0,
                phases=(),
                reason=str(record["reason"])[:_KEPT],
                env_skip=record.get("env") is True,
                by_source=record.get("src") is True,
            )
        )

    def record(self, *, isolation: Isolation, end: RunEnd, seconds: float, output: str, lifted: tuple[str, ...] = ()) -> RunRecord:
        """Everything that was seen, with how the run ended."""
        results = [_result(name, test, lifted=name in lifted) for name, test in self._tests.items()]
        return RunRecord(
            isolation=isolation,
            collected=tuple(self.collected),
            results=(*results, *self._skipped_files),
            errors=tuple(self._errors),
            signs=tuple(self._signs),
            end=end,
            seconds=seconds,
            output=output,
            environment=tuple(sorted(self._facts.items())),
            notes=tuple(self._notes),
        )


def _result(name: str, test: _Open, *, lifted: bool) -> TestResult:
    outcome = _ended(test)
    if test.subtest is not None:
        outcome = max(outcome, test.subtest, key=_RANK.index)
    failure = test.failure
    if outcome == "error" and failure is None:
        failure = Failure(type="Incomplete", message="the test did not run to its end")
    return TestResult(
        id=name,
        file=name.split("::", maxsplit=1)[0],
        outcome=outcome,
        seconds=sum(s for _, _, s in test.phases),
        phases=tuple(test.phases),
        reason=test.reason,
        failure=failure if outcome in ("failed", "error", "xfailed") else None,
        lifted=lifted,
        env_skip=test.skipped and test.env,
        by_source=test.by_source,
    )


def _ended(test: _Open) -> Outcome:
    """The worst of the phases; "error" unless setup, call and teardown are all there, or setup did not get to a call."""
    when = {phase for phase, _, _ in test.phases}
    outs = [(phase, out) for phase, out, _ in test.phases]
    if any(out == "failed" and phase != "call" for phase, out in outs):
        return "error"
    early = any(phase == "setup" and out != "passed" for phase, out in outs)
    if not test.done or not when.issuperset(_PHASES if not early else ("setup", "teardown")):
        return "error"
    return max((_outcome(out) for _, out in outs), key=_RANK.index)


def _outcome(out: str) -> Outcome:
    return next((known for known in _RANK if known == out), "error")


def _failure(fields: Mapping[str, object]) -> Failure:
    return Failure(
        type=str(fields["type"])[:200],
        message=_ADDRESS.sub("0x", str(fields["message"])[:_KEPT]),
        file=str(fields.get("file", ""))[:500],
        line=int(str(fields.get("line", 0))),
    )


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value
