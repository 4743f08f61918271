"""Who asks, and what they may: decided in one place. What is not granted is refused, and what may not be seen does not exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException, NotFoundException, PermissionDeniedException

from trivet.service import keyring
from trivet.service.rows import ScoreRow, TokenRow
from trivet.service.settings import Feedback, Repository, Scope, Settings
from trivet.service.store import Store

COOKIE = "trivet_session"
"""The cookie of a browser session; it counts for requests that change nothing, and for forms that prove their origin."""
Connection = ASGIConnection[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks. ``repos`` holds names, or ``*``; ``by`` is ``token``, ``session``, ``oidc`` or "" (nobody)."""

    who: str = ""
    by: str = ""
    scopes: frozenset[str] = frozenset()
    repos: frozenset[str] = frozenset()

    @property
    def known(self) -> bool:
        """Whether somebody named asks."""
        return bool(self.by)

    def holds(self, scope: Scope, repo: str) -> bool:
        """Whether the scope is granted for a repository; ``admin`` includes the others."""
        return (scope in self.scopes or "admin" in self.scopes) and (repo in self.repos or keyring.ALL in self.repos)

    @property
    def everywhere(self) -> bool:
        """Whether all repositories, those of the future included, are granted."""
        return keyring.ALL in self.repos


NOBODY = Principal()


def principal_of_token(token: TokenRow, by: str) -> Principal:
    """The principal behind a token."""
    return Principal(who=f"{token.name} ({token.id})", by=by, scopes=frozenset(token.scopes), repos=frozenset(token.repos))


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What decides: the store of tokens, the settings, the clock, and who can read a CI token."""

    store: Store
    settings: Settings
    clock: Callable[[], float]
    ci_token: Callable[[str], Principal | None] = lambda _: None

    def principal(self, connection: Connection) -> Principal:
        """Who asks.

        Raises:
            NotAuthorizedException: a credential was given and is not good (wrong, expired, revoked); it never falls back to nobody.
        """
        header = connection.headers.get("authorization", "")
        if header:
            kind, _, secret = header.partition(" ")
            if kind.lower() != "bearer" or not secret.strip():
                raise _unknown()
            return self._bearer(secret.strip())
        cookie = connection.cookies.get(COOKIE)
        if cookie:
            token = keyring.find_session(self.store, cookie, self.clock())
            if token is not None:
                return principal_of_token(token, "session")
        return NOBODY

    def _bearer(self, secret: str) -> Principal:
        if not secret.startswith(keyring.PREFIX):
            found = self.ci_token(secret)
            if found is None:
                raise _unknown()
            return found
        token = keyring.find_token(self.store, secret, self.clock())
        if token is None:
            raise _unknown()
        return principal_of_token(token, "token")

    def need(self, principal: Principal, scope: Scope, repo: str) -> Repository:
        """The repository, if the principal may do this with it.

        Raises:
            NotAuthorizedException: nobody asks and it is not public.
            NotFoundException: it is not listed, or not to be seen by this principal: the two cannot be told apart.
            PermissionDeniedException: it may be seen, but not this be done.
        """
        found = self.settings.repository(repo)
        public = found is not None and (found.public or self.settings.server.public)
        if scope == "read" and public and found is not None:
            return found
        if not principal.known:
            raise _unknown()
        if found is None or not (public or keyring.ALL in principal.repos or repo in principal.repos):
            raise NotFoundException("no such repository")
        if not principal.holds(scope, repo):
            raise PermissionDeniedException(f"this token lacks the scope {scope!r}")
        return found

    def need_everywhere(self, principal: Principal, scope: Scope) -> None:
        """Refuse a principal that does not hold a scope for all repositories.

        Raises:
            NotAuthorizedException: nobody asks.
            PermissionDeniedException: somebody asks who may not.
        """
        if not principal.known:
            raise _unknown()
        if not principal.everywhere or not principal.holds(scope, keyring.ALL):
            raise PermissionDeniedException(f"this needs a token with the scope {scope!r} for all repositories")

    def visible(self, principal: Principal) -> tuple[str, ...]:
        """The names of the repositories that the principal may read."""
        public = self.settings.server.public
        return tuple(repo.name for repo in self.settings.repositories if repo.public or public or principal.holds("read", repo.name))

    def may_read(self, principal: Principal, repo: str) -> bool:
        """Whether the principal may read the decisions of a repository."""
        return repo in self.visible(principal)

    def feedback(self, principal: Principal, repo: str) -> Feedback:
        """How much of a decision this principal may see: all for an admin of the repository, else what the settings say."""
        found = self.settings.repository(repo)
        if principal.holds("admin", repo):
            return "full"
        return "verdict" if found is None else found.feedback

    def need_score(self, principal: Principal, scope: Scope, score: ScoreRow | None) -> Repository:
        """The repository of a score, if the principal may do this; a score that may not be seen does not exist.

        Raises:
            NotAuthorizedException: nobody asks and it is not public.
            NotFoundException: there is none, or none for this principal.
            PermissionDeniedException: it may be seen, but not this be done.
        """
        if score is None:
            if not principal.known:
                raise _unknown()
            raise NotFoundException("no such score")
        try:
            return self.need(principal, scope, score.repo)
        except NotFoundException:
            raise NotFoundException("no such score") from None


def need_somebody(principal: Principal) -> None:
    """Refuse who comes without a credential.

    Raises:
        NotAuthorizedException: nobody asks.
    """
    if not principal.known:
        raise _unknown()


def _unknown() -> NotAuthorizedException:
    return NotAuthorizedException("a valid token is needed", headers={"WWW-Authenticate": 'Bearer realm="trivet"'})
