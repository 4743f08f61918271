"""What a GitLab job that runs the gate must be. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trivet.doctor.words import Problem

_PLACE = ".gitlab-ci.yml"
_CALLS = re.compile(r"(?:^|[\s/\"'`;&|(])trivet['\"]?\s+(?:gate|verdict|join|admit)\b")
_EXCUSED = re.compile(r"\|\|\s*(?:true|:|exit\s+0|echo)\b|;\s*(?:true|exit\s+0)\s*$")
_WORDS = frozenset(
    {"default", "include", "stages", "variables", "workflow", "image", "services", "cache", "before_script", "after_script", "spec"}
)
_SECRET = re.compile(r"\$\{?(?!CI_|TRIVET_)\w*(?:TOKEN|SECRET|PASSWORD|CREDENTIAL|PRIVATE_KEY)\w*", re.IGNORECASE)
_DEPTH_LIMIT = 12


def local_includes(document: Mapping[str, Any]) -> list[str]:
    """The files of the same repository that a document includes."""
    rows = document.get("include") or []
    rows = rows if isinstance(rows, list) else [rows]
    found = []
    for row in rows:
        name = row.get("local") if isinstance(row, dict) else row if isinstance(row, str) and "://" not in row else None
        if isinstance(name, str) and "*" not in name and "$" not in name:
            found.append(name.removeprefix("/"))
    return found


def problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything by which the job of the gate could be skipped or excused."""
    jobs = {str(name): _whole(document, job) for name, job in document.items() if isinstance(job, dict) and name not in _WORDS}
    gates = {name: job for name, job in jobs.items() if not name.startswith(".") and any(_CALLS.search(line) for line in _script(job))}
    if not gates:
        yield Problem(detail="no job runs the gate", remedy="trivet init --gitlab, or leave it to a server", place=_PLACE, level="warning")
        return
    yield from _pipeline(document)
    for name, job in gates.items():
        yield from _excuses(name, job)
        yield from _filters(name, job)
        yield from _surroundings(name, job, document)


def _excuses(name: str, job: Mapping[str, Any]) -> Iterator[Problem]:
    if job.get("allow_failure") not in (None, False):
        yield Problem(detail=f"job {name} may fail (allow_failure)", remedy="allow_failure: false", place=_PLACE)
    if job.get("when") in ("manual", "delayed", "on_failure"):
        text = f"job {name} waits for {job['when']}: a pipeline without it is green"
        yield Problem(detail=text, remedy="take `when` out", place=_PLACE)
    for line in _script(job):
        if _CALLS.search(line) and _EXCUSED.search(line):
            yield Problem(detail=f"job {name} hides the exit status of its gate", remedy="let the command end the job", place=_PLACE)
    if any(re.match(r"\s*set\s+\+e\b", line) for line in _script(job)):
        text = f"job {name} goes on after errors (set +e)"
        yield Problem(detail=text, remedy="take `set +e` out", place=_PLACE, level="warning")


def _filters(name: str, job: Mapping[str, Any]) -> Iterator[Problem]:
    rules = [row for row in _list(job.get("rules")) if isinstance(row, dict)]
    for row in rules:
        if "changes" in row or "exists" in row:
            text = f"job {name} is filtered by files: a change outside them is not judged"
            yield Problem(detail=text, remedy="take `changes` and `exists` out of its rules", place=_PLACE)
        if row.get("allow_failure") not in (None, False) or row.get("when") == "manual":
            text = f"a rule of {name} lets it fail or wait for somebody"
            yield Problem(detail=text, remedy="take allow_failure and `when: manual` out of its rules", place=_PLACE)
        if row.get("when") == "never" and _SENDER.search(str(row.get("if", ""))):
            text = f"a rule of {name} leaves it out by what the author of the change writes: {row.get('if')}"
            yield Problem(detail=text, remedy="no rule by title, label, message or branch name of the change", place=_PLACE)
    for key in ("only", "except"):
        value = job.get(key)
        if isinstance(value, dict) and "changes" in value:
            yield Problem(detail=f"job {name} is filtered by files ({key}: changes)", remedy="take the filter out", place=_PLACE)
    wanted = str(rules) + str(job.get("only"))
    if not re.search(r"merge_request", wanted):
        text = f"job {name} does not say that it runs for merge requests"
        yield Problem(detail=text, remedy='rules: - if: $CI_PIPELINE_SOURCE == "merge_request_event"', place=_PLACE, level="warning")


_SENDER = re.compile(r"CI_MERGE_REQUEST_(?:TITLE|LABELS|DESCRIPTION|SOURCE_BRANCH)|CI_COMMIT_(?:MESSAGE|TITLE|DESCRIPTION|AUTHOR)")


def _surroundings(name: str, job: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Problem]:
    variables = {**_mapping(document.get("variables")), **_mapping(job.get("variables"))}
    if str(variables.get("GIT_DEPTH", "")) != "0":
        text = f"job {name} has a shallow clone, and the gate refuses to judge it"
        yield Problem(detail=text, remedy='variables: GIT_DEPTH: "0"', place=_PLACE, level="warning")
    if any(_SECRET.search(line) for line in _script(job)):
        text = f"job {name} holds a secret beside the patch's code"
        yield Problem(detail=text, remedy="keep it in a job of its own, as a protected variable", place=_PLACE)


def _pipeline(document: Mapping[str, Any]) -> Iterator[Problem]:
    workflow = document.get("workflow")
    rules = workflow.get("rules") if isinstance(workflow, dict) else None
    for row in _list(rules):
        if isinstance(row, dict) and (row.get("when") == "never" and _SENDER.search(str(row.get("if", "")))):
            text = f"the whole pipeline is left out by what the author of the change writes: {row.get('if')}"
            yield Problem(detail=text, remedy="no rule by title, label, message or branch name of the change", place=_PLACE)
        if isinstance(row, dict) and "changes" in row:
            text = "the whole pipeline is filtered by files: a change outside them is not judged"
            yield Problem(detail=text, remedy="take `changes` out of workflow.rules", place=_PLACE)
    for row in _list(document.get("include")):
        if isinstance(row, dict) and ("remote" in row or ("project" in row and not re.fullmatch(r"[0-9a-f]{40}", str(row.get("ref", ""))))):
            text = f"it includes {row.get('remote') or row.get('project')}, which others can change"
            yield Problem(detail=text, remedy="name its commit with `ref`", place=_PLACE, level="warning")


def _whole(document: Mapping[str, Any], job: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A job with what it extends, and the defaults of the file."""
    made: dict[str, Any] = {}
    names = job.get("extends")
    for name in [names] if isinstance(names, str) else _list(names):
        other = document.get(name) if isinstance(name, str) else None
        if isinstance(other, dict) and depth < _DEPTH_LIMIT:
            made |= _whole(document, other, depth + 1)
    return {**made, **job}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _script(job: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []

    def add(value: object) -> None:
        if isinstance(value, str):
            lines.extend(value.splitlines())
        elif isinstance(value, list):
            for one in value:
                add(one)

    for key in ("before_script", "script"):
        add(job.get(key))
    return lines
