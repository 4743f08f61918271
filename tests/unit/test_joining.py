from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from trivet.attest.envelope import sign
from trivet.attest.keys import load_private, load_public, new_key
from trivet.attest.statement import leg_file_statement
from trivet.attest.trust import Trust, key_row, one_key, read_trust
from trivet.cli import main
from trivet.errors import SignatureError, TrivetError, UsageError
from trivet.joining import Expected, Joined, join_folder
from trivet.legs.join import join
from trivet.model import LEGS, Decision
from trivet.report import files
from unit.report.decisions import FACTS, blocked, merged


def joined(out: Path, *, key: Path | None = None, now: float = 1000.0, **expected: object) -> Joined:
    trust: Trust | None = None if key is None else one_key(load_public(key), "test")
    return join_folder(out, expected=Expected(**expected), trust=trust, now=now)  # type: ignore[arg-type]


def written(out: Path, decision: Decision, *legs: str) -> Path:
    files.write(decision, out, legs=legs or LEGS)  # type: ignore[arg-type]
    return out


def changed(out: Path, leg: str, **values: object) -> None:
    path = out / f"{leg}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_three_passes_of_one_change_may_merge(tmp_path: Path) -> None:
    decision = joined(written(tmp_path, merged())).decision
    assert decision.merge
    assert decision.facts["run"] == FACTS["run"]
    assert decision.facts["score_tree"] == "e" * 40


def test_one_leg_that_does_not_pass_blocks(tmp_path: Path) -> None:
    assert not joined(written(tmp_path, blocked())).decision.merge


@pytest.mark.parametrize("leg", LEGS)
def test_a_missing_leg_was_not_run(leg: str, tmp_path: Path) -> None:
    rest = [other for other in LEGS if other != leg]
    decision = joined(written(tmp_path, merged(), *rest)).decision
    assert not decision.merge
    assert [verdict.status for verdict in decision.verdicts if verdict.leg == leg] == ["NOT_RUN"]


def test_an_interrupted_job_was_not_run(tmp_path: Path) -> None:
    written(tmp_path, merged())
    files.clear(tmp_path, legs=("src-score",))
    assert joined(tmp_path).decision.src_score.status == "NOT_RUN"


def test_an_empty_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no verdict files"):
        joined(tmp_path)


OTHER_FACTS: list[dict[str, object]] = [
    {"base": {"commit": "9" * 40, "tree": "b" * 40}},
    {"head": {"commit": "9" * 40, "tree": "d" * 40}},
    {"policy": {"digest": "9" * 64, "source": "preset verdicts"}},
    {"tool": {"name": "trivet", "version": "0.0.0"}},
]


@pytest.mark.parametrize("facts", OTHER_FACTS, ids=["base", "head", "policy", "tool"])
@pytest.mark.parametrize("leg", ["src_score", "oracle_integrity", "flake_lease"])
def test_verdicts_of_different_changes_are_refused(leg: str, facts: dict[str, object], tmp_path: Path) -> None:
    written(tmp_path, merged())
    changed(tmp_path, leg, **facts)
    with pytest.raises(TrivetError, match="differs"):
        joined(tmp_path)


@pytest.mark.parametrize("key", ["base", "head", "policy"])
def test_a_pass_that_does_not_say_what_it_is_about_is_refused(key: str, tmp_path: Path) -> None:
    written(tmp_path, merged())
    changed(tmp_path, "src_score", **{key: None})
    with pytest.raises(TrivetError, match="without its"):
        joined(tmp_path)


def test_a_verdict_of_one_leg_does_not_stand_in_for_another(tmp_path: Path) -> None:
    written(tmp_path, merged())
    (tmp_path / "src_score.json").write_bytes((tmp_path / "flake_lease.json").read_bytes())
    with pytest.raises(TrivetError, match="not the verdict file of src-score"):
        joined(tmp_path)


