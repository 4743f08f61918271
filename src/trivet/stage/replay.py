"""The replay key: the named facts of a run, and their digest. With it a run can be repeated."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from trivet import __version__
from trivet.errors import ProbeError
from trivet.model import Policy, ReplayKey, ScorePolicy
from trivet.stage.cache import key_of

DAY_S = 86_400


def replay_key(facts: Mapping[str, str]) -> ReplayKey:
    """Name and digest facts; the order in which they come does not matter."""
    return ReplayKey(facts=tuple(sorted(facts.items())), digest=key_of(facts))


def epoch_bucket(now: float) -> str:
    """The day of a moment, as a number of days since the epoch."""
    return str(int(now // DAY_S))


def asked(policy: Policy) -> str:
    """What flags may tighten, as it was in force: with it a judgement can be repeated."""
    score = policy.score
    return f"isolation={score.isolation} controls={score.controls} wall={score.wall} vary={int(score.vary)} reruns={score.reruns}"


def find_python(policy: ScorePolicy, *, repo: Path, asked: str | None = None) -> Path:
    """The project's interpreter: what the door asks for, else what the policy names (relative to ``repo``), else the one that runs trivet.

    Raises:
        ProbeError: there is no such program.
    """
    named = asked or policy.python
    if named is None:
        return Path(sys.executable)
    path = Path(named) if asked is None else Path.cwd() / named
    path = path if path.is_absolute() else repo / path
    if not path.is_file():
        raise ProbeError(
            f"there is no interpreter {named}",
            where="--python" if asked else "score.python",
            hint="Name an interpreter that has the project's test requirements, with --python or in trivet.toml.",
        )
    return path


def environment_of(python: Path) -> dict[str, str]:
    """Facts about an interpreter without starting it: its real path, version, and the distributions that are installed beside it."""
    facts = {"interpreter": str(python.resolve()), "platform": f"{platform.system()} {platform.release()} {platform.machine()}"}
    home = python.parent.parent
    for line in _lines(home / "pyvenv.cfg"):
        name, _, value = line.partition("=")
        if name.strip() in ("version", "version_info", "home", "include-system-site-packages"):
            facts[f"venv {name.strip()}"] = value.strip()
    try:
        facts["interpreter stamp"] = f"{python.stat().st_size} {python.stat().st_mtime_ns}"
    except OSError:
        facts["interpreter stamp"] = "?"
    folders = sorted({*home.glob("lib*/python*/site-packages"), *python.resolve().parent.parent.glob("lib*/python*/site-packages")})
    facts["distributions"] = " ".join(sorted(_distributions(folders)))
    return facts


def _distributions(folders: list[Path]) -> set[str]:
    found = set()
    for folder in folders:
        for entry in folder.iterdir():
            name = entry.name
            if name.endswith((".dist-info", ".egg-info")):
                found.add(name.rpartition(".")[0].replace("-", "==", 1))
            elif name.endswith((".pth", ".egg-link")):
                found.add(f"{name}:{entry.stat().st_size}")
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def run_facts(policy: ScorePolicy, python: Path, *, wall: str) -> dict[str, str]:
    """The facts that any run on this host has in common."""
    return {
        **environment_of(python),
        "trivet": __version__,
        "wall": wall,
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "seed": str(policy.seed),
        "clock": policy.clock,
        "limits": (
            f"{policy.timeout_s:g} s, {policy.test_timeout_s:g} s a test, {policy.memory_b} B memory, {policy.processes} processes, "
            f"{policy.output_b} B output, {policy.scratch_b} B scratch"
        ),
        "network": policy.network,
        "paths": " ".join(policy.paths),
        "environment": " ".join(f"{name}={value}" for name, value in policy.env),
        "excluded": " ".join(row.id for row in policy.exclude),
    }
