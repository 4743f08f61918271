"""The page about verifying by hand: its commands, run as they stand, print what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from needs import needs

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCKS = re.findall(r"```bash\n(.*?)```\n\n```text\n(.*?)```", (DOCS / "verify-by-hand.md").read_text(), re.DOTALL)
SIGNATURE, TOLD = BLOCKS[0]


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example."""
    return Path(shutil.copytree(DOCS / "attestations" / "example", tmp_path / "example"))


@needs("jq", "jq")
@needs("openssl", "openssl")
def test_the_commands_of_the_page_print_what_it_says(folder: Path) -> None:
    assert len(BLOCKS) == 6
    for script, told in BLOCKS:
        done = run(folder, script)
        assert (done.stdout, done.returncode) == (told, 0), done.stderr


@needs("jq", "jq")
@needs("openssl", "openssl")
@pytest.mark.parametrize("name", ["decision.dsse.json", "gate-key.pub"])
def test_the_commands_of_the_page_refuse_what_was_changed(name: str, folder: Path) -> None:
    path = folder / name
    text = path.read_text()
    place = text.index("sig") - 40 if name.startswith("decision") else len("-----BEGIN PUBLIC KEY-----\n") + 40
    path.write_text(text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :])
    done = run(folder, SIGNATURE)
    assert done.returncode != 0
    assert TOLD not in done.stdout
