"""``/v1/hooks``: deliveries of forges. The signature is checked first; then a delivery says where to look, once, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from litestar import Request, Response, post
from litestar.datastructures import State
from litestar.exceptions import ClientException, NotAuthorizedException, NotFoundException
from litestar.params import PathParameter
from litestar.types import ControllerRouterHandler
from sqlalchemy import func, select

from trivet.errors import ForgeError, SignatureError
from trivet.forge.events import github_event, gitlab_event
from trivet.forge.words import Event
from trivet.service import forging
from trivet.service import tables as t
from trivet.service.answers import REFUSALS
from trivet.service.app import AtDesk, address
from trivet.service.desk import Desk
from trivet.service.settings import ForgeTable, Repository, read_secret

Reader = Callable[[Mapping[str, str], bytes, Sequence[str]], Event]
_READERS: dict[str, Reader] = {"github": github_event, "gitlab": gitlab_event}
_ID_LENGTH = 100


@post("/v1/hooks/{provider:str}", responses=REFUSALS, status_code=202, security=[{}], summary="Take a delivery of a forge")
async def take_delivery(
    provider: Annotated[str, PathParameter(max_length=20)], desk: AtDesk, request: Request[object, object, State]
) -> Response[dict[str, str]]:
    """Take a delivery: 401 without the webhook's secret, 202 otherwise. A second delivery of one id changes nothing."""
    body = await request.body()
    headers = {key.lower(): value for key, value in request.headers.items()}
    content = await asyncio.to_thread(_take, desk, provider, headers, body, address(request))
    return Response({"outcome": content}, status_code=202)


def _take(desk: Desk, provider: str, headers: Mapping[str, str], body: bytes, where: str) -> str:
    listed = [repo for repo in desk.settings.repositories if repo.forge == provider]
    table = {"github": desk.settings.forges.github, "gitlab": desk.settings.forges.gitlab}.get(provider)
    secrets = {secret for repo in listed for secret in _secrets(repo, table)}
    if not secrets:
        raise NotFoundException("no deliveries are taken here")
    read = _READERS[provider]
    try:
        event = read(headers, body, sorted(secrets))
        repo = next((repo for repo in listed if repo.forge_name.lower() == event.repository.lower()), None)
        if repo is not None:
            # The secret of one repository says nothing about another.
            read(headers, body, _secrets(repo, table))
            _same_repository(repo, event)
    except SignatureError as error:
        desk.audit.add(provider, "delivery", address=where, outcome="refused", at_once=True)
        raise NotAuthorizedException(error.message) from error
    except ForgeError as error:
        raise ClientException(error.message) from error
    if repo is None:
        return "not a listed repository"
    return _first_time(desk, provider, repo, event)


def _same_repository(repo: Repository, event: Event) -> None:
    if repo.repository_id and event.repository_id and repo.repository_id != event.repository_id:
        raise SignatureError("another repository has taken that name")


def _secrets(repo: Repository, table: ForgeTable | None) -> list[str]:
    files = [file for file in (repo.webhook_secret_file, table.webhook_secret_file if table else None) if file is not None]
    return [read_secret(file) for file in files]


def _first_time(desk: Desk, provider: str, repo: Repository, event: Event) -> str:
    if not event.delivery or len(event.delivery) > _ID_LENGTH:
        raise ClientException("a delivery without its id")
    key = f"{provider}:{event.delivery}"
    with desk.store.read() as c:
        if c.execute(select(func.count()).select_from(t.deliveries).where(t.deliveries.c.id == key)).scalar():
            return "known"
    outcome = "nothing to do"
    if forging.wanted(event):
        # The job has the delivery's id: a second one that comes in the same moment is the same job.
        desk.jobs.look(key, repo.name, event)
        outcome = "taken"
    with desk.store.write() as c:
        row = desk.store.upsert(t.deliveries).values(id=key, repo=repo.name, event=event.name[:60], at=desk.clock(), outcome=outcome)
        c.execute(row.on_conflict_do_nothing())
    desk.audit.add(provider, "delivery", repo=repo.name, target=key, outcome="granted")
    return outcome


def routes() -> list[ControllerRouterHandler]:
    """The handlers of this room."""
    return [take_delivery]
