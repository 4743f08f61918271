"""Are scores lost or decided twice when processes are killed at random? The suite's own test, with more jobs.

python benchmarks/service_kills.py [--jobs 500]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=500)
    options = parser.parse_args()
    words = [
        "env",
        f"TRIVET_JOBS={options.jobs}",
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-k",
        "killed",
        "tests/integration/service/test_jobs.py",
    ]
    return subprocess.run(words, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
