"""Is the required check required: exports of GitHub and GitLab, good and bad."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import trivet
from trivet.doctor.required import checks
from trivet.errors import UsageError

TEMPLATES = Path(trivet.__file__).parent / "templates"
BRANCH = json.loads((TEMPLATES / "ruleset-branch.json").read_text("utf-8").replace("@APP@", "15368"))
PUSH = json.loads((TEMPLATES / "ruleset-push.json").read_text("utf-8"))
CLASSIC = {
    "required_status_checks": {"strict": True, "contexts": ["trivet/join"], "checks": [{"context": "trivet/join", "app_id": 77}]},
    "enforce_admins": {"enabled": True},
    "required_pull_request_reviews": {"require_code_owner_reviews": True, "dismiss_stale_reviews": True},
    "allow_force_pushes": {"enabled": False},
}
GITLAB = {"only_allow_merge_if_pipeline_succeeds": True, "allow_merge_on_skipped_pipeline": False}
PROTECTED = {"name": "main", "push_access_levels": [], "code_owner_approval_required": True, "allow_force_push": False}


def told(*rules: object, branch: str = "main") -> list[str]:
    return [f"{row.level} {row.name}: {row.detail}" for row in checks(rules, check="trivet/join", branch=branch) if row.state == "open"]


def ruleset(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(BRANCH) | changes


def without(kind: str) -> dict[str, Any]:
    return ruleset(rules=[rule for rule in BRANCH["rules"] if rule["type"] != kind])


def parameter(kind: str, key: str, value: object) -> dict[str, Any]:
    made = ruleset()
    for rule in made["rules"]:
        if rule["type"] == kind:
            rule["parameters"][key] = value
    return made


def test_nobody_asked_is_unavailable() -> None:
    assert [row.state for row in checks(None, check="trivet/join", branch="main")] == ["unavailable"]


def test_the_rulesets_that_init_writes_hold() -> None:
    assert told(BRANCH, PUSH) == []


def test_rules_as_a_branch_shows_them_hold() -> None:
    assert told([*BRANCH["rules"], {"type": "workflows", "parameters": {"workflows": [{"path": "x.yml", "repository_id": 1}]}}]) == []


def test_classic_protection_holds() -> None:
    assert told(CLASSIC) == []


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([], "is not required on main; required: nothing"),
        ([without("required_status_checks")], "is not required"),
        ([ruleset(enforcement="evaluate")], "is evaluate, not active"),
        ([ruleset(enforcement="disabled")], "is disabled, not active"),
        ([ruleset(conditions={"ref_name": {"include": ["refs/heads/release/*"], "exclude": []}})], "is not about main"),
        ([ruleset(conditions={"ref_name": {"include": ["~ALL"], "exclude": ["refs/heads/main"]}})], "is not about main"),
        ([parameter("required_status_checks", "required_status_checks", [{"context": "ci/test"}])], "required: ci/test"),
        ([parameter("required_status_checks", "required_status_checks", [{"context": "trivet/join"}])], "required from anybody"),
        ([parameter("required_status_checks", "strict_required_status_checks_policy", False)], "warning required check: a change may merge"),
        ([BRANCH], "warning who may set it: trivet/join is bound to Actions"),
        ([without("pull_request")], "error code-owner review"),
        ([parameter("pull_request", "require_code_owner_review", False)], "error code-owner review"),
        ([parameter("pull_request", "dismiss_stale_reviews_on_push", False)], "warning code-owner review"),
        ([without("non_fast_forward")], "warning branch: main can be rewritten"),
        ([ruleset(bypass_actors=[{"actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "always"}])], "RepositoryRole 5 in trivet"),
        ([{**CLASSIC, "enforce_admins": {"enabled": False}}], "administrators"),
        ([{**CLASSIC, "required_status_checks": {"strict": True, "contexts": ["trivet/join"]}}], "required from anybody"),
        ([{**CLASSIC, "required_status_checks": {"strict": True, "checks": [{"context": "trivet/join", "app_id": -1}]}}], "required from anybody"),
        ([{**CLASSIC, "required_status_checks": None}], "is not required"),
        ([GITLAB, [{**PROTECTED, "code_owner_approval_required": False}]], "code owners need not approve"),
        ([GITLAB, [{**PROTECTED, "name": "release"}]], "main is not protected"),
        ([GITLAB, [{**PROTECTED, "allow_force_push": True}]], "can be rewritten"),
        ([GITLAB], "was not given"),
        ([{**GITLAB, "only_allow_merge_if_pipeline_succeeds": False}, [PROTECTED]], "red pipeline"),
        ([{**GITLAB, "allow_merge_on_skipped_pipeline": True}, [PROTECTED]], "skipped pipeline"),
    ],
)
def test_what_the_forge_leaves_open_is_told(rules: list[object], words: str) -> None:
    assert any(words in row for row in told(*rules)), told(*rules)


def test_gitlab_settings_hold() -> None:
    assert told(GITLAB, [PROTECTED, {**PROTECTED, "name": "release/*"}]) == []
    assert told(GITLAB, [{**PROTECTED, "name": "release/*"}], branch="release/1") == []


@pytest.mark.parametrize("row", ["x", 3, {"a": 1}, None])
def test_something_else_is_no_protection(row: object) -> None:
    with pytest.raises(UsageError, match="no protection"):
        told(row)
