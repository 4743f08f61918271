"""A repository of 21 sealed tests with honest patches, for the benchmarks of hits and of throughput."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench_classify import ENV

FILES, TESTS = 3, 7


def build(root: Path, patches: int) -> list[str]:
    """Write the repository with the tag ``base`` and one tag for each patch; give the names of the patches."""
    body = "def work(n, seed):\n    x = seed\n    for i in range(n):\n        x = (x * 31 + i) % 1000003\n    return x\n"
    files = {"src/thing.py": body, "ci/flake_leases.json": '{"leases": []}\n'}
    files["pyproject.toml"] = '[tool.pytest.ini_options]\npythonpath = ["src"]\n'
    for number in range(FILES):
        lines = ["from thing import work", ""]
        for test in range(TESTS):
            seed = number * TESTS + test
            lines += [f"def test_{test}():", f"    assert work(500, {seed}) == {reference(500, seed)}"]
            lines += [f"    assert work(0, {seed}) == {seed}", ""]
        files[f"tests/sealed/test_{number}.py"] = "\n".join(lines)
    files["tests/sealed/MANIFEST.txt"] = "".join(f"tests/sealed/test_{number}.py\n" for number in range(FILES))
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, "base")
    names = []
    for number in range(patches):
        git(root, "checkout", "--quiet", "--detach", "base")
        (root / "src/thing.py").write_text(f"{body}\n\nADDED = {number}\n", "utf-8")
        names.append(f"patch{number}")
        commit(root, names[-1])
    git(root, "checkout", "--quiet", "--detach", "base")
    return names


def reference(n: int, seed: int) -> int:
    x = seed
    for i in range(n):
        x = (x * 31 + i) % 1000003
    return x


def commit(root: Path, tag: str) -> None:
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--message", tag)
    git(root, "tag", tag)


def git(root: Path, *args: str) -> bytes:
    return subprocess.run(["git", *args], cwd=root, env={**ENV, "PATH": os.defpath}, check=True, capture_output=True).stdout
