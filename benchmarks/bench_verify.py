"""How long does it take to verify a signed decision offline, against a start of Python that does nothing?

python benchmarks/bench_verify.py [--rounds N] [--check]

Takes the example of the documentation: one envelope and the public key; and the folder with all files beside it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measure import ROOT, Figure, arguments, finish, in_turn, quartiles, under_load

EXAMPLE = ROOT / "docs" / "attestations" / "example"
TIMES = 5.0
ENTRY = "import sys; from trivet.__main__ import run; run()"
"""What the installed command `trivet` runs."""


def start(*args: str) -> None:
    """Run Python with these arguments; the example is verified and blocks, which is status 1."""
    done = subprocess.run([sys.executable, *args], capture_output=True, env={"PYTHONPATH": str(ROOT / "src")}, check=False)
    if done.returncode not in (0, 1) or (done.returncode and not done.stdout.endswith(b"MERGE_BLOCKED: PASS PASS FAIL\n")):
        raise SystemExit(done.stderr.decode())


def main() -> int:
    options = arguments(__doc__, rounds=25).parse_args()
    key = ("--key", str(EXAMPLE / "gate-key.pub"))
    calls = {
        "python -c pass": lambda: start("-c", "pass"),
        "trivet verify FILE": lambda: start("-c", ENTRY, "verify", str(EXAMPLE / "decision.dsse.json"), *key),
        "trivet verify DIR": lambda: start("-c", ENTRY, "verify", str(EXAMPLE), *key),
        "python -m trivet verify FILE": lambda: start("-m", "trivet", "verify", str(EXAMPLE / "decision.dsse.json"), *key),
    }
    with under_load(options):
        taken = in_turn(calls, rounds=options.rounds, warm=2)
    figures = [
        Figure(
            id="",
            what=f"`{name}`, times `python -c pass`",
            value=taken.ratio(name, "python -c pass"),
            unit="times",
            goal=TIMES,
            limit="loading cryptography's Ed25519 alone is about one start of Python",
            note=f"CPU {taken.ratio(name, 'python -c pass', cpu=True):.3g} times",
            spread=quartiles(taken.ratios(name, "python -c pass")),
        )
        for name in list(calls)[1:]
    ]
    return finish(options, Path(__file__).name, figures, taken)


if __name__ == "__main__":
    sys.exit(main())
