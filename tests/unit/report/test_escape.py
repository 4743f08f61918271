from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from trivet.report import escape

ANY = st.text(st.characters(codec=None), max_size=60)


@given(ANY)
def test_a_line_holds_nothing_that_a_terminal_or_a_runner_obeys(text: str) -> None:
    shown = escape.line(text)
    shown.encode("utf-8")
    assert shown.isprintable() or not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in shown)
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown


def test_hidden_characters_become_visible() -> None:
    assert escape.line("a\x1b[31m\u202e\u200b\n\udcff") == "a\\x1b[31m\\u202e\\u200b\\n\\xff"


def test_a_long_text_is_bounded_and_says_by_how_much() -> None:
    assert escape.line("x" * 5000, 10) == "x" * 10 + "… (4990 more characters)"
    assert len(escape.name(b"y" * 1_000_000)) < 400


def test_several_lines_keep_their_breaks_and_count_the_rest() -> None:
    assert escape.lines("a\nb") == ("a", "b")
    assert escape.lines("a\nb\nc", rows=2) == ("a", "b… (2 more characters)")


@given(ANY)
def test_a_code_span_cannot_be_left(text: str) -> None:
    span = escape.code(text)
    fence = re.match(r"`+", span)
    assert fence
    inner = span[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in inner or "`" not in fence[0]
    assert "\n" not in span


def test_running_markdown_has_no_markup_mention_reference_or_link() -> None:
    shown = escape.markdown("<b>*x*</b> [t](u) @octocat #1 https://e.invalid www.e.invalid `c`")
    assert "<b>" not in shown
    assert "\\*x\\*" in shown
    assert "@o" not in shown
    assert "#1" not in shown
    assert "https://" not in shown
    assert "www.e" not in shown
    assert "[t](" not in shown


def test_a_workflow_command_cannot_be_continued() -> None:
    assert escape.command_property("a,line=9::x%0A\n") == "a%2Cline=9%3A%3Ax%250A\\n"
