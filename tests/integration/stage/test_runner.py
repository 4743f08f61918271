"""The probe in this interpreter: what it sees, and how a run is ended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from compat import project, runs
from trivet.model import RunRecord
from trivet.stage.calibrate import generated_in

PYTHON = Path(sys.executable)
TEST = "tests/sealed/test_x.py"


def once(tmp_path: Path, test: str, source: str = "", wall: str = "none", **policy: object) -> RunRecord:
    """Run one sealed test file against one source module."""
    root = tmp_path / "tree"
    (root / "src/shop").mkdir(parents=True)
    (root / "tests/sealed").mkdir(parents=True)
    (root / "src/shop/__init__.py").write_text(source)
    (root / TEST).write_text(test)
    runner = runs.runner(root, PYTHON, tmp_path / "scratch", wall=wall, **policy)
    return runner.run(runner.job([TEST]))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """The project of all shapes, run once."""
    folder = tmp_path_factory.mktemp("whole")
    files = project.write(folder / "tree", {"tests/sealed/test_zgenerated.py": project.GENERATED})
    return runs.run(folder / "tree", files, PYTHON, folder / "scratch")


def test_every_shape_of_test_is_seen(whole: RunRecord) -> None:
    """Every shape of test is seen as what it is, although the project's own options stop at the first failure."""
    assert whole.end.how == "closed"
    seen = runs.outcomes(whole)
    assert {name: seen.get(name) for name in project.EXPECTED} == project.EXPECTED


def test_files_that_bring_no_tests_are_named(whole: RunRecord) -> None:
    """A file that cannot be collected and a file that skips itself are named, with the reason."""
    assert dict(whole.errors) == {"tests/sealed/test_broken.py": "ModuleNotFoundError: No module named 'shop.missing'"}
    skipped = next(result for result in whole.results if result.id == "tests/sealed/test_whole.py")
    assert skipped.env_skip
    assert "nothing_of_that_name" in skipped.reason


def test_the_origin_of_each_skip_is_seen(whole: RunRecord) -> None:
    """Skips by production code, by the environment and by decree are told apart."""
    found = {result.id.partition("::")[2]: (result.by_source, result.env_skip) for result in whole.results if result.outcome == "skipped"}
    assert found["test_left_by_source"] == found["Unit::test_left"] == (True, False)
    assert found["test_environment"] == (False, True)
    assert found["test_debt"] == (False, False)


def test_inputs_that_production_code_throws_away_are_seen(whole: RunRecord) -> None:
    """Inputs that production code throws away are seen, and generated tests are named."""
    thrown = next(result for result in whole.results if result.id.endswith("test_thrown_away"))
    assert thrown.by_source
    assert "threw away" in thrown.reason
    assert [name.partition("::")[2] for name in generated_in(whole)] == ["test_sum", "test_thrown_away"]


def test_a_failure_has_type_message_and_sealed_place(whole: RunRecord) -> None:
    """A failure has its type, its message and its place in the sealed tree."""
    failed = next(result for result in whole.results if result.id.endswith("::test_fails"))
    assert failed.failure is not None
    assert (failed.failure.type, failed.failure.file) == ("AssertionError", "tests/sealed/test_plain.py")
    assert failed.failure.line > 0


def test_the_clock_stands_where_the_policy_puts_it(tmp_path: Path) -> None:
    """The wall clock stands where the policy puts it while tests are collected and run; the monotonic clock goes on."""
    test = (
        "import datetime, time, pytest\nNOW = datetime.datetime.now().isoformat()\n"
        "@pytest.mark.parametrize('n', [NOW])\ndef test_clock(n):\n"
        "    before = time.monotonic()\n    assert (n, time.time()) == ('2030-01-02T03:04:05', 1893553445.0)\n    assert time.monotonic() > before\n"
    )
    record = once(tmp_path, test, clock="2030-01-02T03:04:05Z", clock_asked=True)
    assert [result.outcome for result in record.results] == ["passed"], record
    assert record.results[0].id == f"{TEST}::test_clock[2030-01-02T03:04:05]"


ENDS = {
    "import os; os._exit(0)": "exit",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "signal",
    "import ctypes; ctypes.string_at(0)": "signal",
}


@pytest.mark.parametrize("code", ENDS)
@pytest.mark.parametrize("when", ["import", "call"])
def test_a_process_that_ends_itself_closes_nothing(tmp_path: Path, code: str, when: str) -> None:
    """A process that ends itself, at import or in a call, does not close its run."""
    source = code if when == "import" else f"def stop():\n    {code}\n"
    record = once(tmp_path, f"import shop\ndef test_one(): {'pass' if when == 'import' else 'shop.stop()'}\n", source)
    assert record.end.how == ENDS[code]
    assert not [result for result in record.results if result.outcome == "passed"]


