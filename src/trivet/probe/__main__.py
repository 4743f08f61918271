"""The probe's entry: ``PYTHON -s [-P] PROBE/__main__.py JOB_FD RECORD_FD``.

Runs in the project's interpreter with an environment that the host built. Reads the job, imports the runner before any path of the
scoring tree is in reach, then settles clock and seeds, installs what the job asks for, runs pytest with the ``watch`` plugin, writes the closing
message and leaves by ``os._exit(0)``. The exit status means nothing; only the records count. Protocol: see ``wire``.
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


def part(name):
    """One file of this folder, or None when this version does not have it."""
    try:
        return importlib.import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{PACKAGE}.{name}":
            raise
        return None


def read_all(fd):
    """Read a descriptor to its end and close it."""
    with os.fdopen(fd, "rb") as stream:
        return stream.read()


def main():
    """Do the job; never returns."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry and os.path.abspath(entry) != folder]
    load_package(folder)
    wire, record, launch = part("wire"), part("record"), part("launch")
    job = wire.load_job(read_all(int(sys.argv[1])))
    emit = record.Recorder(int(sys.argv[2]), job.nonce)
    sys.argv[:] = ["pytest"]
    os.chdir(job.root)
    try:
        launch.import_runner(job)
    except BaseException as error:
        emit("refused", text=record.brief(error))
        emit.close()
    emit("start", **launch.versions())
    watch, calm = part("watch"), part("calm")
    refusal = calm.settle(job, emit)
    if refusal:
        emit("refused", text=refusal)
        emit.close()
    split, mutate, tamper = part("split_judge"), part("mutate"), part("tamper")
    plugin = watch.Watch(job, emit)
    launch.open_paths(job)
    further = [split.install(job, job.subject_fd)] if job.isolation == "split" else []
    part("no_recording").force_none()
    if job.extra.get("recorded"):
        further.append(part("recorded").install(job))
    before = None
    if job.mode == "control":
        further.append(mutate.install(job, emit))
    elif job.extra.get("perturb"):
        further.append(part("perturb").install(job, emit))
    elif tamper:
        before = tamper.before(job, emit)
        further.append(before.guard)
    if job.extra.get("trace"):
        further.append(part("traced").Trace(job, emit))
    launch.run_pytest(job, plugin, further)
    if before is not None:
        tamper.after(job, before, emit)
    launch.report_origins(job, emit)
    emit.close()


if __name__ == "__main__":
    main()
