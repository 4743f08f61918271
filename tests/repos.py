"""Real git repositories for integration tests, built with a clean environment and fixed dates."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

Content = str | bytes | None

VERDICTS: dict[str, Content] = {
    "src/pkg/__init__.py": "",
    "src/pkg/core.py": "def double(n):\n    return 2 * n\n",
    "tests/sealed/test_core.py": "from pkg.core import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "tests/sealed/MANIFEST.txt": "tests/sealed/test_core.py\n",
    "ci/flake_leases.json": '{"leases": []}\n',
    "pyproject.toml": '[project]\nname = "pkg"\nversion = "1"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    "README.md": "# pkg\n",
}
"""A small repository in the preset ``verdicts``."""


class Repo:
    """One repository; ``commit`` writes, removes (None) and links (``Link``) files and gives the commit's id."""

    def __init__(self, root: Path, *init: str) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.time = 1_700_000_000
        self.git("init", "-q", "-b", "main", *init)

    def git(self, *args: str, data: bytes | None = None) -> str:
        env = {
            "PATH": os.defpath, "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_AUTHOR_DATE": f"{self.time} +0000",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_COMMITTER_DATE": f"{self.time} +0000",
        }  # fmt: skip
        done = subprocess.run(["git", *args], cwd=self.root, env=env, input=data, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def put(self, files: Mapping[str, Content | Link]) -> None:
        for name in files:
            path = self.root / name
            if path.is_symlink() or path.is_file():
                path.unlink()
                self._prune(path.parent)
        for name, content in files.items():
            path = self.root / name
            if content is None:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Link):
                path.symlink_to(content.target)
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)

    def _prune(self, folder: Path) -> None:
        while folder != self.root and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def commit(self, files: Mapping[str, Content | Link] | None = None, message: str = "change") -> str:
        self.time += 60
        self.put(files or {})
        self.git("add", "-A", "-f", ".")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


class Link:
    """A symbolic link to make."""

    def __init__(self, target: str) -> None:
        self.target = target
