"""What honest code does is not in the way of a wall."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import walls
from trivet.errors import SandboxError
from trivet.stage.wall import Limits, Reach, choose, interpreter_reach

pytestmark = pytest.mark.kernel
FORMS = walls.FORMS
CLOSED_SHM = ("kernel-root-bare", "kernel-user-bare")


def run(form: str, code: str, *, folder: Path, private: bool = True, network: str = "none") -> tuple[int | None, str, str]:
    """Run Python code behind the wall of ``form`` with ``folder`` as its scratch: exit status, output, breach."""
    walls.require(form)
    python = walls.interpreter(form)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/tmp"):
            parent.chmod(0o755)
    if "-user" in form and walls.ROOT:
        os.chown(folder, walls.USER, walls.USER)

    def work() -> object:
        reach = (
            Reach(read=interpreter_reach(python), private=(folder,)) if private else Reach(read=interpreter_reach(python), write=(folder,))
        )
        argv = [str(python), "-c", textwrap.dedent(code)]
        environment = {"HOME": str(folder), "TMPDIR": str(folder)}
        with walls.make(form, network=network).start(argv, cwd=folder, env=environment, reach=reach, limits=Limits()) as child:
            status = child.wait(30)
        return status, child.output.decode("utf-8", "replace"), child.breach

    status, output, breach = walls.as_user_of(form, work)
    return status, output, breach


@pytest.mark.parametrize("form", FORMS)
def test_temporary_file_chmod_replace(form, tmp_path):
    """A temporary file is written, chmodded and moved over another, as careful programs do."""
    code = """
    import os, tempfile, shutil
    handle, name = tempfile.mkstemp()
    os.write(handle, b"new"); os.close(handle)
    os.chmod(name, 0o640); os.utime(name, (5, 5))
    os.replace(name, "target")
    os.mkdir("a"); os.symlink("../target", "a/link"); os.link("target", "twin")
    os.rename("a", "b"); shutil.copy2("target", "copy"); shutil.rmtree("b"); os.truncate("twin", 1)
    print(oct(os.stat("target").st_mode), os.stat("copy").st_mtime, open("target").read())
    """
    status, output, _ = run(form, code, folder=tmp_path)
    assert (status, output.split()) == (0, ["0o100640", "5.0", "n"]), output


@pytest.mark.parametrize("form", FORMS)
def test_children_threads_pipes_and_asyncio(form, tmp_path):
    """Child interpreters, shells, threads, pools, asyncio and socket pairs work."""
    code = """
    import asyncio, concurrent.futures, signal, socket, sqlite3, subprocess, sys, threading
    print(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True, check=True).stdout.strip())
    print(subprocess.run("echo shell | cat", shell=True, capture_output=True, text=True, check=True).stdout.strip())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(sum(pool.map(abs, range(-9, 0))))
    async def main():
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('async')", stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0].decode().strip()
    print(asyncio.run(main()))
    left, right = socket.socketpair(); left.send(b"x"); print(right.recv(1))
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]); sleeper.terminate(); print(sleeper.wait())
    print(sqlite3.connect("base.db").execute("select 6 * 7").fetchone()[0])
    print(len(open("/dev/urandom", "rb").read(4)), open("/dev/null", "w").write("x"))
    """
    status, output, _ = run(form, code, folder=tmp_path)
    assert output.split("\n")[:-1] == ["child", "shell", "45", "async", "b'x'", "-15", "42", "4 1"], output
    assert status == 0


@pytest.mark.parametrize("form", [form for form in FORMS if form not in CLOSED_SHM])
def test_multiprocessing_locks_and_pools(form, tmp_path):
    """Multiprocessing works where /dev/shm can be private."""
    code = """
    import multiprocessing
    if __name__ == "__main__":
        context = multiprocessing.get_context("fork")
        with context.Lock(), context.Pool(2) as pool:
            print(pool.map(abs, [-1, -2]))
    """
    status, output, _ = run(form, code, folder=tmp_path)
    assert (status, output.strip()) == (0, "[1, 2]"), output


@pytest.mark.parametrize("form", CLOSED_SHM)
def test_closed_shared_memory_is_said(form):
    """A form that cannot give multiprocessing its locks says so in its facts."""
    walls.require(form)
    facts = walls.as_user_of(form, lambda: list(walls.make(form).facts.lacks))
    assert any("multiprocessing" in text for text in facts)


@pytest.mark.parametrize("form", FORMS)
def test_written_files_are_seen_by_the_caller(form, tmp_path):
    """What a run writes below ``reach.write`` is there afterwards; what it writes below ``reach.private`` is gone where that can be."""
    code = "import os; os.mkdir('kept'); open('kept/file', 'w').write('text')"
    status, output, _ = run(form, code, folder=tmp_path, private=False)
    assert (status, (tmp_path / "kept" / "file").read_text()) == (0, "text"), output


@pytest.mark.parametrize("form", FORMS)
def test_exit_statuses_and_signals_are_told_apart(form, tmp_path):
    """An exit status is positive, a signal negative."""
    assert run(form, "raise SystemExit(7)", folder=tmp_path)[0] == 7
    assert run(form, "import os; os.abort()", folder=tmp_path)[0] == -6


@pytest.mark.parametrize("form", FORMS)
def test_environment_is_exactly_what_was_given(form, tmp_path):
    """No variable of the caller reaches the run."""
    _, output, _ = run(form, "import os; print(sorted(set(os.environ) - {'LC_CTYPE', 'PWD'}))", folder=tmp_path)
    assert output.strip() == "['HOME', 'TMPDIR']"


@pytest.mark.parametrize("form", ["kernel-root", "kernel-user", "bubblewrap-root", "bubblewrap-user"])
def test_loopback_serves_itself_and_nothing_else(form, tmp_path):
    """With network = loopback a test may serve and connect to itself; the host's loopback is another one."""
    code = """
    import socket, sys
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    server.accept()[0].sendall(b"hello"); print(client.recv(5))
    try: socket.create_connection(("192.0.2.1", 80), 2); print("out")
    except OSError: print("nowhere")
    try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print("netlink")
    except OSError: print("denied")
    """
    status, output, _ = run(form, code, folder=tmp_path, network="loopback")
    assert (status, output.split()) == (0, ["b'hello'", "nowhere", "denied"]), output


