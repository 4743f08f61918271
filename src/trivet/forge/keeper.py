"""The life of a change: whatever happened, look at what the forge says now, judge that, and show it.

A delivery may be lost, doubled or late. So nothing is taken from it but where to look, and a poll (`Keeper.reconcile`) looks everywhere.
What was judged is compared with what stands there after judging; a change that moved on meanwhile is judged again. Where nothing
changed, an event costs two calls: the change, and its approvals.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from trivet.errors import ForgeError
from trivet.forge.standing import moved_on, queued_number
from trivet.forge.words import Event, Evidence, Forge, Subject
from trivet.model import Decision

ROUNDS = 4
"""Times that a change may move on while it is judged; then the next event or poll goes on."""
_DELIVERIES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What came of looking at one change. ``word``: shown, unchanged, gone, moving (moved on each time), doubled, ignored."""

    word: str
    subject: Subject | None = None
    decision: Decision | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """All that a decision rests on, as the forge tells it cheaply."""

    head: str
    base: str
    base_ref: str
    author: str
    approvals: tuple[tuple[str, str], ...]


class Memory(Protocol):
    """What was shown for a change, kept by whoever keeps the changes; losing it costs some calls, never a verdict."""

    def get(self, name: str) -> Key | None:
        """The key that was shown last for a change."""

    def put(self, name: str, key: Key | None) -> None:
        """Keep or forget it."""


class InMemory:
    """A memory of one process."""

    def __init__(self) -> None:
        self._rows: dict[str, Key] = {}

    def get(self, name: str) -> Key | None:
        """See `Memory`."""
        return self._rows.get(name)

    def put(self, name: str, key: Key | None) -> None:
        """See `Memory`."""
        if key is None:
            self._rows.pop(name, None)
        else:
            self._rows[name] = key


