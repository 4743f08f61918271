"""From where objects may come: which addresses are reached, with which protocols, as whom, and how much they may send."""

from __future__ import annotations

import ipaddress
import os
import resource
import shlex
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from trivet.errors import GitError, ServiceError
from trivet.git_home import git_program
from trivet.service.logs import without_secrets
from trivet.service.settings import Fetch, Oracle, Repository, read_secret

Resolve = Callable[[str, int], Sequence[str]]
_PORTS = {"https": 443, "ssh": 22}
_OUTPUT_B = 4_000
_LEGACY = (
    "zeroPaddedFilemode",
    "badTimezone",
    "missingSpaceBeforeDate",
    "badDate",
    "missingEmail",
    "missingSpaceBeforeEmail",
    "badDateOverflow",
)
"""Faults of honest old history that git itself would write no more; what could show two trees in one is still refused."""


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host.

    Raises:
        GitError: it has none.
    """
    try:
        return sorted({str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)})
    except OSError as error:
        raise GitError(f"the host {host!r} has no address: {error}") from error


def checked(url: str, limits: Fetch, resolving: Resolve = resolve) -> tuple[SplitResult, str]:
    """Refuse an address that the service must not reach.

    Returns:
        The parts of the URL, and the address to pin its host to ("" for files): a name that is asked twice may answer twice.

    Raises:
        ServiceError: its protocol is not allowed, or its host is inside this network and not named in ``fetch.private_hosts``.
        GitError: the host has no address.
    """
    parts = urlsplit(url)
    allowed = limits.protocols
    if parts.scheme == "file" or (not parts.scheme and url.startswith("/")):
        _checked_file(parts, url, allowed)
        return parts, ""
    if parts.scheme not in allowed or parts.scheme not in _PORTS:
        hint = "write ssh://HOST/PATH" if not parts.scheme and ":" in url else "allowed: " + ", ".join(allowed)
        raise ServiceError(f"the protocol {parts.scheme or 'of this address'!r} is not allowed", where=without_secrets(url), hint=hint)
    host = parts.hostname or ""
    if not host or host.startswith("-") or any(letter in url for letter in "\0\n\r \\"):
        raise ServiceError("not an address of a repository", where=without_secrets(url))
    try:
        port = parts.port or _PORTS[parts.scheme]
    except ValueError as error:
        raise ServiceError("not a port", where=without_secrets(url)) from error
    addresses = resolving(host, port)
    if not addresses:
        raise GitError(f"the host {host!r} has no address")
    if host not in limits.private_hosts:
        for address in addresses:
            if not _is_public(address):
                raise ServiceError(
                    f"the host {host!r} is {address}, inside this network", hint="name it in fetch.private_hosts if that is what you want"
                )
    return parts, addresses[0]


def _checked_file(parts: SplitResult, url: str, allowed: Sequence[str]) -> None:
    if "file" not in allowed:
        raise ServiceError("files are no repositories here", where=url, hint='fetch.protocols = ["file"] allows them')
    if parts.netloc or not parts.path.startswith("/") or "\0" in url:
        raise ServiceError("not an absolute path", where=url)


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    return found.is_global and not found.is_multicast and (mapped is None or mapped.is_global)


def environment(source: Repository | Oracle, url: SplitResult, address: str, git_dir: Path) -> dict[str, str]:
    """The whole environment of a git child that fetches: no configuration of user or system, no hooks, no submodules, one protocol.

    Raises:
        ServiceError: a file of credentials cannot be read.
    """
    scheme = url.scheme or "file"
    keys = {
        "core.hooksPath": os.devnull,
        "core.fsmonitor": "false",
        "core.bigFileThreshold": "32m",
        "core.packedGitLimit": "256m",
        "credential.helper": "",
        "fetch.fsckObjects": "true",
        "fetch.recurseSubmodules": "false",
        "fetch.unpackLimit": "1",
        "fetch.writeCommitGraph": "false",
        "gc.auto": "0",
        "http.followRedirects": "false",
        "http.lowSpeedLimit": "1000",
        "http.lowSpeedTime": "60",
        "maintenance.auto": "false",
        "protocol.allow": "never",
        f"protocol.{scheme}.allow": "always",
        "safe.directory": "*",
        "submodule.recurse": "false",
        "transfer.bundleURI": "false",
        "uploadpack.packObjectsHook": "",
        **{f"fetch.fsck.{name}": "ignore" for name in _LEGACY},
    }
    env = {
        "PATH": os.pathsep.join((str(Path(git_program()).parent), "/usr/bin", "/bin")),
        "LC_ALL": "C",
        "HOME": os.devnull,
        "GIT_DIR": str(git_dir),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": scheme,
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "SSH_ASKPASS": "true",
    }
    if scheme == "https":
        shown = f"[{address}]" if ":" in address else address
        keys["http.curloptResolve"] = f"{url.hostname}:{url.port or _PORTS['https']}:{shown}"
        if source.token_file is not None:
            import base64  # noqa: PLC0415 - one use

            token = read_secret(source.token_file)
            keys["http.extraHeader"] = "Authorization: Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()
    if scheme == "ssh":
        env["GIT_SSH_COMMAND"] = _ssh(source, str(url.hostname), address)
        env["GIT_SSH_VARIANT"] = "ssh"
    for number, (key, value) in enumerate(keys.items()):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env | {"GIT_CONFIG_COUNT": str(len(keys))}


def _ssh(source: Repository | Oracle, host: str, address: str) -> str:
    words = ["ssh", "-F", os.devnull, "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "PermitLocalCommand=no"]
    words += ["-o", f"HostName={address}", "-o", f"HostKeyAlias={host}", "-o", "ForwardAgent=no", "-o", "ConnectTimeout=30"]
    if source.ssh_known_hosts_file is not None:
        words += ["-o", f"UserKnownHostsFile={source.ssh_known_hosts_file}"]
    if source.ssh_key_file is not None:
        words += ["-i", str(source.ssh_key_file), "-o", "IdentitiesOnly=yes"]
    return shlex.join(words)


def run_git(
    args: Sequence[str],
    env: Mapping[str, str],
    *,
    timeout_s: float,
    size_limit_b: int = 0,
    memory_b: int = 0,
    data: bytes | None = None,
) -> bytes:
    """Run one git child in a session of its own; all of it is ended when the time is up.

    Args:
        args: after ``git``.
        env: its whole environment.
        timeout_s: seconds it may take.
        size_limit_b: the largest file it or its children may write; 0 for none.
        memory_b: address space of each process; 0 for no limit.
        data: standard input.

    Returns:
        Its standard output.

    Raises:
        GitError: it failed, took too long, or wrote too much. The message holds no credential.
    """
    with tempfile.TemporaryFile() as told:
        child = subprocess.Popen(
            [git_program(), *args],
            env=dict(env),
            stdin=subprocess.PIPE if data is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=told,
            start_new_session=True,
            cwd="/",
        )
        with suppress(ProcessLookupError):
            # Set from outside, before git has talked to anybody: what it starts later inherits it.
            if size_limit_b:
                resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (size_limit_b, size_limit_b))
            if memory_b:
                resource.prlimit(child.pid, resource.RLIMIT_AS, (memory_b, memory_b))
        try:
            out, _ = child.communicate(data, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise GitError(f"`git {args[0]}` took more than {timeout_s:.0f} s") from None
        if child.returncode:
            told.seek(0)
            text = without_secrets(told.read(_OUTPUT_B).decode("utf-8", "replace")).strip()
            raise GitError(f"`git {args[0]}` failed with {child.returncode}: {text[-800:]}")
    return out
