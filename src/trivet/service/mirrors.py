"""Mirrors: one bare repository for each listed one, to which objects come by id and which no run can write.

What may be judged is checked here: base is a commit of a protected branch, and what is new is not too much.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from trivet.errors import GitError, ServiceError
from trivet.service.fetching import Resolve, checked, environment, resolve, run_git
from trivet.service.settings import Fetch, Oracle, Repository

_QUICK_S = 60.0
_UNADVERTISED = ("not our ref", "unadvertised object", "couldn't find remote ref", "no such remote ref")


class RefusedError(ServiceError):
    """What was asked for must not be judged: trying again changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """A mirror that holds base and head. ``base`` is the commit to judge against: with an oracle repository, one made from both."""

    path: Path
    base: str
    head: str
    oracle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrors:
    """The mirrors of one machine, in ``folder``."""

    folder: Path
    limits: Fetch
    memory_b: int = 0
    resolving: Resolve = field(default=resolve)

    def bring(self, repo: Repository, base: str, head: str) -> Brought:
        """Make sure that the mirror holds base and head, and that they may be judged. Asks nobody when all is there.

        Raises:
            RefusedError: base is no commit of a protected branch, or there is too much that is new.
            GitError: fetching failed; it may be tried again.
            ServiceError: the repository's address or credentials are not usable.
        """
        path = self._made(self.folder / f"{repo.name}.git")
        local = _local(path)
        if not (self._all_there(local, base, head) and self._on_branch(local, repo, base)):
            self._fetch(
                repo, repo.url, path, [*(f"+refs/heads/{b}:refs/trivet/branches/{b}" for b in repo.branches)], (base, head), repo.fetch_refs
            )
        if not self._on_branch(local, repo, base):
            branches = ", ".join(repo.branches)
            raise RefusedError(
                f"base {base[:12]} is no commit of a protected branch", hint=f"protected: {branches}; judge against its newest commit"
            )
        self._measure(local, base, head)
        if repo.oracle is None:
            return Brought(path=path, base=base, head=head)
        tip = self._oracle_tip(repo.oracle, path)
        return Brought(path=path, base=self._with_oracle(local, base, tip), head=head, oracle=tip)

    def _made(self, path: Path) -> Path:
        if (path / "HEAD").is_file():
            return path
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=self.folder))
        try:
            run_git(["init", "--quiet", "--bare", "--template=", "--initial-branch=none", str(new)], _local(new), timeout_s=_QUICK_S)
            with suppress(OSError):  # another worker was quicker
                new.rename(path)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return path

    def _fetch(
        self, source: Repository | Oracle, url: str, path: Path, specs: list[str], wanted: tuple[str, ...], more: tuple[str, ...] = ()
    ) -> None:
        parts, address = checked(url, self.limits, self.resolving)
        env = environment(source, parts, address, path)
        kept = [f"+{oid}:refs/trivet/kept/{oid}" for oid in dict.fromkeys(wanted)]
        try:
            self._fetch_once(url, [*specs, *kept], env)
        except GitError as error:
            if not any(words in error.message for words in _UNADVERTISED):
                raise
            # A server that gives nothing by id: take the refs it shows, and look whether the commits came with them.
            shown = [f"+{ref}:refs/trivet/shown/{ref.removeprefix('refs/')}" for ref in ("refs/heads/*", *more)]
            self._fetch_once(url, [*specs, *shown], env)
            local = _local(path)
            for oid in wanted:
                if not self._all_there(local, oid):
                    raise RefusedError(f"the repository does not have the commit {oid[:12]}", hint="push it first") from error
                run_git(["update-ref", f"refs/trivet/kept/{oid}", oid], local, timeout_s=_QUICK_S)

    def _fetch_once(self, url: str, specs: list[str], env: Mapping[str, str]) -> None:
        words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--end-of-options",
        ]
        run_git([*words, url, *specs], env, timeout_s=self.limits.timeout_s, size_limit_b=self.limits.size_limit_b, memory_b=self.memory_b)

    def _all_there(self, env: Mapping[str, str], *oids: str) -> bool:
        asked = "".join(f"{oid}^{{commit}}\n" for oid in oids).encode()
        out = run_git(["cat-file", "--batch-check=%(objectname)"], env, timeout_s=_QUICK_S, data=asked)
        return out.decode().split("\n")[:-1] == list(oids)

    def _on_branch(self, env: Mapping[str, str], repo: Repository, base: str) -> bool:
        refs = [f"refs/trivet/branches/{branch}" for branch in repo.branches]
        shown = run_git(["for-each-ref", "--format=%(refname)", *refs], env, timeout_s=_QUICK_S).decode().split()
        for ref in (ref for ref in refs if ref in shown):
            with suppress(GitError):
                run_git(["merge-base", "--is-ancestor", base, ref], env, timeout_s=_QUICK_S)
                return True
        return False

    def _measure(self, env: Mapping[str, str], base: str, head: str) -> None:
        """Refuse a head that brings too many or too large objects: a small pack can hold a large file."""
        listed = run_git(
            ["rev-list", "--objects", "--no-object-names", head, f"^{base}"], env, timeout_s=self.limits.timeout_s, memory_b=self.memory_b
        )
        if listed.count(b"\n") > self.limits.objects_limit:
            raise RefusedError(
                f"head brings more than {self.limits.objects_limit} objects", hint="raise fetch.objects_limit if that is meant"
            )
        sizes = run_git(
            ["cat-file", "--batch-check=%(objectsize)"], env, timeout_s=self.limits.timeout_s, data=listed, memory_b=self.memory_b
        )
        numbers = [int(word) for word in sizes.split() if word.isdigit()]
        if max(numbers, default=0) > self.limits.blob_limit_b:
            raise RefusedError(f"head brings a file of {max(numbers)} bytes", hint="raise fetch.blob_limit_b if that is meant")
        if sum(numbers) > self.limits.size_limit_b:
            raise RefusedError(f"head brings {sum(numbers)} bytes", hint="raise fetch.size_limit_b if that is meant")

    # --- sealed files that live elsewhere -----------------------------------------------------------

    def _oracle_tip(self, oracle: Oracle, path: Path) -> str:
        url = oracle.source.removeprefix("git+")
        ref = f"refs/trivet/oracle/{hashlib.sha256(f'{url} {oracle.branch}'.encode()).hexdigest()[:16]}"
        self._fetch(oracle, url, path, [f"+refs/heads/{oracle.branch}:{ref}"], ())
        return run_git(["rev-parse", "--verify", f"{ref}^{{commit}}"], _local(path), timeout_s=_QUICK_S).decode().strip()

    def _with_oracle(self, env: Mapping[str, str], base: str, tip: str) -> str:
        """A commit on top of base whose tree has the oracle repository's files laid over it; the same two give the same commit."""
        with tempfile.TemporaryDirectory(prefix="trivet-index-") as room:
            own = {
                **env,
                "GIT_INDEX_FILE": os.path.join(room, "index"),  # noqa: PTH118 - an environment holds text
                **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _MAKER.items()},
            }
            run_git(["read-tree", base], own, timeout_s=_QUICK_S)
            files = run_git(["ls-tree", "-r", "-z", "--full-tree", tip], own, timeout_s=_QUICK_S)
            if any(row and not row.startswith((b"100644 ", b"100755 ")) for row in files.split(b"\0")):
                raise RefusedError("the oracle repository holds links or submodules", hint="keep regular files there")
            run_git(["update-index", "-z", "--index-info"], own, timeout_s=_QUICK_S, data=files)
            tree = run_git(["write-tree"], own, timeout_s=_QUICK_S).decode().strip()
            made = run_git(["commit-tree", tree, "-p", base, "-m", f"oracles of {tip}"], own, timeout_s=_QUICK_S).decode().strip()
        run_git(["update-ref", f"refs/trivet/kept/{made}", made], env, timeout_s=_QUICK_S)
        return made


_MAKER = {"NAME": "trivet", "EMAIL": "trivet@localhost", "DATE": "2000-01-01T00:00:00+0000"}


def _local(path: Path) -> dict[str, str]:
    """The environment of a git child that talks to nobody."""
    from trivet.git_home import git_environment, git_program  # noqa: PLC0415 - beside its use

    return git_environment(git_program(), path) | {"GIT_NO_LAZY_FETCH": "1"}
