"""Is the required check required, and by whom can it be set? Read from what a forge says, or from an export of it.

Taken as they are: a ruleset of GitHub (one, or a list), the rules that are in force for a branch, the classic branch protection, and a
project of GitLab with its protected branches. Anything else is told as unreadable.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trivet.doctor.words import Check, Problem, told, unseen
from trivet.errors import UsageError

ACTIONS_APP = 15368
"""The number of GitHub's own App for Actions: every workflow of a repository speaks as it."""
_NAME = "required check"


@dataclass(slots=True)
class Facts:
    """What protects a branch. ``required``: (check, App or 0)."""

    required: list[tuple[str, int]] = field(default_factory=list)
    strict: bool = False
    queue: bool = False
    workflows: bool = False
    owner_review: bool = False
    stale_dismissed: bool = False
    locked_history: bool = False
    bypass: list[str] = field(default_factory=list)
    pushes: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)


def checks(rules: tuple[object, ...] | None, *, check: str, branch: str) -> Iterator[Check]:
    """The checks about what the forge requires."""
    if rules is None:
        remedy = "trivet doctor --ruleset FILE with an export, or --forge github|gitlab with a token that may read the settings"
        yield unseen(_NAME, f"whether {check} is required cannot be seen from the repository", remedy)
        return
    if any(_is_gitlab(row) for row in rules):
        yield from told(_NAME, _gitlab(rules, branch), held="pipelines must succeed, code owners must approve")
        return
    facts = Facts()
    for row in rules:
        gather(row, facts, branch)
    yield from told(_NAME, _required(facts, check, branch), held=f"{check} is required on {branch}, from one App")
    yield from told("code-owner review", _review(facts), held="code owners must approve, and a push takes approvals back")
    yield from told("who may set it", _setters(facts, check), held="no workflow of a branch can make the required check")
    yield from told("branch", _branch(facts, branch), held="nobody passes the rules, history cannot be rewritten")


def gather(row: object, facts: Facts, branch: str) -> None:
    """Add what one document says.

    Raises:
        UsageError: it is none of the known forms.
    """
    if isinstance(row, list):
        for one in row:
            gather(one, facts, branch)
    elif isinstance(row, dict) and isinstance(row.get("rules"), list):
        _ruleset(row, facts, branch)
    elif isinstance(row, dict) and "type" in row:
        _rule(row, facts)
    elif isinstance(row, dict) and {"required_status_checks", "enforce_admins", "required_pull_request_reviews"} & set(row):
        _classic(row, facts)
    else:
        hint = "an exported ruleset, the answer of `rules/branches/NAME`, or of `branches/NAME/protection`"
        raise UsageError("this is no protection of a branch that is known here", hint=hint)


def _ruleset(row: Mapping[str, Any], facts: Facts, branch: str) -> None:
    name = str(row.get("name", "a ruleset"))
    if row.get("enforcement", "active") != "active":
        facts.passed_over.append(f"{name} is {row.get('enforcement')}, not active")
        return
    if row.get("target", "branch") == "push":
        for rule in row["rules"]:
            if isinstance(rule, dict) and rule.get("type") == "file_path_restriction":
                facts.pushes += _strings(_parameters(rule).get("restricted_file_paths"))
        return
    if row.get("target", "branch") != "branch" or not _aims_at(row.get("conditions"), branch):
        facts.passed_over.append(f"{name} is not about {branch}")
        return
    for rule in row["rules"]:
        if isinstance(rule, dict):
            _rule(rule, facts)
    for actor in _objects(row.get("bypass_actors")):
        facts.bypass.append(f"{actor.get('actor_type', 'somebody')} {actor.get('actor_id') or ''}".strip() + f" in {name}")


def _rule(rule: Mapping[str, Any], facts: Facts) -> None:
    parameters = _parameters(rule)
    match rule.get("type"):
        case "required_status_checks":
            for one in _objects(parameters.get("required_status_checks")):
                facts.required.append((str(one.get("context", "")), _number(one.get("integration_id"))))
            facts.strict |= parameters.get("strict_required_status_checks_policy") is True
        case "pull_request":
            facts.owner_review |= parameters.get("require_code_owner_review") is True
            facts.stale_dismissed |= parameters.get("dismiss_stale_reviews_on_push") is True
        case "merge_queue":
            facts.queue = True
        case "workflows":
            facts.workflows = bool(parameters.get("workflows"))
        case "non_fast_forward":
            facts.locked_history = True
        case _:
            pass


def _classic(row: Mapping[str, Any], facts: Facts) -> None:
    status = _mapping(row.get("required_status_checks"))
    for one in _objects(status.get("checks")):
        facts.required.append((str(one.get("context", "")), _number(one.get("app_id"))))
    known = {name for name, _ in facts.required}
    facts.required += [(name, 0) for name in _strings(status.get("contexts")) if name not in known]
    facts.strict |= status.get("strict") is True
    review = _mapping(row.get("required_pull_request_reviews"))
    facts.owner_review |= review.get("require_code_owner_reviews") is True
    facts.stale_dismissed |= review.get("dismiss_stale_reviews") is True
    facts.locked_history |= not _mapping(row.get("allow_force_pushes")).get("enabled", False)
    if not _mapping(row.get("enforce_admins")).get("enabled", False):
        facts.bypass.append("administrators (enforce_admins is off)")


