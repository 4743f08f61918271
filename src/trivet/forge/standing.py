"""Which change is meant, and whether it is still the one that was judged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trivet.errors import ForgeError
from trivet.forge.words import Evidence, Forge, Subject
from trivet.model import Decision

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_QUEUED = re.compile(r"/pr-(\d+)-[0-9a-f]{40,64}$")


def pull_subject(row: Mapping[str, Any]) -> Subject:
    """A pull request as the API and the webhooks give it.

    Raises:
        ForgeError: a part is missing.
    """
    try:
        user = row.get("user") or {}
        return Subject(
            number=int(row["number"]),
            head=commit_id(str(row["head"]["sha"])),
            base=commit_id(str(row["base"]["sha"])),
            base_ref=str(row["base"]["ref"]),
            author=str(user.get("login") or "ghost"),
            is_open=row.get("state") == "open",
            labels=tuple(str(label.get("name", "")) for label in row.get("labels") or () if isinstance(label, dict)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForgeError(f"a pull request without its {error}", hint="is the address that of the API?") from error


def queued_number(subject: Subject) -> int | None:
    """The pull request that an entry of the merge queue is made of, None where its branch does not say."""
    found = _QUEUED.search(subject.queue_ref)
    return int(found[1]) if found else None


def judged_head(decision: Decision) -> str:
    """The commit that a decision is about, "" where it does not say."""
    head = decision.facts.get("head")
    return str(head.get("commit") or "") if isinstance(head, Mapping) else ""


def moved_on(judged: Subject, now: Subject | None) -> str:
    """Why a judgement of ``judged`` says nothing about ``now``; "" where it does."""
    if now is None or not now.is_open:
        return "the change is closed or gone"
    if now.head != judged.head:
        return f"the head has moved on to {now.head[:12]}"
    if now.base_ref != judged.base_ref:
        return f"the change now goes into {now.base_ref}"
    return ""


def regretted(forge: Forge, subject: Subject, decision: Decision, evidence: Evidence | None) -> str:
    """Why an oracle change has no longer the approvals that it was judged with; "" where it has, or where nobody asks."""
    change = decision.facts.get("change")
    if evidence is None or subject.number is None or (isinstance(change, Mapping) and change.get("kind") == "patch"):
        return ""
    now = forge.complete(subject, forge.approvals(subject), ())
    lost = sorted({login for login, commit in evidence.approvals if commit == subject.head} - {login for login, _ in now.approvals})
    return f"the approval of {', '.join(lost)} was taken back while it was judged" if lost else ""


def commit_id(text: str) -> str:
    """The text, if it is a whole commit id.

    Raises:
        ForgeError: it is none.
    """
    if not COMMIT.fullmatch(text):
        raise ForgeError(f"not a commit id: {text[:80]!r}")
    return text
