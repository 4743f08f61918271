"""The walk of ``trivet verify``: from an envelope and what is trusted to the decision that counts.

Loads little (no ``pathlib``, no git) until a repository is asked about, so that verifying costs a few starts of Python at most.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from trivet.attest import LIMIT_B, SVR, Data, stem_of
from trivet.attest.decided import Attested, Leg, decision_of, leg_of
from trivet.attest.envelope import Opened, parts, statement_of
from trivet.attest.times import written
from trivet.attest.trust import Trust
from trivet.errors import SignatureError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trivet.attest.checkpoint import Checkpoint
    from trivet.attest.log import Log
    from trivet.git import Repository

DECISION = "decision.dsse.json"
KEYLESS_DECISION = "decision.sigstore.json"
BUNDLE = b"application/vnd.dev.sigstore.bundle"
"""Stands in every Sigstore bundle, and in no envelope: there, base64 has no full stops."""


class Wanted(NamedTuple):
    """What the caller knows that the decision must be about; "" and None ask for nothing. Commits are full ids."""

    repository: str = ""
    base: str = ""
    head: str = ""
    policy: str = ""
    session: str = ""
    max_age_s: float | None = None


def opened(data: bytes, trust: Trust, root: str | None = None) -> Opened:
    """Open an envelope that a trusted key signed, or a Sigstore bundle of a trusted identity.

    Args:
        data: the bytes.
        trust: whose signatures count.
        root: a file with Sigstore's roots of trust.

    Raises:
        SignatureError: with the one reason why it is refused.
    """
    if BUNDLE not in data:
        return trust.open(data)
    from pathlib import Path  # noqa: PLC0415 - an extra, and heavy

    from trivet.attest.keyless import open_bundle  # noqa: PLC0415

    return open_bundle(data, trust.identities, None if root is None else Path(root))


def answer(data: bytes, trust: Trust, wanted: Wanted, *, now: float, root: str | None = None) -> Attested:
    """The decision in one envelope, if it is signed by a key that counted, and about what is wanted.

    Raises:
        SignatureError: with the one reason why it is refused.
    """
    return check(opened(data, trust, root), trust, wanted, now=now)


def check(statement: Opened, trust: Trust, wanted: Wanted, *, now: float) -> Attested:
    """As ``answer``, for an envelope whose signature was checked."""
    found = decision_of(statement)
    trust.check(found.key, "decision", found.at, now=now)
    _check_wanted(found, wanted, now)
    return found


def newest(envelopes: Iterable[bytes], trust: Trust, wanted: Wanted, *, now: float, root: str | None = None) -> tuple[Attested, bytes]:
    """Of several envelopes about one head, the decision that counts: the youngest, and of two of one second the one that blocks.

    An older PASS never stands in for a later FAIL; what others put beside it, and nobody trusted signed, says nothing.

    Raises:
        SignatureError: none of them holds; the reason is that of the first.
    """
    held: list[tuple[Attested, bytes]] = []
    refused: list[SignatureError] = []
    for data in envelopes:
        try:
            found = opened(data, trust, root)
            if found.statement.get("predicateType") == SVR:  # statements of legs and summaries lie beside it
                held.append((check(found, trust, wanted, now=now), data))
        except SignatureError as error:
            refused.append(error)
    if held:
        return max(held, key=lambda pair: (pair[0].at, not pair[0].merge))
    raise refused[0] if refused else SignatureError("no joined decision is there")


def read_file(path: str) -> bytes:
    """The bytes of a file.

    Raises:
        SignatureError: it cannot be read, or is longer than any of ours.
    """
    name = os.path.basename(path)  # noqa: PTH119 - no pathlib here
    try:
        # Not to wait at a pipe that somebody put in the place of a file.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            data = file.read(LIMIT_B + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError as error:
        raise SignatureError(f"{name} cannot be read: {error.strerror or error}", where=path) from error
    if data is None:
        raise SignatureError(f"{name} is no regular file", where=path)
    if len(data) > LIMIT_B:
        raise SignatureError(f"{name} is too long", where=path)
    return data


def check_folder(folder: str, attested: Attested, trust: Trust, *, now: float, root: str | None = None) -> None:
    """The files beside the envelope must be the signed ones: the decision, the words, the verdicts, and the legs' own envelopes.

    A file that is not there is not missed: the decision alone answers. One that says something else is refused.

    Raises:
        SignatureError: a file is not what was signed; the message names it.
    """
    _check_digest(f"{folder}/decision.json", str(attested.facts["decision_sha256"]))
    for leg in attested.legs:
        stem = f"{folder}/{stem_of(leg.leg)}"
        word = f"{stem}.txt"
        if os.path.lexists(word) and read_file(word) != f"{leg.status}\n".encode():
            raise SignatureError(f"{stem_of(leg.leg)}.txt does not say what was signed ({leg.status})", where=word)
        if leg.facts["verdict_sha256"]:
            _check_digest(f"{stem}.json", str(leg.facts["verdict_sha256"]))
        for ending in (".dsse.json", ".sigstore.json"):
            envelope = stem + ending
            if os.path.lexists(envelope) and _statement(read_file(envelope), leg, trust, now, root) != leg.statement:
                raise SignatureError(f"{stem_of(leg.leg)}{ending} is of another judgement than the decision", where=envelope)


def check_repository(repository: Repository, attested: Attested, *, head: str, base: str | None, within: str | None) -> None:
    """What was judged is what the repository holds: both commits with their trees, head still there, base in a trusted history.

    Args:
        repository: the open repository.
        attested: the decision.
        head: the revision that must still be the judged head.
        base: the revision that must be the judged base, or None.
        within: the revision in whose history the judged base must lie, or None.

    Raises:
        SignatureError: with the one difference.
        UsageError: a revision is unknown.
    """
    now = repository.commit(head)
    if now.oid != attested.head:
        raise SignatureError(
            f"this decision is about head {attested.head[:12]}; {head} is {now.oid[:12]}", hint="judge the present head with `trivet gate`"
        )
    for name in ("head", "base"):
        facts = attested.facts[name]
        if not knows(repository, facts["commit"]):
            raise SignatureError(f"this decision is about another repository: its {name} {facts['commit'][:12]} is not here")
        if repository.commit(facts["commit"]).tree != facts["tree"]:
            raise SignatureError(f"the statement contradicts the repository: {name} {facts['commit'][:12]} has another tree")
    if base is not None and repository.commit(base).oid != attested.base:
        raise SignatureError(
            f"this decision is about base {attested.base[:12]}; {base} is {repository.commit(base).oid[:12]}",
            hint="judge against the present base",
        )
    if within is not None and attested.base not in repository.merge_bases(attested.base, repository.commit(within).oid):
        raise SignatureError(f"base {attested.base[:12]} of this decision is not in the history of {within}")


def subject_of(statement: Opened, repository: Repository) -> str:
    """The head that a signed statement is about, which the repository must hold with the very tree that is named.

    Raises:
        SignatureError: the statement names none, or another repository's.
    """
    try:
        digests = {row["name"]: row["digest"] for row in statement.statement["subject"]}
        head, tree = str(digests["head"]["gitCommit"]), str(digests["head-tree"]["gitTree"])
    except (KeyError, TypeError) as error:
        raise SignatureError("the statement names no head") from error
    if not knows(repository, head) or repository.commit(head).tree != tree:
        raise SignatureError(f"the statement is about another repository: its head {head[:12]} is not here")
    return head


def knows(repository: Repository, oid: str) -> bool:
    """Whether the repository has this commit."""
    from trivet.errors import UsageError  # noqa: PLC0415

    try:
        return repository.commit(oid).oid == oid
    except UsageError:
        return False


def _statement(data: bytes, leg: Leg, trust: Trust, now: float, root: str | None) -> Data:
    """The statement in a leg's own envelope. Where only the join's key is trusted, the join vouches for the keys of the legs."""
    if BUNDLE not in data:
        payload, _, named = parts(data)
        if named is not None and named not in trust.keys and named == leg.key:
            return statement_of(payload)
    own = opened(data, trust, root)
    trust.check(own.key, leg.leg, leg_of(own, leg.leg).at, now=now)
    return own.statement


def check_log(log: Log, data: bytes, kept: Checkpoint | None) -> None:
    """The log holds the decision, not withdrawn; and, where a head of it was kept, it is that log, not cut and not written anew.

    Raises:
        SignatureError: it does not, or is not.
    """
    if kept is not None:
        log.check_extends(kept)
    log.check_holds(data)


def _check_wanted(found: Attested, wanted: Wanted, now: float) -> None:
    facts = found.facts
    for name, actual, asked in (("head", found.head, wanted.head), ("base", found.base, wanted.base)):
        if asked and actual != asked.lower():
            raise SignatureError(f"this decision is about {name} {actual[:12]}, not {asked[:12]}", hint="judge it again with `trivet gate`")
    if wanted.repository and facts["repository"] != wanted.repository:
        raise SignatureError(f"this decision is about repository {facts['repository'] or 'none'!r}, not {wanted.repository!r}")
    policy = str((facts["policy"] or {}).get("digest", "")).removeprefix("sha256:")
    if wanted.policy and policy != wanted.policy.removeprefix("sha256:"):
        raise SignatureError(f"this decision used policy {policy[:16] or 'none'}, not {wanted.policy[:16]}")
    if wanted.session and facts["session"] != wanted.session:
        raise SignatureError(f"this decision is of session {facts['session'] or 'none'!r}, not {wanted.session!r}")
    if wanted.max_age_s is not None and now - found.at > wanted.max_age_s:
        raise SignatureError(f"this decision is stale: it is of {written(found.at)}", hint="judge it again, or say a longer --max-age")


def _check_digest(path: str, digest: str) -> None:
    if os.path.lexists(path) and hashlib.sha256(read_file(path)).hexdigest() != digest:
        name = os.path.basename(path)  # noqa: PTH119
        raise SignatureError(f"{name} is not the file that was signed", where=path)


