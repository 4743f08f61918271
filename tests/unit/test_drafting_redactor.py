"""What must not leave, and what may."""

from __future__ import annotations

import json

import pytest

from trivet.drafting_redactor import Redactor, iban, luhn, routing

GONE = {
    "aws": "key AKIAIOSFODNN7EXAMPLE used",
    "github": "token ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github fine": "github_pat_11ABCDEFG0abcdefghijklmnop_qrstuv",
    "gitlab": "glpat-xYz12345678901234567",
    "slack": "xoxb-123456789012-abcdefghijkl",
    "openai": "sk-proj-abcdefghijklmnop1234567890",
    "stripe": "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstu",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123",
    "bearer": "Authorization: Bearer abc.def-ghi_jkl",
    "url": "postgres://rosa:hunter2@db.example.org/shop",
    "password": "password = 'correct horse'",
    "api key": '"api_key": "0000-1111-2222"',
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc=\n-----END RSA PRIVATE KEY-----",
    "cut pem": "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA",
    "hex": "digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "dense": "Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1A",
    "e-mail": "mail from Rosa.Meyer+shop@mail.example.co.uk today",
    "card": "paid with 4111 1111 1111 1111 today",
    "card with dashes": "5500-0000-0000-0004",
    "amex": "378282246310005",
    "iban": "to DE89370400440532013000 now",
    "iban with blanks": "GB29 NWBK 6016 1331 9268 19",
    "routing": "bank 021000021",
    "home": 'File "/home/rosa/shop/src/pay.py", line 3',
    "field in a trace": "Order(customer='Rosa Meyer', total=3)",
    "field in a dictionary": "{'first_name': 'Rosa', 'n': 1}",
    "field unquoted": "surname: Meyer",
}
SECRETS = (
    "AKIAIOSFODNN7EXAMPLE", "ghp_0", "github_pat_11", "glpat-", "xoxb-", "sk-proj", "sk_live", "AIza", "eyJ", "abc.def", "hunter2", "correct horse",
    "0000-1111", "MIIE", "9f86d0", "Zm9vY", "Meyer", "4111", "5500", "378282", "DE89", "NWBK", "021000021", "Rosa", "rosa",
)  # fmt: skip
STAYS = (
    "ZeroDivisionError: division by zero",
    'File "src/shop/pay.py", line 412, in settle_all_of_the_open_orders_at_once',
    "order 4111111111111112 has no check digit of a card",
    "total == 123456789 and not 987654321",
    "2026-09-22T12:00:00Z, 1790000000.125, 1e-9",
    "DE00370400440532013000 is no account",
    "name=None, token=True",
    "tests/proposed/test_window.py::TestWindow::test_slides_over_the_edge[3-7]",
    "AssertionError: assert {'total': 12.5} == {'total': 13.0}",
)


@pytest.mark.parametrize("text", GONE.values(), ids=GONE.keys())
def test_what_must_not_leave_is_taken_out(text: str) -> None:
    found = Redactor().text(text)
    assert not [secret for secret in SECRETS if secret in found]
    assert "[" in found


@pytest.mark.parametrize("text", STAYS)
def test_what_a_test_needs_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_a_second_look_finds_nothing_more() -> None:
    redactor = Redactor()
    for text in GONE.values():
        once = redactor.text(text)
        assert redactor.text(once) == once


def test_equal_values_become_equal_words_in_sample_and_trace() -> None:
    redactor = Redactor(fields=["Customer.VatId"])
    sample = redactor.sample('{"orders": [{"fullName": "Ida Roth", "vatId": "X-77"}, {"fullName": "Ida Roth", "n": 3}]}')
    data = json.loads(sample)
    assert data["orders"][0]["fullName"] == data["orders"][1]["fullName"] == "[full_name 1]"
    assert (data["orders"][0]["vatId"], data["orders"][1]["n"]) == ("[vat_id 1]", 3)
    assert redactor.text("KeyError: Ida Roth (X-77)") == "KeyError: [full_name 1] ([vat_id 1])"


def test_columns_and_json_lines_are_understood() -> None:
    redactor = Redactor()
    assert redactor.sample("id,name,total\n1,Rosa Meyer,3\n2,Ida Roth,4\n3,a,b,c") == "id,name,total\n1,[name 1],3\n2,[name 2],4\n[line 1]"
    assert redactor.sample('{"email": "x"}\n{"n": 4111111111111111}\n') == '{"email": "[email 1]"}\n{"n": "[card 1]"}'


def test_nothing_of_a_sealed_file_leaves() -> None:
    fixture = '{"rates": [{"zone": "north", "price": 1250}, {"zone": "south", "price": 990}], "secret-value": "winterland"}'
    test = "def test_rate():\n    assert rate('north') == 1250\n"
    redactor = Redactor(sealed=[fixture, test])
    sample = json.loads(redactor.sample('{"mine": {"zone": "north", "price": 1250}, "other": {"zone": "north", "price": 1}}'))
    assert sample == {"mine": "[sealed]", "other": {"zone": "north", "price": 1}}
    trace = redactor.text(">       assert rate('north') == 1250\nE    assert 3 == 1250\nwinterland is cold")
    assert trace == "[sealed line]\nE    assert 3 == 1250\n[sealed] is cold"
    assert redactor.counts["sealed"] == 3


def test_checksums() -> None:
    assert (luhn("4111111111111111"), luhn("4111111111111112"), luhn("0000000000000000")) == (True, False, False)
    assert (iban("DE89 3704 0044 0532 0130 00"), iban("DE88370400440532013000")) == (True, False)
    assert (routing("021000021"), routing("021000022"), routing("991000021")) == (True, False, False)
