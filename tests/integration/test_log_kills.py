"""Writers of the log that are killed at any moment: what they were told is written is there, and the log goes on."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

from trivet.attest.log import Log, withdrawn_entry
from unit.attest.counts import count

ROOT = Path(__file__).resolve().parents[2]
WRITER = """
import sys
from pathlib import Path
from trivet.attest.log import Log, withdrawn_entry
log = Log(Path(sys.argv[1]))
while True:
    print(log.append(withdrawn_entry("0" * 64, "r" * 5000), now=0).number, flush=True)
"""


def test_what_was_acknowledged_outlives_the_writer(tmp_path: Path) -> None:
    """Two writers at a time, killed after a few lines; then one more entry, and the whole log holds."""
    path, dice = tmp_path / "log", random.Random(4)
    told: set[int] = set()
    for _ in range(count(4, 150)):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(ROOT / "src")}
            )
            for _ in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            told |= {int(writer.stdout.readline()) for _ in range(dice.randrange(1, 6))}
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            assert writer.stdout is not None
            told |= {int(line) for line in writer.stdout.read().split("\n")[:-1]}
            writer.stdout.close()
            writer.wait()
        Log(path).append(withdrawn_entry("0" * 64, "again"), now=0)
    entries = Log(path).entries()
    assert [row["index"] for row in entries] == list(range(len(entries)))
    assert {number for number in told if entries[number]["reason"] != "r" * 5000} == set()
    assert max(told) < len(entries)
