"""The probe's entry: ``PYTHON -s [-P] PROBE/__main__.py JOB_FD RECORD_FD``, or ``… --serve SOCKET_FD`` for a server that is forked for each job.

Runs in the project's interpreter with an environment that the host built. Reads the job, imports the runner before any path of the
scoring tree is in reach, then settles clock and seeds, installs what the job asks for, runs pytest with the ``watch`` plugin, writes the closing
message and leaves by ``os._exit(0)``. The exit status means nothing; only the records count. Protocol: see ``wire``, ``work`` and ``server``.
"""

import importlib
import importlib.util
import os
import sys

PACKAGE = "trivet_probe"


def load_package(folder):
    """Make this folder importable as one package, so that none of its files can be mistaken for a module of the project."""
    spec = importlib.util.spec_from_file_location(PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def main():
    """Do the job, or serve; never returns."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry and os.path.abspath(entry) != folder]
    load_package(folder)
    if sys.argv[1] == "--serve":
        loan = importlib.import_module(PACKAGE + ".server").serve(int(sys.argv[2]))  # returns in forked children alone
        importlib.import_module(PACKAGE + ".work").do(loan.job, loan.record, loan.kept)
    importlib.import_module(PACKAGE + ".work").do(int(sys.argv[1]), int(sys.argv[2]))


if __name__ == "__main__":
    main()
