"""Schemathesis over the API of a running service: whatever fits its description, and much that does not, is answered as described."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from needs import checker
from service_process import Place
from service_seed import seed
from trivet.service import reading
from trivet.service.settings import read_settings
from trivet.service.store import open_store

CHECKS = "not_a_server_error,response_schema_conformance,content_type_conformance,ignored_auth"


@pytest.mark.parametrize("examples", [6])
def test_no_request_breaks_the_api(tmp_path: Path, examples: int) -> None:
    program = checker("schemathesis")
    place = Place(tmp_path, heads=0, more="requests_per_minute = 1000000")
    (tmp_path / "service.toml").write_text((tmp_path / "service.toml").read_text().replace("[worker]", "[worker]\nembedded = false"))
    store = open_store(read_settings(tmp_path / "service.toml").store_url)
    seed(store, scores=30, repos=("alpha",))
    before = reading.scores(store, limit=500).rows
    running, address = place.serve()
    try:
        token = place.token("--scope", "submit", "--scope", "read", "--repo", "*")
        words = [program, "run", f"{address}/v1/openapi.json", "--url", address, "-H", f"Authorization: Bearer {token}", "--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "-n", str(examples), "--seed", "7", "--continue-on-failure", "--no-shrink", "--exclude-path-regex", "^(?!/v1/|/healthz|/readyz|/metrics|/badge)", "--warnings", "off"]  # fmt: skip
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"})
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert int(re.search(r"(\d+) generated", done.stdout)[1]) > 100, done.stdout[-2000:]
    finally:
        assert running.stop() == 0, running.said
        after = {row.id: row for row in reading.scores(store, limit=500).rows}
        store.close()
    assert all(after[row.id].merge == row.merge for row in before), "no decision is changed by any request"
    assert "Traceback" not in running.said
