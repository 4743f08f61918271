"""A fake forge behind a real HTTP server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx


@contextmanager
def served(handler: Callable[[httpx.Request], httpx.Response], prefix: str) -> Iterator[str]:
    """Give the address of an API that answers with ``handler``; a handler that raises a transport error drops the connection."""

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            url = f"http://{self.headers['host']}{self.path}"
            try:
                answer = handler(httpx.Request(self.command, url, headers=dict(self.headers.items()), content=body))
            except httpx.TransportError:
                self.close_connection = True
                return
            self.send_response(answer.status_code)
            for key, value in answer.headers.items():
                if key not in ("content-length", "date"):
                    self.send_header(key, value)
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _do  # noqa: N815 - names of the library

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{prefix}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
