"""The policy is read strictly, and every refusal names key, line and tree."""

from __future__ import annotations

import pytest

from trivet.errors import PolicyError
from trivet.git import PlainTree
from trivet.model import Policy
from trivet.sealed.policy import read_policy

SEALED = {b"tests/sealed/test_a.py": b"", b"src/a.py": b""}
LANES = b"""\
[lanes.advisory]
root = "tests/advisory"
merge = "report"

[lanes.blocking]
root = "tests/oracles"
merge = "required"
forbid_agent_writes = true
"""


def policy(toml: str | bytes | None = None, files: dict[bytes, bytes] | None = None) -> Policy:
    tree = dict(SEALED if files is None else files)
    if toml is not None:
        tree[b"trivet.toml"] = toml.encode() if isinstance(toml, str) else toml
    return read_policy(PlainTree(tree, label="base 0123456789ab"))


def refusal(toml: str | bytes) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        policy(toml)
    return caught.value


@pytest.mark.parametrize(
    ("files", "preset", "manifest"),
    [
        ({b"tests/sealed/test_a.py": b""}, "verdicts", "tests/sealed/MANIFEST.txt"),
        ({b"tests/oracles/properties/test_a.py": b""}, "lanes", None),
        ({b".pyrefix-lanes.toml": LANES}, "lanes", None),
        ({b".pyrefix-lanes.toml": LANES, b"tests/sealed/a": b""}, "lanes", None),
        ({b"x": b""}, "verdicts", "tests/sealed/MANIFEST.txt"),
    ],
)
def test_the_preset_follows_what_base_holds(files: dict[bytes, bytes], preset: str, manifest: str | None) -> None:
    found = policy(files=files)
    assert (found.preset, found.oracle.manifest) == (preset, manifest)


def test_a_named_preset_wins_over_what_base_holds() -> None:
    assert policy('schema = 1\npreset = "lanes"\n').preset == "lanes"


def test_tables_override_the_preset_key_by_key() -> None:
    found = policy(
        'schema = 1\n[zones]\nsource = ["lib/**"]\n[oracle]\nmax_lease_days = 7\n[score]\nseed = 3\nenv = { B = "2", A = "1" }\n'
    )
    assert found.zones.source == ("lib/**",)
    assert found.zones.oracle == policy().zones.oracle
    assert (found.oracle.max_lease_days, found.oracle.manifest) == (7, "tests/sealed/MANIFEST.txt")
    assert (found.score.seed, found.score.timeout_s, found.score.env) == (3, 600.0, (("A", "1"), ("B", "2")))


def test_everything_in_the_documented_example_is_read() -> None:
    found = policy(
        """
schema = 1
preset = "verdicts"
[zones]
source = ["src/**"]
oracle = ["tests/sealed/**"]
proposed = ["tests/proposed/**"]
inert = ["docs/**"]
control = ["deploy/**"]
[[zones.allow]]
path = "pyproject.toml"
keys = ["project.version"]
[oracle]
manifest = "tests/sealed/MANIFEST.txt"
digests = ["fixtures/sealed/MANIFEST.sha256"]
leases = "ci/flake_leases.json"
max_lease_days = 90
[score]
python = ".venv/bin/python"
paths = ["src", "."]
prepare = ["make", "build"]
clock = 2026-09-22T12:00:00Z
seed = 20260922
isolation = "split"
split_budget = 3
controls = "all"
wall = "kernel"
network = "loopback"
timeout_s = 600
test_timeout_s = 60.5
memory_b = 2_147_483_648
processes = 64
output_b = 10_485_760
reruns = 2
fresh = 10
vary = true
[[score.exclude]]
id = "tests/sealed/test_x.py::test_needs_display"
reason = "no display"
[[score.override]]
path = "tests/sealed/slow/**"
isolation = "shared"
[advisory]
timeout_s = 300
reruns = 2
coverage = false
[owners]
codeowners = "auto"
signers = "ci/oracle_owners"
"""
    )
    assert found.score.clock == "2026-09-22T12:00:00+00:00"
    assert found.score.clock_asked
    assert found.zones.allow[0].keys == ("project.version",)
    assert (found.score.exclude[0].reason, found.score.override[0].isolation, found.score.vary) == ("no display", "shared", True)
    assert (found.advisory.coverage, found.score.prepare) == (False, ("make", "build"))
    assert found.source == "trivet.toml at base 0123456789ab"


