"""Every escape attempt and every bomb, against every form of every wall: each tries to get out and must fail.

The attempts of one form run in one child (a batch takes under a second); each is then a test of its own.
"""

from __future__ import annotations

import dataclasses
import functools
import traceback

import pytest

import walls
from trivet.stage.wall_bombs import BOMBS, explode
from trivet.stage.wall_probes import Attempt, attempt_names, escapes, ground, unwalled

pytestmark = pytest.mark.kernel

NAMES = attempt_names()
FORMS = [pytest.param(form, marks=pytest.mark.xdist_group(form)) for form in walls.FORMS]


def tried(form: str, without: frozenset[str] = frozenset()) -> dict[str, Attempt]:
    """All attempts of one form, run once."""
    walls.require(form)
    rows = _tried(form, without)
    assert rows, f"the attempts of {form} could not be run; see test_all_attempts_come_to_an_answer"
    return rows


@functools.cache
def _tried(form: str, without: frozenset[str]) -> dict[str, Attempt]:
    def work() -> object:
        with ground(python=walls.interpreter(form)) as laid:
            return [dataclasses.astuple(row) for row in escapes(walls.make(form, without=without), laid)]

    try:
        return {row[0]: Attempt(*row) for row in walls.as_user_of(form, work)}
    except Exception:  # noqa: BLE001 - once; each attempt then says that it was not tried
        traceback.print_exc()
        return {}


def test_there_are_enough_attempts():
    """The suite holds at least sixty attempts of at least twelve kinds."""
    assert len(NAMES) >= 60
    assert len({name.partition("-")[0] for name in NAMES}) >= 12


@pytest.mark.parametrize("form", FORMS)
def test_all_attempts_come_to_an_answer(form):
    """No attempt breaks, and the batch is not ended by what it tries."""
    rows = tried(form)
    assert [row for row in rows.values() if row.state == "broken"] == []
    assert set(NAMES) <= set(rows)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_attempt_is_held(form, name):
    """The attempt does not get out."""
    row = tried(form)[name]
    assert row.state == "held", row.detail


def test_attempts_get_out_where_there_is_no_wall():
    """Without a wall most attempts succeed: what is held above is held by the wall."""
    with ground() as laid:
        rows = escapes(unwalled(), laid)
    got_out = {row.name for row in rows if row.state == "open"}
    assert len(got_out) >= (150 if walls.ROOT else 90), sorted({row.name for row in rows} - got_out)
    must = {
        "read-secret",
        "write-new",
        "around-symlink-write",
        "connect-tcp",
        "connect-udp",
        "connect-path",
        "connect-abstract",
        "signal-sibling",
        "inherited-session",
    }
    assert must - got_out == {"inherited-session"}, "a session of its own is had even without a wall"


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("ptrace", "call-ptrace"),
        ("keyctl", "call-keyctl"),
        ("add_key", "call-add_key"),
        ("io_uring_setup", "call-io_uring_setup"),
        ("shmget", "call-shmget"),
        ("semget", "call-semget"),
        ("socket", "socket-inet-stream"),
        ("socket", "socket-netlink-raw"),
        ("ioctl", "terminal-inject"),
        ("unshare", "namespace-user"),
        ("clone", "clone-user"),
        ("clone3", "clone-three"),
        ("kcmp", "call-kcmp"),
    ],
)
def test_a_planted_hole_turns_the_suite_red(rule, name):
    """A filter without one of its rules is found out by the attempt that the rule denies."""
    form = "kernel-root" if walls.ROOT else "kernel-user"
    row = tried(form, frozenset({rule}))[name]
    assert row.state == "open", row.detail


def test_a_path_too_many_turns_the_suite_red():
    """A secret that is readable by mistake is found out by the attempts that read."""
    form = "kernel-root" if walls.ROOT else "kernel-user"
    with ground() as laid:
        rows = {row.name: row for row in escapes(walls.make(form), laid, extra_reach=(laid.outside,))}
    assert rows["read-secret"].state == rows["around-symlink-read"].state == rows["around-dotdot"].state == "open"
    assert rows["write-new"].state == rows["metadata-chmod"].state == "held"


@pytest.mark.parametrize("form", FORMS)
def test_bombs_are_contained(form):
    """Each bomb stays within its limits, is ended in time, and leaves no process."""
    walls.require(form)

    def work() -> object:
        wall = walls.make(form)
        with ground(python=walls.interpreter(form)) as laid:
            return [(row.name, row.detail) for row in (explode(wall, laid, bomb) for bomb in BOMBS) if row.state != "held"]

    assert walls.as_user_of(form, work) == []
