"""The walk of ``trivet attach``, the one command that writes to the user's repository, and how ``trivet verify`` finds what it wrote.

Two carriers. A note: ``refs/notes/trivet``, one envelope a line, so that notes of two clones merge with git's own ``cat_sort_uniq``.
Beside the commit: ``refs/trivet/COMMIT``, a small history of trees that hold the files under their names. Either is moved from the value
that was read to the new one or not at all; nothing but objects and that one ref is written, and no hook or configuration has a say.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from trivet.attest.decided import Attested
from trivet.attest.times import written
from trivet.attest.trust import Trust
from trivet.errors import GitError, SignatureError
from trivet.git import Repository
from trivet.git_home import git_environment, git_program
from trivet.verifying import Wanted, newest

NOTES = "refs/notes/trivet"
BESIDE = "refs/trivet"
_TRIES = 20
_TIMEOUT_S = 60.0
_ZERO = "0" * 40


class Carrier:
    """Writes to and reads from the two places where a repository carries envelopes."""

    def __init__(self, repository: Repository) -> None:
        self._folder = repository.home.git_dir
        self._program = git_program()

    def attach_note(self, commit: str, envelopes: Iterable[bytes], *, now: float) -> int:
        """Add envelopes to the note of a commit; those that are there already are not added again.

        Returns:
            How many were added.

        Raises:
            GitError: git refused, or somebody else kept moving the ref.
        """
        lines = [_line(data) for data in envelopes]
        for _ in range(_TRIES):
            tip = self._ref(NOTES)
            before = self._note(tip, commit)
            known = before.splitlines()
            fresh = [line for line in dict.fromkeys(lines) if line not in known]
            if not fresh:
                return 0
            text = b"".join(line + b"\n" for line in (*known, *fresh))
            blob = self._git("hash-object", "-w", "--stdin", text=text).strip().decode()
            # git's own code keeps the fan-out of a notes tree; it works on a ref of our own until the one swap that counts.
            scratch = f"{NOTES}-{commit[:12]}-{blob[:12]}"
            if tip:
                self._git("update-ref", scratch, tip)
            try:
                self._git("notes", f"--ref={scratch}", "add", "-f", "-C", blob, commit, now=now)
                if self._swap(NOTES, self._ref(scratch), tip):
                    return len(fresh)
            finally:
                self._git("update-ref", "-d", scratch)
        raise GitError(f"{NOTES} is being moved by somebody else", hint="try again")

    def attach_beside(self, commit: str, files: Mapping[str, bytes], *, now: float) -> int:
        """Put files under ``refs/trivet/COMMIT``, beside those that are there.

        Returns:
            How many were added or changed.

        Raises:
            GitError: git refused, or somebody else kept moving the ref.
        """
        ref = f"{BESIDE}/{commit}"
        for _ in range(_TRIES):
            tip = self._ref(ref)
            rows = dict(self._rows(tip)) if tip else {}
            added = {name: self._git("hash-object", "-w", "--stdin", text=data).strip().decode() for name, data in files.items()}
            fresh = {name: oid for name, oid in added.items() if rows.get(name) != oid}
            if not fresh:
                return 0
            rows |= fresh
            listing = b"".join(f"100644 blob {oid}\t{name}\0".encode() for name, oid in sorted(rows.items()))
            tree = self._git("mktree", "-z", text=listing).strip().decode()
            made = self._git("commit-tree", tree, *(("-p", tip) if tip else ()), "-m", f"Verdicts of {commit}", now=now).strip().decode()
            if self._swap(ref, made, tip):
                return len(fresh)
        raise GitError(f"{ref} is being moved by somebody else", hint="try again")

    def envelopes(self, commit: str) -> Iterator[bytes]:
        """Every envelope that either carrier holds about a commit, as bytes with a line end; nothing is checked.

        Earlier states of ``refs/trivet/COMMIT`` are read as well: what replaced a refusal does not hide it.
        """
        for line in self._note(self._ref(NOTES), commit).splitlines():
            yield line + b"\n"
        tip = self._ref(f"{BESIDE}/{commit}")
        if not tip:
            return
        seen: set[str] = set()
        for state in self._git("rev-list", tip).decode().split():
            for name, oid in self._rows(state):
                if name.endswith((".dsse.json", ".sigstore.json")) and oid not in seen:
                    seen.add(oid)
                    yield self._git("cat-file", "blob", oid)

    def _note(self, tip: str, commit: str) -> bytes:
        if not tip:
            return b""
        # The note's path has as many slashes as the tree's fan-out; git knows.
        status, out = self._run("notes", f"--ref={tip}", "list", commit)
        if status:  # `--ref` takes names of refs alone in old versions: walk the tree
            return self._note_by_path(tip, commit)
        return self._git("cat-file", "blob", out.strip().decode()) if out.strip() else b""

    def _note_by_path(self, tip: str, commit: str) -> bytes:
        for row in self._git("ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0")[:-1]:
            meta, _, path = row.partition(b"\t")
            if path.replace(b"/", b"") == commit.encode():
                return self._git("cat-file", "blob", meta.split(b" ")[2].decode())
        return b""

    def _rows(self, commit: str) -> Iterator[tuple[str, str]]:
        for row in self._git("ls-tree", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            meta, _, name = row.partition(b"\t")
            mode, kind, oid = meta.decode("ascii").split(" ")
            if (mode, kind) == ("100644", "blob"):
                yield name.decode("utf-8", "surrogateescape"), oid

    def _ref(self, name: str) -> str:
        status, out = self._run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return "" if status else out.strip().decode()

    def _swap(self, ref: str, new: str, old: str) -> bool:
        """Move a ref from ``old`` ("" = it must not exist) to ``new``, or not at all."""
        return self._run("update-ref", "-m", "trivet attach", ref, new, old or _ZERO[: len(new)].ljust(len(new), "0"))[0] == 0

    def _git(self, *args: str, text: bytes = b"", now: float | None = None) -> bytes:
        status, out = self._run(*args, text=text, now=now)
        if status:
            raise GitError(f"git {args[0]} failed with status {status}", where=str(self._folder), hint="see whether you may write there")
        return out

    def _run(self, *args: str, text: bytes = b"", now: float | None = None) -> tuple[int, bytes]:
        env = git_environment(self._program, self._folder)
        if now is not None:
            for who in ("AUTHOR", "COMMITTER"):
                env |= {f"GIT_{who}_NAME": "trivet", f"GIT_{who}_EMAIL": "trivet@localhost", f"GIT_{who}_DATE": written(now)}
        try:
            done = subprocess.run(
                [self._program, *args], cwd=self._folder, env=env, input=text, capture_output=True, timeout=_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise GitError(f"git {args[0]} did not end within {_TIMEOUT_S:.0f} s") from error
        return done.returncode, done.stdout


def find_decision(
    repository: Repository, rev: str, trust: Trust, wanted: Wanted, *, now: float, root: str | None = None
) -> tuple[Attested, bytes]:
    """The decision that counts among those which the repository carries about a commit.

    Raises:
        SignatureError: there is none that is signed by a trusted key and about what is wanted.
        UsageError: the revision is unknown.
    """
    commit = repository.commit(rev).oid
    found = list(Carrier(repository).envelopes(commit))
    if not found:
        raise SignatureError(
            f"the repository carries no verdict about {commit[:12]}",
            hint=f"fetch it: `git fetch REMOTE '{NOTES}:{NOTES}' '{BESIDE}/*:{BESIDE}/*'`",
        )
    return newest(found, trust, wanted._replace(head=commit), now=now, root=root)


def envelope_files(path: Path) -> dict[str, bytes]:
    """The envelopes of a folder (or the one file), by name.

    Raises:
        SignatureError: there is none.
    """
    from trivet.report.files import read_bytes  # noqa: PLC0415

    names = sorted((*path.glob("*.dsse.json"), *path.glob("*.sigstore.json"))) if path.is_dir() else [path]
    found = {name.name: read_bytes(name) for name in names}
    if not found:
        raise SignatureError("no envelope is there", where=str(path), hint="sign the verdict: `trivet gate … --sign KEY`")
    return found


def _line(data: bytes) -> bytes:
    line = data.strip()
    if b"\n" in line or b"\r" in line:
        raise SignatureError("an envelope stands on several lines", hint="attach it as trivet wrote it")
    return line