class Keeper:
    """Keeps what one repository's forge shows in step with what the gate says. Safe to use from several threads.

    Args:
        forge: the adapter of the repository.
        judge: judges a change, given what stands for its authorship; what it raises is passed on, and the checks stay pending.
        teams: the teams and groups that base's CODEOWNERS names for this change.
        carry: (entry of the merge queue, its pull request, evidence about that) to evidence about the entry; None: entries have none.
        memory: where what was shown is kept.
    """

    def __init__(
        self,
        forge: Forge,
        judge: Callable[[Subject, Evidence], Decision],
        *,
        teams: Callable[[Subject], tuple[str, ...]] = lambda _subject: (),
        carry: Callable[[Subject, Subject, Evidence], Evidence] | None = None,
        memory: Memory | None = None,
        comments: bool = True,
    ) -> None:
        self.forge, self._judge, self._teams, self._carry, self._comments = forge, judge, teams, carry, comments
        self._memory = memory or InMemory()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._guard = threading.Lock()
        self._busy: dict[str, tuple[threading.Lock, int]] = {}

    def handle(self, event: Event) -> Settled:
        """Act on one delivery; a delivery that was seen before is left alone.

        Raises:
            TrivetError: the forge or the gate could not do its work; the delivery counts as not seen.
        """
        if event.delivery and not self._is_news(event.delivery):
            return Settled(word="doubled")
        try:
            return self._act(event)
        except BaseException:
            with self._guard:
                self._seen.pop(event.delivery, None)
            raise

    def _act(self, event: Event) -> Settled:
        if event.kind in ("change", "closed") and event.number is not None:
            return self.settle(event.number)
        if event.kind == "queue" and event.subject is not None:
            return self.settle_queue(event.subject)
        if event.kind == "members":
            found = self.reconcile(afresh=True)
            return Settled(word="shown" if any(one.word == "shown" for one in found) else "unchanged")
        return Settled(word="ignored", reason=event.name)

    def reconcile(self, *, afresh: bool = False) -> tuple[Settled, ...]:
        """Look at every open change, as a poll does; ``afresh`` judges them all again."""
        found = []
        for subject in self.forge.open_changes():
            if subject.number is None:
                continue
            if afresh:
                self._memory.put(subject.name, None)
            found.append(self.settle(subject.number))
        return tuple(found)

    def settle(self, number: int) -> Settled:
        """Bring one change in step."""
        name = f"#{number}"
        with self._alone(name):
            for _ in range(ROUNDS):
                subject = self.forge.subject(number)
                if not subject.is_open:
                    return self._gone(name, subject)
                evidence = self.forge.approvals(subject)
                key = _key(subject, evidence)
                if self._memory.get(name) == key:
                    return Settled(word="unchanged", subject=subject)
                self._memory.put(name, None)
                done = self._judge_and_show(subject, evidence, key)
                if done is not None:
                    return done
            return Settled(word="moving", reason=f"{name} moved on {ROUNDS} times while it was judged")

    def settle_queue(self, subject: Subject) -> Settled:
        """Judge an entry of the merge queue anew: its base is not the one of its pull request. Entries are judged as long as they stand."""
        with self._alone(subject.name):
            now = self.forge.current(subject)
            moved = moved_on(subject, now)
            if moved:
                self._memory.put(subject.name, None)
                return Settled(word="gone", subject=subject, reason=moved)
            number = queued_number(subject) if self._carry else None
            behind = subject if number is None else replace(subject, number=number)
            evidence = self.forge.approvals(behind)
            key = _key(subject, evidence)
            if self._memory.get(subject.name) == key:
                return Settled(word="unchanged", subject=subject)
            self.forge.begin(subject)
            if number is not None and self._carry is not None:
                behind = self.forge.subject(number)
                evidence = replace(evidence, author=behind.author, labels=behind.labels)
            complete = self.forge.complete(behind, evidence, self._teams(subject))
            if behind is not subject and self._carry is not None:
                complete = self._carry(subject, behind, complete)
            decision = self._judge(subject, complete)
            published = self.forge.finish(subject, decision)
            if published.stale:
                return Settled(word="gone", subject=subject, decision=decision, reason=published.stale)
            self._memory.put(subject.name, key)
            return Settled(word="shown", subject=subject, decision=decision)

    def _judge_and_show(self, subject: Subject, evidence: Evidence, key: Key) -> Settled | None:
        """Judge what was seen and show it; None where it is no longer what stands there."""
        self.forge.begin(subject)
        complete = self.forge.complete(subject, evidence, self._teams(subject))
        decision = self._judge(subject, complete)
        if subject.number is None:
            raise ForgeError("a change without a number has no page", where=subject.name)
        again = self.forge.subject(subject.number)
        if not again.is_open or _key(again, self.forge.approvals(again)) != key:
            return None
        published = self.forge.finish(subject, decision, evidence=complete)
        if published.stale and (moved_on(subject, self.forge.current(subject)) or _key(again, self.forge.approvals(again)) != key):
            return None
        if self._comments:
            self.forge.comment(subject, decision)
        if published.stale:  # the same head is offered to two branches: what was shown for the other is gone as well
            self._twins(subject)
        else:
            self._memory.put(subject.name, key)
        return Settled(word="shown", subject=subject, decision=decision, reason=published.stale)

    def _gone(self, name: str, subject: Subject) -> Settled:
        """Forget a change; who shared its head, and was refused because of it, is looked at again by the next event or poll."""
        self._twins(subject)
        self._memory.put(name, None)
        return Settled(word="gone", subject=subject)

    def _twins(self, subject: Subject) -> None:
        for other in self.forge.open_changes():
            if other.head == subject.head and other.number != subject.number:
                self._memory.put(other.name, None)

    def _is_news(self, delivery: str) -> bool:
        with self._guard:
            if delivery in self._seen:
                return False
            self._seen[delivery] = None
            while len(self._seen) > _DELIVERIES:
                self._seen.popitem(last=False)
            return True

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """One thread at a time for a change; the others look again afterwards, and find nothing to do."""
        with self._guard:
            lock, users = self._busy.get(name, (threading.Lock(), 0))
            self._busy[name] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._busy[name]
                if users == 1:
                    del self._busy[name]
                else:
                    self._busy[name] = (lock, users - 1)


def _key(subject: Subject, evidence: Evidence) -> Key:
    return Key(
        head=subject.head,
        base=subject.base,
        base_ref=subject.base_ref,
        author=evidence.author,
        approvals=tuple(sorted(evidence.approvals)),
    )
