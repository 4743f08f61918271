"""One job, in this process: import the runner, settle clock and seeds, install what the job asks for, run pytest, close the record."""

import importlib
import os
import sys


def part(name):
    """One file of this folder, or None when this version does not have it."""
    try:
        return importlib.import_module(f"{__package__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.{name}":
            raise
        return None


def read_all(fd):
    """Read a descriptor to its end and close it."""
    with os.fdopen(fd, "rb") as stream:
        return stream.read()


def do(job_fd, record_fd, kept=None):
    """Do the job; never returns. ``kept``: bytecode that was made before any code of the scoring tree ran (see ``kept``)."""
    wire, record, launch = part("wire"), part("record"), part("launch")
    job = wire.load_job(read_all(job_fd))
    emit = record.Recorder(record_fd, job.nonce)
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
    if kept is not None:
        kept.serve(job.root)
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
