"""The build command of the policy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trivet.errors import ProbeError
from trivet.model import ScorePolicy
from trivet.stage.prepare import prepare
from trivet.stage.wall import choose


def prepared(tmp_path: Path, *command: str, timeout_s: float = 30.0) -> Path:
    root, scratch = tmp_path / "tree", tmp_path / "scratch"
    root.mkdir()
    scratch.mkdir()
    root.chmod(0o555)
    policy = ScorePolicy(prepare=command, timeout_s=timeout_s)
    prepare(root, policy, wall=choose("none", allow_none=True), python=Path(sys.executable), scratch=scratch)
    return root


def test_the_command_may_write_into_the_tree(tmp_path: Path) -> None:
    """The command runs in the tree with the project's interpreter, and may write there."""
    assert (prepared(tmp_path, "python", "-c", "open('built', 'w').write('x')") / "built").read_text() == "x"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("python", "-c", "print('why'); raise SystemExit(3)"), "ended with 3: why"),
        (("python", "-c", "import time; time.sleep(60)"), "did not end in time"),
        (("no-such-program",), "there is no program"),
    ],
)
def test_a_command_that_fails_stops_the_judgement(tmp_path: Path, command: tuple[str, ...], message: str) -> None:
    """A command that fails, hangs or is not there stops the judgement."""
    with pytest.raises(ProbeError, match=message):
        prepared(tmp_path, *command, timeout_s=2.0)


def test_no_command_does_nothing(tmp_path: Path) -> None:
    """Without a command nothing runs."""
    assert not list(prepared(tmp_path).iterdir())
