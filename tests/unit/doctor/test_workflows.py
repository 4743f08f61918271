"""CI files: the one that `trivet init` writes holds; each way of switching it off, excusing it or speaking through it is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import trivet
from trivet.doctor.workflows import parsed
from trivet.git import PlainTree
from unit.doctor.trees import rows, said

TEMPLATES = Path(trivet.__file__).parent / "templates"
GITHUB = (TEMPLATES / "github.yml").read_text("utf-8")
GITLAB = (TEMPLATES / "gitlab.yml").read_text("utf-8")
FLOW = ".github/workflows/trivet.yml"


def edited(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def test_the_templates_hold() -> None:
    assert [check.state for check in rows({FLOW: GITHUB}, "workflow")] == ["held"]
    assert [check.state for check in rows({".gitlab-ci.yml": GITLAB}, "workflow")] == ["held"]


def test_no_workflow_at_all_cannot_be_seen_and_one_that_does_not_judge_is_a_warning() -> None:
    assert [check.state for check in rows({}, "workflow")] == ["unavailable"]
    assert said({FLOW: "on: push\njobs:\n  a:\n    steps:\n      - run: pytest\n"}, "workflow").startswith("warning")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  pull_request:\n", "  pull_request:\n    paths: ['src/**']\n", "pull_request has a path filter"),
        ("  pull_request:\n", "  pull_request:\n    paths-ignore: ['docs/**']\n", "pull_request has a path filter"),
        ("  merge_group:\n", "  merge_group:\n    paths: ['src/**']\n", "merge_group has a path filter"),
        ("  pull_request:\n", "  pull_request:\n    types: [opened]\n", "leaves out"),
        ("  pull_request:\n", "  pull_request:\n    branches: [main]\n", "warning .github/workflows/trivet.yml pull_request is filtered by branches"),
        ("  pull_request:\n", "", "does not run for pull requests"),
        ("  merge_group:\n", "", "merge queue"),
        ("  pull_request:\n", "  pull_request_target:\n", "the repository's rights"),
        ("    if: ${{ always() }}\n    needs: gate\n    runs-on", "    needs: gate\n    runs-on", "a skipped job counts as a success"),
        ("    if: ${{ always() }}\n", "    if: ${{ success() }}\n", "a skipped job counts as a success"),
        ("    if: ${{ always() }}\n", "    if: ${{ always() && github.actor != 'bot' }}\n", "where it does not hold, the job is skipped"),
        ("    name: trivet/join\n", "    name: join\n", "no job is named trivet/join"),
        ("          RESULT: ${{ needs.gate.result }}\n", "          RESULT: success\n", "does not look at the result of gate"),
        ("    name: gate\n", "    name: gate\n    continue-on-error: true\n", "may fail (continue-on-error)"),
        ("      - name: Judge\n", "      - name: Judge\n        continue-on-error: true\n", "a step of gate may fail"),
        ("--report sarif=ci_out/trivet.sarif\n", "--report sarif=ci_out/trivet.sarif || true\n", "hides the exit status"),
        ("      - name: Judge\n", "      - name: Judge\n        if: github.actor != 'agent'\n", "runs its gate only if"),
        ("          BASE: ${{ github.event.pull_request.base.sha || github.event.merge_group.base_sha }}\n          HEAD", "          KEY: ${{ secrets.DEPLOY }}\n          HEAD", "holds a secret"),
        ("          BASE: ${{ github.event.pull_request.base.sha || github.event.merge_group.base_sha }}\n          HEAD", "          KEY: ${{ secrets['DEPLOY'] }}\n          HEAD", "holds a secret"),
        ("    name: gate\n    needs: review\n    runs-on: ubuntu-24.04\n    timeout-minutes: 30\n    permissions:\n      contents: read\n", "    name: gate\n    needs: review\n    permissions: write-all\n", "may write to the repository"),
        ("    timeout-minutes: 30\n    permissions:\n      contents: read\n", "    timeout-minutes: 30\n    permissions:\n      contents: read\n      checks: write\n", "may write to the repository"),
        ("          persist-credentials: false\n", "", "leaves the token"),
        ("          fetch-depth: 0\n", "", "is shallow"),
        ("actions/setup-python@e797f83bcb11b83ae66e0230d6156d7c80228e7c", "actions/setup-python@v6", "whoever owns it can change"),
        ("          python -m venv ../project\n", "          pip install -e .\n", "runs code of the change outside the wall: pip install -e ."),
        ("          python -m venv ../project\n", "          pip install '.[test]' .\n", "runs code of the change outside the wall"),
        ("          python -m venv ../project\n", "          make test\n", "runs code of the change outside the wall: make"),
        ("-r ../base/requirements-test.txt", "-r requirements-test.txt", "installs what the change lists in requirements-test.txt"),
        ("      - name: Judge\n", "      - run: echo ${{ github.event.pull_request.title }}\n      - name: Judge\n", "pastes text of the pull request"),
        ("      - name: Judge\n", "      - uses: ./.github/actions/prepare\n      - name: Judge\n", "the change's own action"),
        ("    name: gate\n    needs: review\n    runs-on: ubuntu-24.04\n", "    name: gate\n    needs: review\n    runs-on: [self-hosted, linux]\n", "a host of your own"),
    ],
)  # fmt: skip
def test_each_way_to_switch_a_github_workflow_off_is_told(old: str, new: str, words: str) -> None:
    assert words in said({FLOW: edited(GITHUB, old, new)}, "workflow")


def test_rights_that_nobody_took_away_are_a_warning() -> None:
    text = re.sub(r"(?m)^ *permissions:.*\n(^ +(contents|pull-requests): .*\n)*", "", GITHUB)
    assert "whatever rights the repository gives" in said({FLOW: text}, "workflow")


def test_a_job_of_another_workflow_with_the_name_of_the_check_is_told() -> None:
    other = "on: push\njobs:\n  x:\n    name: trivet/join\n    steps:\n      - run: exit 0\n"
    assert "does not judge" in said({FLOW: GITHUB, ".github/workflows/other.yml": other}, "workflow")


def test_a_workflow_that_cannot_be_read_is_told() -> None:
    assert "no YAML" in said({FLOW: GITHUB, ".github/workflows/b.yaml": "a: [1\n"}, "workflow")
    assert "no mapping" in said({FLOW: GITHUB, ".github/workflows/b.yaml": "- a\n"}, "workflow")


def test_the_action_counts_as_the_gate() -> None:
    text = "on: [pull_request, merge_group]\npermissions: {}\njobs:\n  trivet/join:\n    steps:\n      - uses: acme/trivet@" + "a" * 40 + "\n        with: {python: python3}\n"
    assert [check.state for check in rows({FLOW: text}, "workflow")] == ["held"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  allow_failure: false\n", "  allow_failure: true\n", "may fail (allow_failure)"),
        ("  allow_failure: false\n", "  allow_failure: {exit_codes: [1]}\n", "may fail (allow_failure)"),
        ("  allow_failure: false\n", "  when: manual\n", "waits for manual"),
        ('event"\n', 'event"\n      changes: [src/**]\n', "filtered by files"),
        ('event"\n', 'event"\n      allow_failure: true\n', "lets it fail"),
        ("  rules:\n", "  rules:\n    - if: $CI_MERGE_REQUEST_TITLE =~ /skip/\n      when: never\n", "the author of the change writes"),
        ("  rules:\n", "  only:\n    changes: [src/**]\n  x:\n", "filtered by files (only: changes)"),
        ('$CI_PIPELINE_SOURCE == "merge_request_event"', "$CI_COMMIT_BRANCH", "does not say that it runs for merge requests"),
        ('    GIT_DEPTH: "0"\n', '    X: "0"\n', "shallow clone"),
        ("codequality.json\n  artifacts", "codequality.json || true\n  artifacts", "hides the exit status"),
        ("    - python -m venv ../trivet\n", "    - echo $DEPLOY_TOKEN\n", "holds a secret"),
        ("    - python -m venv ../trivet\n", "    - set +e\n", "goes on after errors"),
        ("trivet:\n", "workflow:\n  rules:\n    - changes: [src/**]\ntrivet:\n", "whole pipeline is filtered"),
        ("trivet:\n", "workflow:\n  rules:\n    - if: $CI_COMMIT_MESSAGE =~ /wip/\n      when: never\ntrivet:\n", "whole pipeline is left out"),
        ("trivet:\n", "include:\n  - remote: https://ci.example/x.yml\ntrivet:\n", "others can change"),
        ("../trivet/bin/trivet gate", "echo gate", "no job runs the gate"),
        ("trivet:\n", ".trivet:\n", "no job runs the gate"),
    ],
)
def test_each_way_to_switch_a_gitlab_job_off_is_told(old: str, new: str, words: str) -> None:
    assert words in said({".gitlab-ci.yml": edited(GITLAB, old, new)}, "workflow")


def test_a_gitlab_job_is_seen_with_what_it_extends_and_includes() -> None:
    main = "include:\n  - local: /ci/trivet.gitlab-ci.yml\n.loose:\n  allow_failure: true\n"
    job = GITLAB.replace("  stage: test\n", "  extends: .loose\n").replace("  allow_failure: false\n", "")
    assert "may fail" in said({".gitlab-ci.yml": main, "ci/trivet.gitlab-ci.yml": job}, "workflow")
    assert [check.state for check in rows({".gitlab-ci.yml": main, "ci/trivet.gitlab-ci.yml": GITLAB}, "workflow")] == ["held"]


def test_tags_of_a_ci_and_the_word_on_are_plain_values() -> None:
    tree = PlainTree({b"x.yml": b"on: push\na: !reference [.b, script]\nyes: off\nt: true\n"})
    assert parsed(tree, "x.yml") == {"on": "push", "a": [".b", "script"], "yes": "off", "t": True}


def test_yaml_cannot_make_objects() -> None:
    found = parsed(PlainTree({b"x.yml": b"a: !!python/object/apply:os.system ['true']\n"}), "x.yml")
    assert isinstance(found, str)
