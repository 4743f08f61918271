"""Documents of any shape: CI files and exports are other people's, and a doctor that falls over says nothing."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from trivet.doctor import workflow_github, workflow_gitlab, workflows
from trivet.doctor.required import checks
from trivet.errors import UsageError
from trivet.git import PlainTree

KEYS = st.sampled_from(
    ["on", "jobs", "name", "needs", "if", "steps", "run", "uses", "with", "env", "permissions", "runs-on", "continue-on-error", "secrets", "pull_request", "merge_group", "types", "paths", "include", "script", "rules", "allow_failure", "when", "only", "extends", "variables", "workflow", "changes", "parameters", "required_status_checks", "context", "integration_id", "enforcement", "target", "conditions", "ref_name", "bypass_actors", "checks", "app_id", "required_pull_request_reviews", "enforce_admins", "push_access_levels", "type", "only_allow_merge_if_pipeline_succeeds"]
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 99_999), st.text(max_size=4),
    st.sampled_from(["trivet gate", "trivet/join", "acme/trivet@v1", "always()", "pip install .", "active", "branch", "push", "pull_request", "~ALL"]),
)  # fmt: skip
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)), max_leaves=25)


@settings(max_examples=150)
@given(document=st.dictionaries(KEYS, VALUES, max_size=6), job=st.dictionaries(KEYS, VALUES, max_size=6))
def test_no_ci_file_makes_the_doctor_fall_over(document: dict[str, object], job: dict[str, object]) -> None:
    github = {**document, "jobs": {"a": {**job, "steps": [{"run": "trivet gate"}, job]}, "trivet/join": {**job, "needs": "a"}}}
    assert workflows.runs_gate(github)
    for one in (document, github):
        said = [*workflow_github.problems("x.yml", one, "trivet/join"), *workflow_github.impostors("x.yml", one, "trivet/join")]
        assert all(type(problem).__name__ == "Problem" for problem in said)
    said = list(workflow_gitlab.problems({**document, "trivet": {**job, "script": ["trivet gate"]}}))
    assert all(type(problem).__name__ == "Problem" for problem in said)
    assert all(isinstance(path, str) for path in workflow_gitlab.local_includes(document))


@settings(max_examples=150)
@given(rows=st.lists(VALUES, max_size=3))
def test_no_export_makes_the_doctor_fall_over(rows: list[object]) -> None:
    with contextlib.suppress(UsageError):
        list(checks(tuple(rows), check="trivet/join", branch="main"))


def test_anchors_that_grow_without_end_are_told() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    for text in (bomb, "a: &a [*a]\n", "a: &a {b: *a}\n"):
        found = workflows.parsed(PlainTree({b"x.yml": text.encode()}), "x.yml")
        assert isinstance(found, str)
        assert "anchors" in found or "no YAML" in found


def test_a_deep_document_is_told() -> None:
    assert isinstance(workflows.parsed(PlainTree({b"x.yml": b"a: " + b"[" * 50_000}), "x.yml"), str)
