"""Task files to tasks, and tasks to policies."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from trivet.errors import UsageError
from trivet.tasks import Task, policy_text, read_tasks, task_of

ROW = {
    "instance_id": "pkg-1",
    "repo": "team/pkg",
    "base_commit": "a" * 40,
    "test_patch": "diff --git a/tests/test_a.py b/tests/test_a.py\n",
    "patch": "diff --git a/pkg/a.py b/pkg/a.py\n",
    "FAIL_TO_PASS": '["tests/test_a.py::test_x", "tests/test_a.py::test_x"]',
    "PASS_TO_PASS": ["tests/unit/test_b.py::TestB::test_y[a::b]"],
    "version": "1.0",
}


@pytest.mark.parametrize("as_list", [False, True])
def test_a_file_is_read_as_lines_or_as_one_list(tmp_path: Path, as_list) -> None:
    file = tmp_path / "tasks.json"
    rows = [ROW, {**ROW, "instance_id": "pkg-2"}]
    file.write_text(json.dumps(rows) if as_list else "\n".join(map(json.dumps, rows)) + "\n")
    first, second = read_tasks(file)
    assert (first.id, second.id) == ("pkg-1", "pkg-2")
    assert first.fail_to_pass == ("tests/test_a.py::test_x",)
    assert first.files == ("tests/test_a.py", "tests/unit/test_b.py")
    assert first.reference.startswith("diff")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"FAIL_TO_PASS": "[]"}, "rewards everything"),
        ({"FAIL_TO_PASS": "not json"}, "no JSON list"),
        ({"FAIL_TO_PASS": [1]}, "list of test ids"),
        ({"FAIL_TO_PASS": ["test_x (pkg.tests.TestX)"]}, "not the id of a pytest test"),
        ({"FAIL_TO_PASS": ["../test_x.py::test"]}, "not the id of a pytest test"),
        ({"base_commit": ""}, "base_commit must be a text and not empty"),
        ({"test_patch": None}, "test_patch must be a text"),
        ({"patch": 7}, "patch must be a text"),
    ],
)
def test_a_wrong_task_is_named_with_its_key(change, told) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        task_of({**ROW, **change}, where="line 3")
    assert "line 3" in caught.value.where


@pytest.mark.parametrize("content", ["{", "[1", "7", '"x"'])
def test_a_file_that_is_no_task_file_says_so(tmp_path: Path, content) -> None:
    (tmp_path / "x.jsonl").write_text(content)
    with pytest.raises(UsageError):
        list(read_tasks(tmp_path / "x.jsonl"))
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_tasks(tmp_path / "missing"))


def test_the_policy_seals_named_tests_and_what_stands_beside_them() -> None:
    task = task_of(ROW)
    tracked = ["pkg/a.py", "tests/conftest.py", "tests/test_a.py", "tests/test_c.py", "tests/data/x y.json", "tests/unit/test_b.py", "tests/unit/help.py"]
    policy = tomllib.loads(policy_text(task, tracked, [("tests/test_a.py::test_z", 'it is "red"')]))
    assert policy["zones"]["oracle"] == ["/tests/conftest.py", "/tests/data/x\\ y.json", "/tests/test_a.py", "/tests/unit/help.py", "/tests/unit/test_b.py", "/trivet-task/**"]
    assert policy["zones"]["proposed"] == ["/tests/**", "test_*.py", "*_test.py"]
    assert policy["score"]["exclude"] == [{"id": "tests/test_a.py::test_z", "reason": 'it is "red"'}]


def test_tests_inside_a_package_seal_their_own_folder_alone() -> None:
    task = Task(id="x", repo="r", base="b", test_patch="p", fail_to_pass=("pkg/test/test_a.py::test_x",))
    policy = tomllib.loads(policy_text(task, ["pkg/a.py", "pkg/test/harness.py", "pkg/test/test_a.py"]))
    assert policy["zones"]["oracle"] == ["/pkg/test/harness.py", "/pkg/test/test_a.py", "/trivet-task/**"]
