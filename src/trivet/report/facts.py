"""What every report says in words: the change, the run, the outcome; and findings grouped by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trivet.model import Decision, Finding, Verdict
from trivet.rules import RULES, Rule

_NAMED = 5
"""Advisory tests of one word that are named."""
_UNKNOWN = Rule(id="", leg="src-score", title="rule of another version", why="", next="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The findings of one rule in one verdict; ``next`` are the distinct things to do."""

    rule: str
    title: str
    why: str
    level: str
    findings: tuple[Finding, ...]
    next: tuple[str, ...]


def groups(verdict: Verdict) -> tuple[Group, ...]:
    """Findings by rule: errors first, then warnings and notes, otherwise in the order of the findings."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in verdict.findings:
        found.setdefault((finding.level, finding.rule), []).append(finding)
    order = {"error": 0, "warning": 1, "note": 2}
    made = []
    for (level, rule), findings in sorted(found.items(), key=lambda item: order[item[0][0]]):
        known = RULES.get(rule, _UNKNOWN)
        advice = tuple(dict.fromkeys(finding.next or known.next for finding in findings if finding.next or known.next))
        made.append(Group(rule=rule, title=known.title, why=known.why, level=level, findings=tuple(findings), next=advice))
    return tuple(made)


def final_line(decision: Decision) -> str:
    """``MERGE_OK`` or ``MERGE_BLOCKED: <flake_lease> <oracle_integrity> <src_score>``."""
    return "MERGE_OK" if decision.merge else "MERGE_BLOCKED: " + " ".join(verdict.status for verdict in decision.verdicts)


def outcome(decision: Decision) -> str:
    """The outcome in one sentence."""
    if decision.merge:
        return "may merge: 3 of 3 legs passed"
    failed = sum(verdict.status == "FAIL" for verdict in decision.verdicts)
    idle = sum(verdict.status == "NOT_RUN" for verdict in decision.verdicts)
    parts = [f"{failed} of 3 legs failed"] if failed else []
    parts += [f"{idle} {'was' if idle == 1 else 'were'} not run"] if idle else []
    return "blocked: " + ", ".join(parts)


def mapping(decision: Decision, key: str) -> Mapping[str, object]:
    """A fact that is a mapping; empty where it is not known."""
    value = decision.facts.get(key)
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> Sequence[object]:
    """A list or tuple as it is; anything else as an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def commits(decision: Decision) -> tuple[tuple[str, str], ...]:
    """Names and abbreviated ids of what was judged, as far as they are known."""
    found: list[tuple[str, str]] = []
    for key in ("base", "head"):
        commit = mapping(decision, key).get("commit")
        if isinstance(commit, str):
            found.append((key, commit[:12]))
    tree = decision.facts.get("score_tree")
    if isinstance(tree, str):
        found.append(("scoring tree", tree[:12]))
    digest = mapping(decision, "policy").get("digest")
    if isinstance(digest, str):
        found.append(("policy", digest[:12]))
    replay = mapping(decision, "replay_key").get("digest")
    if isinstance(replay, str):
        found.append(("replay key", replay[:12]))
    return tuple(found)


def run_facts(decision: Decision) -> tuple[str, ...]:
    """The run in short phrases: tests, controls, isolation, wall, seconds; as far as they are known."""
    run = mapping(decision, "run")
    phrases = [_counted(run[key], key) for key in ("tests", "controls") if run.get(key) not in (None, {}, [])]
    isolation, wall = run.get("isolation"), run.get("wall")
    if isinstance(isolation, Mapping):  # isolation: files that ran in it
        isolation = ", ".join(
            f"{name} ({len(sequence(ran))} {'file' if len(sequence(ran)) == 1 else 'files'})" for name, ran in isolation.items()
        )
    if isolation:
        phrases.append(f"isolation {isolation}")
    label = wall.get("name") if isinstance(wall, Mapping) else wall
    if label:
        phrases.append(f"wall {label}")
    duration = run.get("duration_s")
    if isinstance(duration, (int, float)):
        phrases.append(f"{duration:.1f} s")
    return tuple(phrases)


def turned_green(decision: Decision) -> tuple[str, ...]:
    """Test ids that are red on base and green on head."""
    return tuple(str(item) for item in sequence(decision.facts.get("turned_green")))


def certificates(decision: Decision) -> tuple[tuple[str, str], ...]:
    """(property, what is known about it in short) of each new or changed property of an oracle change."""
    found = []
    for row in sequence(mapping(decision, "run").get("certificates")):
        if not isinstance(row, Mapping):
            continue
        said = [str(row.get("outcome", ""))]
        if row.get("outcome") == "green":
            said.append(f"{_number(row.get('controls'))} of {_number(row.get('tried'))} altered copies failed as they must")
            said.append(f"executes {_number(row.get('executes'))} production functions")
        steady = sequence(row.get("steady"))
        said += [f"same under {len(steady)} other environments"] if steady else []
        said += [f"against it: {', '.join(map(str, sequence(row.get('faults'))))}"] if sequence(row.get("faults")) else []
        found.append((str(row.get("property", "")), "; ".join(said)))
    return tuple(found)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def advisory(decision: Decision) -> tuple[str, ...]:
    """The advisory lane in short phrases; it never decides."""
    report = mapping(decision, "advisory")
    counts = report.get("counts")
    pairs: list[Sequence[object]] = [*counts.items()] if isinstance(counts, Mapping) else [sequence(pair) for pair in sequence(counts)]
    told = ", ".join(" ".join(map(str, reversed(pair))) for pair in pairs)
    phrases = [told] if told else []
    coverage = report.get("coverage")
    if isinstance(coverage, (int, float)):
        phrases.append(f"changed lines covered: {100 * coverage if coverage <= 1 else coverage:.0f} %")
    pairs = [sequence(pair) for pair in sequence(report.get("tests"))]
    for word in ("shows the fix", "red", "flaky"):
        names = [str(pair[0]) for pair in pairs if len(pair) > 1 and str(pair[1]).partition(",")[0] == word]
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            phrases.append(f"{word}: {', '.join(names[:_NAMED])}{more}")
    return (*phrases, *(str(note) for note in sequence(report.get("notes"))))


def _counted(value: object, noun: str) -> str:
    if isinstance(value, Mapping):
        return f"{noun}: " + ", ".join(f"{count} {str(word).replace('_', ' ')}" for word, count in value.items())
    if isinstance(value, int):
        return f"{value} {noun}"
    if isinstance(value, (list, tuple)):
        return f"{len(value)} {noun}"
    return f"{noun} {value}"