@pytest.mark.parametrize("form", ["kernel-root-bare", "kernel-user-bare"])
def test_loopback_is_refused_where_no_namespace_can_be_had(form):
    """An own loopback is not replaced by the host's."""
    walls.require(form)

    def work() -> object:
        with pytest.raises(SandboxError) as caught:
            walls.make(form, network="loopback")
        return caught.value.hint

    assert "namespaces" in walls.as_user_of(form, work)


def test_descriptors_that_are_passed_arrive(tmp_path):
    """A passed descriptor keeps its number; the supervisor holds no copy that would keep a pipe open."""
    reader, writer = os.pipe()
    wall = choose()
    argv = [sys.executable, "-c", f"import os; os.write({writer}, b'record')"]
    reach = Reach(read=interpreter_reach(Path(sys.executable)), private=(tmp_path,))
    with wall.start(argv, cwd=tmp_path, env={}, reach=reach, limits=Limits(), pass_fds=(writer,)) as child:
        os.close(writer)
        assert os.read(reader, 100) == b"record"
        assert os.read(reader, 100) == b""
        assert child.wait(10) == 0
    os.close(reader)


def test_without_a_tape_a_run_is_forked(monkeypatch, tmp_path):
    """Where no tape can be played the supervisor forks the run itself, with the same wall."""
    monkeypatch.setattr("trivet.stage.wall_kernel.available", lambda: False)
    code = "import os, socket\nprint(os.getpid(), os.getsid(0))\ntry: socket.socket()\nexcept PermissionError: print('held')"
    wall = choose("kernel")
    reach = Reach(read=interpreter_reach(Path(sys.executable)), private=(tmp_path,))
    with wall.start([sys.executable, "-c", code], cwd=tmp_path, env={}, reach=reach, limits=Limits()) as child:
        assert child.wait(20) == 0
    assert child.output.split()[-1] == b"held"
    with pytest.raises(SandboxError, match="exec"):
        wall.start([str(tmp_path / "none")], cwd=tmp_path, env={}, reach=Reach(), limits=Limits())


def test_a_program_that_is_not_there_is_a_sandbox_error(tmp_path):
    """A run that cannot be started is told at once and leaves nothing."""
    with pytest.raises(SandboxError, match="exec"):
        choose("kernel").start([str(tmp_path / "none")], cwd=tmp_path, env={}, reach=Reach(), limits=Limits())


def test_runs_side_by_side(tmp_path):
    """Several runs live at once and end each on its own."""
    reach = Reach(read=interpreter_reach(Path(sys.executable)))
    argv = [sys.executable, "-S", "-c", "import time; time.sleep(30)"]
    children = [choose("kernel").start(argv, cwd=tmp_path, env={}, reach=reach, limits=Limits()) for _ in range(3)]
    children[1].close()
    assert [child.poll() for child in children] == [None, -9, None]
    began = time.monotonic()
    for child in children:
        child.close()
    assert time.monotonic() - began < 5


def test_inside_other_namespaces():
    """A wall stands inside pid, mount and network namespaces too, as CI systems use them."""
    if not walls.ROOT:
        pytest.skip("needs root: run the suite once as root as well (sudo)")
    code = """
    import sys
    from pathlib import Path
    from trivet.stage.wall import Limits, Reach, choose, interpreter_reach
    python = Path(sys.executable)
    with choose("kernel").start([str(python), "-c", "print('inside')"], cwd=Path("/"), env={}, reach=Reach(read=interpreter_reach(python)), limits=Limits()) as child:
        child.wait(20)
    print(child.output.decode(), child.returncode)
    """
    source = Path(__file__).parents[2] / "src"
    argv = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--net", sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(argv, env={"PYTHONPATH": str(source), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["inside", "0"], done.stderr
