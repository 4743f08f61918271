"""The walk of ``trivet join``: verdict files that separate jobs wrote, ANDed if they belong together.

A leg whose files are missing was not run, which blocks. Files that contradict each other, or are about another change, are refused:
nothing can be said about a mixture.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trivet.attest import check_leg
from trivet.attest_key import load_public
from trivet.errors import TrivetError, UsageError
from trivet.legs.join import join
from trivet.model import LEGS, Decision, LegName, Verdict
from trivet.report import files

TOGETHER = ("base", "head", "policy", "merge_base", "tool")
"""Facts that must be the same in every verdict file."""


def join_folder(folder: Path, *, base: str = "", head: str = "", key: Path | None = None) -> Decision:
    """AND the verdict files of a folder.

    Args:
        folder: where the jobs' files were gathered.
        base: the commit id (or its beginning) that the files must be about; "" for whatever they agree on.
        head: likewise.
        key: the public key that must have signed each verdict file; None asks for no signatures.

    Raises:
        SignatureError: a verdict file is not signed by ``key``.
        UsageError: there are no verdict files.
        TrivetError: the files do not belong together, or a ``PASS`` does not say what it is about.
    """
    found: dict[LegName, tuple[Verdict, Mapping[str, object]]] = {}
    for leg in LEGS:
        if any((folder / f"{files.stem(leg)}{ending}").exists() for ending in (".txt", ".json")):
            found[leg] = _read(folder, leg)
            if key is not None and found[leg][0].status != "NOT_RUN":
                check_leg(*files.read_signed(folder, leg), leg, load_public(key))
    if not found:
        raise UsageError("no verdict files", where=str(folder), hint="gather the files of `trivet verdict` jobs in one folder")
    facts = _agreed(folder, found)
    for name, wanted in (("base", base), ("head", head)):
        commit = facts.get(name)
        actual = str(commit["commit"]) if isinstance(commit, Mapping) and "commit" in commit else ""
        if wanted and not actual.startswith(wanted):
            raise TrivetError(f"the verdicts are about {name} {actual[:12] or 'nothing'}, not {wanted[:12]}", where=str(folder))
    verdicts = {leg: verdict for leg, (verdict, _) in found.items()}
    return join(
        src_score=verdicts.get("src-score"),
        oracle_integrity=verdicts.get("oracle-integrity"),
        flake_lease=verdicts.get("flake-lease"),
        facts=facts,
    )


_AGAIN = "run the jobs again for this change; files of an earlier run are not evidence"


def _read(folder: Path, leg: LegName) -> tuple[Verdict, Mapping[str, object]]:
    """One leg; a word ``NOT_RUN`` without its reasons is what an interrupted job leaves."""
    if not (folder / f"{files.stem(leg)}.json").exists() and files.read_word(folder, leg) == "NOT_RUN":
        return Verdict(leg=leg, status="NOT_RUN"), {}
    return files.read_leg(folder, leg)


def _agreed(folder: Path, found: Mapping[LegName, tuple[Verdict, Mapping[str, object]]]) -> dict[str, object]:
    """All facts of the files; those of ``TOGETHER`` must be equal wherever they are known."""
    facts: dict[str, object] = {}
    origin: dict[str, LegName] = {}
    for leg, (verdict, own) in found.items():
        for key, value in own.items():
            if value is None:
                if verdict.status == "PASS" and key in ("base", "head", "policy"):
                    raise TrivetError(f"{leg} says PASS without its {key}", where=str(folder), hint=_AGAIN)
                continue
            if key in TOGETHER and key in facts and facts[key] != value:
                raise TrivetError(f"{origin[key]} and {leg} are about different things: {key} differs", where=str(folder), hint=_AGAIN)
            facts.setdefault(key, value)
            origin.setdefault(key, leg)
        missing = [key for key in ("base", "head", "policy") if key not in own] if verdict.status == "PASS" else []
        if missing:
            raise TrivetError(f"{leg} says PASS without its {missing[0]}", where=str(folder), hint=_AGAIN)
    return facts
