"""Does a service that judges for days stay as it was? Memory, descriptors, mounts, temporary files and processes over many judgements.

python benchmarks/service_soak.py [--judgements 5000] [--every 100] [--stub]

Heads are mixed: good, wrong, ended by their own exit, noisy, leaving a process behind. With --stub the command is a stand-in, which tries
the service alone and is quick. Ends with status 1 where a count has grown by more than its allowance after the first tenth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from repos import VERDICTS  # noqa: E402 - a folder of tests
from service_process import Place, until  # noqa: E402

BODIES = (
    "def double(n):\n    return n + n  # {}\n",
    "def double(n):\n    return 5  # {}\n",
    "import os\nos._exit(0)  # {}\n",
    "def double(n):\n    raise SystemExit({})\n",
    "import sys\nsys.stdout.write('x' * 100000)\n\n\ndef double(n):\n    return 2 * n  # {}\n",
    (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "def double(n):\n    return 2 * n  # {}\n"
    ),
)
ALLOWED = {"memory_kb": 60_000, "descriptors": 8, "threads": 8, "mounts": 0, "temporary": 0, "processes": 0}
"""How much a count may have grown: caches fill, the rest must not."""


def counts(pid: int, data: Path) -> dict[str, int]:
    """What the service holds while nothing runs."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmRSS"))
    children = [other for other in Path("/proc").iterdir() if other.name.isdigit() and _parent(other) == pid]
    return {
        "memory_kb": resident,
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "threads": len(list(Path(f"/proc/{pid}/task").iterdir())),
        "mounts": len(Path("/proc/self/mounts").read_text().splitlines()),
        "temporary": len([*data.glob("tmp/*"), *Path(tempfile.gettempdir()).glob("trivet-*")]),
        "processes": len(children),
    }


def _parent(folder: Path) -> int:
    try:
        return int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return -1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgements", type=int, default=5000)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--stub", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as room:
        more = "" if options.stub else f'python = "{sys.executable}"\nadvisory = false'
        place = Place(
            Path(room),
            heads=options.judgements if options.stub else 0,
            stub=options.stub,
            repo_more=more,
            more="requests_per_minute = 1000000",
        )
        base = place.base if options.stub else place.repo.commit(VERDICTS)
        running, address = place.serve()
        rows: list[dict[str, int]] = []
        with place.client(address, place.token()) as client:
            for start in range(0, options.judgements, options.every):
                numbers = range(start, min(start + options.every, options.judgements))
                ids = []
                for number in numbers:
                    head = place.heads[number] if options.stub else _head(place, base, number)
                    ids.append(
                        client.post("/v1/scores", json={"repo": "alpha", "base": base, "head": head}).raise_for_status().json()["id"]
                    )
                    until(lambda: len([1 for name in ids[-8:] if not client.get(f"/v1/scores/{name}").json()["over"]]) < 4, seconds=900)  # noqa: B023
                for name in ids:
                    until(lambda name=name: client.get(f"/v1/scores/{name}").json()["over"], seconds=900)
                rows.append(counts(running.process.pid, Path(room) / "data"))
                print(json.dumps({"judgements": numbers.stop, **rows[-1]}), flush=True)
        status = running.stop()
    first, last = rows[max(0, len(rows) // 10)], rows[-1]
    grown = {name: last[name] - first[name] for name in ALLOWED if last[name] - first[name] > ALLOWED[name]}
    print(json.dumps({"grown": grown, "status": status}))
    return 1 if grown or status else 0


def _head(place: Place, base: str, number: int) -> str:
    place.repo.git("checkout", "-q", "--detach", base)
    oid = place.repo.commit({"src/pkg/core.py": BODIES[number % len(BODIES)].format(number)})
    place.repo.git("branch", "-f", f"topic/{number}", oid)
    return oid


if __name__ == "__main__":
    sys.exit(main())
