"""No wall: a plain process group, swept at its end. Only where the policy on base says so; every verdict carries the warning."""

from __future__ import annotations

import functools
from pathlib import Path

from trivet.model import WallFacts
from trivet.stage.wall_child import Child, Launch, Lender, Reach, launch
from trivet.stage.wall_limits import Limits, rlimits, set_rlimits


class NoWall:
    """Runs code under test as the caller, with the caller's reach."""

    facts = WallFacts(
        name="none",
        guarantees=("output, scratch folder and data memory of each process are bounded", "descendants are ended with the run"),
        lacks=("no wall: the code under test reaches files, network, other processes and this judge as its caller does",),
    )

    lends = False

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
        """Start ``argv`` as it is; see ``Wall.start``."""
        del lender  # never
        if preload is not None:
            env = {**env, "LD_PRELOAD": str(preload)}
        return launch(
            Launch(
                argv=argv,
                env=env,
                cwd=cwd,
                limits=limits,
                spaces="none",
                settle=functools.partial(set_rlimits, rlimits(limits, processes=1 << 20)),
                pass_fds=pass_fds,
                watched=tuple(map(str, (*reach.write, *reach.private))),
                processes=limits.processes,
            )
        )