@pytest.mark.parametrize(
    ("toml", "message", "line"),
    [
        ("schema = 1\n[score]\ntimeout = 3\n", "score.timeout: unknown key", 3),
        ("schema = 1\nzone = 3\n", "zone: unknown key", 2),
        ("schema = 1\n[score]\nseed = 1\ntimeout_s = -1\n", "score.timeout_s: ", 4),
        ('schema = 1\n[score]\ntimeout_s = "5"\n', "score.timeout_s: ", 3),
        ('schema = 1\n[score]\nwall = "off"\n', "score.wall: ", 3),
        ("schema = 1\n[score]\nreruns = true\n", "score.reruns: ", 3),
        ("schema = 2\n", "schema: ", 1),
        ('preset = "verdicts"\n', "schema: is required", None),
        ('schema = 1\n[score]\nclock = "tomorrow"\n', "score.clock: ", 3),
        ('schema = 1\n[score]\nclock = "2026-09-22T12:00:00"\n', "score.clock: ", 3),
        ("schema = 1\n[score]\nclock = 2026-09-22T12:00:00\n", "score.clock: ", 3),
        ("schema = 1\n[score]\nclock = 5\n", "score.clock: ", 3),
        ('schema = 1\n[score]\nenv = { PYTHONPATH = "x" }\n', "score.env: ", 3),
        ('schema = 1\n[score.env]\nLD_PRELOAD = "x"\n', "score.env: ", 2),
        ('schema = 1\n[score]\npaths = ["../x"]\n', "score.paths: ", 3),
        ('schema = 1\n[oracle]\nmanifest = "/etc/passwd"\n', "oracle.manifest: ", 3),
        ("schema = 1\n[oracle]\nmax_lease_days = 0\n", "oracle.max_lease_days: ", 3),
        ("schema = 1\n[zones]\nsource = []\n", "zones.source: ", 3),
        ('schema = 1\n[zones]\noracle = ["  "]\n', "zones.oracle: ", 3),
        ('schema = 1\n[[zones.allow]]\npath = "trivet.toml"\nkeys = ["score"]\n', "zones.allow: ", 2),
        (
            'schema = 1\n[[score.exclude]]\nid = "a"\nreason = "r"\n[[score.exclude]]\nid = "b"\nreason = "r"\nwhy = 1\n',
            "score.exclude[1].why: unknown key",
            8,
        ),
        ('schema = 1\n[[score.exclude]]\nid = "a"\n', "score.exclude[0].reason: is required", 2),
    ],
)
def test_a_bad_value_is_refused_with_key_and_line(toml: str, message: str, line: int | None) -> None:
    error = refusal(toml)
    assert error.message.startswith(message)
    assert "at base 0123456789ab" in error.where
    assert (f" line {line} " in error.where) if line else "line" not in error.where
    assert error.exit_status == 2


