"""One clear message where the library of an extra is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trivet.errors import UsageError


@contextmanager
def service_extra() -> Iterator[None]:
    """Import rooms of the service inside.

    Raises:
        UsageError: a library of the extra ``service`` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("trivet"):
            raise
        raise UsageError(f"the scoring service needs {error.name!r}", hint="pip install 'trivet[service]'") from None
