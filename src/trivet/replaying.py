"""The walk of ``trivet replay``: judge once more what a replay key names, and say where the outcome differs.

The key names commits, policy, environment, seeds and what flags asked for. Durations are no part of an outcome, and the advisory lane is
none of a verdict. A judgement that used the cache and one that did not are the same judgement.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trivet.errors import UsageError
from trivet.gate import GateRequest, judge, tightened
from trivet.git import CommitTree, open_repository
from trivet.model import Decision, Policy
from trivet.report.document import Plain, document
from trivet.sealed.ledger import read_ledger
from trivet.sealed.policy import read_policy
from trivet.stage.cache import Cache, key_of
from trivet.stage.replay import DAY_S, asked, find_python, run_facts
from trivet.stage.wall import choose

KIND = "replay"
"""Under which kind decisions are kept in the cache, by the digest of their key."""

TIMES = ("durations", "duration_s", "calibration_s")
"""Keys of ``run`` that say how long something took."""

_SHORTEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What came of a replay.

    ``environment``: facts of the key that are other here, as (name, was, is). ``first``: the first difference of the two outcomes, as
    (place, was, is); None where they are equal.
    """

    digest: str
    environment: tuple[tuple[str, str, str], ...]
    first: tuple[str, str, str] | None
    decision: Decision


def environment(request: GateRequest) -> dict[str, str]:
    """The environment part of the replay key that a judgement of ``request.base`` would have here, without a run.

    Raises:
        TrivetError: the repository, the policy, the interpreter or the wall cannot be had.
    """
    with open_repository(request.repo) as repository:
        policy = tightened(read_policy(CommitTree(repository, repository.commit(request.base), "base")), request)
    return _environment(policy, request)


def _environment(policy: Policy, request: GateRequest) -> dict[str, str]:
    python = find_python(policy.score, repo=request.repo, asked=request.python)
    wall = choose(policy.score.wall, network=policy.score.network, allow_none=True)
    return {**run_facts(policy.score, python, wall=wall.facts.name), "asked": asked(policy)}


def digest_of(facts: Mapping[str, str]) -> str:
    """The digest of some facts of a key."""
    return key_of(facts)


def outcome(decision: Mapping[str, object]) -> Plain:
    """What of ``decision.json`` must be the same each time: all but times and the advisory lane."""
    kept: Plain = {name: value for name, value in decision.items() if name != "advisory"}
    run = kept.get("run")
    if isinstance(run, Mapping):
        kept["run"] = {name: value for name, value in run.items() if name not in TIMES}
    return kept


def keep(decision: Decision, folder: Path | None) -> None:
    """Keep a decision under the digest of its key, so that ``trivet replay KEY`` finds it."""
    digest = _digest(decision.facts)
    if digest and folder is not None:
        Cache(folder).put(KIND, digest, document(decision))


def find(what: str, *, cwd: Path, cache: Path | None) -> Plain:
    """The decision that a file, a folder of verdict files, or the digest of a replay key (8 digits or more) names.

    Raises:
        UsageError: there is no such decision.
    """
    path = cwd / what
    path = path / "decision.json" if path.is_dir() else path
    if path.is_file():
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(f"the decision cannot be read: {error}", where=what, hint="name a decision.json that `gate` wrote") from error
        if not isinstance(found, dict) or not isinstance(found.get("verdicts"), dict):
            raise UsageError("this file is no decision", where=what, hint="name a decision.json that `gate` wrote")
        return found
    digests = _kept(what, cache)
    if len(digests) != 1:
        told = "no decision is known by it" if not digests else f"{len(digests)} keys begin with it"
        raise UsageError(f"{told}: {what!r}", hint="name the decision.json, or more digits; keys are kept in the cache of who judged")
    known = Cache(cache).get(KIND, digests[0], dict[str, object])
    if known is None:
        raise UsageError("the kept decision cannot be read", where=what, hint="name the decision.json instead")
    return known


def _kept(what: str, cache: Path | None) -> list[str]:
    store = Cache(cache).store if len(what) >= _SHORTEST and not set(what) - set("0123456789abcdef") else None
    return [] if store is None else sorted(key for key, _ in store.values(KIND) if key.startswith(what))


