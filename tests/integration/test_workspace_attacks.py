"""An attacker who can write to the workspace between the jobs: files, links, pipes, refs, settings and hooks of the clone, the log."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from integration.test_attach import KEY, NOW, OTHER, attach, document, repo, verify, written  # noqa: F401 - repo is a fixture
from repos import Repo
from trivet.attest.checkpoint import Checkpoint, signed
from trivet.attest.keys import new_key, public_pem
from trivet.attest.log import Log, withdrawn_entry
from trivet.attest.signer import KeySigner
from trivet.attest.trust import key_row
from trivet.cli import main
from trivet.errors import SignatureError
from trivet.model import LEGS
from trivet.signing import envelopes
from unit.report.decisions import FACTS, merged

Told = pytest.CaptureFixture[str]


def test_settings_and_hooks_of_the_clone_have_no_say_in_attaching(repo: Repo, tmp_path: Path) -> None:  # noqa: F811
    """Whatever git would run for its user, it does not run here; and neither head, index nor files move."""
    mark = tmp_path / "ran"
    evil = tmp_path / "evil"
    evil.write_text(f'#!/bin/sh\necho "$0" >> {mark}\nexit 1\n')
    evil.chmod(0o755)
    hooks = repo.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "post-index-change", "fsmonitor-watchman"):
        (hooks / name).symlink_to(evil)
    for name, value in (
        ("core.hooksPath", str(hooks)), ("commit.gpgSign", "true"), ("gpg.program", str(evil)), ("core.editor", str(evil)), ("core.pager", str(evil)),
        ("core.fsmonitor", str(evil)), ("filter.x.clean", str(evil)), ("notes.displayRef", "refs/*"), ("core.notesRef", "refs/heads/main"),
        ("user.useConfigOnly", "true"), ("alias.notes", f"!{evil}"), ("alias.update-ref", f"!{evil}"), ("core.alternateRefsCommand", str(evil)),
    ):  # fmt: skip
        repo.git("config", name, value)
    (repo.root / ".git" / "info").mkdir(exist_ok=True)
    (repo.root / ".git" / "info" / "attributes").write_text("* filter=x\n")
    before = {name: (repo.root / ".git" / name).read_bytes() for name in ("HEAD", "index", "config", "refs/heads/main")}
    folder = written(tmp_path / "out", document(repo))
    assert (attach(repo, folder), attach(repo, folder, "--beside"), verify(repo)) == (0, 0, 0)
    assert not mark.exists()
    assert {name: (repo.root / ".git" / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("name", ["decision.dsse.json", "decision.json", "src_score.txt", "src_score.json", "flake_lease.dsse.json", "../key.pub"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "zero", "dangling"])
def test_what_is_no_file_is_refused_without_waiting(name: str, kind: str, repo: Repo, tmp_path: Path) -> None:  # noqa: F811
    """A pipe that nobody writes to, a folder, a device without end, a link to nothing."""
    folder = written(tmp_path / "out", document(repo))
    path = folder / name
    path.unlink()
    {
        "pipe": lambda: os.mkfifo(path), "folder": path.mkdir, "zero": lambda: path.symlink_to("/dev/zero"),
        "dangling": lambda: path.symlink_to(tmp_path / "nothing"),
    }[kind]()  # fmt: skip
    assert main(["verify", str(folder), "--key", str(tmp_path / "key.pub")]) in (1, 2)


def test_a_pipe_in_place_of_the_log_is_refused_without_waiting(tmp_path: Path) -> None:
    """Reading it would never end."""
    os.mkfifo(tmp_path / "log")
    with pytest.raises(SignatureError, match="no regular file"):
        Log(tmp_path / "log").head()


def test_keys_of_the_work_tree_and_moved_refs_do_not_fool_who_names_full_ids(repo: Repo, tmp_path: Path) -> None:  # noqa: F811
    """The attacker has a key, a file that trusts it, and a branch with the name of base that holds it."""
    base, head = (repo.git("rev-parse", rev) for rev in ("main", "patch"))
    repo.git("checkout", "-q", "main")
    repo.commit({"ci/trivet_keys.toml": "schema = 1\n" + key_row(OTHER.public_key(), name="evil", start=0, end=None)})
    forged = written(tmp_path / "forged", document(repo), key=OTHER)
    args = ["verify", str(forged), "--repo", str(repo.root)]
    assert main([*args, "--head", "patch", "--keys-at", "main"]) == 0
    assert main([*args, "--head", head, "--keys-at", base]) == 1
    repo.git("update-ref", f"refs/heads/{base}", "main")
    assert main([*args, "--head", head, "--keys-at", base]) == 1


def test_the_names_of_a_good_decision_do_not_cover_other_files(repo: Repo, tmp_path: Path, capsys: Told) -> None:  # noqa: F811
    """A genuine FAIL cannot be dressed up with words, a decision, or an envelope of another run."""
    folder = written(tmp_path / "out", document(repo, src_score="FAIL"))
    older = written(tmp_path / "older", document(repo), now=NOW - 60)
    args = ["verify", str(folder), "--key", str(tmp_path / "key.pub")]
    for name in ("src_score.txt", "src_score.json", "src_score.dsse.json", "decision.json"):
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes((older / name).read_bytes())
        assert main(args) == 1
        assert "refused" in capsys.readouterr().err, name
        (folder / name).write_bytes(kept)
    assert main(args) == 1
    assert "verified" in capsys.readouterr().out


def test_a_log_that_was_cut_before_a_withdrawal_is_seen_by_who_kept_its_head(repo: Repo, tmp_path: Path, capsys: Told) -> None:  # noqa: F811
    """The chain alone cannot show it."""
    folder, path, pub = written(tmp_path / "out", document(repo)), tmp_path / "log", str(tmp_path / "key.pub")
    assert main(["log", "append", "--log", str(path), str(folder), "--key", pub]) == 0
    short = path.read_bytes()
    log = Log(path)
    log.append(withdrawn_entry(hashlib.sha256((folder / "decision.dsse.json").read_bytes()).hexdigest(), "wrong base"), now=NOW)
    head = log.head()
    (tmp_path / "kept").write_bytes(signed(Checkpoint(origin="trivet-log", size=head.size, root=head.root), KEY))
    args = ["verify", str(folder), "--key", pub, "--log", str(path)]
    assert main(args) == 1
    path.write_bytes(short)
    assert main(args) == 0
    capsys.readouterr()
    assert main([*args, "--checkpoint", str(tmp_path / "kept"), "--log-key", pub]) == 1
    assert "was cut" in capsys.readouterr().err


def test_a_run_without_a_wall_is_not_signed() -> None:
    """The code that was judged could have read the key, by whatever way the signer got it."""
    run = {**dict(FACTS["run"]), "wall": {"name": "none", "guarantees": [], "lacks": []}}  # type: ignore[call-overload]
    bare = replace(merged(), facts={**FACTS, "run": run})
    with pytest.raises(SignatureError, match="no wall stands"):
        envelopes(bare, LEGS, KeySigner(KEY), now=NOW)
    assert len(envelopes(merged(), LEGS, KeySigner(KEY), now=NOW)) == 4


def test_a_key_pair_that_the_attacker_lays_beside_the_verdicts_is_not_taken(repo: Repo, tmp_path: Path) -> None:  # noqa: F811
    """Nothing in the folder is trusted; the caller names whom he trusts, or the call is a mistake."""
    folder = written(tmp_path / "out", document(repo), key=OTHER)
    _, public = new_key(folder / "gate-key")
    assert public_pem(OTHER.public_key()) != public.read_bytes()
    assert main(["verify", str(folder)]) == 2
    assert main(["verify", str(folder), "--key", str(tmp_path / "key.pub")]) == 1