def test_a_session_that_is_ended_leaves_tests_out(tmp_path: Path) -> None:
    """A session that production code ends early leaves tests without a record."""
    record = once(
        tmp_path,
        "import shop\ndef test_one(): shop.stop()\ndef test_two(): pass\n",
        "import pytest\ndef stop(): pytest.exit('x', returncode=0)\n",
    )
    assert len(record.collected) == 2
    assert [result.outcome for result in record.results] == ["error"]


def test_a_test_that_hangs_is_ended_by_the_host(tmp_path: Path) -> None:
    """A test that hangs is ended by the host's own clock, and named."""
    record = once(
        tmp_path,
        "import shop\ndef test_one(): shop.hang()\n",
        "import time\ndef hang():\n    while True: time.sleep(1)\n",
        test_timeout_s=1.0,
    )
    assert (record.end.how, record.end.limit, record.end.test) == ("timeout", "test_timeout_s", f"{TEST}::test_one")


def test_forged_records_disturb_the_stream(tmp_path: Path) -> None:
    """Bytes that production code writes to all descriptors disturb the stream."""
    source = (
        'import os\ndef forge():\n    for fd in range(3, 256):\n        try: os.write(fd, b\'{"k": "end", "i": 0, "n": ""}\\n\')\n'
        "        except OSError: pass\n"
    )
    record = once(tmp_path, "import shop\ndef test_one(): shop.forge()\n", source)
    assert record.end.how == "protocol"


def test_modules_of_the_runner_are_not_replaced_by_source(tmp_path: Path) -> None:
    """Modules in source named as the runner or as a library module are not what the runner imports."""
    root = tmp_path / "tree"
    files = project.write(
        root, {"src/pytest.py": "raise SystemExit(0)\n", "src/json.py": "raise SystemExit(0)\n", "src/pluggy.py": "x = 1\n"}
    )
    record = runs.run(root, files[1:2], PYTHON, tmp_path / "scratch")
    assert record.end.how == "closed"
    assert runs.outcomes(record)["test_total"] == "passed"


def test_a_project_that_the_runner_needs_is_tested_itself(tmp_path: Path) -> None:
    """A project that the runner needs is imported from the scoring tree."""
    root = tmp_path / "tree"
    files = project.write(
        root, {"src/iniconfig/__init__.py": (Path(pytest.__file__).parent.parent / "iniconfig/__init__.py").read_text() + "\nOURS = 1\n"}
    )
    for extra in ("exceptions.py", "_parse.py", "_version.py"):
        path = Path(pytest.__file__).parent.parent / "iniconfig" / extra
        if path.exists():
            (root / "src/iniconfig" / extra).write_text(path.read_text())
    (root / "tests/sealed/test_own.py").write_text("import iniconfig\ndef test_own(): assert iniconfig.OURS\n")
    record = runs.run(root, ("tests/sealed/test_own.py",), PYTHON, tmp_path / "scratch", own_runner=["iniconfig"])
    assert (record.end.how, runs.outcomes(record)) == ("closed", {"test_own": "passed"}), (files, record)


def test_only_the_named_tests_run_and_marks_can_be_lifted(tmp_path: Path) -> None:
    """Exactly the named ids run; a lifted test runs in spite of its marks and shows how it fails."""
    root = tmp_path / "tree"
    project.write(root)
    ids = [f"tests/sealed/test_plain.py::{name}" for name in ("test_debt", "test_known", "test_total", "Unit::test_expected")]
    record = runs.run(root, ("tests/sealed/test_plain.py",), PYTHON, tmp_path / "scratch", ids=ids, lift=ids)
    assert runs.outcomes(record) == {"test_debt": "failed", "test_known": "failed", "test_total": "passed", "Unit::test_expected": "failed"}
    assert all(result.lifted for result in record.results)


def test_fresh_inputs_run_generated_tests_alone(tmp_path: Path) -> None:
    """A job for fresh inputs runs generated tests alone, on inputs of its seed."""
    root = tmp_path / "tree"
    record_seen = "import os\nfrom hypothesis import given, strategies as st\n@given(st.integers())\ndef test_seen(n): print('SEEN', n)\ndef test_other(): pass\n"
    project.write(root, {"tests/sealed/test_gen.py": record_seen})
    first, second, again = (
        runs.run(root, ("tests/sealed/test_gen.py",), PYTHON, tmp_path / "scratch", fresh=12, fresh_seed=seed) for seed in (1, 2, 1)
    )
    assert runs.outcomes(first) == {"test_seen": "passed"}
    assert first.collected == second.collected == again.collected


@pytest.mark.kernel
def test_a_run_behind_the_wall_sees_the_same(tmp_path: Path) -> None:
    """Behind the strongest wall of this host the same is seen."""
    record = once(tmp_path, "import shop, os\ndef test_one(tmp_path): assert shop.x == 1\n", "x = 1\n", wall="auto")
    assert (record.end.how, [result.outcome for result in record.results]) == ("closed", ["passed"]), record.output
