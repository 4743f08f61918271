"""Nothing of a run outlives it, whatever happens to the gate; and where no wall can be had, nothing is judged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import walls
from trivet.errors import SandboxError
from trivet.room import Room
from trivet.stage import wall_kernel, wall_landlock, wall_seccomp
from trivet.stage import wall_native as native
from trivet.stage.wall import Limits, Reach, choose, interpreter_reach
from trivet.stage.wall_bubblewrap import BubblewrapWall
from trivet.stage.wall_kernel import KernelWall

pytestmark = pytest.mark.kernel
SOURCE = Path(__file__).parents[2] / "src"
FORMS = ("kernel-root", "kernel-root-bare", "bubblewrap-root") if walls.ROOT else ("kernel-user", "kernel-user-bare", "bubblewrap-user")

GATE = """
import os, sys, time
from pathlib import Path
sys.path[:0] = [{source!r}, {tests!r}]
import walls
from trivet.stage.wall import Limits, Reach, interpreter_reach
from trivet.room import Room
python = Path(sys.executable)
code = '''
import os, signal, sys, time
for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: os.execv(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(60)", "{nonce}"])
        os._exit(0)
print("up", flush=True)
time.sleep(60)
'''
with Room("trivet-test-") as room:
    scratch = room / "scratch"
    scratch.mkdir()
    child = walls.make({form!r}).start([str(python), "-c", code, "{nonce}"], cwd=scratch, env={{}},
        reach=Reach(read=interpreter_reach(python), write=(scratch,)), limits=Limits())
    while b"up" not in child.output: time.sleep(0.01)
    print(room, flush=True)
    time.sleep(60)
"""


def living(nonce: str) -> list[int]:
    """Processes with the nonce in their command line."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit() and int(name) != os.getpid():
            try:
                if nonce.encode() in Path("/proc", name, "cmdline").read_bytes():
                    found.append(int(name))
            except OSError:
                continue
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_gate_leaves_nothing(form, number, tmp_path):
    """No process, no folder and no cgroup is left when the gate is killed while a run is on."""
    walls.require(form)
    nonce = f"nonce-{os.getpid()}-{form}-{number.name}"
    program = GATE.format(source=str(SOURCE), tests=str(SOURCE.parent / "tests"), nonce=nonce, form=form)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={"TMPDIR": str(tmp_path)}
    ) as gate:
        assert gate.stdout is not None
        room = Path(gate.stdout.readline().strip())
        assert room.is_dir()
        deadline = time.monotonic() + 10
        while len(living(nonce)) <= 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(living(nonce)) > 4
        gate.send_signal(number)
        gate.wait()
    deadline = time.monotonic() + 10
    while (living(nonce) or room.exists()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert living(nonce) == []
    assert not room.exists()
    assert list(Path("/sys/fs/cgroup").glob(f"**/trivet-{gate.pid}-*")) == []


def test_a_room_is_removed_when_it_is_left(tmp_path):
    """A room is a folder of one's own, gone with its block even if its contents are read-only."""
    with Room("trivet-test-", place=tmp_path) as room:
        (room / "sub").mkdir()
        (room / "sub" / "file").write_text("text")
        (room / "sub").chmod(0o500)
        assert room.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMS)
def test_no_process_of_a_run_is_left_after_wait(form, tmp_path):
    """A result means that the run's orphans are gone already."""
    walls.require(form)
    nonce = f"after-{os.getpid()}-{form}"
    code = f"""
    import os, sys
    if os.fork() == 0:
        os.setsid()
        os.execv(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(60)", "{nonce}"])
    """
    reach = Reach(read=interpreter_reach(Path(sys.executable)), private=(tmp_path,))
    with walls.make(form).start([sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, env={}, reach=reach, limits=Limits()) as child:
        assert child.wait(20) == 0
        assert living(nonce) == []


# --- made unavailable -----------------------------------------------------------------------------


def in_fork(work):
    """Run a test body in a forked process whose state may be spoilt."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def deny(*names: str) -> None:
    """Take system calls away from this process, as another kernel or a container's profile would."""
    native.prctl(native.PR_SET_NO_NEW_PRIVS, 1)
    wall_seccomp.Filter(wall_seccomp.program(tuple(wall_seccomp.Rule(name) for name in names))).load()


@pytest.mark.parametrize("want", ["kernel", "auto"])
def test_without_landlock_nothing_is_judged(want):
    """Landlock absent: the kernel wall is refused with what to do; auto takes bubblewrap or refuses."""

    def work():
        deny("landlock_create_ruleset")
        if want == "auto" and any(Path(folder, "bwrap").exists() for folder in ("/usr/bin", "/usr/local/bin", "/bin")):
            assert choose(want).facts.name == "bubblewrap"
            return
        with pytest.raises(SandboxError) as caught:
            choose(want)
        assert caught.value.exit_status == 3
        assert "Landlock" in caught.value.message + caught.value.hint
        assert "Linux 6" in caught.value.hint

    assert in_fork(work) == 0


@pytest.mark.parametrize(("version", "spaces", "fine"), [(1, None, False), (2, "none", False), (5, "none", False), (6, "none", True)])
def test_an_old_landlock_is_refused(monkeypatch, version, spaces, fine):
    """An ABI that cannot hold what is promised is refused, with the one that is needed."""
    monkeypatch.setattr(wall_landlock, "abi", lambda: version)
    if fine:
        assert wall_kernel.find_form(spaces).abi == version
        return
    with pytest.raises(SandboxError, match=f"ABI {version}") as caught:
        wall_kernel.find_form(spaces)
    assert caught.value.exit_status == 3
    assert "use Linux" in caught.value.hint


def test_a_half_working_landlock_is_refused():
    """Rulesets that can be made but not enforced: no run starts."""

    def work():
        deny("landlock_restrict_self")
        with pytest.raises(SandboxError, match="landlock"):
            KernelWall().start(["/bin/true"], cwd=Path("/"), env={}, reach=Reach(), limits=Limits())

    assert in_fork(work) == 0


def test_without_namespaces_the_bare_form_says_what_it_lacks():
    """Namespaces denied (as AppArmor does): the kernel wall stands, weaker, and says so; bubblewrap is refused with the remedy."""

    def work():
        wall_kernel._find_form.cache_clear()
        deny("unshare", "clone3")
        wall = KernelWall()
        assert wall.form.spaces == "none"
        assert len(wall.facts.lacks) >= 2

    assert in_fork(work) == 0


def test_bubblewrap_that_does_not_work_is_refused(tmp_path):
    """A bwrap that fails, and none at all, are each refused with a remedy."""
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(SandboxError, match="No permissions") as caught:
        BubblewrapWall(program=str(broken))
    assert "namespaces" in caught.value.hint


def test_no_wall_is_had_only_when_the_policy_says_so():
    """``none`` needs the word of base, and every verdict says that there is no wall."""
    with pytest.raises(SandboxError, match="policy"):
        choose("none")
    assert any("no wall" in text for text in choose("none", allow_none=True).facts.lacks)


def test_other_systems_are_refused_with_the_remedy(monkeypatch):
    """Without a Linux kernel there is no score; a container is the way out."""
    monkeypatch.setattr(native, "LINUX", False)
    with pytest.raises(SandboxError) as caught:
        choose("auto")
    assert "container" in caught.value.hint
