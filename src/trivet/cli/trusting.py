"""What the commands share that sign or check signatures: who signs, and whose signatures count."""

from __future__ import annotations

import argparse
import os

from trivet.attest.trust import Trust
from trivet.cli import Door
from trivet.errors import SignatureError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from trivet.attest.checkpoint import Checkpoint
    from trivet.attest.signer import Signer
    from trivet.git import Repository

_NONE = "say whose signatures count: --key PUB, --keys FILE, or --keys-at REV (the file of trusted keys on base)"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--key``, ``--keys`` and ``--keys-at``; the command itself has ``--repo``."""
    parser.add_argument("--key", metavar="PUB", help="trust this public key, and no other")
    parser.add_argument("--keys", metavar="FILE", help="trust the keys in this file, as long as they are valid and not revoked")
    parser.add_argument("--keys-at", metavar="REV", help="trust the keys in the file `owners.keys` of this revision of --repo")
    parser.add_argument("--trust-root", metavar="FILE", help="Sigstore's roots of trust, where something was signed keyless")


def signing_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--sign`` and what is signed along with the verdict."""
    parser.add_argument(
        "--sign", metavar="KEY", help="sign the verdicts: a private key file (mode 0600), fd:N for an inherited descriptor, or `sigstore`"
    )
    parser.add_argument("--session", default="", metavar="ID", help="name of this CI run and attempt, signed as well")
    parser.add_argument("--vsa", action="store_true", help="also sign a SLSA Verification Summary of the decision")


def signer_of(args: argparse.Namespace, door: Door) -> Signer | None:
    """Who signs, as the call says; loaded before anything is judged, so that a key that cannot be used is told at once.

    Raises:
        UsageError: something is to be signed, and nobody to sign it is named.
        SignatureError: the key cannot be used.
    """
    if args.sign is None:
        if args.vsa or args.session:
            raise UsageError(f"--{'vsa' if args.vsa else 'session'} needs --sign KEY")
        return None
    from trivet.attest.signer import signer_of as named  # noqa: PLC0415 - only signers pay for it

    return named(args.sign if args.sign.startswith("fd:") or args.sign == "sigstore" else str(door.cwd / args.sign), door.environ)


def key_file(args: argparse.Namespace, door: Door) -> Path | None:
    """The file of the private key, if it is one: the run must not be able to read it."""
    return None if args.sign is None or args.sign.startswith("fd:") or args.sign == "sigstore" else door.cwd / args.sign


def checkpoint_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--checkpoint``, ``--log-key`` and ``--origin``."""
    parser.add_argument("--checkpoint", metavar="FILE", help="a signed head of the log that was kept; --log-key names who signed it")
    parser.add_argument("--log-key", metavar="PUB", help="the public key that signs the heads of the log")
    parser.add_argument("--origin", default="trivet-log", metavar="NAME", help="the name of the log in its checkpoints")


def checkpoint_of(args: argparse.Namespace, door: Door) -> Checkpoint | None:
    """The head of the log that was kept, if the call names one.

    Raises:
        UsageError: nobody is named who signs it.
        SignatureError: it is of another key or log.
    """
    if args.checkpoint is None:
        return None
    if args.log_key is None:
        raise UsageError("--checkpoint needs --log-key PUB")
    from trivet.attest.checkpoint import opened as read_checkpoint  # noqa: PLC0415
    from trivet.attest.keys import load_public  # noqa: PLC0415
    from trivet.verifying import read_file  # noqa: PLC0415

    path, key = (os.path.join(door.folder, name) for name in (args.checkpoint, args.log_key))  # noqa: PTH118 - no pathlib here
    point = read_checkpoint(read_file(path), load_public(key))
    if point.origin != args.origin:
        raise SignatureError(f"the checkpoint is of the log {point.origin!r}, not {args.origin!r}", where=args.checkpoint)
    return point


def root_of(args: argparse.Namespace, door: Door) -> str | None:
    """The file with Sigstore's roots of trust, if the call names one."""
    return None if args.trust_root is None else os.path.join(door.folder, args.trust_root)  # noqa: PTH118 - no pathlib here


def asked(args: argparse.Namespace) -> bool:
    """Whether the call names anybody."""
    return any((args.key, args.keys, args.keys_at))


def trust_of(args: argparse.Namespace, door: Door, repository: Repository | None) -> Trust:
    """Whose signatures count, as the call says.

    Args:
        args: the parsed call.
        door: the door.
        repository: the open repository of ``--repo``, or None.

    Raises:
        UsageError: the call names nobody, or more than one source.
        SignatureError: the source is not of the documented form.
    """
    given = [name for name in ("key", "keys", "keys_at") if getattr(args, name)]
    if len(given) != 1:
        raise UsageError(f"{'only ' if given else ''}one of --key, --keys and --keys-at is needed", hint=_NONE)
    if args.keys_at:
        if repository is None:
            raise UsageError("--keys-at needs --repo DIR", hint=_NONE)
        return _at(repository, args.keys_at)
    path = os.path.join(door.folder, args.key or args.keys)  # noqa: PTH118 - verifying does not load pathlib
    if not os.path.isfile(path):  # noqa: PTH113
        raise UsageError("no such file of keys" if args.keys else "no such public key", where=args.key or args.keys)
    if args.key:
        from trivet.attest.keys import load_public  # noqa: PLC0415
        from trivet.attest.trust import one_key  # noqa: PLC0415

        return one_key(load_public(path), args.key)
    from trivet.attest.trust import read_trust  # noqa: PLC0415
    from trivet.verifying import read_file  # noqa: PLC0415

    return read_trust(read_file(path), args.keys)


def opened(args: argparse.Namespace, door: Door) -> Trust:
    """As ``trust_of``, opening --repo for --keys-at alone."""
    if not args.keys_at:
        return trust_of(args, door, None)
    from trivet.git import open_repository  # noqa: PLC0415 - nothing else needs it

    if args.repo is None:
        raise UsageError("--keys-at needs --repo DIR", hint=_NONE)
    with open_repository(door.cwd / args.repo) as repository:
        return trust_of(args, door, repository)


def _at(repository: Repository, rev: str) -> Trust:
    from trivet.attest.trust import read_trust  # noqa: PLC0415
    from trivet.git import CommitTree  # noqa: PLC0415
    from trivet.sealed.policy import read_policy  # noqa: PLC0415

    tree = CommitTree(repository, repository.commit(rev), rev)
    name = read_policy(tree).owners.keys
    data = tree.read(name.encode())
    if data is None:
        raise SignatureError(
            f"no file of trusted keys at {rev}", where=name, hint="make one with `trivet key trust PUB --keys FILE`, and merge it"
        )
    return read_trust(data, f"{name} at {rev}")
