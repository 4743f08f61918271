"""One way for a test to say that it needs a system package: by name, with the command that installs it."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path

import pytest


def needs(command: str, package: str) -> pytest.MarkDecorator:
    """Skip the test where a system command is missing; with CI=true that skip is a failure (see conftest.py)."""
    return pytest.mark.skipif(shutil.which(command) is None, reason=f"no {command}: apt-get install -y {package}")


def library(name: str, package: str) -> None:
    """Skip where a shared library that a tool of the tests loads is missing."""
    try:
        ctypes.CDLL(name)
    except OSError:
        pytest.skip(f"no {name}: apt-get install -y {package}")


def checker(name: str) -> str:
    """The path of a checker such as `zizmor`: beside this interpreter, in the tools' own environment, or on PATH; skips where it is missing."""
    for folder in (Path(sys.prefix) / "tools" / "bin", Path(sys.prefix) / "bin"):
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name}: make test installs it from requirements/tools.txt")
    return found