def replay(recorded: Plain, request: GateRequest) -> Replayed:
    """Judge again what a decision was about.

    Args:
        recorded: the decision.
        request: repository, interpreter and clock of the caller; what the decision names is taken from there.

    Raises:
        UsageError: the decision has no commits, or none that this repository knows.
        TrivetError: it cannot be judged here.
    """
    base, head = (_commit(recorded, name) for name in ("base", "head"))
    key = recorded.get("replay_key")
    facts = {str(name): str(value) for name, value in key.items()} if isinstance(key, dict) else {}
    again = replace(request, base=base, head=head, cache=None, advisory=False, **_flags(facts))
    with open_repository(request.repo) as repository:
        tree = CommitTree(repository, repository.commit(base), "base")
        policy = tightened(read_policy(tree), again)
        if "epoch" in facts:
            moments = [lease.expires_at for lease in read_ledger(tree, policy, now=request.now).leases]
            again = replace(again, now=_moment(facts, moments, lambda now: _expired(tree, policy, now)))
    here = _environment(policy, again) if facts else {}
    other = tuple((name, facts.get(name, ""), value) for name, value in here.items() if name in facts and facts[name] != value)
    decision = judge(again)
    first = difference(outcome(recorded), outcome(document(decision)))
    return Replayed(digest=str(facts.get("digest", "")), environment=other, first=first, decision=decision)


def _commit(recorded: Plain, name: str) -> str:
    commit = recorded.get(name)
    if not isinstance(commit, Mapping) or not isinstance(commit.get("commit"), str):
        raise UsageError(f"the decision names no {name} commit: nothing was judged", hint="replay a decision that has a replay key")
    return str(commit["commit"])


def _flags(facts: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a request that the key names."""
    if not facts:
        return {}
    told = dict(pair.partition("=")[::2] for pair in facts.get("asked", "").split())
    flags: dict[str, Any] = {name: told[name] for name in ("isolation", "controls", "wall") if name in told}
    try:
        flags |= {"vary": told.get("vary") == "1", "reruns": int(told["reruns"])} if "reruns" in told else {}
        flags["secret"] = int(facts["secret"]) if "secret" in facts else None
    except ValueError as error:
        raise UsageError("the replay key is damaged: a number is none", hint="take the decision.json as it was written") from error
    flags["split"] = tuple(facts.get("split", "").split("\n")) if facts.get("split") else ()
    return flags


def _moment(facts: Mapping[str, str], ends: list[float], expired: Callable[[float], str]) -> float:
    """A moment of the key's day at which the same leases had expired as when it was judged."""
    try:
        start = int(facts["epoch"]) * DAY_S
    except ValueError as error:
        raise UsageError("the replay key is damaged: its epoch is no number") from error
    moments = [float(start), *sorted(end for end in ends if start < end < start + DAY_S)]
    return next((moment for moment in moments if expired(moment) == facts.get("expired", "")), float(start))


def _expired(tree: CommitTree, policy: Policy, now: float) -> str:
    return " ".join(sorted(lease.qualname for lease in read_ledger(tree, policy, now=now).leases if lease.expires_at <= now))


def difference(was: object, now: object, place: str = "") -> tuple[str, str, str] | None:
    """The first place at which two JSON values differ, with both values in short; None where they are equal."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys([*was, *now]):
            found = difference(was.get(name, _ABSENT), now.get(name, _ABSENT), f"{place}.{name}" if place else str(name))
            if found:
                return found
        return None
    if isinstance(was, list) and isinstance(now, list):
        for number, pair in enumerate(_pairs(was, now)):
            found = difference(*pair, f"{place}[{number}]")
            if found:
                return found
        return None
    return None if was == now and type(was) is type(now) else (place, _short(was), _short(now))


def _pairs(was: list[object], now: list[object]) -> Iterator[tuple[object, object]]:
    for number in range(max(len(was), len(now))):
        yield was[number] if number < len(was) else _ABSENT, now[number] if number < len(now) else _ABSENT


class _Absent:
    def __repr__(self) -> str:
        return "absent"


_ABSENT = _Absent()


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, _Absent) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"  # noqa: PLR2004 - a line that people read


def _digest(facts: Mapping[str, object]) -> str:
    key = facts.get("replay_key")
    return str(key.get("digest", "")) if isinstance(key, Mapping) else ""
