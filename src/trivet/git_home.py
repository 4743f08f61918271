"""Where a repository keeps its objects, and the environment in which git may read them.

Found without running git: git looks at configuration, ownership and the caller's environment while it searches, and the repository
may belong to another user.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from trivet.errors import GitError, UsageError
from trivet.git_environment import git_environment

__all__ = ["Home", "find_home", "git_environment", "git_program", "make_shadow", "object_format_of", "refuse_tricks"]

_GITFILE_MAX_B = 65_536
_PACKED_REFS_MAX_B = 512 * 1024 * 1024

@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Folders of one repository: its own git folder, the one it shares with its worktrees, the objects, the work tree (None: bare)."""

    git_dir: Path
    common_dir: Path
    work_tree: Path | None

    @property
    def objects(self) -> Path:
        """The folder of the object store."""
        return self.common_dir / "objects"


def find_home(path: Path) -> Home:
    """Find the repository that holds ``path``: a clone, a linked worktree or a bare repository.

    Raises:
        UsageError: ``path`` is not a folder, or no repository is found in it or above it.
    """
    start = path.absolute()
    if not start.is_dir():
        raise UsageError(f"not a folder: {path}", hint="name the repository with `--repo DIR`")
    for folder in (start, *start.parents):
        dot = folder / ".git"
        if dot.is_dir() and _is_git_dir(dot):
            return _home(dot, folder)
        if dot.is_file():
            return _home(_linked(dot), folder)
        if _is_git_dir(folder):
            return _home(folder, folder.parent if folder.name == ".git" else None)
    raise UsageError(f"not a git repository: {path}", hint="run inside a clone, or name it with `--repo DIR`")


def _is_git_dir(folder: Path) -> bool:
    head = folder / "HEAD"
    return (head.is_file() or head.is_symlink()) and ((folder / "objects").is_dir() or (folder / "commondir").is_file())


def _linked(dot: Path) -> Path:
    text = _small(dot).strip()
    if not text.startswith("gitdir: "):
        raise GitError("the .git file names no git folder", where=str(dot), hint="repair the worktree with `git worktree repair`")
    target = (dot.parent / text.removeprefix("gitdir: ")).resolve()
    if not _is_git_dir(target):
        raise GitError(
            f"the .git file names {target}, which is no git folder", where=str(dot), hint="repair the worktree with `git worktree repair`"
        )
    return target


def _home(git_dir: Path, work_tree: Path | None) -> Home:
    common = git_dir / "commondir"
    shared = (git_dir / _small(common).strip()).resolve() if common.is_file() else git_dir
    if not (shared / "objects").is_dir():
        raise GitError("the repository has no object store", where=str(shared))
    return Home(git_dir=git_dir, common_dir=shared, work_tree=work_tree)


def _small(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_GITFILE_MAX_B).decode("utf-8", "surrogateescape")


def refuse_tricks(home: Home) -> None:
    """Refuse a repository in which history or objects may be other than they seem.

    Raises:
        GitError: the history is shallow, or replace refs or grafts are set.
    """
    shallow = home.common_dir / "shallow"
    if shallow.is_file() and shallow.stat().st_size:
        raise GitError(
            "the history is shallow, so the merge base cannot be known",
            where=str(shallow),
            hint="fetch all of it: `git fetch --unshallow`, or `fetch-depth: 0` in CI",
        )
    grafts = home.common_dir / "info" / "grafts"
    if grafts.is_file() and re.search(rb"^\s*[0-9a-fA-F]", grafts.read_bytes(), re.MULTILINE):
        raise GitError(
            "grafts give commits other parents than they have (TRV109)", where=str(grafts), hint="remove the file and push the real commits"
        )
    replaced = _replace_ref(home.common_dir)
    if replaced:
        raise GitError(
            "replace refs show other objects than the named ones (TRV109)", where=replaced, hint="delete them: `git replace --delete ID`"
        )


def _replace_ref(common: Path) -> str:
    folder = common / "refs" / "replace"
    if folder.is_dir():
        for inner in folder.rglob("*"):
            if not inner.is_dir():
                return f"refs/replace/{inner.relative_to(folder)}"
    packed = common / "packed-refs"
    if packed.is_file():
        if packed.stat().st_size > _PACKED_REFS_MAX_B:
            raise GitError("packed-refs is too large to be read", where=str(packed))
        found = re.search(rb"^[0-9a-f]+ (refs/replace/\S+)", packed.read_bytes(), re.MULTILINE)
        if found:
            return found[1].decode("utf-8", "backslashreplace")
    if (common / "reftable").is_dir():
        raise GitError(
            "refs are kept in the reftable format, which is not supported", where=str(common), hint="use a clone with the files format"
        )
    return ""


def git_program() -> str:
    """The absolute path of git.

    Raises:
        GitError: git is not installed.
    """
    program = shutil.which("git")
    if program is None:
        raise GitError("git is not installed", hint="install git 2.38 or later")
    return program


def make_shadow(home: Home, root: Path, object_format: str) -> Path:
    """Make an empty bare repository in ``root`` that borrows the objects of ``home``, and give its folder.

    Neither configuration nor attributes, hooks or refs of the user's repository are seen from there, and what is written stays there.
    """
    shadow = root / "shadow.git"
    (shadow / "objects" / "info").mkdir(parents=True)
    (shadow / "refs").mkdir()
    (shadow / "HEAD").write_text("ref: refs/heads/none\n")
    version, extension = ("1", f"[extensions]\n\tobjectFormat = {object_format}\n") if object_format != "sha1" else ("0", "")
    (shadow / "config").write_text(f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extension}")
    (shadow / "objects" / "info" / "alternates").write_bytes(_quoted(os.fsencode(home.objects.resolve())) + b"\n")
    return shadow


def _quoted(path: bytes) -> bytes:
    if not path.startswith((b"#", b'"')) and not any(byte < 0x20 or byte in b'"\\' for byte in path):  # noqa: PLR2004 - control bytes
        return path
    return b'"' + b"".join(b"\\%03o" % byte if byte < 0x20 or byte in b'"\\' else bytes((byte,)) for byte in path) + b'"'  # noqa: PLR2004


def object_format_of(home: Home) -> str:
    """``sha1`` or ``sha256``, as the repository's configuration says."""
    config = home.common_dir / "config"
    text = config.read_text("utf-8", "replace") if config.is_file() else ""
    return "sha256" if re.search(r"^\s*objectformat\s*=\s*\"?sha256\b", text, re.IGNORECASE | re.MULTILINE) else "sha1"
