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
from trivet.stage.wall_child import Child, Lender, Reach
from trivet.stage.wall_limits import Limits
from trivet.stage.wall_reach import faketime_preload, interpreter_reach

__all__ = ["Child", "Lender", "Limits", "Reach", "Wall", "choose", "faketime_preload", "interpreter_reach"]

Network = Literal["none", "loopback"]
Want = Literal["auto", "kernel", "bubblewrap", "none"]


class Wall(Protocol):
    """A wall that stands on this host."""

    @property
    def facts(self) -> WallFacts:
        """Its name, what it guarantees and what it lacks."""

    @property
    def lends(self) -> bool:
        """Whether a run can be a copy of a server here."""

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
        lender: Lender | None = None,
    ) -> Child:
        """Start a run behind the wall.

        ``argv[0]`` is an absolute path. The environment is exactly ``env`` (and LD_PRELOAD for ``preload``). ``pass_fds`` keep their
        numbers; the caller closes its own copies. Standard input is empty. Raises SandboxError if a step of the wall fails.

        ``lender``: a server whose copy may become the run in place of ``argv``; what it is given are ``pass_fds``. A wall that cannot hold
        such a copy (``lends`` is False) starts ``argv``.
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
    from trivet.stage.wall_bubblewrap import BubblewrapWall  # noqa: PLC0415 - Linux only
    from trivet.stage.wall_kernel import KernelWall  # noqa: PLC0415 - Linux only

    if want == "kernel":
        return KernelWall(network=network)
    if want == "bubblewrap":
        return BubblewrapWall(network=network)
    troubles: list[str] = []
    found: list[KernelWall | BubblewrapWall] = []
    for make in (KernelWall, BubblewrapWall):
        try:
            wall = make(network=network)
        except SandboxError as error:
            troubles.append(f"{'kernel' if make is KernelWall else 'bubblewrap'}: {error.message} ({error.hint})")
            continue
        if isinstance(wall, KernelWall) and wall.form.spaces != "none":
            return wall  # holds all that bubblewrap holds but names outside, in two layers instead of one
        found.append(wall)
    if not found:
        raise SandboxError("no wall can be raised on this host", hint="; ".join(troubles))
    return found[-1]
