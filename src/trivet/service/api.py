"""All routes of the API; the dashboard's are in ``pages``."""

from __future__ import annotations

from litestar.types import ControllerRouterHandler

from trivet.service import api_hooks, api_repositories, api_scores


def routes() -> list[ControllerRouterHandler]:
    """The handlers of the API."""
    return [*api_scores.routes(), *api_repositories.routes(), *api_hooks.routes()]
