"""The child of a worker: bounded, ended with it, and told nothing that it should not know."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from needs import needs
from service_process import until
from trivet.service.settings import Repository, WorkerTable
from trivet.service.worker import RunError, StoppedError, Worker

REPO = Repository(name="alpha", url="https://git.example/a", python=Path("/py"), isolation="split", controls="all", vary=True, reruns=3, advisory=False)
WRITE = """
import json, os, pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1]); out.mkdir()
(out / "decision.json").write_text(json.dumps({"argv": sys.argv[1:], "env": dict(os.environ)}))
(out / "src_score.txt").write_text("PASS\\n")
(out / "other.txt").write_text("never kept")
(out / "summary.md").symlink_to("/etc/passwd")
print("to nobody")
sys.stderr.write("a line\\nbearer abcdefgh12345678\\n\\x1b[31mred\\n")
"""


def worker(folder: Path, program: str, **more) -> Worker:
    file = folder / "program.py"
    file.write_text(program)
    return Worker(settings=WorkerTable(command=(sys.executable, "-S", str(file)), **more), data=folder / "data")


def judge(made: Worker, folder: Path, *, wanted=lambda: True, said: list | None = None, review: bytes | None = None):
    say = (lambda line: None) if said is None else said.append
    return made.judge(REPO, folder / "mirror.git", base="a" * 40, head="b" * 40, review=review, say=say, wanted=wanted)


def test_the_command_gets_options_a_clean_environment_and_gives_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIVET_SECRET_CANARY", "c4nary")
    said: list[str] = []
    judged = judge(worker(tmp_path, WRITE), tmp_path, said=said, review=b"{}")
    told = json.loads(judged.files["decision.json"])
    words = told["argv"]
    assert words[0] == "gate"
    for pair in (("--base", "a" * 40), ("--head", "b" * 40), ("--python", "/py"), ("--isolation", "split"), ("--controls", "all"), ("--reruns", "3"), ("--repository", REPO.url)):
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert {"--vary", "--no-advisory", "--review"} <= set(words)
    assert "c4nary" not in json.dumps(told["env"])
    assert set(told["env"]) - {"LC_CTYPE"} == {"PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR", "LC_ALL", "NO_COLOR"}
    assert set(judged.files) == {"decision.json", "src_score.txt"}
    assert said == ["a line", "[hidden]", "[31mred"]
    assert not list((tmp_path / "data" / "tmp").iterdir()), "no temporary folder is left"


def gone(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize(("program", "says"), [("import sys; sys.exit(7)", "7"), ("import os; os.kill(os.getpid(), 9)", "-9"), ("import sys; sys.stderr.write('why\\n'); sys.exit(3)", "why"), ("x = bytearray(1 << 33)", "MemoryError")])
def test_an_end_without_a_decision_is_told_with_its_last_words(tmp_path: Path, program: str, says: str) -> None:
    with pytest.raises(RunError) as caught:
        judge(worker(tmp_path, program, memory_b=2**31), tmp_path)
    assert says in caught.value.message


def test_a_run_out_of_time_is_ended_with_all_it_started(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    inner = tmp_path / "inner.py"
    inner.write_text(f"import os, pathlib, time\npathlib.Path({str(alive)!r}).write_text(str(os.getpid()))\ntime.sleep(600)\n")
    program = f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-S', {str(inner)!r}])\ntime.sleep(600)\n"
    with pytest.raises(RunError, match="took more than"):
        judge(worker(tmp_path, program, timeout_s=3), tmp_path)
    until(lambda: gone(alive.read_text()))


def test_a_result_that_nobody_wants_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        judge(worker(tmp_path, "import time; time.sleep(600)"), tmp_path, wanted=lambda: False)


@needs("setpriv", "util-linux")
def test_a_worker_that_is_killed_takes_the_command_with_it(tmp_path: Path) -> None:
    import subprocess

    pid = tmp_path / "pid"
    program = tmp_path / "program.py"
    program.write_text(f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    script = f"""
import sys
from pathlib import Path
from trivet.service.settings import Repository, WorkerTable
from trivet.service.worker import Worker
made = Worker(settings=WorkerTable(command=(sys.executable, '-S', {str(program)!r})), data=Path({str(tmp_path / "data")!r}))
made.judge(Repository(name="a", url="https://x/a"), Path("/m"), base="a", head="b", review=None, say=print, wanted=lambda: True)
"""
    src = str(Path(__file__).resolve().parents[3] / "src")
    holder = subprocess.Popen([sys.executable, "-c", script], env={"PYTHONPATH": src, "PATH": "/usr/bin:/bin"})
    child = until(lambda: pid.exists() and pid.read_text())
    holder.kill()
    holder.wait()
    assert until(lambda: gone(child))


def test_leaving_ends_runs_without_an_answer(tmp_path: Path) -> None:
    made = worker(tmp_path, "import pathlib, sys, time\nsys.stderr.write('on\\n'); sys.stderr.flush()\ntime.sleep(600)")
    said: list[str] = []
    ended: list[str] = []

    def run() -> None:
        try:
            judge(made, tmp_path, said=said)
            ended.append("answered")
        except RunError:
            ended.append("failed")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    until(lambda: said)
    made.leave()
    assert thread.is_alive()
    assert not ended, "the job must not record an answer: it is to be taken up again"
