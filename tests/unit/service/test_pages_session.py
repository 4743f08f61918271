"""Where one goes after signing in, and the proof of a form."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trivet.service.pages_session import form_proof, prove, safe_place

pytest.importorskip("litestar")


def request(cookies: dict[str, str] | None = None, **headers: str) -> SimpleNamespace:
    return SimpleNamespace(cookies=cookies or {}, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("place", ["/", "/scores?repo=a&word=blocked", "/scores/00ff", "/leases?repo=a%2Fb"])
def test_an_address_of_this_service_is_kept(place) -> None:
    assert safe_place(place) == place


@pytest.mark.parametrize(
    "place", ["", "//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/x\r\nset-cookie: a", "/login", "/logout", "/ x", "/" + "a" * 600]
)
def test_any_other_address_becomes_the_first_page(place) -> None:
    assert safe_place(place) == "/"


def test_a_proof_is_of_one_reader_and_cannot_be_guessed_from_nothing() -> None:
    mine, other = request({"trivet_session": "one"}), request({"trivet_session": "two"})
    prove(mine, form_proof(mine))
    assert form_proof(request()) == ""
    for asked, given in ((mine, form_proof(other)), (mine, ""), (request(), ""), (request(), form_proof(mine)), (mine, "\N{SNOWMAN}")):
        with pytest.raises(Exception, match="too old or not from here"):
            prove(asked, given)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_a_browser_that_says_that_a_form_is_from_elsewhere_is_believed(site) -> None:
    asked = request({"trivet_session": "one"}, sec_fetch_site=site)
    with pytest.raises(Exception, match="another site"):
        prove(asked, form_proof(asked))