def test_a_word_that_contradicts_its_reasons_is_refused(tmp_path: Path) -> None:
    written(tmp_path, blocked())
    (tmp_path / "oracle_integrity.txt").write_text("PASS\n")
    with pytest.raises(TrivetError, match="says PASS"):
        joined(tmp_path)


def test_a_word_of_pass_alone_is_refused(tmp_path: Path) -> None:
    written(tmp_path, merged())
    (tmp_path / "src_score.json").unlink()
    with pytest.raises(TrivetError):
        joined(tmp_path)


def test_verdicts_of_an_earlier_head_are_refused_when_the_caller_names_this_one(tmp_path: Path) -> None:
    written(tmp_path, merged())
    assert joined(tmp_path, base="a" * 40, head="c" * 12).decision.merge
    with pytest.raises(TrivetError, match="not 123456"):
        joined(tmp_path, head="123456")


def signed(out: Path, key: Path, *, now: float = 1000.0, session: str = "") -> None:
    private = load_private(str(key))
    for leg in LEGS:
        content = (out / f"{files.stem(leg)}.json").read_bytes()
        envelope = sign(leg_file_statement(content, leg, now=now, session=session), private)
        (out / f"{files.stem(leg)}.dsse.json").write_bytes(envelope)


def test_verdicts_that_are_signed_by_the_expected_key_join(tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key")
    signed(written(tmp_path / "out", merged()), private)
    assert joined(tmp_path / "out", key=public).decision.merge


def test_a_verdict_of_another_key_or_without_signature_is_refused(tmp_path: Path) -> None:
    private, _ = new_key(tmp_path / "key")
    _, other = new_key(tmp_path / "other")
    signed(written(tmp_path / "out", merged()), private)
    with pytest.raises(SignatureError):
        joined(tmp_path / "out", key=other)
    (tmp_path / "out" / "src_score.dsse.json").unlink()
    with pytest.raises(TrivetError):
        joined(tmp_path / "out", key=tmp_path / "key.pub")


def test_a_verdict_that_was_changed_after_signing_is_refused(tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key")
    signed(written(tmp_path / "out", blocked()), private)
    changed(tmp_path / "out", "oracle_integrity", status="PASS", findings=[])
    (tmp_path / "out" / "oracle_integrity.txt").write_text("PASS\n")
    with pytest.raises(SignatureError, match="oracle-integrity"):
        joined(tmp_path / "out", key=public)


def test_the_signature_of_one_leg_does_not_stand_in_for_another(tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key")
    signed(written(tmp_path / "out", merged()), private)
    (tmp_path / "out" / "src_score.dsse.json").write_bytes((tmp_path / "out" / "flake_lease.dsse.json").read_bytes())
    with pytest.raises(SignatureError):
        joined(tmp_path / "out", key=public)


def test_files_without_facts_cannot_merge(tmp_path: Path) -> None:
    bare = join(src_score=merged().src_score, oracle_integrity=merged().oracle_integrity, flake_lease=merged().flake_lease)
    with pytest.raises(TrivetError, match="without its"):
        joined(written(tmp_path, bare))


def test_verdicts_of_different_sessions_do_not_join(tmp_path: Path) -> None:
    """An older PASS about the same change must not stand in for today's FAIL."""
    private, public = new_key(tmp_path / "key")
    out = written(tmp_path / "out", merged())
    signed(out, private, session="run-2")
    assert joined(out, key=public, session="run-2").session == "run-2"
    with pytest.raises(SignatureError, match="of session 'run-2', not 'run-3'"):
        joined(out, key=public, session="run-3")
    kept = (out / "src_score.dsse.json").read_bytes()
    signed(out, private, session="run-3")
    (out / "src_score.dsse.json").write_bytes(kept)
    with pytest.raises(SignatureError, match="different sessions"):
        joined(out, key=public)


def test_a_verdict_of_long_ago_is_stale_and_one_of_tomorrow_is_refused(tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key")
    out = written(tmp_path / "out", merged())
    signed(out, private, now=1000.0)
    assert joined(out, key=public, now=1000.0 + 86_400).decision.merge
    with pytest.raises(SignatureError, match="stale"):
        joined(out, key=public, now=1001.0 + 86_400)
    with pytest.raises(SignatureError, match="stale"):
        joined(out, key=public, now=1031.0, max_age_s=30)
    with pytest.raises(SignatureError, match="yet to come"):
        joined(out, key=public, now=0.0)


@pytest.mark.parametrize("more", [{"repository": "https://forge.example/o/fork"}, {"policy": "9" * 64}, {"base": "9" * 40}, {"head": "9" * 40}])
def test_signed_verdicts_are_not_replayed_onto_another_change(more: dict[str, str], tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key")
    signed(written(tmp_path / "out", merged()), private)
    with pytest.raises(TrivetError, match=r"the verdicts (are about|used)"):
        joined(tmp_path / "out", key=public, **more)


def test_verdicts_about_forks_of_one_repository_are_refused(tmp_path: Path) -> None:
    out = written(tmp_path, merged())
    changed(out, "flake_lease", repository="https://forge.example/o/fork")
    with pytest.raises(TrivetError, match="repository differs"):
        joined(out)


def test_a_key_that_may_sign_one_leg_does_not_sign_another(tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key")
    signed(written(tmp_path / "out", merged()), private)
    row = key_row(load_public(public), name="", start=0, end=None, signs=("src-score", "flake-lease"))
    with pytest.raises(SignatureError, match="not trusted to sign oracle-integrity"):
        join_folder(tmp_path / "out", trust=read_trust(f"schema = 1\n{row}".encode(), "keys"), now=1000.0)


def test_a_leg_that_was_not_run_needs_no_signature_and_says_nothing(tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key")
    signed(written(tmp_path / "out", merged()), private)
    files.clear(tmp_path / "out", legs=("src-score",))
    (tmp_path / "out" / "src_score.json").write_text(
        json.dumps({"leg": "src-score", "status": "NOT_RUN", "cause": "", "findings": [], "run": "forged", "base": {"commit": "9" * 40}})
    )
    found = joined(tmp_path / "out", key=public)
    assert (found.decision.src_score.status, found.decision.merge, "run" in found.decision.facts) == ("NOT_RUN", False, False)
    assert set(found.legs) == {"flake-lease", "oracle-integrity"}
    (tmp_path / "out" / "src_score.dsse.json").write_bytes((tmp_path / "out" / "flake_lease.dsse.json").read_bytes())
    with pytest.raises(SignatureError, match="not of src-score"):
        joined(tmp_path / "out", key=public)


def test_a_join_is_signed_over_the_statements_of_its_legs(tmp_path: Path) -> None:
    """By another key than theirs; whoever trusts only the join's key gets the decision, and the files must still be the signed ones."""
    private, public = new_key(tmp_path / "legs")
    _, joiner = new_key(tmp_path / "join")
    out = written(tmp_path / "out", merged())
    now = int(time.time())
    signed(out, private, now=now, session="7")
    before = {path.name: path.read_bytes() for path in out.glob("*_*")}
    args = ["join", str(out), "--key", str(public), "--sign", str(tmp_path / "join"), "--vsa"]
    assert main([*args, "--session", "7"]) == 0
    assert {path.name: path.read_bytes() for path in out.glob("*_*")} == before
    assert (out / "decision.vsa.dsse.json").exists()
    assert main(["verify", str(out), "--key", str(joiner), "--session", "7"]) == 0
    assert main(["verify", str(out), "--key", str(public)]) == 1
    assert main(["join", str(out), "--sign", str(tmp_path / "join")]) == 2
    assert not (out / "decision.dsse.json").exists()
    assert main(args) == 0
    (out / "flake_lease.dsse.json").write_bytes((out / "src_score.dsse.json").read_bytes())
    assert main(["verify", str(out), "--key", str(joiner)]) == 1
