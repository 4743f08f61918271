"""Tokens and sessions: made, found by digest, revoked. A secret is shown once and never stored."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

from sqlalchemy import RowMapping, delete, insert, select, update

from trivet.errors import ServiceError
from trivet.service import tables as t
from trivet.service.rows import TokenRow
from trivet.service.settings import Scope
from trivet.service.store import Store

PREFIX = "trv_"
ALL = "*"
SCOPES: tuple[Scope, ...] = ("submit", "read", "admin")
_USED_EVERY_S = 60.0


def digest(secret: str) -> str:
    """What is kept of a secret. It has 256 random bits: a plain hash is enough, there is nothing to guess."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def new_token(
    store: Store, *, name: str, scopes: Iterable[str], repos: Iterable[str], now: float, expires_at: float
) -> tuple[TokenRow, str]:
    """Make a token.

    Returns:
        What is kept, and the secret, which nobody can get a second time.

    Raises:
        ServiceError: an unknown scope, no repository, or an end in the past.
    """
    wanted, named = tuple(dict.fromkeys(scopes)), tuple(dict.fromkeys(repos))
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        raise ServiceError(f"no scope {unknown[0]!r}" if unknown else "a token needs a scope", hint="scopes: " + ", ".join(SCOPES))
    if not named or any(" " in repo for repo in named):
        raise ServiceError("a token is for named repositories, or for all with *")
    if expires_at <= now:
        raise ServiceError("the token would have expired before it is made")
    secret = PREFIX + secrets.token_urlsafe(32)
    row = {
        "id": secrets.token_hex(6), "name": name, "digest": digest(secret), "scopes": " ".join(wanted), "repos": " ".join(named),
        "made_at": now, "expires_at": expires_at,
    }  # fmt: skip
    with store.write() as c:
        c.execute(insert(t.tokens).values(row))
    return next(token for token in tokens(store) if token.id == row["id"]), secret


def tokens(store: Store) -> tuple[TokenRow, ...]:
    """All tokens, the newest first."""
    with store.read() as c:
        return tuple(_token(row) for row in c.execute(select(t.tokens).order_by(t.tokens.c.made_at.desc(), t.tokens.c.id)).mappings())


def find_token(store: Store, secret: str, now: float) -> TokenRow | None:
    """The token of a secret; None if it is unknown, expired or revoked."""
    with store.read() as c:
        row = c.execute(select(t.tokens).where(t.tokens.c.digest == digest(secret))).mappings().first()
    return _living(store, row, now)


def revoke(store: Store, identity: str, now: float) -> bool:
    """Revoke a token and end its sessions; False if there is none that lives."""
    with store.write() as c:
        done = c.execute(update(t.tokens).where(t.tokens.c.id == identity, t.tokens.c.revoked_at.is_(None)).values(revoked_at=now))
        c.execute(delete(t.sessions).where(t.sessions.c.token_id == identity))
        return done.rowcount > 0


def open_session(store: Store, token: TokenRow, now: float, seconds: float) -> str:
    """Open a session for a browser; gives its secret, which ends with the token at the latest."""
    secret = secrets.token_urlsafe(32)
    with store.write() as c:
        c.execute(delete(t.sessions).where(t.sessions.c.expires_at <= now))
        row = {"digest": digest(secret), "token_id": token.id, "expires_at": min(now + seconds, token.expires_at)}
        c.execute(insert(t.sessions).values(row))
    return secret


def find_session(store: Store, secret: str, now: float) -> TokenRow | None:
    """The token behind a session; None if the session or the token ended."""
    query = select(t.tokens).join(t.sessions).where(t.sessions.c.digest == digest(secret), t.sessions.c.expires_at > now)
    with store.read() as c:
        row = c.execute(query).mappings().first()
    return _living(store, row, now)


def close_session(store: Store, secret: str) -> None:
    """End a session."""
    with store.write() as c:
        c.execute(delete(t.sessions).where(t.sessions.c.digest == digest(secret)))


def _living(store: Store, row: RowMapping | None, now: float) -> TokenRow | None:
    if row is None or row["revoked_at"] is not None or row["expires_at"] <= now:
        return None
    if row["used_at"] is None or now - row["used_at"] > _USED_EVERY_S:
        with store.write() as c:
            c.execute(update(t.tokens).where(t.tokens.c.id == row["id"]).values(used_at=now))
    return _token(row)


def _token(row: RowMapping) -> TokenRow:
    known = {key: row[key] for key in ("id", "name", "made_at", "expires_at", "revoked_at", "used_at")}
    return TokenRow(scopes=tuple(row["scopes"].split()), repos=tuple(row["repos"].split()), **known)
