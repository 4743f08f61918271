"""Keyless signatures: bundles verified offline by the real client against a Sigstore of our own, and the seam without the extra."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from trivet.attest import LEGS, stem_of
from trivet.attest.envelope import canonical, pae
from trivet.attest.keyless import KeylessSigner, git_statement
from trivet.attest.signer import signer_of
from trivet.attest.statement import leg_file_statement
from trivet.attest.trust import Trust, read_trust
from trivet.cli import main
from trivet.errors import SignatureError
from trivet.joining import join_folder
from trivet.verifying import Wanted, answer
from unit.attest.made import KEY, NOW, envelope, leg_file, statement

sigstore = pytest.importorskip("sigstore.verify", reason="no sigstore: pip install 'trivet[sigstore]'")

from unit.attest.sigstore_world import World  # noqa: E402 - after the extra is known to be there

ISSUER = "https://token.forge.example"
JOB = "https://forge.example/o/r/.github/workflows/trivet.yml@refs/heads/main"


@pytest.fixture(scope="module")
def world() -> World:
    return World(NOW)


@pytest.fixture(scope="module")
def bundle(world: World) -> bytes:
    """A decision that the job signed."""
    return world.bundle(canonical(statement()), subject=JOB, issuer=ISSUER)


@pytest.fixture
def root(world: World, tmp_path: Path) -> str:
    """The file with the roots of trust."""
    (tmp_path / "trusted_root.json").write_bytes(world.roots())
    return str(tmp_path / "trusted_root.json")


def trusted(subject: str = JOB, issuer: str = ISSUER, more: str = "") -> Trust:
    """A file of trusted keys with one identity."""
    row = f'[[identity]]\nissuer = "{issuer}"\nsubject = "{subject}"\nfrom = 2026-01-01T00:00:00Z\n{more}'
    return read_trust(f"schema = 1\n{row}".encode(), "keys.toml")


def test_a_bundle_of_a_trusted_identity_answers_the_decision(bundle: bytes, root: str) -> None:
    """Offline, by the real client."""
    found = answer(bundle, trusted(), Wanted(), now=NOW, root=root)
    assert (found.merge, found.key) == (True, f"{JOB} of {ISSUER}")


@pytest.mark.parametrize(
    ("trust", "reason"),
    [
        (trusted(subject=JOB.replace("main", "patch")), "no trusted identity signed"),
        (trusted(issuer="https://other.example"), "no trusted identity signed"),
        (trusted(more='signs = ["src-score"]\n'), "not trusted to sign decision"),
        (trusted(more="until = 2026-02-01T00:00:00Z\n"), "no longer valid"),
        (read_trust(b"schema = 1\n", "keys.toml"), "no identity is trusted"),
    ],
)
def test_whom_the_file_does_not_trust_does_not_count(trust: Trust, reason: str, bundle: bytes, root: str) -> None:
    """Another workflow, another issuer, another purpose, another time."""
    with pytest.raises(SignatureError, match=reason):
        answer(bundle, trust, Wanted(), now=NOW, root=root)


def test_a_bundle_of_another_world_is_refused(bundle: bytes, tmp_path: Path) -> None:
    """Whoever makes an authority of his own names whom he likes."""
    (tmp_path / "other.json").write_bytes(World(NOW).roots())
    with pytest.raises(SignatureError, match="no trusted identity signed"):
        answer(bundle, trusted(), Wanted(), now=NOW, root=str(tmp_path / "other.json"))


def test_changed_parts_of_a_bundle_are_refused(world: World, bundle: bytes, root: str) -> None:
    """Payload, signature, certificate, log entry: each of another bundle."""
    other = json.loads(world.bundle(canonical(statement(now=NOW - 60)), subject=JOB, issuer=ISSUER))
    good = json.loads(bundle)
    changes = []
    for path in (("dsseEnvelope", "payload"), ("dsseEnvelope", "signatures"), ("verificationMaterial", "certificate"), ("verificationMaterial", "tlogEntries")):
        made = json.loads(bundle)
        made[path[0]][path[1]] = other[path[0]][path[1]]
        changes.append(made)
    for name in ("inclusionPromise", "inclusionProof", "canonicalizedBody", "integratedTime"):
        made = json.loads(bundle)
        entry, theirs = (row["verificationMaterial"]["tlogEntries"][0] for row in (made, other))
        entry[name] = "1790000599" if name == "integratedTime" else theirs[name]
        changes.append(made)
    assert all(made != good for made in changes)
    for made in (*changes, {**good, "mediaType": good["mediaType"].replace("v0.3", "v9")}, {**good, "dsseEnvelope": None}):
        with pytest.raises(SignatureError):
            answer(json.dumps(made).encode(), trusted(), Wanted(), now=NOW, root=root)


def test_the_command_takes_bundles_of_a_folder(world: World, bundle: bytes, root: str, tmp_path: Path) -> None:
    """The decision and the legs beside it."""
    keys = tmp_path / "keys.toml"
    keys.write_text(f'schema = 1\n[[identity]]\nissuer = "{ISSUER}"\nsubject = "{JOB}"\nfrom = 2026-01-01T00:00:00Z\n')
    (tmp_path / "decision.sigstore.json").write_bytes(bundle)
    args = ["verify", str(tmp_path), "--keys", str(keys), "--trust-root", root]
    assert main(args) == 0
    leg = leg_file_statement(leg_file("src-score"), "src-score", now=NOW)
    (tmp_path / "src_score.sigstore.json").write_bytes(world.bundle(canonical(leg), subject=JOB, issuer=ISSUER))
    assert main(args) == 0
    leg = leg_file_statement(leg_file("src-score"), "src-score", now=NOW - 1)
    (tmp_path / "src_score.sigstore.json").write_bytes(world.bundle(canonical(leg), subject=JOB, issuer=ISSUER))
    assert main(args) == 1


def test_legs_that_were_signed_keyless_join(world: World, root: str, tmp_path: Path) -> None:
    """As those that keys signed do."""
    for leg in LEGS:
        content = leg_file(leg)
        (tmp_path / f"{stem_of(leg)}.json").write_bytes(content)
        (tmp_path / f"{stem_of(leg)}.txt").write_bytes(b"PASS\n")
        made = canonical(leg_file_statement(content, leg, now=NOW))
        (tmp_path / f"{stem_of(leg)}.sigstore.json").write_bytes(world.bundle(made, subject=JOB, issuer=ISSUER))
    assert join_folder(tmp_path, trust=trusted(), now=NOW, root=root).decision.merge
    with pytest.raises(SignatureError, match="no identity is trusted"):
        join_folder(tmp_path, trust=read_trust(b"schema = 1\n", "keys.toml"), now=NOW, root=root)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"trustedRoot": 1}', b"\xff"])
def test_a_file_without_roots_of_trust_is_refused(content: bytes, bundle: bytes, tmp_path: Path) -> None:
    """With one message, whatever the library says."""
    (tmp_path / "root.json").write_bytes(content)
    with pytest.raises(SignatureError, match="roots of trust"):
        answer(bundle, trusted(), Wanted(), now=NOW, root=str(tmp_path / "root.json"))


def test_what_the_client_signs_is_our_statement_byte_for_byte() -> None:
    """Its own form of a statement knows no git digests; ours goes through its signing as it stands."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from sigstore import dsse

    payload = canonical(statement())
    key = ec.generate_private_key(ec.SECP256R1())
    made = dsse._sign(key, git_statement(dsse, payload))
    assert made._inner.payload == payload
    dsse._verify(key.public_key(), made)
    assert git_statement(dsse, payload)._pae() == pae(payload)


def test_without_a_token_nothing_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One message that says what the job needs."""
    for name in ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "GITHUB_ACTIONS", "GITLAB_CI", "CIRCLECI", "BUILDKITE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sigstore.oidc.detect_credential", lambda: None)
    with pytest.raises(SignatureError, match="no OpenID token"):
        KeylessSigner().sign(statement())


def test_without_the_extra_one_message_names_it(bundle: bytes, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For signing and for checking; keys work without it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "sigstore"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sigstore", None)
    for call in (lambda: signer_of("sigstore", {}), lambda: answer(bundle, trusted(), Wanted(), now=NOW, root=root)):
        with pytest.raises(SignatureError, match="needs the extra `sigstore`") as caught:
            call()
        assert caught.value.hint == "pip install 'trivet[sigstore]'"
    from unit.attest.made import trust

    assert answer(envelope(key=KEY), trust(), Wanted(), now=NOW).merge
