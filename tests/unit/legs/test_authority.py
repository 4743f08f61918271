"""Who stands behind an oracle change."""

from __future__ import annotations

import pytest

from trivet.legs.authority import Claim, Standing, judge, people_of
from trivet.model import Duty, Review, Signed

HEAD = "a" * 40
OTHER = "b" * 40
TEAM = (("oracle-owners", ("rosa", "ida")),)


def claim(*owners: str, path: bytes = b"tests/sealed/test_a.py", needed: int = 1, optional: bool = False) -> Claim:
    """One moved path with one rule."""
    return Claim(path=path, duties=(Duty(owners=owners, line=1, needed=needed, optional=optional),) if owners else ())


def stand(*claims: Claim, review: Review | None = None, signed: tuple[Signed, ...] = (), codeowners: str = "CODEOWNERS") -> Standing:
    """Judge with two commits in the change."""
    return judge(claims, head=HEAD, commits=(HEAD, OTHER), review=review, signed=signed, codeowners=codeowners)


def rules(standing: Standing) -> list[str]:
    """The rules that were found broken."""
    return [finding.rule for finding in standing.findings]


def test_an_author_in_the_owning_team_has_authority() -> None:
    """The team's members come from the review evidence."""
    standing = stand(claim("@oracle-owners"), review=Review(author="rosa", teams=TEAM))
    assert (rules(standing), standing.by) == ([], "author rosa")


def test_an_author_named_in_codeowners_has_authority() -> None:
    """A user needs no team."""
    assert rules(stand(claim("@Rosa"), review=Review(author="rosa"))) == []


def test_an_owner_who_approved_this_head_has_authority() -> None:
    """The author may be anybody."""
    assert rules(stand(claim("@oracle-owners"), review=Review(author="bot", teams=TEAM, approvals=(("ida", HEAD),)))) == []


@pytest.mark.parametrize(
    "review",
    [
        None,
        Review(author="bot"),
        Review(author="bot", labels=("oracle-pr", "approved"), teams=TEAM),
        Review(author="bot", teams=TEAM, approvals=(("ida", OTHER),)),
        Review(author="bot", teams=TEAM, approvals=(("ida", HEAD[:12]),)),
        Review(author="bot", teams=TEAM, approvals=(("bot", HEAD),)),
        Review(author="bot", teams=(("devs", ("bot",)),)),
        Review(author="ro\u017fa", teams=TEAM),
        Review(author="oracle-owners-second", teams=TEAM),
    ],
    ids=["nothing", "stranger", "label", "another commit", "short id", "own approval", "another team", "folded letter", "longer name"],
)
def test_nothing_else_is_authority(review: Review | None) -> None:
    """Labels, approvals of other commits, own approvals and look-alike names do not count."""
    assert rules(stand(claim("@oracle-owners"), review=review)) == ["TRV103"]


def test_a_path_without_an_owner_is_refused() -> None:
    """Nobody can speak for it, whoever approved or signed."""
    signed = (Signed(commit=HEAD, principal="rosa"), Signed(commit=OTHER, principal="rosa"))
    assert rules(stand(claim(), review=Review(author="rosa", teams=TEAM), signed=signed)) == ["TRV116"]


def test_each_path_needs_its_own_owner() -> None:
    """An owner of one path does not speak for another."""
    standing = stand(claim("@rosa"), claim("@ops", path=b".github/w.yml"), review=Review(author="rosa"))
    assert [finding.path for finding in standing.findings] == [b".github/w.yml"]


def test_a_rule_that_asks_for_two_people_needs_two() -> None:
    """The author counts once, however often the name comes."""
    one = Review(author="rosa", teams=TEAM, approvals=(("rosa", HEAD), ("Rosa", HEAD)))
    two = Review(author="rosa", teams=TEAM, approvals=(("ida", HEAD),))
    assert [rules(stand(claim("@oracle-owners", needed=2), review=review)) for review in (one, two)] == [["TRV103"], []]


def test_all_commits_signed_by_base_signers_are_authority() -> None:
    """One commit without a signature is enough to refuse."""
    first, second = Signed(commit=HEAD, principal="rosa"), Signed(commit=OTHER, principal="ida")
    assert rules(stand(claim("@x"), signed=(first, second))) == []
    assert rules(stand(claim("@x"), signed=(first, Signed(commit=OTHER, problem="no")))) == ["TRV103"]
    assert rules(stand(claim("@x"), signed=(first,))) == ["TRV103"]


def test_signatures_alone_count_where_base_has_no_codeowners() -> None:
    """A plain repository names its owners by keys."""
    signed = (Signed(commit=HEAD, principal="rosa"), Signed(commit=OTHER, principal="rosa"))
    assert rules(stand(claim(), signed=signed, codeowners="")) == []
    assert rules(stand(claim(), review=Review(author="rosa"), codeowners="")) == ["TRV116"]


def test_an_optional_section_alone_still_needs_one_of_its_owners() -> None:
    """Where a forge would ask nobody, one invited person has to speak."""
    assert rules(stand(claim("@x", optional=True), review=Review(author="bot"))) == ["TRV103"]
    assert rules(stand(claim("@x", optional=True), review=Review(author="x"))) == []


@pytest.mark.parametrize(
    ("owner", "people"),
    [
        ("@rosa", {"rosa"}),
        ("@Org/Oracle-Owners", {"rosa", "ida"}),
        ("@org/oracle-owners/deep", set()),
        ("@nobody/here", set()),
        ("@@maintainer", {"max"}),
        ("ida@example.com", {"ida@example.com", "ida"}),
    ],
)
def test_an_owner_stands_for_these_logins(owner: str, people: set[str]) -> None:
    """Users, teams with and without their organization, roles and addresses."""
    review = Review(author="x", teams=(*TEAM, ("@@maintainer", ("max",))), emails=(("ida", ("Ida@example.com",)),))
    assert people_of(owner, review) == people


def test_many_refusals_are_told_shortly() -> None:
    """A change of a thousand paths does not drown the report."""
    standing = stand(*(claim("@x", path=b"p%d" % number) for number in range(1000)))
    assert (len(standing.findings), standing.by) == (21, "")
