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


_SHARED: list[structlog.typing.Processor] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    # Plain tracebacks: those with local variables would print what callers sent.
    structlog.processors.ExceptionRenderer(),
    _hide,
]


def configure(*, level: int = logging.WARNING) -> None:
    """Set up the logs of this process: libraries speak from warnings on, in the same form and place as the service."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _hide, structlog.processors.JSONRenderer()],
            foreign_pre_chain=[*_SHARED[:-1], structlog.stdlib.add_logger_name],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _NOISY:
        quiet = logging.getLogger(name)
        quiet.handlers[:] = []
        quiet.propagate = True
        quiet.setLevel(logging.ERROR if name == "dbos" else logging.WARNING)


def log() -> structlog.typing.FilteringBoundLogger:
    """The logger of the service; it needs no set-up, and none of another part of the process changes it."""
    made: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr),
        processors=[*_SHARED, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    return made


def flush() -> None:
    """Write what waits."""
    sys.stderr.flush()
    sys.stdout.flush()
