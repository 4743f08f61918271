"""One way for a test to say that it needs a system package: by name, with the command that installs it."""

from __future__ import annotations

import shutil

import pytest


def needs(command: str, package: str) -> pytest.MarkDecorator:
    """Skip the test where a system command is missing; with CI=true that skip is a failure (see conftest.py)."""
    return pytest.mark.skipif(shutil.which(command) is None, reason=f"no {command}: apt-get install -y {package}")
