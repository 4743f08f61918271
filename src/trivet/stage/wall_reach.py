"""What must be readable to run an interpreter: system libraries and programs, its installation, its environment."""

from __future__ import annotations

from pathlib import Path

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone"),
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/hosts", "/etc/services", "/etc/protocols"),
    *("/etc/mime.types", "/etc/os-release", "/etc/debian_version", "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki/tls"),
    *("/etc/ca-certificates", "/etc/locale.alias", "/etc/magic", "/etc/fonts", "/etc/terminfo"),
)
"""What programs of the system need to start: libraries, programs, names, certificates. Nothing of any user."""


_PARTS = frozenset({"bin", "include", "lib", "lib64", "share", "man", "ssl", "etc", "BUILD", "python"})
"""What a folder that is nothing but an installation holds; one that holds more (a home folder) is granted in part."""


def interpreter_reach(python: Path) -> tuple[Path, ...]:
    """What must be readable to run ``python`` with its libraries: system libraries and programs, its installation, its environment.

    Nothing of a home folder but the installation itself. Links are followed as the interpreter follows them.
    """
    found: list[Path] = [Path(name) for name in SYSTEM if Path(name).exists()]
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
    libraries = sorted(prefix.glob("lib*/python3*"))
    if not libraries:
        return [exe] if exe.exists() else []
    if prefix.parts[1:2] == ("usr",) or prefix == Path("/"):
        return [exe, *libraries]  # the system's part has the rest
    if (prefix / "conda-meta").is_dir() or all(entry.name in _PARTS for entry in prefix.iterdir()):
        return [prefix]
    return [exe, *libraries, *sorted(prefix.glob("lib/*.so*"))]


def _home_of(settings: Path) -> Path | None:
    for line in settings.read_text("utf-8", "replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            return Path(value.strip())
    return None


def faketime_preload() -> Path | None:
    """The libfaketime of this host, or None: preloaded, it freezes the clock of a whole process tree. The variant for threads first."""
    for name in ("libfaketimeMT.so.1", "libfaketime.so.1"):
        for root in ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib"):
            for path in (*sorted(Path(root).glob(f"*/faketime/{name}")), Path(root, "faketime", name)):
                if path.is_file():
                    return path
    return None
