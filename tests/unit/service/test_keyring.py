"""Tokens: hashed at rest, with scopes and an end."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from trivet.errors import ServiceError
from trivet.service import keyring
from trivet.service import tables as t
from trivet.service.store import Store


def make(store: Store, **more) -> tuple:
    wanted = {"name": "agent", "scopes": ["submit"], "repos": ["alpha"], "now": 100.0, "expires_at": 200.0} | more
    return keyring.new_token(store, **wanted)


def test_a_token_is_found_by_its_secret_until_it_ends(store: Store) -> None:
    token, secret = make(store)
    found = keyring.find_token(store, secret, 150.0)
    assert found is not None
    assert (found.id, found.scopes, found.repos) == (token.id, ("submit",), ("alpha",))
    assert keyring.find_token(store, secret, 200.0) is None
    assert keyring.find_token(store, secret + "x", 150.0) is None


def test_no_secret_is_in_the_store(store: Store) -> None:
    token, secret = make(store)
    session = keyring.open_session(store, token, 110.0, 50.0)
    with store.read() as c:
        rows = repr([*c.execute(select(t.tokens)).all(), *c.execute(select(t.sessions)).all()])
    assert secret not in rows
    assert secret.removeprefix(keyring.PREFIX) not in rows
    assert session not in rows


def test_a_revoked_token_is_dead_and_its_sessions_with_it(store: Store) -> None:
    token, secret = make(store)
    session = keyring.open_session(store, token, 110.0, 50.0)
    assert keyring.find_session(store, session, 120.0) is not None
    assert keyring.revoke(store, token.id, 120.0)
    assert not keyring.revoke(store, token.id, 121.0)
    assert keyring.find_token(store, secret, 121.0) is None
    assert keyring.find_session(store, session, 121.0) is None


def test_a_session_ends_by_itself_with_its_token_or_when_closed(store: Store) -> None:
    token, _ = make(store)
    short, long = keyring.open_session(store, token, 110.0, 10.0), keyring.open_session(store, token, 110.0, 1e6)
    assert keyring.find_session(store, short, 120.0) is None
    assert keyring.find_session(store, long, 199.0) is not None
    assert keyring.find_session(store, long, 200.0) is None
    keyring.close_session(store, long)
    assert keyring.find_session(store, long, 150.0) is None


@pytest.mark.parametrize("more", [{"scopes": []}, {"scopes": ["root"]}, {"repos": []}, {"repos": ["a b"]}, {"expires_at": 100.0}])
def test_a_token_that_could_do_nothing_or_anything_is_not_made(store: Store, more: dict) -> None:
    with pytest.raises(ServiceError):
        make(store, **more)


def test_use_is_noted_once_a_minute(store: Store) -> None:
    _, secret = make(store)
    keyring.find_token(store, secret, 110.0)
    keyring.find_token(store, secret, 120.0)
    assert keyring.tokens(store)[0].used_at == 110.0
    keyring.find_token(store, secret, 171.0)
    assert keyring.tokens(store)[0].used_at == 171.0
