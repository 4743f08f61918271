"""Rewards and imported tasks with the real command: the patch is judged, the repository of the caller stays as it was."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest

from doc_examples import example
from repos import VERDICTS, Repo
from trivet.errors import UsageError
from trivet.reward import RewardRecord, Scorer, score
from trivet.tasks import prepare, read_tasks

SRC = str(Path(__file__).resolve().parents[2] / "src")
QUICK = ("--isolation", "shared", "--controls", "sample", "--reruns", "1")
WRONG = "def double(n):\n    return 2 + n + 1\n"
RIGHT = "def double(n):\n    return 2 * n\n"


def diff(repo: Repo, files: dict[str, str]) -> str:
    """The patch that writes files; the work tree is as before afterwards."""
    repo.put(files)
    repo.git("add", "-A")
    patch = repo.git("diff", "--cached", "HEAD") + "\n"
    repo.git("reset", "-q", "--hard")
    return patch


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reward")
    repo = Repo(folder / "repo")
    base = repo.commit({**VERDICTS, "src/pkg/core.py": WRONG})
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": SRC}
    return repo, base, partial(Scorer, options=QUICK, environ=environ, retries=0)


def test_a_patch_that_mends_earns_one_and_one_that_does_not_earns_nothing(place, monkeypatch) -> None:
    repo, base, scorer = place
    before = repo.git("for-each-ref"), repo.git("count-objects", "-v"), repo.git("status", "--porcelain")
    monkeypatch.setattr("trivet.reward.Scorer", scorer)
    known = {"repo": repo.root, "base": base, "patch": diff(repo, {"src/pkg/core.py": RIGHT}), "python": None}
    exec(compile(example("clients.md", "A reward for RL loops"), "clients.md", "exec"), known)
    good = known["record"]
    with scorer(repo.root) as judge:
        again = judge.score(base, diff(repo, {"src/pkg/core.py": RIGHT}))
        cheat = judge.score(base, diff(repo, {"src/pkg/core.py": RIGHT, "tests/sealed/test_core.py": "def test_double():\n    pass\n"}))
        bad = judge.score(base, diff(repo, {"src/pkg/core.py": WRONG + "\n"}))
    assert (good.outcome, good.reward, good.turned_green) == ("PASS", 1.0, ("tests/sealed/test_core.py::test_double",))
    assert (again.head, again.reward) == (good.head, 1.0), "one patch on one base is one commit"
    assert (bad.outcome, bad.reward, bad.cause) == ("FAIL", 0.0, "property")
    assert (cheat.outcome, cheat.reward, cheat.verdicts["oracle-integrity"]) == ("FAIL", 0.0, "FAIL")
    assert before[0] == repo.git("for-each-ref")
    assert before[2] == repo.git("status", "--porcelain")


def test_the_reward_of_the_documentation_leaves_bad_days_out_but_not_bad_patches() -> None:
    known: dict = {}
    exec(compile(example("clients.md", "A reward for RL loops", number=1), "clients.md", "exec"), known)
    records = [RewardRecord(outcome=outcome, reward=reward, suspect=suspect) for outcome, reward, suspect in (("PASS", 1.0, False), ("FAIL", 0.0, False), ("INFRA", None, False), ("INFRA", None, True))]
    assert [known["reward_of"](record) for record in records] == [1.0, 0.0, None, 0.0]


def test_what_could_not_be_judged_is_no_zero(place, tmp_path) -> None:
    _, _, scorer = place
    slow, repo = "import time\n\ntime.sleep(600)\n", Repo(tmp_path / "repo")
    base = repo.commit({**VERDICTS, "src/pkg/core.py": slow + WRONG})
    with scorer(repo.root, timeout_s=1) as judge:
        record = judge.score(base, diff(repo, {"src/pkg/core.py": slow + RIGHT}))
    assert (record.outcome, record.reward, record.suspect) == ("INFRA", None, False)
    assert "took too long" in " ".join(record.reasons)


@pytest.mark.parametrize(("base_says", "suspect"), [("PASS", True), ("FAIL", True), ("INFRA", False)])
def test_a_patch_that_alone_makes_the_host_fail_is_suspect(place, monkeypatch, base_says, suspect) -> None:
    """The patch must not be able to choose a missing reward over none unseen."""
    repo, base, scorer = place
    asked = []

    def judged(_self: Scorer, _base: str, head: str, _green: object) -> RewardRecord:
        asked.append(head)
        return RewardRecord(outcome="INFRA", reward=None) if len(asked) == 1 else RewardRecord(outcome=base_says, reward=None)

    monkeypatch.setattr(Scorer, "_judged", judged)
    with scorer(repo.root) as judge:
        record = judge.score(base, diff(repo, {"src/pkg/core.py": RIGHT}))
    assert (record.outcome, record.suspect) == ("INFRA", suspect)
    assert len(set(asked)) == 2


@pytest.mark.parametrize("patch", ["", "  \n", "not a patch", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
                                   "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
                                   "diff --git a/.git/config b/.git/config\nnew file mode 100644\n--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n"])  # fmt: skip
def test_a_patch_that_is_none_is_invalid_and_leaves_nothing(place, patch) -> None:
    repo, base, scorer = place
    with scorer(repo.root) as judge:
        record = judge.score(base, patch)
    assert (record.outcome, record.reward) == ("INVALID", 0.0)
    assert not (repo.root.parent / "x").exists()


def test_a_wrong_call_is_an_error_and_no_reward(place, tmp_path) -> None:
    repo, _, _ = place
    for base in ("", "--all", "nothing", "f" * 40):
        with pytest.raises(UsageError):
            score(repo.root, base, "x")
    with pytest.raises(UsageError):
        score(tmp_path, "main", "x")


def test_an_imported_task_rewards_its_reference_and_not_idleness(tmp_path, place, monkeypatch) -> None:
    _, _, scorer = place
    repo = Repo(tmp_path / "origin")
    base = repo.commit({"pkg/__init__.py": "", "pkg/core.py": WRONG, "tests/conftest.py": "", "tests/test_core.py": "def test_old():\n    assert True\n", "tests/test_other.py": ""})
    tests = "from pkg.core import double\n\n\ndef test_old():\n    assert double(0) in (0, 3)\n\n\ndef test_new():\n    assert double(4) == 8\n\n\ndef test_never():\n    assert double(1) == 3\n"
    row = {
        "instance_id": "pkg-1", "repo": "team/pkg", "base_commit": base, "test_patch": diff(repo, {"tests/test_core.py": tests}), "patch": diff(repo, {"pkg/core.py": RIGHT}),
        "FAIL_TO_PASS": '["tests/test_core.py::test_new"]', "PASS_TO_PASS": ["tests/test_core.py::test_old"],
    }  # fmt: skip
    (tmp_path / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    (task,) = read_tasks(tmp_path / "tasks.jsonl")
    # The example of the documentation does the work: prepare, check, and a score of the reference.
    monkeypatch.setattr("trivet.reward.Scorer", scorer)
    known = {"tasks_file": tmp_path / "tasks.jsonl", "source": repo.root, "out": tmp_path / "tasks", "python": None}
    (tmp_path / "tasks").mkdir()
    exec(compile(example("clients.md", "Importing SWE-bench-like"), "clients.md", "exec"), known)
    checked, record = known["checked"], known["record"]
    assert checked.fit, checked.problem
    assert (checked.nothing.outcome, checked.reference.outcome, record.reward) == ("FAIL", "PASS", 1.0)
    assert [test for test, _ in checked.prepared.excluded] == ["tests/test_core.py::test_never"]
    with pytest.raises(UsageError, match="exists"):
        prepare(task, repo.root, tmp_path / "tasks" / "pkg-1")
    with pytest.raises(UsageError, match="no commit"):
        prepare(task, Repo(tmp_path / "empty").root, tmp_path / "tasks" / "pkg-2")
