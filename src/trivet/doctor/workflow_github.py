"""What a GitHub workflow that runs the gate must be, so that a pull request cannot turn it off or speak through it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trivet.doctor.words import Problem

CALLS_GATE = re.compile(r"(?:^|[\s/\"'`;&|(])trivet['\"]?\s+(?:gate|verdict|join|admit)\b")
_ACTION = re.compile(r"(^|/)trivet(@|/|$)")
_PINNED = re.compile(r"[^@]+@[0-9a-f]{40}(?:[0-9a-f]{24})?$")
_ALWAYS = re.compile(r"\balways\(\)")
_SECRET = re.compile(r"\bsecrets\s*(?:\.\s*(?!GITHUB_TOKEN\b)\w+|\[)", re.IGNORECASE)
_EXCUSED = re.compile(r"\|\|\s*(?:true|:|exit\s+0|echo)\b|;\s*(?:true|exit\s+0)\s*$", re.MULTILINE)
_HEAD = re.compile(r"github\.(?:head_ref|event\.pull_request\.(?:head\.(?:sha|ref)|title|body)|event\.(?:comment|review|issue)\.body)")
_INJECTED = re.compile(
    r"\$\{\{[^}]*github\.(?:head_ref|event\.(?:pull_request\.(?:title|body|head\.ref|head\.label)|comment|review|issue))[^}]*\}\}"
)
_OWN_BUILD = re.compile(
    r"(?:^|[\s;&|])(?:pip|pip3|uv pip)\s+install\b[^\n;&|]*?\s(?:-e\s+\S+|--editable\s+\S+|\.(?:\[[^\]]*\])?(?=\s|$))"
    r"|\bpython3?\s+setup\.py\b|(?:^|[\s;&|])(?:tox|nox|make|npm\s+(?:ci|install|run)|poetry\s+install|pdm\s+install|uv\s+sync)\b",
    re.MULTILINE,
)
_OWN_LIST = re.compile(r"(?:pip|pip3|uv pip)\s+install\b[^\n;&|]*?(?:-r|--requirement)[\s=]+(?!\.\./|/|\"?\$)(\S+)")


def problems(path: str, document: Mapping[str, Any], check: str) -> Iterator[Problem]:
    """Everything by which the workflow could be skipped, excused, or made to speak for the change."""
    jobs = {str(name): job for name, job in _mapping(document.get("jobs")).items() if isinstance(job, dict)}
    yield from _triggers(path, document)
    yield from _join(path, jobs, check)
    for name, job in jobs.items():
        if runs_gate(job) or _label(name, job) == check:
            yield from _excuses(path, name, job)
        if runs_gate(job):
            yield from _rights(path, name, job, document)
            yield from _own_code(path, name, job, document)
        yield from _pins(path, name, job)


def impostors(path: str, document: Mapping[str, Any], check: str) -> Iterator[Problem]:
    """Jobs of other workflows that carry the name of the required check, and so answer for it."""
    for name, job in _mapping(document.get("jobs")).items():
        if isinstance(job, dict) and _label(str(name), job) == check:
            text = f"job {name} is named {check} and does not judge: which of the two a forge believes is chance"
            yield Problem(detail=text, remedy="give it another name", place=path)


def steps(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The steps of a job."""
    found = job.get("steps")
    return [step for step in found if isinstance(step, dict)] if isinstance(found, list) else []


