"""The walk of signing: from a decision in memory to the envelopes that stand beside its files.

Nothing is read back from the folder: whoever can write there between two steps must not choose what is signed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from trivet.attest import LEGS as ALL
from trivet.attest import Data, stem_of
from trivet.attest.keys import refuse_reach
from trivet.attest.signer import Signer
from trivet.attest.statement import decision_statement, leg_file_statement, vsa_statement
from trivet.errors import ProbeError, SignatureError
from trivet.git import Repository
from trivet.model import Decision, LegName, Policy
from trivet.report.document import document, leg_document, text
from trivet.stage.replay import find_python
from trivet.stage.wall import interpreter_reach

VSA_FILE = "decision.vsa.dsse.json"
_NO_WALL = "no wall stands between the code that is judged and the private key, so a signature would prove nothing"
_RAISE_ONE = "let the policy ask for a wall (`score.wall`), or judge unsigned"


def envelopes(
    decision: Decision, legs: Sequence[LegName], signer: Signer, *, now: float, session: str = "", vsa: bool = False
) -> dict[str, bytes]:
    """Sign the legs of a decision that were judged here and, where these are all, the decision.

    Args:
        decision: what was decided.
        legs: the legs that this job judged.
        signer: who signs.
        now: the clock reading of the process.
        session: names the CI run.
        vsa: also sign a SLSA Verification Summary of the decision.

    Returns:
        File names and their bytes.

    Raises:
        SignatureError: there is nothing to sign about, or the signer cannot sign.
    """
    run = decision.facts.get("run")
    wall = run.get("wall") if isinstance(run, Mapping) else None
    if isinstance(wall, Mapping) and wall.get("name") == "none":
        raise SignatureError(_NO_WALL, hint=_RAISE_ONE)
    statements: dict[str, Data] = {}
    found: dict[str, bytes] = {}
    for verdict in decision.verdicts:
        if verdict.leg not in legs:
            continue
        content = text(leg_document(decision, verdict)).encode()
        statements[verdict.leg] = leg_file_statement(content, verdict.leg, now=now, session=session)
        found[f"{stem_of(verdict.leg)}.{signer.ending}"] = signer.sign(statements[verdict.leg])
    if set(statements) == set(ALL):
        keys = dict.fromkeys(ALL, signer.key)
        found |= decided(decision, signer, now=now, session=session, vsa=vsa, legs=statements, keys=keys, beside=found)
    return found


class Asked(Protocol):
    """The part of a request that says what runs where."""

    @property
    def repo(self) -> Path:
        """The repository's folder."""

    @property
    def base(self) -> str:
        """The trusted revision."""

    @property
    def head(self) -> str:
        """The judged revision."""

    @property
    def python(self) -> str | None:
        """The interpreter that the caller names."""


def keep_apart(key_file: Path, repository: Repository, policy: Policy, asked: Asked) -> None:
    """See that the code that is judged cannot read the private key: it is neither in what a run may read nor committed.

    Raises:
        SignatureError: it can.
    """
    if policy.score.wall == "none":
        raise SignatureError(_NO_WALL, where=str(key_file), hint=_RAISE_ONE)
    with suppress(ProbeError):  # without an interpreter nothing will run
        python = find_python(policy.score, repo=asked.repo, asked=asked.python)
        refuse_reach(key_file, interpreter_reach(python))
    commits = (repository.commit(asked.base), repository.commit(asked.head))
    root = repository.home.work_tree
    real = key_file.resolve()
    if root is None or not real.is_relative_to(root.resolve()):
        return
    path = str(real.relative_to(root.resolve())).encode("utf-8", "surrogateescape")
    if any(repository.find(commit.tree, path) is not None for commit in commits):
        raise SignatureError("the private key is committed to the repository", where=str(key_file), hint="make another: `trivet key new`")


def decided(
    decision: Decision,
    signer: Signer,
    *,
    now: float,
    session: str,
    vsa: bool,
    legs: Mapping[str, Data],
    keys: Mapping[str, str],
    beside: Mapping[str, bytes],
) -> dict[str, bytes]:
    """Sign a joined decision over the statements of its legs, and its summary on request.

    Args:
        decision: what was decided.
        signer: who signs the join.
        now: the clock reading of the process.
        session: names the CI run.
        vsa: also sign a SLSA Verification Summary.
        legs: the statement of each leg.
        keys: who signed each leg.
        beside: names and bytes of the legs' envelopes.
    """
    content = text(document(decision)).encode()
    digest = hashlib.sha256(content).hexdigest()
    plain: dict[str, Any] = dict(document(decision))
    statement = decision_statement(plain, decision_sha256=digest, now=now, session=session, legs=[legs[leg] for leg in ALL], keys=keys)
    name = f"decision.{signer.ending}"
    found = {name: signer.sign(statement)}
    if vsa:
        found[VSA_FILE.replace("dsse.json", signer.ending)] = signer.sign(vsa_statement(statement, {**beside, **found}))
    return found