@pytest.mark.parametrize(
    ("toml", "hint"),
    [
        ("schema = 1\n[score]\ntimeout = 3\n", "did you mean `timeout_s`?"),
        ("schema = 1\n[zones]\nmanifest = 3\n", "did you mean `oracle.manifest`?"),
        ("schema = 1\n[zoness]\nx = 3\n", "did you mean `zones`?"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest_name(toml: str, hint: str) -> None:
    assert refusal(toml).hint == hint


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        (b"schema = 1\n[score\n", "not TOML"),
        (b"schema = 1\nschema = 1\n", "not TOML"),
        (b"schema = 1\n# \xff\n", "not UTF-8"),
        (b"#" * (10 * 1024 * 1024 + 1), "bytes long"),
        (b"x = " + b"[" * 100_000, "not TOML"),
    ],
)
def test_what_is_no_policy_file_is_refused(toml: bytes, words: str) -> None:
    assert words in refusal(toml).message


def test_a_policy_that_is_a_link_or_a_folder_is_refused() -> None:
    link = PlainTree({b"trivet.toml": b"schema = 1"}, modes={b"trivet.toml": 0o120000})
    for tree in (link, PlainTree({b"trivet.toml/x": b""})):
        with pytest.raises(PolicyError, match="not a regular file"):
            read_policy(tree)


def test_a_manifest_where_a_patch_may_write_is_refused() -> None:
    error = refusal('schema = 1\n[oracle]\nmanifest = "src/MANIFEST.txt"\n')
    assert error.message == "oracle.manifest: 'src/MANIFEST.txt' lies in the source zone, where a patch may write"


def test_the_digest_follows_every_decision_and_nothing_else() -> None:
    same = policy("schema = 1\n[score]\nseed = 20260922\n")
    assert same.digest == policy().digest
    assert same.digest != policy("schema = 1\n[score]\nseed = 1\n").digest
    assert len(same.digest) == 64


def test_lanes_are_read_from_their_file() -> None:
    files = {
        b".pyrefix-lanes.toml": LANES.replace(b"tests/oracles", b"spec/hard").replace(b"tests/advisory", b"spec/soft/"),
        b"src/a.py": b"",
    }
    found = policy(files=files)
    assert (found.zones.oracle, found.zones.proposed) == (("/spec/hard/**",), ("/spec/soft/**",))
    assert found.oracle.leases == "spec/hard/flake_leases.json"
    assert found.oracle.generated == ("/spec/hard/properties/**/test_*.py", "/spec/hard/conftest.py")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        (b"forbid_agent_writes = true", b"forbid_agent_writes = false", "lanes.blocking.forbid_agent_writes"),
        (b"forbid_agent_writes = true", b"forbid_agent_writes = 1", "lanes.blocking.forbid_agent_writes"),
        (b"forbid_agent_writes = true\n", b"", "lanes.blocking.forbid_agent_writes"),
        (b'"required"', b'"report"', "lanes.blocking.merge"),
        (b'"report"', b'"required"', "lanes.advisory.merge"),
        (b"tests/advisory", b"tests", "lanes.advisory.root"),
        (b"tests/advisory", b"tests/oracles/x", "lanes.advisory.root"),
        (b"tests/oracles", b"../x", "lanes.blocking.root"),
        (b"forbid_agent_writes", b"forbid_agents", "lanes.blocking.forbid_agents"),
        (b"[lanes.advisory]", b"[lanes.extra]\n[lanes.advisory]", "lanes.extra"),
        (b"[lanes.advisory]", b"[lanes.advisoryy]", "lanes.advisoryy"),
    ],
)
def test_weaker_lanes_are_refused(old: bytes, new: bytes, key: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(files={b".pyrefix-lanes.toml": LANES.replace(old, new)})
    assert caught.value.message.startswith(key + ":")


@pytest.mark.parametrize(
    ("files", "patterns"),
    [
        ({}, ("test_*.py", "*_test.py")),
        ({b"pyproject.toml": b'[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n'}, ("check_*.py",)),
        ({b"pyproject.toml": b'[tool.pytest.ini_options]\npython_files = "a_*.py b_*.py"\n'}, ("a_*.py", "b_*.py")),
        ({b"setup.cfg": b"[tool:pytest]\npython_files =\n  t_*.py\n  u_*.py\n"}, ("t_*.py", "u_*.py")),
        ({b"tox.ini": b"[pytest]\npython_files = t_*.py\n", b"setup.cfg": b"[tool:pytest]\npython_files = u_*.py\n"}, ("t_*.py",)),
        ({b"tox.ini": b"[tox]\n", b"setup.cfg": b"[tool:pytest]\npython_files = u_*.py\n"}, ("u_*.py",)),
        ({b"pytest.ini": b"", b"tox.ini": b"[pytest]\npython_files = t_*.py\n"}, ("test_*.py", "*_test.py")),
        ({b"pyproject.toml": b"not toml", b"tox.ini": b"[pytest]\npython_files = t_*.py\n"}, ("t_*.py",)),
    ],
)
def test_test_files_are_named_as_bases_own_pytest_names_them(files: dict[bytes, bytes], patterns: tuple[str, ...]) -> None:
    assert policy(files=SEALED | files).oracle.test_patterns == patterns


def test_folders_that_pytest_does_not_enter_are_read() -> None:
    """``norecursedirs`` is read from base's own pytest configuration."""
    files = {b"pyproject.toml": b"[tool.pytest.ini_options]\nnorecursedirs = 'docs tests/typing'\n"}
    assert policy(files=SEALED | files).oracle.not_collected == ("docs", "tests/typing")
    assert policy(files=SEALED).oracle.not_collected == ()
