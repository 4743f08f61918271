"""How pytest is started: which modules come from where, and which options are set.

Base's own pytest configuration holds (ini file, ``addopts``, markers, plugins of the environment); what could stop a run early, reorder it,
spread it over processes or carry something over from an earlier run is switched off.
"""

import importlib.util
import os
import platform
import sys

RUNNER = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli", "pygments", "colorama", "typing_extensions")

CONFIGS = (
    ("pytest.toml", b""),
    (".pytest.toml", b""),
    ("pytest.ini", b""),
    (".pytest.ini", b""),
    ("pyproject.toml", b"[tool.pytest"),
    ("tox.ini", b"[pytest]"),
    ("setup.cfg", b"[tool:pytest]"),
)


def import_runner(job):
    """Import pytest from the project's environment, out of reach of the scoring tree, except for a project that the runner itself needs.

    ``job`` None: for the server, which serves no such project.
    """
    own_runner = job is not None and job.own_runner
    if own_runner:
        sys.path[0:0] = job.paths
    import pytest  # noqa: F401
    import _pytest.assertion.rewrite
    import _pytest.runner
    import _pytest.unittest  # noqa: F401

    if own_runner:
        sys.path[:] = [entry for entry in sys.path if entry not in job.paths]


def versions():
    """Facts of the first record."""
    import pytest

    return {
        "pid": os.getpid(),
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "pytest": pytest.__version__,
    }


def open_paths(job):
    """Put the scoring tree's import paths behind the standard library and in front of the installed packages, as children inherit them."""
    library = [os.path.dirname(os.__file__)]
    at = max((i + 1 for i, entry in enumerate(sys.path) if entry in library or entry.endswith(("lib-dynload", "DLLs"))), default=0)
    sys.path[at:at] = [path for path in job.paths if path not in sys.path]
    os.environ["PYTHONPATH"] = os.pathsep.join(job.paths)


def arguments(job):
    """The command line for pytest."""
    args = [
        "-q",
        "--rootdir",
        job.root,
        "--confcutdir",  # else pytest takes the folder of `-c`, and walks the tree down from the root of the file system
        job.root,
        "--tb=short",
        "--color=no",
        "--no-header",
        "-o",
        "cache_dir=" + os.path.join(job.scratch or os.environ.get("TMPDIR", "/tmp"), "pytest-cache"),
        "--maxfail=0",
        "--continue-on-collection-errors",
    ]
    if not has_config(job):
        args += ["-c", os.path.join(os.path.dirname(os.path.abspath(__file__)), "empty.ini")]
    if not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        for module, options in (
            ("xdist", ["-n0"]),
            ("pytest_cov", ["--no-cov"]),
            ("pytest_randomly", ["--randomly-dont-reorganize", "--randomly-dont-reset-seed", f"--randomly-seed={job.seed % 2**32}"]),
            ("pytest_rerunfailures", ["--reruns=0"]),
        ):
            if importlib.util.find_spec(module):
                args += options
    return args + [os.path.join(job.root, name) for name in job.files]


def has_config(job):
    """Whether a pytest configuration lies between the sealed files and the root of the scoring tree; none above it may be found."""
    folders = [os.path.dirname(os.path.join(job.root, name)) for name in job.files]
    folder = os.path.commonpath(folders) if folders else job.root
    while True:
        for name, mark in CONFIGS:
            try:
                with open(os.path.join(folder, name), "rb") as stream:
                    if mark in stream.read():
                        return True
            except OSError:
                continue
        if os.path.normpath(folder) == os.path.normpath(job.root) or len(folder) <= len(job.root):
            return False
        folder = os.path.dirname(folder)


def run_pytest(job, plugin, further=()):
    """Run pytest in this process; what it returns means nothing. Whatever escapes from it ends the run early, which the host sees."""
    import pytest

    args = arguments(job)
    try:
        pytest.main(args, plugins=[plugin, *further])
    except BaseException as error:
        plugin.escaped(error)


def report_origins(job, emit):
    """Say which top-level modules of production code were loaded from elsewhere than the scoring tree."""
    facts = {}
    for name in job.source_names:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None) if module is not None else None
        if file and not os.path.abspath(file).startswith(tuple(path.rstrip(os.sep) + os.sep for path in [job.root])):
            facts["origin:" + name] = file
    if facts:
        emit("env", facts=facts)