def _required(facts: Facts, check: str, branch: str) -> Iterator[Problem]:
    apps = [app for name, app in facts.required if name == check]
    if facts.workflows:
        return
    if not apps:
        others = ", ".join(sorted({name for name, _ in facts.required})) or "nothing"
        more = f" ({'; '.join(facts.passed_over)})" if facts.passed_over else ""
        remedy = "import .github/rulesets/trivet-branch.json (Settings, Rules, Rulesets, Import), which trivet init --github writes"
        yield Problem(detail=f"{check} is not required on {branch}; required: {others}{more}", remedy=remedy)
    elif not any(apps):
        text = f"{check} is required from anybody: whoever may write to the repository can set it to success"
        yield Problem(detail=text, remedy="bind the check to one App in the rule (integration_id)")
    if apps and not facts.strict and not facts.queue:
        text = "a change may merge with a verdict about an older base"
        yield Problem(detail=text, remedy="require branches to be up to date, or use a merge queue", level="warning")


def _review(facts: Facts) -> Iterator[Problem]:
    if not facts.owner_review:
        yield Problem(
            detail="code owners need not approve: CODEOWNERS protects nothing, and a workflow can be edited by the change it judges",
            remedy="require a pull request with review from code owners in the same ruleset",
        )
    elif not facts.stale_dismissed:
        text = "an approval outlives a push; the gate does not count it, the forge does"
        yield Problem(detail=text, remedy="dismiss stale approvals when new commits are pushed", level="warning")


def _setters(facts: Facts, check: str) -> Iterator[Problem]:
    from_actions = any(name == check and app == ACTIONS_APP for name, app in facts.required)
    guarded = any(path.rstrip("*/") in (".github", ".github/workflows") for path in facts.pushes)
    if from_actions and not facts.workflows and not guarded:
        yield Problem(
            detail=f"{check} is bound to Actions: whoever can push a branch with a workflow can make a check of that name",
            remedy="an organisation ruleset that runs the workflow from another repository, an App (trivet serve), or the push ruleset "
            "that trivet init --github writes",
            level="warning",
        )


def _branch(facts: Facts, branch: str) -> Iterator[Problem]:
    for who in dict.fromkeys(facts.bypass):
        yield Problem(detail=f"{who} may pass the rules", remedy="let nobody pass them; an owner changes the rule instead", level="warning")
    if not facts.locked_history:
        text = f"{branch} can be rewritten, and with it the base that policy and oracles are read from"
        yield Problem(detail=text, remedy="block force pushes in the same ruleset", level="warning")


def _gitlab(rules: Sequence[object], branch: str) -> Iterator[Problem]:
    project = next((row for row in rules if _is_gitlab(row)), {})
    rows = [one for row in rules for one in (row if isinstance(row, list) else [row]) if isinstance(one, dict)]
    branches = [one for one in rows if "push_access_levels" in one]
    if not isinstance(project, dict) or project.get("only_allow_merge_if_pipeline_succeeds") is not True:
        yield Problem(detail="a merge request may merge with a red pipeline", remedy="Settings, Merge requests: Pipelines must succeed")
    elif project.get("allow_merge_on_skipped_pipeline") is True:
        yield Problem(detail="a skipped pipeline counts as a success", remedy="Settings, Merge requests: turn off skipped pipelines")
    mine = [one for one in branches if fnmatch.fnmatchcase(branch, str(one.get("name", "")))]
    if not branches:
        text = f"whether {branch} asks for approval by code owners was not given"
        yield Problem(detail=text, remedy="give the answer of projects/ID/protected_branches as well", level="warning")
    elif not mine:
        yield Problem(detail=f"{branch} is not protected", remedy="Settings, Repository: protect it")
    elif not any(one.get("code_owner_approval_required") is True for one in mine):
        yield Problem(detail="code owners need not approve", remedy="require code owner approval on the protected branch")
    if any(one.get("allow_force_push") is True for one in mine):
        yield Problem(detail=f"{branch} can be rewritten", remedy="forbid force pushes on the protected branch", level="warning")


def _is_gitlab(row: object) -> bool:
    return isinstance(row, dict) and "only_allow_merge_if_pipeline_succeeds" in row


def _aims_at(conditions: object, branch: str) -> bool:
    names = conditions.get("ref_name") if isinstance(conditions, dict) else None
    if not isinstance(names, dict):
        return True  # an organisation's ruleset as the branch sees it carries no conditions
    ref = f"refs/heads/{branch}"

    def meets(pattern: str) -> bool:
        return pattern in ("~ALL", "~DEFAULT_BRANCH") or fnmatch.fnmatchcase(ref, pattern)

    return any(map(meets, _strings(names.get("include")))) and not any(map(meets, _strings(names.get("exclude"))))


def _parameters(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(rule.get("parameters"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: object) -> int:
    """The number of an App; 0, which is nobody's, for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
