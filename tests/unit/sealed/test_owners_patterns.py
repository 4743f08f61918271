"""GitHub's patterns are those of gitignore but for one documented exception, and the last line that matches decides."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from trivet.sealed.owners import parse_owners

SEGMENTS = st.sampled_from(["a", "b", "*", "**", "a*", "*b", "?", "*.py", "a?b", "x.py", "a**b", "**a"])
PATTERNS = st.builds(
    lambda parts, front, end: front + "/".join(parts) + end, st.lists(SEGMENTS, min_size=1, max_size=3), st.sampled_from(["", "/"]), st.sampled_from(["", "/"])
)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "x.py", "aqb", "c", ".a"]), min_size=1, max_size=4).map("/".join)


@settings(max_examples=400)
@given(pattern=PATTERNS, path=PATHS)
def test_a_pattern_matches_what_gitignore_matches_but_for_direct_children(pattern: str, path: str) -> None:
    found = parse_owners(f"{pattern} @x\n".encode(), "github")
    if found.problems:
        return
    ours, theirs = bool(found.of(path.encode())), GitIgnoreSpec.from_lines([pattern]).match_file(path)
    if pattern.endswith("/*"):
        assert theirs or not ours  # "docs/*" takes direct children alone
    else:
        assert ours == theirs


@settings(max_examples=300)
@given(lines=st.lists(st.tuples(PATTERNS, st.sampled_from(["@a", "@b @c", ""])), min_size=1, max_size=5), path=PATHS)
def test_the_last_line_that_matches_decides_and_an_empty_one_releases(lines: list[tuple[str, str]], path: str) -> None:
    text = "".join(f"{pattern} {owners}\n" for pattern, owners in lines)
    found = parse_owners(text.encode(), "github")
    if found.problems:
        return
    said = [owners.split() for pattern, owners in lines if parse_owners(f"{pattern} @probe\n".encode(), "github").of(path.encode())]
    assert list(found.of(path.encode())) == (said[-1] if said else [])
