"""Keys: written once, for their owner alone, and refused where others could read them."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from trivet.attest.keys import key_id, load_private, load_public, new_key, public_pem, refuse_reach
from trivet.errors import SignatureError, UsageError
from unit.attest.made import KEY


def pkcs8() -> bytes:
    return KEY.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())


def test_keys_are_written_once_and_only_for_their_owner(tmp_path: Path) -> None:
    """Mode 0600, nothing overwritten, and a key that others can read is refused."""
    private, public = new_key(tmp_path / "gate")
    assert private.stat().st_mode & 0o777 == 0o600
    assert key_id(load_private(str(private)).public_key()) == key_id(load_public(public))
    with pytest.raises(UsageError, match="not overwritten"):
        new_key(tmp_path / "gate")
    for mode in (0o640, 0o604, 0o610):
        private.chmod(mode)
        with pytest.raises(SignatureError, match="others can read"):
            load_private(str(private))


def test_no_half_of_a_pair_is_written_over_a_public_key(tmp_path: Path) -> None:
    """Not over a link that leads nowhere either."""
    (tmp_path / "gate.pub").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="not overwritten"):
        new_key(tmp_path / "gate")
    assert not (tmp_path / "gate").exists()


def test_a_key_comes_through_a_descriptor_which_is_closed_then() -> None:
    """What runs afterwards does not inherit it."""
    reader, writer = os.pipe()
    os.write(writer, pkcs8())
    os.close(writer)
    assert key_id(load_private(f"fd:{reader}").public_key()) == key_id(KEY.public_key())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)


@pytest.mark.parametrize("name", ["fd:", "fd:x", "fd:-1", "fd:99999999999999999999", "fd:987"])
def test_a_descriptor_that_is_none_is_refused(name: str) -> None:
    """With one message, whatever is wrong with it."""
    with pytest.raises(SignatureError, match="cannot be read"):
        load_private(name)


def test_what_is_no_private_key_of_ed25519_is_refused(tmp_path: Path) -> None:
    """A folder, a public key, another kind, one with a password."""
    other = generate_private_key(SECP256R1()).private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    locked = KEY.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.BestAvailableEncryption(b"x"))
    for number, content in enumerate((other, locked, public_pem(KEY.public_key()), b"", b"\x00" * 9)):
        path = tmp_path / str(number)
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(SignatureError):
            load_private(str(path))
    with pytest.raises(SignatureError):
        load_private(str(tmp_path))


@pytest.mark.parametrize(
    "value",
    [
        pkcs8().decode(),
        pkcs8().decode().replace("\n", "\\n"),
        "".join(pkcs8().decode().split("\n")[1:-2]),
        base64.b64encode(KEY.private_bytes_raw()).decode(),
        KEY.private_bytes_raw().hex().upper(),
    ],
    ids=["pem", "pem-escaped", "der", "raw", "hex"],
)
def test_a_key_that_stands_in_the_environment_is_refused(value: str, tmp_path: Path) -> None:
    """In whatever form: every process of this user could read it there."""
    path = tmp_path / "key"
    path.write_bytes(pkcs8())
    path.chmod(0o600)
    assert load_private(str(path), {"PATH": "/usr/bin", "PUBLIC": public_pem(KEY.public_key()).decode()})
    with pytest.raises(SignatureError, match="stands in the environment") as caught:
        load_private(str(path), {"PATH": "/usr/bin", "GATE_KEY": value})
    assert caught.value.where == "GATE_KEY"


def test_a_key_where_the_run_may_read_is_refused(tmp_path: Path) -> None:
    """Also when a link leads there."""
    inside = tmp_path / "venv" / "key"
    inside.parent.mkdir()
    inside.touch()
    (tmp_path / "link").symlink_to(inside)
    for name in (inside, tmp_path / "link"):
        with pytest.raises(SignatureError, match="may read"):
            refuse_reach(name, [tmp_path / "venv"])
    refuse_reach(tmp_path / "venv2", [tmp_path / "venv"])


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_a_public_key_may_end_its_lines_as_its_host_does(ending: str, tmp_path: Path) -> None:
    """It is the same key."""
    path = tmp_path / "k.pub"
    path.write_bytes(public_pem(KEY.public_key()).strip().replace(b"\n", (ending or "\n").encode()) + ending.encode())
    assert key_id(load_public(path)) == key_id(KEY.public_key())


def test_our_pem_is_that_of_the_library() -> None:
    """Written and read without its serialization, which takes most of the time of a start."""
    theirs = KEY.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    assert public_pem(KEY.public_key()) == theirs
