"""Names that act by themselves: what Python, pytest, git and forges read or run without being asked. This list cannot be shortened."""

from __future__ import annotations

import re
import sys
import unicodedata

# Patterns that start with a slash hold at the root only; the others hold in every folder.
CONTROL_PLACES: tuple[tuple[str, str], ...] = (
    ("/.github/", "CI and forge settings decide what runs on the merge"),
    ("/.gitlab-ci.yml", "CI decides what runs on the merge"),
    ("/.gitlab/", "CI and forge settings decide what runs on the merge"),
    ("/.circleci/", "CI decides what runs on the merge"),
    ("/.buildkite/", "CI decides what runs on the merge"),
    ("/.woodpecker/", "CI decides what runs on the merge"),
    ("/.woodpecker.yml", "CI decides what runs on the merge"),
    ("/.drone.yml", "CI decides what runs on the merge"),
    ("/.travis.yml", "CI decides what runs on the merge"),
    ("/.cirrus.yml", "CI decides what runs on the merge"),
    ("/.appveyor.yml", "CI decides what runs on the merge"),
    ("/appveyor.yml", "CI decides what runs on the merge"),
    ("/azure-pipelines.yml", "CI decides what runs on the merge"),
    ("/bitbucket-pipelines.yml", "CI decides what runs on the merge"),
    ("/Jenkinsfile", "CI decides what runs on the merge"),
    ("/.pre-commit-config.yaml", "hooks run on developers' and CI hosts"),
    ("/.ci/", "CI decides what runs on the merge"),
    ("/ci/", "CI decides what runs on the merge"),
    ("/tools/", "scripts that CI calls"),
    ("/Makefile", "scripts that CI calls"),
    ("/GNUmakefile", "scripts that CI calls"),
    ("/Justfile", "scripts that CI calls"),
    ("/trivet.toml", "the policy of this gate"),
    ("/.pyrefix-lanes.toml", "the policy of this gate"),
)
CONTROL_NAMES: tuple[tuple[str, str], ...] = (
    ("CODEOWNERS", "names who may change oracles"),
    ("pyproject.toml", "configures build, pytest and tools"),
    ("/setup.py", "runs when the project is installed"),
    ("/setup.*", "configures build and pytest"),
    ("setup.cfg", "configures build and pytest"),
    ("tox.ini", "configures pytest"),
    ("pytest.ini", "configures pytest"),
    (".pytest.ini", "configures pytest"),
    ("pytest.toml", "configures pytest"),
    (".pytest.toml", "configures pytest"),
    ("/noxfile.py", "CI runs it"),
    (".coveragerc", "configures coverage, which can run plugins"),
    ("/hatch_build.py", "runs when the project is built"),
    ("MANIFEST.in", "decides which files are built"),
    ("requirements*.txt", "decides what is installed next to the oracles"),
    ("requirements*.in", "decides what is installed next to the oracles"),
    ("constraints*.txt", "decides what is installed next to the oracles"),
    ("/requirements/", "decides what is installed next to the oracles"),
    ("*.lock", "decides what is installed next to the oracles"),
    ("pylock*.toml", "decides what is installed next to the oracles"),
    ("Pipfile", "decides what is installed next to the oracles"),
    ("environment.yml", "decides what is installed next to the oracles"),
    (".python-version", "decides which interpreter runs the oracles"),
    (".gitattributes", "git changes contents and merges by it"),
    (".gitmodules", "git fetches other repositories by it"),
    (".envrc", "shells run it"),
)
_BYTECODE = "the interpreter may run committed bytecode instead of the source that was reviewed"
_HINT = re.compile(
    r"conftest\.py|customize|\.pth|\._pth|pyvenv\.cfg|\.pyc|\.pyo|__pycache__|\.dist-info|\.egg-info|\.egg-link|\.git|git~1|\\\\|(^|/)\.{0,2}(/|$)|[^\x00-\x7f]"
)
_START = "the interpreter runs it at start, before the test runner"
ODD_PATH = "path that means another one"
_ODD = frozenset({"", ".", "..", ".git", "git~1"})
_METADATA = "its entry points load plugins into the test runner"
MODULE_SUFFIXES = (".py", ".pyc", ".so", ".pyd")
RUNNER_MODULES = frozenset(
    {
        *("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "sortedcontainers", "attr"),
        *("attrs", "hypothesis", "_hypothesis_pytestplugin", "_hypothesis_ftz_detector", "_hypothesis_globals", "coverage", "pytest_cov"),
        *("xdist", "execnet", "pytest_asyncio", "anyio", "pytest_trio", "time_machine", "freezegun", "trivet", "_distutils_hack"),
    }
)
"""Modules that the test runner and its usual plugins import by name."""


def influence_of(path: str) -> tuple[str, str] | None:
    """``(name, how)`` when a path acts by itself wherever it lies, judged without regard to case; None when it does not."""
    plain = path.casefold()
    if not _HINT.search(plain):
        return None
    parts = plain.split("/")
    if "\\" in path or any(part in _ODD or folded(part.encode("utf-8", "surrogateescape")) in _ODD for part in parts):
        return ODD_PATH, "some systems take it for a path outside its folder, or inside git's own"
    return _started(parts) or _compiled(parts)


def _started(parts: list[str]) -> tuple[str, str] | None:
    """Names that Python or pytest run unasked."""
    last = parts[-1]
    stem, _, suffix = last.partition(".")
    if last == "conftest.py":
        return "conftest.py", "pytest runs it before the tests below its folder"
    if any(part in ("sitecustomize", "usercustomize") for part in parts[:-1]) or (stem in ("sitecustomize", "usercustomize") and suffix):
        return "sitecustomize.py, usercustomize.py", _START
    if last.endswith((".pth", "._pth")) or last == "pyvenv.cfg":
        return "*.pth", _START
    return None


def _compiled(parts: list[str]) -> tuple[str, str] | None:
    """Bytecode and metadata of installed distributions."""
    if "__pycache__" in parts or parts[-1].endswith((".pyc", ".pyo")):
        return "*.pyc", _BYTECODE
    metadata = any(part.endswith((".dist-info", ".egg-info", ".egg-link")) for part in parts)
    return ("*.dist-info, *.egg-info", _METADATA) if metadata else None


def is_generated_metadata(path: str) -> bool:
    """Whether a path is metadata that build tools write: ``*.egg-info/**`` or ``PKG-INFO``."""
    parts = path.split("/")
    return parts[-1] == "PKG-INFO" or any(part.endswith(".egg-info") for part in parts)


def top_module(path: bytes, roots: tuple[str, ...]) -> str:
    """The name of the top-level module that a path provides on the import path ``roots``, or "" when it provides none."""
    text = path.decode("utf-8", "surrogateescape")
    for root in roots:
        prefix = "" if root in (".", "") else root.strip("/") + "/"
        if not text.startswith(prefix):
            continue
        parts = text[len(prefix) :].split("/")
        name = parts[0].partition(".")[0]
        if len(parts) == 1 and parts[0].endswith(MODULE_SUFFIXES):
            return name
        if len(parts) == 2 and parts[1].startswith("__init__.") and parts[1].endswith(MODULE_SUFFIXES):  # noqa: PLR2004 - package, file
            return parts[0]
    return ""


def shadowed(name: str) -> str:
    """What a top-level module of this name would hide: ``standard library``, ``test runner`` or "" for nothing."""
    if name in sys.stdlib_module_names:
        return "standard library"
    return "test runner" if name in RUNNER_MODULES else ""


def folded(name: bytes) -> str:
    """A name as file systems compare it that ignore case, Unicode form, invisible characters and trailing dots and blanks."""
    if name.isascii():
        return name.decode("ascii").lower().rstrip(". ")
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", name.decode("utf-8", "surrogateescape")).casefold())
    return "".join(char for char in text if unicodedata.category(char) != "Cf").rstrip(". ")
