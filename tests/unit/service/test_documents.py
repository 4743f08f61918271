"""What is written about the service is true: every key, every file to deploy with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest
import yaml

from trivet.service import serving, settings

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "service.md").read_text("utf-8")
TABLES = {
    "server": settings.Server, "store": settings.StoreTable, "worker": settings.WorkerTable, "fetch": settings.Fetch, "repositories": settings.Repository,
    "oidc": settings.Oidc, "sign": settings.Sign, "forges": settings.Forges,
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_every_key_of_the_settings_is_explained(table: str) -> None:
    assert not [field.name for field in msgspec.structs.fields(TABLES[table]) if f"`{table}.{field.name}`" not in TEXT]
    known = {field.name for field in msgspec.structs.fields(TABLES[table])}
    assert set(re.findall(rf"`{table}\.(\w+)`", TEXT)) <= known, "a key that is explained exists"


def test_the_tables_below_are_explained_too() -> None:
    for kind in (settings.Oracle, settings.ForgeTable):
        assert not [field.name for field in msgspec.structs.fields(kind) if f"`{field.name}`" not in TEXT and f"`{field.name} =" not in TEXT]


def test_the_examples_are_settings(tmp_path: Path) -> None:
    for text in ((ROOT / "examples" / "service" / "service.toml").read_text("utf-8"), serving.example(tmp_path)):
        assert settings.settings_of(tomllib.loads(text), tmp_path).repositories[0].branches == ("main",)
        commented = re.sub(r"^# (?=\w+ =|\[)", "", text, flags=re.MULTILINE)
        settings.settings_of(tomllib.loads(commented), tmp_path)


def test_what_is_deployed_runs_without_privileges_and_gets_time_to_drain() -> None:
    folder = ROOT / "examples" / "service"
    compose = yaml.safe_load((folder / "compose.yaml").read_text("utf-8"))
    for name in ("server", "worker"):
        service = compose["services"][name]
        assert service["cap_drop"] == ["ALL"]
        assert service["command"][0] == {"server": "serve", "worker": "worker"}[name]
        assert int(service["stop_grace_period"].rstrip("s")) > settings.Server().drain_s
    objects = list(yaml.safe_load_all((folder / "kubernetes" / "trivet.yaml").read_text("utf-8")))
    deployments = [thing for thing in objects if thing["kind"] == "Deployment"]
    assert len(deployments) == 2
    for thing in deployments:
        pod = thing["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["terminationGracePeriodSeconds"] > settings.Server().drain_s
        assert pod["automountServiceAccountToken"] is False
        assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    unit = (folder / "trivet.service").read_text("utf-8")
    assert int(re.search(r"TimeoutStopSec=(\d+)", unit)[1]) > settings.Server().drain_s
