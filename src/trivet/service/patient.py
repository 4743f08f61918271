"""HTTP connections that do not wait for ever: uvicorn times out between requests, not within the head of one."""

from __future__ import annotations

import asyncio
from typing import ClassVar, cast

from uvicorn.protocols.http.h11_impl import H11Protocol


class Patient(H11Protocol):
    """Hangs up where the head of a request is not there after ``seconds``, whether it comes byte by byte or not at all."""

    seconds: ClassVar[float] = 15.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on, unless a request is being answered now."""
        super().data_received(data)
        if self._answering():
            self._stop()
        else:
            self._wait()

    def on_response_complete(self) -> None:
        """Between requests uvicorn's own time-out counts."""
        super().on_response_complete()
        self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._stop()
        super().connection_lost(exc)

    def _answering(self) -> bool:
        cycle = getattr(self, "cycle", None)
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._answering() and not self.transport.is_closing():
            self.transport.close()


def patient_protocol(seconds: float) -> type[asyncio.Protocol]:
    """The protocol class for uvicorn with its patience, in seconds."""
    return cast("type[asyncio.Protocol]", type("Patient", (Patient,), {"seconds": seconds}))
