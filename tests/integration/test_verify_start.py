"""What verifying loads: its time is that of its imports, so the heavy ones are kept out by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "attestations" / "example"
HEAVY = {
    "pathlib", "shutil", "dataclasses", "inspect", "datetime", "tempfile", "subprocess", "tomllib", "msgspec", "rich", "securesystemslib",
    "cryptography.hazmat.primitives.serialization", "cryptography.x509", "trivet.model", "trivet.git", "trivet.report.document", "sigstore",
}  # fmt: skip


def test_verifying_loads_nothing_heavy() -> None:
    """Neither for one envelope nor for a folder."""
    for path in (EXAMPLE, EXAMPLE / "decision.dsse.json"):
        script = (
            "import sys; before = set(sys.modules); from trivet.cli import main; "
            f"status = main(['verify', {str(path)!r}, '--key', {str(EXAMPLE / 'gate-key.pub')!r}]); "
            "print(status, *sorted(set(sys.modules) - before), file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "src")}, check=True)
        status, *loaded = done.stderr.split()
        assert status == "1", done.stderr
        assert done.stdout.splitlines()[-1] == "MERGE_BLOCKED: PASS PASS FAIL"
        assert not HEAVY & set(loaded)
