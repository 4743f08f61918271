"""The quick way of matching says what gitignore says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from trivet.zones_names import CONTROL_NAMES, CONTROL_PLACES
from trivet.zones_patterns import matcher

NAMES = st.sampled_from(
    ["src", "a", "b.md", "x.py", "LICENSE", "LICENSES", "docs", ".github", "setup.py", "setup", "a.egg-info", "é", "A", "uv.lock"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
FORMS = st.sampled_from(
    ["src/**", "/src/**", "src", "/src", "src/", "/src/", "src/a", "/src/a/**", "*.md", "/*.md", "LICENSE*", "/LICENSE*", "**/a", "a/**/x.py", "*", "**",
     "*.py", "a*b", "/a.egg-info/**", "/*.egg-info/**", "!src/a", "!*.md", "setup.*", "/setup.*", "docs/*.md", "é", "[ab]", "a?", "x.py", "", "# x", ".", "a b"]
)  # fmt: skip


@given(st.lists(FORMS, max_size=5), PATHS)
def test_matching_agrees_with_gitignore(patterns: list[str], path: str) -> None:
    assert matcher(tuple(patterns))(path) == GitIgnoreSpec.from_lines(patterns).match_file(path)


@given(PATHS)
def test_the_built_in_lists_agree_with_gitignore(path: str) -> None:
    for rows in (CONTROL_PLACES, CONTROL_NAMES):
        patterns = tuple(pattern for pattern, _ in rows)
        assert matcher(patterns)(path) == GitIgnoreSpec.from_lines(patterns).match_file(path)
