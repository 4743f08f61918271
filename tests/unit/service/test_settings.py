"""``service.toml``: unknown keys are refused, secrets are files."""

from __future__ import annotations

from pathlib import Path

import pytest

from trivet.errors import ServiceError
from trivet.service.settings import read_secret, read_settings, settings_of

REPO = {"name": "alpha", "url": "https://git.example.org/alpha.git"}


def of(**tables) -> object:
    return settings_of({"schema": 1, **tables}, Path("/srv/trivet"))


def test_nothing_but_the_schema_is_needed_and_nothing_is_public_then() -> None:
    settings = of(repositories=[REPO])
    assert settings.server.host == "127.0.0.1"
    assert not settings.server.public
    assert not settings.repositories[0].public
    assert settings.fetch.protocols == ("https", "ssh")
    assert settings.store_url == "sqlite:////srv/trivet/trivet-data/trivet.db"
    assert settings.jobs_url == "sqlite:////srv/trivet/trivet-data/jobs.db"
    assert settings.repository("alpha") is settings.repositories[0]
    assert settings.repository("beta") is None


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"servr": {}}, "did you mean 'server'"),
        ({"server": {"prot": 1}}, "did you mean 'port'"),
        ({"repositories": [{**REPO, "feedbak": "full"}]}, "did you mean 'feedback'"),
        ({"repositories": [{**REPO, "feedback": "all"}]}, "feedback"),
        ({"repositories": [{**REPO, "name": "../x"}]}, "name"),
        ({"repositories": [REPO, REPO]}, "twice"),
        ({"repositories": [{**REPO, "url": "https://me:pw@git.example.org/a.git"}]}, "token_file"),
        ({"repositories": [{**REPO, "branches": []}]}, "branches"),
        ({"repositories": [{**REPO, "forge": "github"}]}, "forge_name"),
        ({"store": {"url": "postgresql://u:secret@db/x"}}, "url_file"),
        ({"server": {"port": "80"}}, "port"),
        ({"oidc": [{"issuer": "https://i.example", "audience": "trivet"}]}, "keys_url"),
        ({"fetch": {"protocols": ["ext"]}}, "protocols"),
    ],
)
def test_a_wrong_key_is_refused_with_its_name(tables: dict, says: str) -> None:
    with pytest.raises(ServiceError) as caught:
        of(**tables)
    assert says in f"{caught.value.message} {caught.value.hint}"
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


def test_the_schema_is_named_and_known() -> None:
    for data in ({}, {"schema": 2}):
        with pytest.raises(ServiceError, match="schema"):
            settings_of(data, Path())


def test_a_file_is_read_with_paths_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text('schema = 1\n[store]\ndata = "d"\n[sign]\nkey_file = "k"\n')
    settings = read_settings(file)
    assert settings.store.data == tmp_path / "d"
    assert settings.sign.key_file == tmp_path / "k"
    file.write_text("schema = ")
    with pytest.raises(ServiceError, match="TOML"):
        read_settings(file)
    with pytest.raises(ServiceError, match="cannot be read"):
        read_settings(tmp_path / "none.toml")


def test_a_secret_that_others_can_read_is_none(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("s3cret\n")
    file.chmod(0o644)
    with pytest.raises(ServiceError) as caught:
        read_secret(file)
    assert "s3cret" not in caught.value.message
    file.chmod(0o600)
    assert read_secret(file) == "s3cret"
    file.write_text("\n")
    with pytest.raises(ServiceError, match="empty"):
        read_secret(file)
