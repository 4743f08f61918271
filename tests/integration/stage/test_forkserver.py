"""Runs that are copies of a server: the same as fresh ones, walled off from it, and ended like any run."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from compat import project, runs
from trivet.errors import SandboxError
from trivet.model import RunRecord
from trivet.stage.forkserver import Servers, Warmth
from trivet.stage.runner import Runner, pinned_environment
from trivet.stage.wall import choose

PYTHON = Path(sys.executable)
TEST = "tests/sealed/test_x.py"


def _lends() -> bool:
    try:
        return choose("kernel").lends
    except SandboxError:
        return False


pytestmark = pytest.mark.skipif(not _lends(), reason="only a kernel wall with namespaces by privilege lends processes: run as root")


@dataclass
class Site:
    """A project, its runner and the servers."""

    runner: Runner
    servers: Servers

    def once(self, *, lent: bool, **fields: object) -> RunRecord:
        """Run the sealed file, as a copy of the server or afresh."""
        self.runner.servers = self.servers if lent else None
        return self.runner.run(self.runner.job([TEST], **fields))

    def server(self) -> int:
        """The pid of the only server."""
        (pid,) = self.servers.pids()
        return pid


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A project of one test file (the parameter)."""
    root = tmp_path / "tree"
    (root / "src/shop").mkdir(parents=True)
    (root / "tests/sealed").mkdir(parents=True)
    (root / "src/shop/__init__.py").write_text("def price():\n    return 3\n")
    (root / TEST).write_text(request.param)
    runner = runs.runner(root, PYTHON, tmp_path / "scratch", wall="kernel", test_timeout_s=3.0)
    with Servers(runner.wall, PYTHON, pinned_environment(runner.policy, PYTHON, Path("/"))) as servers:
        make = ((str(root / TEST), "test"), (str(root / "src/shop/__init__.py"), "source"))
        servers.warm(Warmth(root=str(root), files=(TEST,), source_names=("shop",), make=make))
        yield Site(runner, servers)


def test_every_shape_of_test_ends_as_in_a_fresh_process(tmp_path: Path) -> None:
    """A project of all shapes of tests: outcomes, reasons, failures and signs are the same, test by test."""
    files = project.write(tmp_path / "tree", {"tests/sealed/test_zgenerated.py": project.GENERATED})
    runner = runs.runner(tmp_path / "tree", PYTHON, tmp_path / "scratch", wall="kernel")
    fresh = runner.run(runner.job(files))
    with Servers(runner.wall, PYTHON, pinned_environment(runner.policy, PYTHON, Path("/"))) as servers:
        root = runner.stand.root
        make = tuple((str(path), "test" if path.name.startswith("test_") else "source") for path in sorted(root.rglob("*.py")))
        servers.warm(Warmth(root=str(root), files=files, source_names=runner.stand.source_names, make=make))
        runner.servers = servers
        lent = runner.run(runner.job(files))
    assert fresh.end == lent.end
    assert fresh.collected == lent.collected
    assert [_told(one) for one in fresh.results] == [_told(one) for one in lent.results]
    assert set(fresh.signs) == set(lent.signs)
    assert dict(fresh.errors) == dict(lent.errors)


def _told(result: object) -> tuple[object, ...]:
    return tuple(getattr(result, name) for name in ("id", "outcome", "reason", "env_skip", "by_source", "failure"))


LOOKS = """
import gc, os, sys
import pytest

def test_nothing_of_the_server_is_in_reach():
    held = []
    for name in os.listdir("/proc/self/fd"):
        try:
            held.append(os.readlink("/proc/self/fd/" + name))
        except OSError:
            continue
    assert not [link for link in held if link.startswith(("socket:", "mnt:", "pid:", "anon_inode:[pidfd]"))], held
    assert os.getuid() != 0
    seen = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    assert seen == [os.getpid()], seen
    with pytest.raises(OSError):
        os.open("/proc/1/mem", os.O_RDONLY)
    with pytest.raises(OSError):
        os.kill(1, 9)
    with pytest.raises(OSError):
        open(__file__, "a")
    assert not [name for name in os.environ if "TRIVET" in name]
    assert "shop" not in sys.modules
"""


@pytest.mark.parametrize("site", [LOOKS], indirect=True)
def test_a_copy_sees_nothing_of_the_server(site: Site) -> None:
    """No descriptor, no process, no file to write: as a fresh run."""
    for lent in (False, True):
        record = site.once(lent=lent)
        assert [(one.outcome, one.failure) for one in record.results] == [("passed", None)]


ENDS = """
import os, signal, time
import pytest

@pytest.mark.parametrize("how", ["status", "signal", "hang"])
def test_end(how):
    if how == "status":
        os._exit(5)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    if os.fork() == 0:
        time.sleep(600)
    time.sleep(600)
"""


@pytest.mark.parametrize("site", [ENDS], indirect=True)
def test_a_copy_is_ended_like_any_run(site: Site) -> None:
    """Exit status, signal and limits are told as of a fresh run; the server goes on lending."""
    found = [site.once(lent=True, ids=[f"{TEST}::test_end[{how}]"]).end for how in ("status", "signal", "hang")]
    assert [(end.how, end.detail) for end in found[:2]] == [("exit", "exit status 5"), ("signal", "SIGKILL")]
    assert (found[2].how, found[2].limit) == ("timeout", "test_timeout_s")
    assert Path(f"/proc/{site.server()}/task/{site.server()}/children").read_text().split() == []


@pytest.mark.parametrize("site", ["from shop import price\n\ndef test_price():\n    assert price() == 3\n"], indirect=True)
def test_a_server_that_is_gone_changes_nothing(site: Site) -> None:
    """Where the server has died a fresh process runs."""
    assert site.once(lent=True).end.how == "closed"
    os.kill(site.server(), signal.SIGKILL)
    record = site.once(lent=True)
    assert (record.end.how, runs.outcomes(record)) == ("closed", {"test_price": "passed"})


@pytest.mark.parametrize("site", ["from shop import price\n\ndef test_price():\n    assert price() == 3\n"], indirect=True)
def test_kept_bytecode_is_never_that_of_other_bytes(site: Site) -> None:
    """A module that is not what was compiled ahead is compiled as it stands."""
    assert runs.outcomes(site.once(lent=True)) == {"test_price": "passed"}
    (site.runner.stand.root / "src/shop/__init__.py").write_text("def price():\n    return 4\n")
    assert runs.outcomes(site.once(lent=True)) == {"test_price": "failed"}


TWO = "from shop import price\n\ndef test_price():\n    assert price() == 3\n\ndef test_other():\n    assert price() != 4\n"


@pytest.mark.parametrize("site", [TWO], indirect=True)
def test_controls_are_the_same_from_kept_bytecode(site: Site) -> None:
    """An altered function that is put into kept code fails where it fails in a file that was compiled as a whole."""
    name = f"{TEST}::test_price"
    control = {"id": name, "kind": "negate", "line": 4, "file": TEST}
    fields: dict[str, object] = {"mode": "control", "controls": [control], "ids": [name, f"{TEST}::test_other"]}
    fresh, lent = site.once(lent=False, **fields), site.once(lent=True, **fields)
    assert runs.outcomes(lent) == runs.outcomes(fresh) == {"test_price": "failed", "test_other": "passed"}
    assert [one.failure for one in lent.results] == [one.failure for one in fresh.results]
    told = [[{key: note[key] for key in ("id", "state", "line")} for note in run.notes if note.get("k") == "control"] for run in (fresh, lent)]
    assert told[0] == told[1] != []
