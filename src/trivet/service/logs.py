"""Structured logs: one JSON object a line on standard error, without secrets, bodies or headers."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

_SECRET = re.compile(r"trv_[\w-]{8,}|gh[a-z]_\w{16,}|glpat-[\w-]{8,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|(?<=://)[^/@\s]+@|(?i:bearer\s+)\S+")
_HIDDEN = re.compile(r"(?i)token|secret|password|authorization|cookie")
_NOISY = ("dbos", "alembic", "uvicorn.access", "httpx", "httpcore", "sqlalchemy")


def without_secrets(text: str) -> str:
    """A text with everything that looks like a credential taken out."""
    return _SECRET.sub("[hidden]", text)


def _hide(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if _HIDDEN.search(key):
            event[key] = "[hidden]"
        elif isinstance(value, str):
            event[key] = without_secrets(value)
    return event


def configure(*, level: int = logging.INFO) -> None:
    """Set the logs of this process up; libraries speak from warnings on, through the same door."""
    shared = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _hide,
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],  # type: ignore[list-item]
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _hide, structlog.processors.JSONRenderer()],
            foreign_pre_chain=[*shared[:-1], structlog.stdlib.add_logger_name],  # type: ignore[list-item]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _NOISY:
        quiet = logging.getLogger(name)
        quiet.handlers[:] = []
        quiet.propagate = True
        quiet.setLevel(logging.ERROR if name == "dbos" else logging.WARNING)


def log() -> structlog.typing.FilteringBoundLogger:
    """The logger of the service."""
    found: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return found
