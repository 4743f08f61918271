"""Our own cases: each is judged as a user would, and must be judged as its case.toml says."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.cases import Case, judge, load
from trivet.rules import RULES

CASES = load()


@pytest.mark.corpus
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_gate_says_what_the_case_wants(case: Case, tmp_path: Path, case_cache: Path) -> None:
    assert not judge(case, tmp_path, cache=case_cache)


def test_every_case_names_rules_that_exist() -> None:
    for case in CASES:
        assert set(case.rules) | set(case.good) <= set(RULES), case.id
        assert case.story, case.id
        assert case.merge or case.rules, f"{case.id}: a blocked case names the rule that blocks it"


def test_a_quarter_of_the_cases_or_more_is_honest() -> None:
    assert 4 * sum(case.merge for case in CASES) >= len(CASES)
