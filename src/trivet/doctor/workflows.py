"""CI files that run the gate: found, parsed, and handed to who knows their kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trivet.doctor import workflow_github, workflow_gitlab
from trivet.doctor.words import Check, Problem, told, unseen
from trivet.git import Tree
from trivet.model import text_of

_NAME = "workflow"
LIMIT_B = 1_000_000
NODES_LIMIT = 100_000


def checks(tree: Tree, check: str) -> Iterator[Check]:
    """The checks of the CI files of a tree."""
    github = [path for path in _names(tree, b".github/workflows") if path.endswith((".yml", ".yaml"))]
    gitlab = [path for path in (".gitlab-ci.yml",) if tree.entries((path.encode(),))]
    if not github and not gitlab:
        remedy = "trivet init --github or --gitlab; a server or another CI cannot be seen from here"
        yield unseen(_NAME, "no workflow is in this repository", remedy)
        return
    if not can_parse():
        yield unseen(_NAME, "reading CI files needs PyYAML", "pip install 'trivet[forge]'")
        return
    if github:
        yield from _of_github(tree, github, check)
    if gitlab:
        yield from _of_gitlab(tree)


def _of_github(tree: Tree, paths: list[str], check: str) -> Iterator[Check]:
    broken: list[Problem] = []
    documents: dict[str, Mapping[str, Any]] = {}
    for path in paths:
        found = parsed(tree, path)
        if isinstance(found, str):
            broken.append(Problem(detail=found, remedy="mend the file; a forge runs none that it cannot read", place=path, level="warning"))
        else:
            documents[path] = found
    gates = {path: document for path, document in documents.items() if runs_gate(document)}
    if not gates:
        remedy = "trivet init --github, or leave it to a server"
        yield from told(_NAME, [*broken, Problem(detail="no workflow runs the gate", remedy=remedy, level="warning")], held="")
        return
    problems = [*broken]
    for path, document in gates.items():
        problems += workflow_github.problems(path, document, check)
    for path, document in documents.items():
        if path not in gates:
            problems += workflow_github.impostors(path, document, check)
    yield from told(_NAME, problems, held=f"{', '.join(gates)}: cannot be skipped, holds no secret, its actions are pinned")


def _of_gitlab(tree: Tree) -> Iterator[Check]:
    document: dict[str, Any] = {}
    broken: list[Problem] = []
    todo, done = [".gitlab-ci.yml"], set[str]()
    while todo:
        path = todo.pop(0)
        if path in done:
            continue
        done.add(path)
        found = parsed(tree, path)
        if isinstance(found, str):
            broken.append(Problem(detail=found, remedy="mend the file", place=path))
            continue
        document = {**found, **document}
        todo += workflow_gitlab.local_includes(found)
    yield from told(_NAME, [*broken, *workflow_gitlab.problems(document)], held="the job of the gate cannot be skipped or excused")


def runs_gate(document: Mapping[str, Any]) -> bool:
    """Whether a workflow runs the gate: by command, or by an action of that name."""
    jobs = document.get("jobs")
    if not isinstance(jobs, dict):
        return False
    return any(job_runs_gate(job) for job in jobs.values())


def job_runs_gate(job: object) -> bool:
    """Whether one job of a GitHub workflow runs the gate."""
    if not isinstance(job, dict):
        return False
    return workflow_github.runs_gate(job)


def can_parse() -> bool:
    """Whether YAML can be read here."""
    try:
        import yaml  # noqa: F401, PLC0415 - a part of an extra
    except ImportError:
        return False
    return True


def parsed(tree: Tree, path: str) -> Mapping[str, Any] | str:
    """The mapping that a YAML file holds, or why it cannot be read. Tags of a CI's own are kept as plain values."""
    import yaml  # noqa: PLC0415 - a part of an extra

    data = tree.read(path.encode("utf-8", "surrogateescape"))
    if data is None or len(data) > LIMIT_B:
        return f"{path} is missing or larger than {LIMIT_B} bytes"
    try:
        found = yaml.load(data, Loader=_loader())  # noqa: S506 - a safe loader with one more rule
    except (yaml.YAMLError, RecursionError, ValueError, UnicodeDecodeError) as error:
        return f"{path} is no YAML: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    if not isinstance(found, dict):
        return f"{path} holds no mapping"
    return found if _is_bounded(found) else f"{path} is too large when its anchors are followed"


def _is_bounded(value: object) -> bool:
    """Whether a value stays small when each anchor is written out."""
    todo, seen = [value], 0
    while todo:
        seen += 1
        if seen > NODES_LIMIT:
            return False
        one = todo.pop()
        if isinstance(one, dict):
            todo += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple, set)):
            todo += one
    return True


def _loader() -> Any:
    import yaml  # noqa: PLC0415 - a part of an extra

    # The safe loader; `on` stays a word, and unknown tags (`!reference`) give their content.
    made: Any = type("Loader", (yaml.SafeLoader,), {})

    def content(loader: Any, _suffix: str, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return loader.construct_scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_mapping(node, deep=True)

    made.add_multi_constructor("!", content)
    words = "tag:yaml.org,2002:bool"
    known = made.yaml_implicit_resolvers.items()
    made.yaml_implicit_resolvers = {key: [(tag, rule) for tag, rule in rules if tag != words] for key, rules in known}
    made.add_implicit_resolver(words, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), [*"tTfF"])
    return made


def _names(tree: Tree, folder: bytes) -> list[str]:
    return [text_of(entry.path) for entry in tree.entries((folder,))]
