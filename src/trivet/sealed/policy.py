"""The policy as base states it: a preset, ``trivet.toml``, ``.pyrefix-lanes.toml``, and the pytest configuration's ``python_files``.

Read strictly: what is unknown, misspelt, of the wrong type or out of range stops the gate with a message that names key, line and commit.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

import msgspec

from trivet.errors import PolicyError
from trivet.git import EXECUTABLE, FILE, Tree
from trivet.model import AdvisoryPolicy, Allow, Exclude, OraclePolicy, Override, OwnersPolicy, Policy, ScorePolicy, ZonePolicy
from trivet.sealed.policy_file import PolicyFile, ScoreTable, parse
from trivet.sealed.policy_lanes import read_lanes
from trivet.sealed.pytest_config import not_collected, python_files
from trivet.zones import Zones

POLICY_FILE = b"trivet.toml"
LANES_FILE = b".pyrefix-lanes.toml"
INERT = (
    "docs/**", "*.md", "*.rst", "LICENSE*", "AUTHORS*", "CHANGELOG*", "CHANGES*", "HISTORY*", "NEWS*", "changes/**", "changelog.d/**",
    "newsfragments/**", "benchmarks/**", ".gitignore", ".editorconfig", ".mailmap", "/*.egg-info/**", "/PKG-INFO",
)  # fmt: skip
ALLOW = Allow(
    path="pyproject.toml",
    keys=(
        *(f"project.{key}" for key in ("version", "description", "readme", "keywords", "classifiers", "urls", "authors", "maintainers")),
        *(f"tool.{name}" for name in ("ruff", "black", "isort", "mypy", "pyright", "towncrier")),
    ),
)
Preset = Literal["verdicts", "lanes"]


def read_policy(tree: Tree) -> Policy:
    """Read the whole policy of one tree (base's, or a work tree's for `seal` and `doctor`).

    Raises:
        PolicyError: a file cannot be read as a policy, or asks for less than the product promises.
    """
    data = _policy_file(tree)
    file = parse(data, POLICY_FILE.decode(), tree.label) if data is not None else PolicyFile(schema=1)
    named = file.preset or _preset(tree)
    policy = _verdicts(tree) if named == "verdicts" else _lanes(tree)
    if data is not None:
        policy = _overlaid(policy, file)
        policy = replace(policy, source=f"{POLICY_FILE.decode()} at {tree.label}")
    _refuse_open(policy, tree.label)
    policy = replace(policy, oracle=replace(policy.oracle, test_patterns=python_files(tree), not_collected=not_collected(tree)))
    return replace(policy, digest=digest_of(policy))


def _policy_file(tree: Tree) -> bytes | None:
    rows = tree.entries((POLICY_FILE,))
    if not rows:
        return None
    data = tree.read(POLICY_FILE) if rows[0].path == POLICY_FILE and rows[0].mode in (FILE, EXECUTABLE) else None
    if data is None:
        raise PolicyError(
            "trivet.toml is not a regular file", where=f"{POLICY_FILE.decode()} at {tree.label}", hint="put a regular file there"
        )
    return data


def digest_of(policy: Policy) -> str:
    """SHA-256 (hex) of the canonical JSON of all that the policy decides; its source does not count."""
    return hashlib.sha256(msgspec.json.encode(plain(replace(policy, digest="", source="")), order="sorted")).hexdigest()


def plain(policy: Policy) -> dict[str, Any]:
    """The policy as dictionaries, lists, text and numbers."""
    return dict(msgspec.to_builtins(policy))


def _refuse_open(policy: Policy, label: str) -> None:
    """Refuse manifests, ledger, and files of signers and keys that a patch could move together with production code."""
    zones, oracle = Zones(policy.zones), policy.oracle
    rows = [("oracle.manifest", oracle.manifest), ("oracle.leases", oracle.leases), *(("oracle.digests", path) for path in oracle.digests)]
    rows += [("owners.signers", policy.owners.signers), ("owners.keys", policy.owners.keys)]
    for key, path in rows:
        zone = zones.place(path.encode("utf-8", "surrogateescape")).zone if path else "oracle"
        if zone not in ("oracle", "control"):
            raise PolicyError(
                f"{key}: {path!r} lies in the {zone} zone, where a patch may write",
                where=f"{key}, {policy.source}" if label in policy.source else f"{key} at {label}",
                hint="add it to `zones.oracle`",
            )


def _preset(tree: Tree) -> Preset:
    if tree.read(LANES_FILE) is not None:
        return "lanes"
    if tree.entries((b"tests/sealed",)):
        return "verdicts"
    return "lanes" if tree.entries((b"tests/oracles",)) else "verdicts"


def _verdicts(tree: Tree) -> Policy:
    return Policy(
        preset="verdicts",
        source=f"preset verdicts at {tree.label}",
        digest="",
        zones=ZonePolicy(
            source=("src/**",),
            oracle=("tests/sealed/**", "fixtures/sealed/**", "/ci/flake_leases.json"),
            proposed=("tests/proposed/**",),
            inert=INERT,
            allow=(ALLOW,),
        ),
        oracle=OraclePolicy(
            manifest="tests/sealed/MANIFEST.txt",
            digests=("fixtures/sealed/MANIFEST.sha256",),
            leases="ci/flake_leases.json",
        ),
    )


def _lanes(tree: Tree) -> Policy:
    data = tree.read(LANES_FILE)
    blocking, advisory = ("tests/oracles", "tests/advisory")
    source = f"preset lanes at {tree.label}"
    if data is not None:
        blocking, advisory = read_lanes(data, LANES_FILE.decode(), tree.label)
        source = f"{LANES_FILE.decode()} at {tree.label}"
    # Without a src/ folder every Python file is production code that no other zone claims; inert folders come last and win.
    production = ("src/**",) if tree.entries((b"src",)) else ("*.py", "!/tests/**", *(f"!{pattern}" for pattern in INERT))
    return Policy(
        preset="lanes",
        source=source,
        digest="",
        zones=ZonePolicy(source=production, oracle=(f"/{blocking}/**",), proposed=(f"/{advisory}/**",), inert=INERT, allow=(ALLOW,)),
        oracle=OraclePolicy(
            manifest=None,
            digests=(f"{blocking}/fixtures/MANIFEST.sha256",),
            leases=f"{blocking}/flake_leases.json",
            generated=(f"/{blocking}/properties/**/test_*.py", f"/{blocking}/conftest.py"),
        ),
    )


def _overlaid(policy: Policy, file: PolicyFile) -> Policy:
    zones, oracle = policy.zones, policy.oracle
    if (table := file.zones) is not None:
        zones = ZonePolicy(
            source=_given(table.source, zones.source),
            oracle=_given(table.oracle, zones.oracle),
            proposed=_given(table.proposed, zones.proposed),
            inert=_given(table.inert, zones.inert),
            control=_given(table.control, zones.control),
            allow=_allowed(tuple(Allow(path=row.path, keys=row.keys) for row in table.allow or ()), zones.allow),
        )
    if (own := file.oracle) is not None:
        oracle = replace(
            oracle,
            manifest=oracle.manifest if own.manifest is None else own.manifest,
            digests=_given(own.digests, oracle.digests),
            leases=oracle.leases if own.leases is None else own.leases,
            max_lease_days=own.max_lease_days,
        )
    advisory = AdvisoryPolicy(**msgspec.structs.asdict(file.advisory)) if file.advisory is not None else policy.advisory
    owners = OwnersPolicy(**msgspec.structs.asdict(file.owners)) if file.owners is not None else policy.owners
    score = _score(file.score) if file.score is not None else policy.score
    return replace(policy, zones=zones, oracle=oracle, score=score, advisory=advisory, owners=owners)


def _given(value: tuple[str, ...] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    return default if value is None else value


def _allowed(rows: tuple[Allow, ...], defaults: tuple[Allow, ...]) -> tuple[Allow, ...]:
    """The policy's rows replace the default row of the same file."""
    named = {row.path for row in rows}
    return (*rows, *(row for row in defaults if row.path not in named))


def _score(table: ScoreTable) -> ScorePolicy:
    values = msgspec.structs.asdict(table)
    clock = values.pop("clock")
    values["env"] = tuple(sorted(table.env.items()))
    values["exclude"] = tuple(Exclude(id=row.id, reason=row.reason) for row in table.exclude)
    values["override"] = tuple(Override(path=row.path, isolation=row.isolation) for row in table.override)
    policy = ScorePolicy(**values)
    if clock is None:
        return policy
    return replace(policy, clock=clock.isoformat() if isinstance(clock, datetime) else clock, clock_asked=True)
