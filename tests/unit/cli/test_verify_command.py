"""`trivet verify` answers the decision, not only the signature."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from trivet.attest import LEGS
from trivet.attest.envelope import sign
from trivet.attest.keys import public_pem
from trivet.attest.statement import decision_statement, leg_file_statement
from trivet.cli import main
from unit.attest.made import BASE, HEAD, KEY, NOW, document, leg_file


def written(folder: Path, *, score: str = "PASS") -> Path:
    """A folder as a signed gate leaves it, with the public key beside it."""
    data: dict[str, Any] = document(src_score=score)
    content = json.dumps(data).encode()
    (folder / "decision.json").write_bytes(content)
    legs = []
    for leg in LEGS:
        stem = leg.replace("-", "_")
        (folder / f"{stem}.json").write_bytes(leg_file(leg, data))
        (folder / f"{stem}.txt").write_text(f"{data['verdicts'][leg]['status']}\n")
        legs.append(leg_file_statement(leg_file(leg, data), leg, now=NOW))
        (folder / f"{stem}.dsse.json").write_bytes(sign(legs[-1], KEY))
    made = decision_statement(data, decision_sha256=hashlib.sha256(content).hexdigest(), now=NOW, legs=legs)
    (folder / "decision.dsse.json").write_bytes(sign(made, KEY))
    (folder / "key.pub").write_bytes(public_pem(KEY.public_key()))
    return folder


def verify(folder: Path, *more: str) -> int:
    """Call the command on a folder."""
    return main(["verify", str(folder), "--key", str(folder / "key.pub"), *more])


def test_a_signed_folder_that_may_merge_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last line is the decision."""
    assert verify(written(tmp_path), "--head", HEAD, "--base", BASE, "--policy", "1" * 64, "--require", "TRIVET_SRC_SCORE") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "MERGE_OK"


def test_a_signed_refusal_is_verified_and_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A good signature on a bad decision is no permission."""
    assert verify(written(tmp_path, score="FAIL")) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "MERGE_BLOCKED: PASS PASS FAIL"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--head", "0" * 40), "about head"),
        (("--base", "0" * 40), "about base"),
        (("--policy", "0" * 64), "used policy"),
    ],
)
def test_a_decision_about_something_else_is_refused(
    more: tuple[str, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A PASS cannot be replayed onto another head, base or policy."""
    assert verify(written(tmp_path), *more) == 1
    assert reason in capsys.readouterr().err


def test_a_missing_property_blocks(tmp_path: Path) -> None:
    """What is asked for has to be there."""
    assert verify(written(tmp_path), "--require", "TRIVET_OTHER") == 1


@pytest.mark.parametrize(("name", "content"), [("src_score.txt", "FAIL\n"), ("flake_lease.txt", "PASS"), ("decision.json", "{}"), ("flake_lease.json", "{}")])
def test_files_beside_the_envelope_must_be_the_signed_ones(name: str, content: str, tmp_path: Path) -> None:
    """A rewritten word is found."""
    (written(tmp_path) / name).write_text(content)
    assert verify(tmp_path) == 1


def test_json_tells_the_reason_of_a_refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For machines."""
    (written(tmp_path) / "decision.dsse.json").write_text("{}")
    assert verify(tmp_path, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["verified"], told["merge"], bool(told["reason"])) == (False, False, True)


def test_a_call_without_a_key_or_file_is_a_mistake(tmp_path: Path) -> None:
    """Usage errors end with 2."""
    written(tmp_path)
    assert main(["verify", str(tmp_path / "none"), "--key", str(tmp_path / "key.pub")]) == 2
    assert main(["verify", str(tmp_path), "--key", str(tmp_path / "none")]) == 2
