"""Processes that write to one store side by side, and are killed in it, leave whole rows behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from trivet.store import Store

SRC = Path(__file__).resolve().parents[2] / "src"
WRITER = """
import sys
from trivet.store import Store
store, name = Store(sys.argv[1], bound_b=400_000), sys.argv[2]
for number in range(10_000):
    value = (f"{name} {number} " * 400).encode()
    store.put("evidence", f"{name}-{number % 50}", value, family=name)
    found = store.get("evidence", f"{name}-{number % 50}")
    assert found is None or found == (name, value), found
"""
KILLS = 40 if os.environ.get("TRIVET_LONG") else 6


def test_kills_and_neighbours_leave_whole_rows(tmp_path: Path) -> None:
    said: list[str] = []
    store = Store(tmp_path, said.append)

    def start(name: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], env={"PYTHONPATH": str(SRC)}, stderr=subprocess.PIPE)

    steady = start("steady")
    try:
        for number in range(KILLS):
            victim = start(f"victim{number}")
            deadline = time.monotonic() + 30
            while store.get("evidence", f"victim{number}-5") is None and time.monotonic() < deadline and victim.poll() is None:
                pass
            victim.send_signal(signal.SIGKILL)
            _, told = victim.communicate()
            assert victim.returncode == -signal.SIGKILL, told
            assert store.get("evidence", f"victim{number}-5") is not None
        assert steady.poll() is None
    finally:
        steady.kill()
        _, told = steady.communicate()
    assert b"Error" not in told
    whole, problems = store.check()
    assert whole
    assert not problems
    assert not said
