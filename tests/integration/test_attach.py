"""`trivet attach` and what `trivet verify --repo` then finds; keys of a file on base; replay onto another repository, base or head."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from repos import VERDICTS, Repo
from trivet.attaching import NOTES, Carrier
from trivet.attest import LEGS
from trivet.attest.envelope import sign
from trivet.attest.keys import key_id, public_pem
from trivet.attest.statement import decision_statement, leg_file_statement
from trivet.attest.trust import key_row, revoked_row
from trivet.cli import main
from trivet.git import open_repository

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
NOW = 1_790_000_000.0


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Base with a file of trusted keys, and a head on a branch."""
    made = Repo(tmp_path / "repo")
    keys = "schema = 1\n" + key_row(KEY.public_key(), name="gate", start=0, end=None)
    made.commit({**VERDICTS, "ci/trivet_keys.toml": keys})
    made.git("checkout", "-q", "-b", "patch")
    made.commit({"src/pkg/core.py": "def double(n):\n    return n + n\n"})
    (tmp_path / "key.pub").write_bytes(public_pem(KEY.public_key()))
    return made


def document(repo: Repo, **statuses: str) -> dict[str, Any]:
    """A decision about the head of ``patch`` against ``main``."""
    words = {leg: statuses.get(leg.replace("-", "_"), "PASS") for leg in LEGS}
    commits = {name: {"commit": repo.git("rev-parse", rev), "tree": repo.git("rev-parse", f"{rev}^{{tree}}")} for name, rev in (("base", "main"), ("head", "patch"))}
    return {
        "schema": 1, "tool": {"name": "trivet", "version": "0"}, **commits, "merge_base": commits["base"]["commit"], "score_tree": None,
        "policy": {"digest": "1" * 64, "source": "preset verdicts"}, "replay_key": None, "run": None,
        "verdicts": {leg: {"status": word, "cause": "", "findings": []} for leg, word in words.items()},
        "merge": set(words.values()) == {"PASS"},
    }  # fmt: skip


def written(folder: Path, data: dict[str, Any], *, key: Ed25519PrivateKey = KEY, now: float = NOW) -> Path:
    """A folder as a signed gate leaves it."""
    folder.mkdir(exist_ok=True)
    content = json.dumps(data).encode()
    legs = []
    for leg in LEGS:
        own = json.dumps({**{name: value for name, value in data.items() if name != "verdicts"}, "leg": leg, **data["verdicts"][leg]}).encode()
        stem = leg.replace("-", "_")
        legs.append(leg_file_statement(own, leg, now=now))
        (folder / f"{stem}.json").write_bytes(own)
        (folder / f"{stem}.txt").write_text(data["verdicts"][leg]["status"] + "\n")
        (folder / f"{stem}.dsse.json").write_bytes(sign(legs[-1], key))
    keys = dict.fromkeys(LEGS, key_id(key.public_key()))
    made = decision_statement(data, decision_sha256=hashlib.sha256(content).hexdigest(), now=now, legs=legs, keys=keys)
    (folder / "decision.json").write_bytes(content)
    (folder / "decision.dsse.json").write_bytes(sign(made, key))
    return folder


def attach(repo: Repo, folder: Path, *more: str) -> int:
    """Call `trivet attach`."""
    return main(["attach", str(folder), "--repo", str(repo.root), "--key", str(repo.root.parent / "key.pub"), *more])


def verify(repo: Repo, *more: str) -> int:
    """Call `trivet verify` on what the repository carries."""
    return main(["verify", "--repo", str(repo.root), "--head", "patch", "--key", str(repo.root.parent / "key.pub"), *more])


@pytest.mark.parametrize("more", [(), ("--beside",)], ids=["note", "beside"])
def test_what_was_attached_is_found_and_nothing_else_was_written(more: tuple[str, ...], repo: Repo, tmp_path: Path) -> None:
    """One ref is there that was not; attaching again changes nothing."""
    folder = written(tmp_path / "out", document(repo))
    before = set(repo.git("for-each-ref").splitlines())
    assert verify(repo) == 1
    assert attach(repo, folder, *more) == 0
    after = set(repo.git("for-each-ref").splitlines())
    assert before < after
    assert [row.split("\t")[1].split("/")[1] for row in after - before] == ["trivet" if more else "notes"]
    assert attach(repo, folder, *more) == 0
    assert set(repo.git("for-each-ref").splitlines()) == after
    assert repo.git("status", "--porcelain") == ""
    assert verify(repo, "--base", "main", "--require", "TRIVET_SRC_SCORE") == 0
    assert main(["verify", "--repo", str(repo.root), "--head", "patch", "--keys-at", "main"]) == 0