def _triggers(path: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    events = _events(document.get("on"))
    if not {"pull_request", "pull_request_target"} & set(events):
        yield Problem(detail="it does not run for pull requests", remedy="on: pull_request", place=path)
    for name in ("pull_request", "pull_request_target", "merge_group"):
        filters = events.get(name)
        if isinstance(filters, dict):
            yield from _filters(path, name, filters)
    if "merge_group" not in events:
        text = "it does not run for the merge queue: entries wait for ever, or merge unjudged where the check is not required"
        yield Problem(detail=text, remedy="on: merge_group", place=path, level="warning")
    if "pull_request_target" in events and _HEAD.search(str(document.get("jobs"))):
        text = "pull_request_target brings the repository's rights, and the job uses what the pull request wrote"
        yield Problem(detail=text, remedy="run the scoring job on pull_request", place=path)


def _events(on: object) -> dict[str, object]:
    if isinstance(on, dict):
        return {str(key): value for key, value in on.items()}
    return {str(name): None for name in (on if isinstance(on, list) else [on])}


def _filters(path: str, name: str, filters: Mapping[str, Any]) -> Iterator[Problem]:
    for key in ("paths", "paths-ignore"):
        if key in filters:
            text = f"{name} has a path filter: a change outside it is never judged, and a required check waits for ever"
            yield Problem(detail=text, remedy=f"take {key} out; the gate is quick where nothing is to be judged", place=path)
    for key in ("branches", "branches-ignore"):
        if key in filters:
            text = f"{name} is filtered by {key}: changes into other branches are not judged"
            yield Problem(detail=text, remedy="leave the branches to the ruleset", place=path, level="warning")
    types = filters.get("types")
    if name == "pull_request" and isinstance(types, list) and not {"opened", "synchronize", "reopened"} <= set(types):
        text = "pull_request leaves out opened, synchronize or reopened: a new head keeps no verdict, or an old one"
        yield Problem(detail=text, remedy="leave `types` out", place=path)


def _join(path: str, jobs: Mapping[str, Mapping[str, Any]], check: str) -> Iterator[Problem]:
    found = {name: job for name, job in jobs.items() if _label(name, job) == check}
    if not found:
        yield Problem(detail=f"no job is named {check}", remedy="name the job that joins the verdicts so, and require it", place=path)
    for name, job in found.items():
        condition = str(job.get("if", ""))
        needs = job.get("needs")
        if needs and not _ALWAYS.search(condition):
            text = f"job {name} is skipped where a job that it needs fails, and a skipped job counts as a success"
            yield Problem(detail=text, remedy="if: ${{ always() }}", place=path)
        elif condition and not re.fullmatch(r"(?:\$\{\{\s*)?always\(\)(?:\s*\}\})?", condition.strip()):
            text = f"job {name} has a condition ({condition}); where it does not hold, the job is skipped, which counts as a success"
            yield Problem(detail=text, remedy="if: ${{ always() }} and nothing else", place=path)
        if needs and not runs_gate(job):
            text = str([{key: step.get(key) for key in ("run", "env", "if", "with")} for step in steps(job)]) + str(job.get("env"))
            wanted = [needs] if isinstance(needs, str) else [str(one) for one in needs] if isinstance(needs, list) else []
            blind = [one for one in wanted if one in jobs and _leads_to_gate(one, jobs) and not _looks_at(one, text)]
            if blind:
                told = f"job {name} does not look at the result of {', '.join(blind)}: it is green whatever they said"
                yield Problem(detail=told, remedy="compare needs.JOB.result with success, for each", place=path)


def _looks_at(need: str, text: str) -> bool:
    if re.search(r"needs\.\*\.result|toJSON\(needs\)|toJson\(needs\)", text):
        return True
    return bool(re.search(rf"needs\.{re.escape(need)}\.(?:result|outputs)|needs\[.{re.escape(need)}.\]", text))


def _leads_to_gate(name: str, jobs: Mapping[str, Mapping[str, Any]]) -> bool:
    return runs_gate(jobs[name])


def _excuses(path: str, name: str, job: Mapping[str, Any]) -> Iterator[Problem]:
    if _truthy(job.get("continue-on-error")):
        yield Problem(detail=f"job {name} may fail (continue-on-error)", remedy="take continue-on-error out", place=path)
    for step in steps(job):
        run = str(step.get("run", ""))
        if _truthy(step.get("continue-on-error")) and _decides(step):
            yield Problem(detail=f"a step of {name} may fail (continue-on-error)", remedy="take continue-on-error out", place=path)
        if _decides(step) and _EXCUSED.search(run):
            yield Problem(
                detail=f"job {name} hides the exit status of its gate", remedy="let the command's exit status end the step", place=path
            )
        if _decides(step) and step.get("if") and not _ALWAYS.search(str(step["if"])):
            text = f"job {name} runs its gate only if {step['if']}; a step that is skipped fails nothing"
            yield Problem(detail=text, remedy="take the condition out", place=path)


def _rights(path: str, name: str, job: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Problem]:
    if _SECRET.search(str(job)) or _SECRET.search(str(document.get("env"))) or str(job.get("secrets", "")) == "inherit":
        text = f"job {name} holds a secret beside the patch's code"
        yield Problem(detail=text, remedy="keep secrets in a job of their own that runs nothing of the change", place=path)
    granted = job.get("permissions", document.get("permissions"))
    if granted is None:
        text = f"job {name} has whatever rights the repository gives by default"
        yield Problem(detail=text, remedy="permissions: {} at the top, contents: read in the job", place=path, level="warning")
    elif granted == "write-all" or (isinstance(granted, dict) and "write" in granted.values()):
        yield Problem(detail=f"job {name} may write to the repository", remedy="permissions: contents: read", place=path)
    for step in steps(job):
        if not str(step.get("uses", "")).startswith("actions/checkout@"):
            continue
        given = _mapping(step.get("with"))
        if str(given.get("persist-credentials", "true")).lower() != "false":
            text = f"the checkout of {name} leaves the token in the work tree"
            yield Problem(detail=text, remedy="persist-credentials: false", place=path, level="warning")
        if str(given.get("fetch-depth", "1")) != "0":
            text = f"the checkout of {name} is shallow, and the gate refuses to judge it"
            yield Problem(detail=text, remedy="fetch-depth: 0", place=path, level="warning")


def _own_code(path: str, name: str, job: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Problem]:
    """What of the change runs before the gate, outside the wall."""
    for step in steps(job):
        run = str(step.get("run", ""))
        found = _OWN_BUILD.search(run)
        if found:
            text = f"job {name} runs code of the change outside the wall: {found.group().strip()}"
            remedy = "install from a worktree of base, as the template does; score.prepare runs behind the wall"
            yield Problem(detail=text, remedy=remedy, place=path)
        listed = _OWN_LIST.search(run)
        if listed:
            text = f"job {name} installs what the change lists in {listed[1]}"
            yield Problem(detail=text, remedy="take the list from a worktree of base", place=path, level="warning")
        if _INJECTED.search(run):
            text = f"a step of {name} pastes text of the pull request into its script"
            yield Problem(detail=text, remedy="give it as an environment variable", place=path)
        if str(step.get("uses", "")).startswith("./"):
            text = f"job {name} runs the change's own action {step['uses']}"
            yield Problem(detail=text, remedy="use it from another repository by its commit", place=path)
    if "self-hosted" in str(job.get("runs-on", "")):
        text = f"job {name} runs on a host of your own, which code of the change sees when it breaks out"
        yield Problem(detail=text, remedy="a fresh host for each run", place=path, level="warning")
    concurrency = document.get("concurrency")
    if isinstance(concurrency, dict) and _truthy(concurrency.get("cancel-in-progress")) and concurrency.get("group") == "github.workflow":
        text = "runs of different changes cancel each other"
        yield Problem(detail=text, remedy="put github.ref into the group", place=path, level="warning")


def _pins(path: str, name: str, job: Mapping[str, Any]) -> Iterator[Problem]:
    for use in (str(job.get("uses", "")), *(str(step.get("uses", "")) for step in steps(job))):
        if not use or use.startswith("./") or (use.startswith("docker://") and "@sha256:" in use) or _PINNED.match(use):
            continue
        text = f"job {name} uses {use}, which whoever owns it can change"
        yield Problem(detail=text, remedy="pin it by the full commit id", place=path)


def _decides(step: Mapping[str, Any]) -> bool:
    return bool(CALLS_GATE.search(str(step.get("run", "")))) or bool(_ACTION.search(str(step.get("uses", ""))))


def runs_gate(job: Mapping[str, Any]) -> bool:
    """Whether a job runs the gate: by command, or by an action of that name."""
    return any(_decides(step) for step in [*steps(job), {"uses": job.get("uses", "")}])


def _label(name: str, job: Mapping[str, Any]) -> str:
    return str(job.get("name") or name)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _truthy(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() not in ("", "false", "${{ false }}"))
