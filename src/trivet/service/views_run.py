"""From ``decision.json``, as plain data, to the parts of a run's page. Pure; tolerant of older and of held-back decisions.

A decision that was written by another version, or from which a feedback level took something out, still makes a page: what is not there is
not shown. Nothing here decides; words and counts are taken as the decision has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args

from trivet.model import LegName, Level, Status
from trivet.rules import RULES
from trivet.service.views import LegView, Moved, RuleGroup, RunView, Spot, Timing
from trivet.service.wording import counted

SHOWN = 20
"""Findings of one rule that a page shows."""
SLOWEST = 12
MOVED = 200
QUESTIONS: tuple[tuple[LegName, str], ...] = (
    ("src-score", "Do the sealed tests hold?"),
    ("oracle-integrity", "Was the measure left alone?"),
    ("flake-lease", "Is every skip leased?"),
)
_LEVELS = {"error": 0, "warning": 1, "note": 2}

Plain = Mapping[str, object]


def mapping(value: object) -> Plain:
    """A mapping as it is; anything else as an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[object]:
    """A list as it is; anything else as an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(str(part) for part in listed(value))


def statuses(decision: Plain) -> tuple[Status, ...]:
    """The three words in the order of the page; empty where there is no decision."""
    verdicts = mapping(decision.get("verdicts"))
    words = [mapping(verdicts.get(leg)).get("status") for leg, _ in QUESTIONS]
    return tuple(cast("Status", word) for word in words) if all(word in get_args(Status) for word in words) else ()


def legs(decision: Plain) -> tuple[LegView, ...]:
    """The three legs, each with its findings by rule, errors first."""
    verdicts = mapping(decision.get("verdicts"))
    made = []
    for leg, question in QUESTIONS:
        verdict = mapping(verdicts.get(leg))
        if verdict.get("status") in get_args(Status):
            status = cast("Status", verdict["status"])
            groups = _groups([mapping(row) for row in listed(verdict.get("findings"))]) or _counted(mapping(verdict.get("rules")))
            made.append(LegView(leg=leg, question=question, status=status, cause=str(verdict.get("cause") or ""), groups=groups))
    return tuple(made)


def _groups(rows: Sequence[Plain]) -> tuple[RuleGroup, ...]:
    found: dict[tuple[str, str], list[Plain]] = {}
    for row in rows:
        level = row.get("level", "error")
        found.setdefault((str(level) if level in _LEVELS else "error", str(row.get("rule", ""))), []).append(row)
    made = []
    for (level, rule), same in sorted(found.items(), key=lambda item: _LEVELS[item[0][0]]):
        known = RULES.get(rule)
        advice = dict.fromkeys(str(row.get("next") or (known.next if known else "")) for row in same)
        made.append(
            RuleGroup(
                rule=rule,
                title=known.title if known else "",
                why=known.why if known else "",
                level=cast("Level", level),
                spots=tuple(_spot(row) for row in same[:SHOWN]),
                hidden=max(0, len(same) - SHOWN),
                next=tuple(text for text in advice if text)[:3],
            )
        )
    return tuple(made)


def _counted(rules: Plain) -> tuple[RuleGroup, ...]:
    """Groups where a feedback level tells only how many findings of each rule there are."""
    made = []
    for rule, number in rules.items():
        known = RULES.get(rule)
        if isinstance(number, int):
            title, why, advice = (known.title, known.why, (known.next,)) if known else ("", "", ())
            made.append(RuleGroup(rule=rule, title=title, why=why, level="error", spots=(), hidden=number, next=advice))
    return tuple(made)


def _spot(row: Plain) -> Spot:
    path, line = row.get("path"), row.get("line")
    return Spot(
        message=_shown(str(row.get("test") or row.get("message", ""))),
        path=_shown(path) if isinstance(path, str) else "",
        line=line if isinstance(line, int) else None,
    )


def _shown(text: str) -> str:
    """A text of the patch for a page: undecodable bytes and control characters become visible, so that nothing reorders the line."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    return "".join(char if char == "\n" or (char.isprintable()) else f"\\u{ord(char):04x}" for char in clean[:4000])


def outcome(decision: Plain) -> str:
    """The decision in one sentence."""
    words = statuses(decision)
    if not words:
        return "may merge" if decision.get("merge") is True else "blocked"
    if decision.get("merge") is True:
        return "All three legs passed: this change may merge."
    failed, idle = words.count("FAIL"), words.count("NOT_RUN")
    parts = [f"{failed} of 3 legs failed"] if failed else []
    parts += [f"{idle} {'was' if idle == 1 else 'were'} not run"] if idle else []
    return "Blocked: " + ", ".join(parts) + "."


