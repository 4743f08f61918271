"""Where objects may come from: no road into the network that the service stands in, and no credential where others could see it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trivet.errors import GitError, ServiceError
from trivet.service.fetching import checked, environment
from trivet.service.settings import Fetch, Repository

PUBLIC = "140.82.112.3"


def at(*addresses: str):
    return lambda _host, _port: addresses


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.5", "172.16.9.9", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1", "2002:0a00:0001::1", "255.255.255.255"],
)
def test_a_host_inside_this_network_is_not_reached(address: str) -> None:
    with pytest.raises(ServiceError, match="inside this network"):
        checked("https://git.example.org/a.git", Fetch(), at(address))
    with pytest.raises(ServiceError, match="inside this network"):
        checked("https://git.example.org/a.git", Fetch(), at(PUBLIC, address))


def test_a_private_host_is_reached_where_it_is_named() -> None:
    assert checked("https://git.internal/a.git", Fetch(private_hosts=("git.internal",)), at("10.0.0.1"))[1] == "10.0.0.1"


@pytest.mark.parametrize(
    "url",
    [
        "http://git.example.org/a.git", "git://git.example.org/a.git", "ext::sh -c id", "file:///etc", "/etc", "fd::7", "ftp://x/y", "git@host:a.git", "https:///a.git",
        "https://-oProxyCommand=id/a.git", "ssh://-oProxyCommand=id/a", "https://x\n.example/a", "https://x/a\0b", "HTTP://x/y", "helper::https://x/y", "", "https://x:99999/a",
        "https://x\\@10.0.0.1/",
    ],
)  # fmt: skip
def test_other_protocols_and_tricks_are_refused(url: str) -> None:
    with pytest.raises(ServiceError):
        checked(url, Fetch(), at(PUBLIC))


def test_files_are_repositories_only_where_the_settings_say_so() -> None:
    limits = Fetch(protocols=("file",))
    assert checked("/srv/git/a.git", limits)[1] == ""
    assert checked("file:///srv/git/a.git", limits)[1] == ""
    for url in ("https://x/y", "file://host/a", "relative/a.git"):
        with pytest.raises(ServiceError):
            checked(url, limits, at(PUBLIC))


def test_a_host_without_an_address_may_be_tried_again() -> None:
    with pytest.raises(GitError):
        checked("https://git.example.org/a", Fetch(), at())


def test_the_environment_of_git_pins_the_address_and_knows_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", "evil")
    monkeypatch.setenv("HTTPS_PROXY", "http://evil")
    secret = tmp_path / "token"
    secret.write_text("t0ken")
    secret.chmod(0o600)
    repo = Repository(name="a", url="https://git.example.org/a.git", token_file=secret)
    parts, address = checked(repo.url, Fetch(), at(PUBLIC))
    env = environment(repo, parts, address, tmp_path)
    config = {env[f"GIT_CONFIG_KEY_{i}"]: env[f"GIT_CONFIG_VALUE_{i}"] for i in range(int(env["GIT_CONFIG_COUNT"]))}
    assert config["http.curloptResolve"] == f"git.example.org:443:{PUBLIC}"
    assert config["http.followRedirects"] == "false"
    assert (config["protocol.allow"], config["protocol.https.allow"], env["GIT_ALLOW_PROTOCOL"]) == ("never", "always", "https")
    assert config["core.hooksPath"] == os.devnull
    assert config["submodule.recurse"] == config["fetch.recurseSubmodules"] == config["transfer.bundleURI"] == "false"
    assert "evil" not in repr(env)
    assert "t0ken" not in repr({key: value for key, value in env.items() if not key.startswith("GIT_CONFIG_VALUE")})


def test_ssh_checks_the_host_key_under_the_name_and_connects_to_the_pinned_address(tmp_path: Path) -> None:
    repo = Repository(name="a", url="ssh://git@git.example.org/a.git", ssh_key_file=Path("/k"), ssh_known_hosts_file=Path("/h"))
    parts, address = checked(repo.url, Fetch(), at(PUBLIC))
    command = environment(repo, parts, address, tmp_path)["GIT_SSH_COMMAND"]
    for words in (f"HostName={PUBLIC}", "HostKeyAlias=git.example.org", "StrictHostKeyChecking=yes", "BatchMode=yes", "-i /k", "UserKnownHostsFile=/h", "-F /dev/null"):
        assert words in command
