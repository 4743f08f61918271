"""The walk of ``trivet record``: run tests with the network, keep their HTTP exchanges under the sealed fixtures, and seal them."""

from __future__ import annotations

import posixpath
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trivet.errors import ProbeError, UsageError
from trivet.git import WorkTree
from trivet.model import Policy
from trivet.probe import wire
from trivet.room import Room
from trivet.sealed.policy import read_policy
from trivet.sealing import seal
from trivet.stage.replay import find_python

HTTP = "http"
"""The folder of recordings, beside a manifest of sealed fixtures."""

_NO_VCR = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What was recorded: ``wrote`` and ``removed`` files (relative to the work tree), manifests that were written, pytest's exit status."""

    status: int
    wrote: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()


def folder_of(policy: Policy) -> str:
    """Where recordings lie: ``http/`` in the folder of the first manifest of sealed fixtures.

    Raises:
        UsageError: the policy names no such manifest.
    """
    if not policy.oracle.digests:
        hint = "name a manifest as `digests` in [oracle] of trivet.toml, such as fixtures/sealed/MANIFEST.sha256"
        raise UsageError("the policy names no sealed fixtures, so recordings cannot be sealed", where=policy.source, hint=hint)
    return posixpath.join(posixpath.dirname(policy.oracle.digests[0]), HTTP)


def record(root: Path, arguments: Sequence[str], *, python: str | None, environ: Mapping[str, str]) -> Recorded:
    """Run pytest in the project's interpreter, with the caller's environment and network, and keep what its tests exchanged.

    Nothing is kept unless all tests pass. A test that ran and exchanged nothing loses its old recording.

    Args:
        root: the work tree.
        arguments: pytest's.
        python: the project's interpreter; None takes the policy's.
        environ: the caller's environment; values of variables with telling names are taken out of what is written.

    Raises:
        UsageError: the policy names no sealed fixtures.
        ProbeError: the interpreter has no vcrpy.
    """
    tree = WorkTree(root)
    policy = read_policy(tree)
    inner = folder_of(policy)
    program = find_python(policy.score, repo=tree.root, asked=python)
    with Room("trivet-record-") as made:
        folder = made / "http"
        folder.mkdir()
        paths = [str(tree.root / path) for path in policy.score.paths]
        before = environ.get("PYTHONPATH")
        env = {**environ, "PYTHONPATH": ":".join([*paths, *([before] if before else [])]), "PYTHONDONTWRITEBYTECODE": "1"}
        script = Path(wire.__file__).resolve().with_name("recording.py")
        command = [str(program), str(script), str(folder), str(tree.root), *arguments]
        status = subprocess.run(command, cwd=tree.root, env=env, stdout=2, check=False).returncode
        if status == _NO_VCR:
            raise ProbeError(
                "the project's interpreter has no vcrpy, which records",
                where=str(program),
                hint="install vcrpy there (`trivet[record]` where trivet runs in it), or name another interpreter with --python",
            )
        if status:
            return Recorded(status=status)
        wrote = _kept(folder, tree.root / inner)
    removed = _stale(tree.root, inner, wrote, arguments)
    sealed = seal(tree.root)
    shown = tuple(posixpath.join(inner, name) for name in wrote)
    return Recorded(status=0, wrote=shown, removed=removed, manifests=sealed.wrote)


def _kept(made: Path, folder: Path) -> list[str]:
    names = sorted(path.relative_to(made).as_posix() for path in made.rglob("*.json"))
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made / name, target)
    return names


def _stale(root: Path, inner: str, wrote: Sequence[str], arguments: Sequence[str]) -> tuple[str, ...]:
    """Recordings of the files that were named as a whole, and that this run did not write."""
    removed = []
    for argument in arguments:
        path = Path(argument)
        if path.suffix != ".py" or "::" in argument or not (root / path).is_file():
            continue
        own = posixpath.join(path.with_suffix("").as_posix())
        for found in sorted((root / inner / own).glob("*.json")):
            name = found.relative_to(root / inner).as_posix()
            if name not in wrote:
                found.unlink()
                removed.append(posixpath.join(inner, name))
    return tuple(removed)