def counts(value: object) -> tuple[tuple[str, int], ...]:
    """(word, number) pairs of a mapping of numbers."""
    return tuple((str(word).replace("_", " "), number) for word, number in mapping(value).items() if isinstance(number, int))


def timings(run: Plain, failed: Sequence[str]) -> tuple[tuple[Timing, ...], int, float]:
    """The slowest tests, how many were timed, and the sum of their seconds."""
    pairs = [(str(test), float(seconds)) for test, seconds in mapping(run.get("durations")).items() if isinstance(seconds, (int, float))]
    slow = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:SLOWEST]
    red = set(failed)
    shown = tuple(Timing(test=_shown(test), seconds=seconds, failed=test in red) for test, seconds in slow)
    return shown, len(pairs), sum(seconds for _, seconds in pairs)


def failed_tests(decision: Plain) -> tuple[str, ...]:
    """Ids of the sealed tests, of those that were timed, that a finding of src-score speaks of."""
    rows = [mapping(row) for row in listed(mapping(mapping(decision.get("verdicts")).get("src-score")).get("findings"))]
    told = [str(row.get("message", "")) for row in rows if row.get("rule") == "TRV201"]
    timed = mapping(mapping(decision.get("run")).get("durations"))
    # An id may hold blanks and brackets, so it is looked up and not cut out.
    return tuple(test for test in timed if any(text == test or text.startswith((f"{test} (", f"{test}: ")) for text in told))


def advisory(decision: Plain) -> tuple[str, ...]:
    """The advisory lane in short phrases; it never decides."""
    report = mapping(decision.get("advisory"))
    pairs = report.get("counts")
    rows = list(pairs.items()) if isinstance(pairs, Mapping) else [listed(pair) for pair in listed(pairs)]
    told = ", ".join(f"{pair[1]} {pair[0]}" for pair in rows if len(pair) == 2)  # noqa: PLR2004 - a pair
    phrases = [told] if told else []
    coverage = report.get("coverage")
    if isinstance(coverage, (int, float)):
        phrases.append(f"changed lines covered: {100 * coverage if coverage <= 1 else coverage:.0f} %")
    return (*phrases, *(_shown(note) for note in texts(report.get("notes"))))


def _identity(decision: Plain) -> tuple[tuple[str, str], ...]:
    policy = mapping(decision.get("policy"))
    tool = mapping(decision.get("tool"))
    rows = [
        ("scoring tree", decision.get("score_tree")),
        ("merge base", decision.get("merge_base")),
        ("policy", policy.get("digest")),
        ("policy from", policy.get("source")),
        ("judged by", f"{tool.get('name', 'trivet')} {tool.get('version', '')}".strip()),
    ]
    return tuple((key, ", ".join(texts(value)) if isinstance(value, list) else str(value)) for key, value in rows if value)


def _moved(row: Plain) -> Moved:
    return Moved(path=_shown(str(row.get("path", ""))), zone=str(row.get("zone", "")), status=str(row.get("status", "")))


def decided(view: RunView, decision: Plain) -> RunView:
    """The view with everything that the decision knows."""
    run, wall = mapping(decision.get("run")), mapping(mapping(decision.get("run")).get("wall"))
    change, key = mapping(decision.get("change")), mapping(decision.get("replay_key"))
    slow, timed, timed_s = timings(run, failed_tests(decision))
    moved = [mapping(row) for row in listed(change.get("paths"))]
    return replace(
        view,
        outcome=outcome(decision),
        legs=legs(decision),
        turned_green=tuple(_shown(test) for test in texts(decision.get("turned_green"))),
        change_kind=str(change.get("kind") or ""),
        moved=tuple(_moved(row) for row in moved[:MOVED]),
        tests=counts(run.get("tests")),
        controls=counts(run.get("controls")),
        isolation=tuple((str(name), len(listed(ran))) for name, ran in mapping(run.get("isolation")).items()),
        wall=str(wall.get("name") or ""),
        guarantees=texts(wall.get("guarantees")),
        lacks=texts(wall.get("lacks")),
        signs=tuple(_shown(sign) for sign in texts(run.get("signs"))),
        timings=slow,
        timed=timed,
        timed_s=timed_s,
        advisory=advisory(decision),
        identity=_identity(decision),
        replay=tuple((str(name), _shown(str(value))) for name, value in key.items() if name != "digest"),
        replay_digest=str(key.get("digest") or ""),
    )


def seen(view: RunView) -> str:
    """What ran, in one line, for the head of the page."""
    parts = [", ".join(f"{number:,} {word}" for word, number in view.tests)] if view.tests else []
    parts += [counted(sum(number for _, number in view.controls), "control")] if view.controls else []
    return " · ".join(parts)