def test_a_later_refusal_counts_more_than_an_earlier_pass(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In whatever order they were attached, and where they lie; what nobody trusted signed says nothing."""
    attach(repo, written(tmp_path / "b", document(repo, src_score="FAIL"), now=NOW + 60), "--beside")
    attach(repo, written(tmp_path / "a", document(repo)))
    forged = written(tmp_path / "c", document(repo), key=OTHER, now=NOW + 120)
    with open_repository(repo.root) as repository:
        Carrier(repository).attach_note(repository.commit("patch").oid, [(forged / "decision.dsse.json").read_bytes(), b"{}", b"junk"], now=NOW)
    assert verify(repo) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "MERGE_BLOCKED: PASS PASS FAIL"
    attach(repo, written(tmp_path / "d", document(repo), now=NOW + 180))
    assert verify(repo) == 0


def test_what_replaced_a_refusal_beside_the_commit_does_not_hide_it(repo: Repo, tmp_path: Path) -> None:
    """Earlier states of the ref are read as well."""
    attach(repo, written(tmp_path / "a", document(repo, src_score="FAIL"), now=NOW + 60), "--beside")
    attach(repo, written(tmp_path / "b", document(repo), now=NOW), "--beside")
    assert verify(repo) == 1


def test_envelopes_of_another_repository_or_key_are_not_attached(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor those of two commits at once."""
    other = Repo(tmp_path / "other")
    other.commit(VERDICTS)
    other.git("checkout", "-q", "-b", "patch")
    other.commit({"src/pkg/core.py": "def double(n):\n    return 3\n"})
    for folder in (written(tmp_path / "a", document(other)), written(tmp_path / "b", document(repo), key=OTHER)):
        assert attach(repo, folder) == 3
        assert "E60" in capsys.readouterr().err
    assert NOTES not in repo.git("for-each-ref")


def test_two_that_attach_at_one_time_both_succeed(repo: Repo, tmp_path: Path) -> None:
    """The ref is moved from what was read, or the step is taken again."""
    head = repo.git("rev-parse", "patch")

    def one(number: int) -> None:
        with open_repository(repo.root) as repository:
            Carrier(repository).attach_note(head, [f'{{"n": {number}}}'.encode()], now=NOW)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(repo.git("notes", "--ref=trivet", "show", head).splitlines()) == [f'{{"n": {number}}}' for number in range(4)]
    assert repo.git("for-each-ref", "refs/notes").count("\n") == 0


def test_a_decision_is_not_replayed_onto_another_state(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Head moved on, base moved on, or the repository is another one."""
    folder, pub = written(tmp_path / "out", document(repo)), str(tmp_path / "key.pub")

    def told(*args: str) -> str:
        assert main(["verify", str(folder), "--key", pub, *args]) == 1
        return capsys.readouterr().err

    fork = Repo(tmp_path / "fork")
    fork.commit({**VERDICTS, "README.md": "# other\n"})
    assert "is about head" in told("--repo", str(fork.root))
    repo.commit({"src/pkg/core.py": "def double(n):\n    return 5\n"})
    assert "judge the present head" in told("--repo", str(repo.root), "--head", "patch")
    repo.git("checkout", "-q", "main")
    repo.commit({"README.md": "# moved\n"})
    assert "is about base" in told("--repo", str(repo.root), "--head", "patch~1", "--base", "main")
    assert main(["verify", str(folder), "--key", pub, "--repo", str(repo.root), "--head", "patch~1", "--base", "main~1"]) == 0


def test_keys_are_read_from_base_and_a_revocation_counts_for_what_was_signed_before(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A year later: main has moved on, the key is revoked as compromised there; and a patch cannot bring its own file."""
    folder = written(tmp_path / "out", document(repo))
    args = ["verify", str(folder), "--repo", str(repo.root), "--head", "patch", "--keys-at"]
    assert main([*args, "main"]) == 0
    repo.git("checkout", "-q", "main")
    keys = repo.root / "ci" / "trivet_keys.toml"
    repo.commit({"ci/trivet_keys.toml": keys.read_text() + revoked_row(key_id(KEY.public_key()), at=int(NOW) + 9, reason="rotated")})
    assert main([*args, "main"]) == 0
    repo.commit({"ci/trivet_keys.toml": keys.read_text() + revoked_row(key_id(KEY.public_key()), at=int(NOW) + 9, reason="compromised")})
    assert main([*args, "main"]) == 1
    assert "as compromised" in capsys.readouterr().err
    repo.git("checkout", "-q", "--orphan", "elsewhere")
    repo.commit({"ci/trivet_keys.toml": "schema = 1\n" + key_row(KEY.public_key(), name="gate", start=0, end=None)})
    assert main([*args, "elsewhere"]) != 0
    assert main([*args[:-1], "--key", str(tmp_path / "key.pub")]) == 0
