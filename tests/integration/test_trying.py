"""The last commits of real repositories, held against a policy that they never had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repos import VERDICTS, Repo
from trivet.cli import main
from trivet.errors import PolicyError, UsageError
from trivet.pace import Show, Tick
from trivet.trying import TryRequest, look_back

PLAIN = {
    "shop/__init__.py": "def price(n):\n    return n * 2\n",
    "tests/test_price.py": "import pytest\nfrom shop import price\n\n\ndef test_two():\n    assert price(1) == 2\n\n\n"
    "@pytest.mark.skip(reason='x')\ndef test_idle():\n    pass\n",
    "pyproject.toml": '[project]\nname = "shop"\ndependencies = []\n',
    "README.md": "# shop\n",
}


@pytest.fixture
def plain(tmp_path: Path) -> Repo:
    """A repository that knows nothing of trivet, with a commit of each kind."""
    repo = Repo(tmp_path / "repo")
    repo.commit(PLAIN, "begin")
    repo.commit({"shop/__init__.py": "def price(n):\n    return n + n\n"}, "code alone")
    repo.commit({"shop/__init__.py": "def price(n):\n    return 2 * n\n", "tests/test_price.py": "x = 1\n"}, "both")
    repo.commit({"tests/test_price.py": PLAIN["tests/test_price.py"]}, "tests alone")
    repo.commit({"README.md": "# the shop\n"}, "words")
    repo.commit({"pyproject.toml": PLAIN["pyproject.toml"].replace("[]", '["x"]'), "shop/more.py": ""}, "dependency")
    repo.commit({"shop/sitecustomize.py": "import os\n"}, "odd")
    return repo


class Seen(Show):
    def __init__(self) -> None:
        self.ticks: list[Tick] = []

    def tick(self, tick: Tick) -> None:
        self.ticks.append(tick)


def test_each_commit_is_told_apart_without_any_policy(plain: Repo) -> None:
    seen = Seen()
    found = look_back(TryRequest(repo=plain.root, count=200, show=seen))
    assert [(row.subject, row.word) for row in found.rows] == [
        ("odd", "needs an owner"),
        ("dependency", "blocked"),
        ("words", "nothing to score"),
        ("tests alone", "needs an owner"),
        ("both", "blocked"),
        ("code alone", "scored"),
    ]
    assert found.reasons("blocked") == [("TRV108", 1), ("TRV101", 1)]
    assert found.paths("blocked")[0][1] == 1
    assert (found.sealed, [site.function for site in found.skips]) == (1, ["test_idle"])
    assert 'source = ["/shop/**"]' in found.config
    assert 'oracle = ["/tests/**"' in found.config
    assert [(tick.done, tick.total) for tick in seen.ticks if not tick.over] == [(n, 6) for n in range(1, 7)]


def test_a_policy_that_is_considered_counts_for_every_commit(plain: Repo, tmp_path: Path) -> None:
    config = tmp_path / "considered.toml"
    config.write_text('schema = 1\n[zones]\nsource = ["/shop/**"]\noracle = ["/sealed/**", "/ci/**"]\ninert = ["/tests/**", "*.md"]\n[oracle]\nmanifest = "ci/MANIFEST.txt"\ndigests = []\n')
    found = look_back(TryRequest(repo=plain.root, count=200, config=config))
    assert found.counts() == {"scored": 2, "nothing to score": 2, "needs an owner": 1, "blocked": 1}
    assert (found.config, found.policy.source) == ("", str(config))
    config.write_text("schema = 1\n[zone]\n")
    with pytest.raises(PolicyError, match="zone"):
        look_back(TryRequest(repo=plain.root, config=config))


def test_a_repository_that_has_adopted_is_held_against_its_own_policy(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit(VERDICTS)
    repo.commit({"src/pkg/core.py": "def double(n):\n    return n + n\n", "tests/test_free.py": "x = 1\n"})
    found = look_back(TryRequest(repo=repo.root))
    assert ([row.word for row in found.rows], found.config, found.policy.preset) == (["blocked"], "", "verdicts")
    assert found.rows[0].reasons == (("TRV102", "tests/test_free.py"),), "a path in no zone is control"


def test_merges_count_as_what_they_brought_in(plain: Repo) -> None:
    plain.git("checkout", "-q", "-b", "side", "main~1")
    plain.commit({"shop/side.py": ""}, "side one")
    plain.commit({"tests/test_side.py": ""}, "side two")
    plain.git("checkout", "-q", "main")
    plain.git("merge", "-q", "--no-ff", "-m", "merge side", "side")
    first = look_back(TryRequest(repo=plain.root, count=1)).rows[0]
    assert (first.subject, first.word, first.reasons) == ("merge side", "blocked", (("TRV101", "tests/test_side.py"),))


def test_wrong_calls_are_told(plain: Repo) -> None:
    for request in (TryRequest(repo=plain.root, count=0), TryRequest(repo=plain.root, head="nowhere"), TryRequest(repo=plain.root, head="main~6")):
        with pytest.raises(UsageError):
            look_back(request)
    with pytest.raises(UsageError, match="cannot be read"):
        look_back(TryRequest(repo=plain.root, config=plain.root / "absent.toml"))


def test_the_command_prints_text_json_and_the_guess(plain: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "-n", "9", "--repo", str(plain.root)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("6 commits up to ")
    assert "blocked               2   33 %" in text
    assert "`trivet split`" in text
    assert "1 sealed tests are skipped today" in text
    assert main(["try", "--json", "--repo", str(plain.root)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["counts"]["blocked"], data["blocked_by"], data["policy"]["guessed"]) == (2, {"TRV108": 1, "TRV101": 1}, True)
    assert main(["try", "--print-config", "--repo", str(plain.root)]) == 0
    config = plain.root.parent / "guess.toml"
    config.write_text(capsys.readouterr().out)
    assert look_back(TryRequest(repo=plain.root, config=config)).counts() == look_back(TryRequest(repo=plain.root)).counts()


def test_nothing_of_the_repository_is_written(plain: Repo) -> None:
    before = sorted(path.relative_to(plain.root) for path in plain.root.rglob("*"))
    look_back(TryRequest(repo=plain.root))
    assert sorted(path.relative_to(plain.root) for path in plain.root.rglob("*")) == before
