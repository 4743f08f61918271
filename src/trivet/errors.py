"""What stops the gate from judging: one clear message, where, and what to do.

A ``Finding`` is a fact about the patch and is never raised. A ``TrivetError`` says that the gate cannot do its work; the door turns it
into one message and an exit status, and the merge stays blocked.
"""

from __future__ import annotations


class TrivetError(Exception):
    """The gate cannot judge.

    Args:
        message: what is wrong, in one line.
        where: the file, key, revision or command it is about.
        hint: what to do next.
    """

    code = "TRV-E00"
    exit_status = 3

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint


class UsageError(TrivetError):
    """The call itself is wrong: an unknown revision, folder, option value."""

    code = "TRV-E01"
    exit_status = 2


class PolicyError(TrivetError):
    """The policy on base cannot be read or contradicts itself."""

    code = "TRV-E02"
    exit_status = 2


class GitError(TrivetError):
    """The repository cannot be read as it must be (shallow, replace refs, no merge base, broken objects)."""

    code = "TRV-E10"


class OutputError(TrivetError):
    """The verdict files cannot be written."""

    code = "TRV-E20"


class HostError(TrivetError):
    """This host has not enough of something: the disk is full, or no more files may be open."""

    code = "TRV-E21"


class SandboxError(TrivetError):
    """No wall of the asked strength can be raised on this host."""

    code = "TRV-E30"


class ProbeError(TrivetError):
    """The project's interpreter or its pytest cannot be used."""

    code = "TRV-E40"


class CacheError(TrivetError):
    """The cache cannot be read or written."""

    code = "TRV-E50"


class SignatureError(TrivetError):
    """A key, signature or envelope is not what it must be."""

    code = "TRV-E60"


class ForgeError(TrivetError):
    """A forge did not answer as documented."""

    code = "TRV-E70"


class StoreError(TrivetError):
    """The service's store cannot be read or written, or does not hold what was asked for."""

    code = "TRV-E80"


class ServiceError(TrivetError):
    """The service does not do what was asked: its settings, an unknown repository, a refused request."""

    code = "TRV-E81"
    exit_status = 2


class ClientError(TrivetError):
    """A scoring service refused a client, or does not answer. ``status`` is that of HTTP, 0 where there was no answer."""

    code = "TRV-E90"

    def __init__(self, message: str, *, where: str = "", hint: str = "", status: int = 0) -> None:
        super().__init__(message, where=where, hint=hint)
        self.status = status


class EndpointError(TrivetError):
    """An endpoint that drafts tests cannot be asked, or its answer cannot be used."""

    code = "TRV-E75"
