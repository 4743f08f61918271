"""The wall: where the code under test runs. One interface, back ends ``kernel``, ``bubblewrap`` and ``none``.

``choose`` probes the host and returns the wall that holds most; it never degrades silently: what a wall does not guarantee stands in its
``facts.lacks``, and where the asked wall cannot be had there is a SandboxError with the remedy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from trivet.errors import SandboxError
from trivet.model import WallFacts
from trivet.stage import wall_native as native
from trivet.stage.wall_child import Child, Reach
from trivet.stage.wall_limits import Limits

__all__ = ["Child", "Limits", "Reach", "Wall", "choose", "interpreter_reach"]

Network = Literal["none", "loopback"]
Want = Literal["auto", "kernel", "bubblewrap", "none"]


class Wall(Protocol):
    """A wall that stands on this host."""

    @property
    def facts(self) -> WallFacts:
        """Its name, what it guarantees and what it lacks."""

    def start(
        self,
        argv: list[str],
        *,
        cwd: Path,
        env: dict[str, str],
        reach: Reach,
        limits: Limits,
        pass_fds: tuple[int, ...] = (),
        preload: Path | None = None,
    ) -> Child:
        """Start a run behind the wall.

        ``argv[0]`` is an absolute path. The environment is exactly ``env`` (and LD_PRELOAD for ``preload``). ``pass_fds`` keep their
        numbers; the caller closes its own copies. Standard input is empty. Raises SandboxError if a step of the wall fails.
        """


def choose(want: Want = "auto", *, network: Network = "none", allow_none: bool = False) -> Wall:
    """The wall that was asked for; ``auto``: of those that work here the one that lacks least, never ``none``.

    Raises SandboxError, with what is missing and what to do, where it cannot be had.
    """
    if want == "none":
        if not allow_none:
            raise SandboxError("no wall at all is only had if the policy on base says so", hint='set score.wall = "none" on base')
        from trivet.stage.wall_none import NoWall  # noqa: PLC0415 - rarely needed

        return NoWall()
    if not native.LINUX:
        hint = "run src-score in a Linux container; see docs/wall.md and the Containerfile"
        raise SandboxError("this system has no kernel wall", hint=hint)
    from trivet.stage.wall_kernel import KernelWall  # noqa: PLC0415 - Linux only

    return KernelWall(network=network)


_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone"),
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/hosts", "/etc/services", "/etc/protocols"),
    *("/etc/mime.types", "/etc/os-release", "/etc/debian_version", "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki/tls"),
    *("/etc/ca-certificates", "/etc/locale.alias", "/etc/magic", "/etc/fonts", "/etc/terminfo"),
)


def interpreter_reach(python: Path) -> tuple[Path, ...]:
    """What must be readable to run ``python`` with its libraries: system libraries and programs, its installation, its environment.

    Nothing of a home folder but the installation itself. Links are followed as the interpreter follows them.
    """
    found: list[Path] = [Path(name) for name in _SYSTEM if Path(name).exists()]
    links = [python]
    while links[-1].is_symlink() and len(links) < 16:  # noqa: PLR2004 - a chain of links, not a loop
        links.append(links[-1].parent / links[-1].readlink())
    for exe in [*links, python.resolve()]:
        found += _installation(exe)
        settings = exe.parent.parent / "pyvenv.cfg"
        if settings.is_file():
            home = _home_of(settings)
            if home is not None:
                found += _installation(home / "python")
                found += _installation(home.resolve() / "python")
    return tuple(dict.fromkeys(found))


def _installation(exe: Path) -> list[Path]:
    """The folders of the installation that ``exe`` is in; a prefix too broad to grant is narrowed to its Python parts."""
    prefix = exe.parent.parent
    if (prefix / "pyvenv.cfg").is_file():
        return [prefix]
    libraries = sorted(prefix.glob("lib*/python3*")) + sorted(prefix.glob("lib/libpython3*"))
    if not libraries:
        return [exe] if exe.exists() else []
    whole = {"bin", "include", "lib", "share", "lib64", "man", "ssl", "etc", "conda-meta", "compiler_compat"}
    if all(entry.name in whole or entry.name.startswith(".") for entry in prefix.iterdir()) and prefix.parts[1:2] != ("usr",):
        return [prefix]
    return [exe, *libraries, prefix / "lib"] if prefix.parts[1:2] in (("usr",), ()) else [exe, *libraries]


def _home_of(settings: Path) -> Path | None:
    for line in settings.read_text("utf-8", "replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            return Path(value.strip())
    return None
