"""`trivet github`, `trivet gitlab` and `trivet doctor --forge` against fakes behind a real HTTP server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.github import TOKEN, FakeGitHub, oid
from fakes.gitlab import TOKEN as GITLAB_TOKEN
from fakes.gitlab import FakeGitLab
from fakes.server import served
from repos import VERDICTS, Repo
from trivet.cli import main
from trivet.report import files
from unit.forge.worlds import decision

BRANCH = json.loads((Path(files.__file__).parents[1] / "templates" / "ruleset-branch.json").read_text().replace("@APP@", "15368"))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    made = FakeGitHub()
    made.open(7, head="a")
    with served(made.handler, "/api/v3") as url:
        for name in ("GITHUB_EVENT_PATH", "GITHUB_EVENT_NAME", "GH_TOKEN", "TRIVET_GITHUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"GITHUB_API_URL": url, "GITHUB_REPOSITORY": "acme/rates", "GITHUB_TOKEN": TOKEN, "GITHUB_ACTIONS": "false"}.items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.fixture
def event(fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "event.json"
    path.write_bytes(fake.deliveries[0][1])
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    return path


def out(tmp_path: Path, head: str = "a", *, good: bool = True) -> str:
    files.write(decision(head, good=good), tmp_path / "out")
    return str(tmp_path / "out")


def test_pending_then_the_verdicts_then_nothing_to_change(fake: FakeGitHub, event: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["github", "check", "--pending"]) == 0
    assert set(fake.shown("a").values()) == {"in_progress"}
    assert main(["github", "check", "--from", out(tmp_path)]) == 0
    assert set(fake.shown("a").values()) == {"success"}
    capsys.readouterr()
    assert main(["github", "check", "--from", out(tmp_path)]) == 0
    assert "nothing to change" in capsys.readouterr().out


def test_a_head_that_moved_on_ends_with_3(fake: FakeGitHub, event: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake.push(7, "b")
    assert main(["github", "check", "--from", out(tmp_path)]) == 3
    assert main(["github", "comment", "--from", out(tmp_path)]) == 3
    assert "not published" in capsys.readouterr().out
    assert not fake.green
    assert not fake.comments


def test_a_change_that_was_aimed_elsewhere_after_the_job_began_gets_no_green(fake: FakeGitHub, event: Path, tmp_path: Path) -> None:
    fake.retarget(7, "release")
    assert main(["github", "check", "--from", out(tmp_path)]) == 3
    assert not fake.green


def test_by_number_the_judged_base_must_be_the_forges(fake: FakeGitHub, tmp_path: Path) -> None:
    assert main(["github", "check", "--number", "7", "--from", out(tmp_path)]) == 0
    fake.retarget(7, "release")
    assert main(["github", "check", "--number", "7", "--from", out(tmp_path)]) == 3


def test_one_comment_is_written_and_kept(fake: FakeGitHub, event: Path, tmp_path: Path) -> None:
    arguments = ["github", "comment", "--login", "trivet-app[bot]", "--from"]
    assert main([*arguments, out(tmp_path)]) == 0
    assert fake.comments == []
    assert main([*arguments, out(tmp_path, good=False)]) == 0
    assert main([*arguments, out(tmp_path)]) == 0
    assert len(fake.comments) == 1


def test_review_evidence_is_what_the_gate_reads(fake: FakeGitHub, event: Path, tmp_path: Path) -> None:
    from trivet.sealed.review import read_review

    repo = Repo(tmp_path / "repo")
    base = repo.commit({**VERDICTS, ".github/CODEOWNERS": "/tests/sealed/ @acme/quality @bob # @acme/nobody\n# @acme/old\n"})
    fake.teams["acme/quality"] = ["rosa"]
    fake.review(7, "rosa")
    target = tmp_path / "review.json"
    assert main(["github", "review", "--repo", str(repo.root), "--base", base, "--out", str(target)]) == 0
    review = read_review(target)
    assert review.approvals == (("rosa", oid("a")),)
    assert dict(review.teams)["acme/quality"] == ("rosa",)
    assert "acme/old" not in dict(review.teams)


@pytest.mark.parametrize("shape", ["merge", "squash", "more", "elsewhere"])
def test_approvals_are_carried_into_the_queue_only_for_what_was_approved(
    fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit({**VERDICTS, ".github/CODEOWNERS": "* @rosa\n"})
    repo.git("checkout", "-q", "-b", "change")
    head = repo.commit({"tests/sealed/test_core.py": "from pkg.core import double\n\n\ndef test_double():\n    assert double(3) == 6\n"})
    repo.git("checkout", "-q", "main")
    base = repo.commit({"README.md": "# moved on\n"})
    if shape == "merge":
        repo.git("merge", "-q", "--no-ff", "-m", "queue", "change")
    else:
        repo.git("merge", "-q", "--squash", "change")
        repo.commit({"src/pkg/extra.py": "x = 1\n"} if shape == "more" else {}, "queue")
    queued = repo.git("rev-parse", "HEAD")
    if shape == "elsewhere":
        head = oid("not in this clone")
    fake.pulls[7]["head"]["sha"] = head
    fake.review(7, "rosa")
    group = {"head_sha": queued, "head_ref": f"refs/heads/gh-readonly-queue/main/pr-7-{base}", "base_sha": base, "base_ref": "refs/heads/main"}
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"action": "checks_requested", "merge_group": group}))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
    assert main(["github", "review", "--repo", str(repo.root), "--base", base, "--out", str(tmp_path / "review.json")]) == 0
    found = json.loads((tmp_path / "review.json").read_text())
    assert found["author"] == "agent"
    assert found["approvals"] == ([{"login": "rosa", "commit": queued}] if shape in ("merge", "squash") else [])


@pytest.mark.parametrize(
    ("argv", "unset", "words"),
    [
        (["check", "--number", "7"], "GITHUB_TOKEN", "no token"),
        (["check", "--number", "7"], "GITHUB_API_URL", "--api URL"),
        (["check", "--number", "7"], "GITHUB_REPOSITORY", "--repository"),
        (["check"], "", "--number N"),
        (["check", "--number", "7", "--api", "http://git.example.org"], "", "without TLS"),
        (["check", "--number", "7", "--token-file", "nowhere"], "", "token file"),
        (["sing"], "", "invalid choice"),
    ],
)
def test_a_wrong_call_is_one_clear_message(
    fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv: list[str], unset: str, words: str
) -> None:
    if unset:
        monkeypatch.delenv(unset)
    assert main(["github", *argv, *(["--from", out(tmp_path)] if argv[0] == "check" else [])]) == 2
    assert words in capsys.readouterr().err


def test_the_token_is_in_no_message(fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "token"
    secret.write_text(TOKEN + "\n")
    monkeypatch.delenv("GITHUB_TOKEN")
    assert main(["github", "check", "--number", "99", "--token-file", str(secret), "--pending"]) == 3
    told = capsys.readouterr()
    assert "404" in told.err
    assert TOKEN not in told.err + told.out


def test_the_doctor_asks_the_forge(fake: FakeGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit({**VERDICTS, ".github/CODEOWNERS": "* @rosa\n"})
    arguments = ["doctor", "--only", "repository", "--json", "--repo", str(repo.root), "--forge", "github"]
    assert main(arguments) == 1
    rows = json.loads(capsys.readouterr().out)["checks"]
    assert any(row["name"] == "required check" and row["state"] == "open" and row["remedy"] for row in rows)
    fake.rules = [dict(rule) for rule in BRANCH["rules"]]
    fake.rulesets = [{"id": 1, **BRANCH}]
    assert main(arguments) == 0
    rows = json.loads(capsys.readouterr().out)["checks"]
    assert [row["state"] for row in rows if row["name"] == "required check"] == ["held"]


def test_the_doctor_reads_a_commit_and_an_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = Repo(tmp_path / "repo")
    good = repo.commit({**VERDICTS, ".github/CODEOWNERS": "* @rosa\n"})
    repo.commit({"tests/sealed/test_core.py": "def test_double():\n    assert True\n"})
    export = tmp_path / "ruleset.json"
    export.write_text(json.dumps(BRANCH))
    arguments = ["doctor", "--only", "repository", "--repo", str(repo.root), "--ruleset", str(export)]
    assert main([*arguments, "--rev", good]) == 0
    assert main([*arguments, "--rev", good, "--strict"]) == 1
    assert main(arguments) == 1
    assert "holds whatever production code does" in capsys.readouterr().out
    export.write_text("[")
    assert main(arguments) == 2


def test_gitlab_from_review_to_statuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeGitLab()
    fake.open(4, head="a")
    fake.approve(4, "rosa")
    fake.protected = [{"name": "main", "push_access_levels": [], "code_owner_approval_required": True}]
    repo = Repo(tmp_path / "repo")
    base = repo.commit({**VERDICTS, ".gitlab-ci.yml": "", "CODEOWNERS": "* @rosa\n"})
    with served(fake.handler, "/api/v4") as url:
        for name, value in {"CI_API_V4_URL": url, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "4", "GITLAB_TOKEN": GITLAB_TOKEN}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("TRIVET_GITLAB_TOKEN", raising=False)
        target = tmp_path / "review.json"
        assert main(["gitlab", "review", "--repo", str(repo.root), "--base", base, "--out", str(target)]) == 0
        assert json.loads(target.read_text())["approvals"] == [{"login": "rosa", "commit": oid("a")}]
        assert main(["gitlab", "check", "--pending"]) == 0
        assert main(["gitlab", "check", "--from", out(tmp_path)]) == 0
        assert main(["gitlab", "comment", "--always", "--from", out(tmp_path)]) == 0
        assert set(fake.shown("a").values()) == {"success"}
        fake.push(4, "b")
        assert main(["gitlab", "check", "--from", out(tmp_path)]) == 3
        assert main(["doctor", "--only", "repository", "--repo", str(repo.root), "--forge", "gitlab"]) in (0, 1)
    assert len(fake.green) == 1
