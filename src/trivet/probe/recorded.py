"""Replay of recorded HTTP exchanges in a scored run. The wall stays closed: no socket leads anywhere.

Where the job names a folder of recordings, a connection to any host but this one leads to a pair of sockets, whose other end answers
from the recordings of the running test. That serves everything that speaks HTTP/1.1 over plain sockets (http.client, urllib, requests,
urllib3, httpx); TLS is left out on the way. What brings its own event loop over TLS is served through vcrpy where the project has it. A
request without a recording fails its test, even if the code under test swallows the error.
"""

import os
import socket
import ssl
import sys
import threading
import weakref
from importlib.util import find_spec

import pytest

from . import cassettes

_LOCAL = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "")
_LIBRARIES = ("aiohttp", "tornado")
_SMALL = 65536


class NotRecordedError(ConnectionError):
    """A request that has no recording."""


def install(job):
    """The plugin that gives each test its recordings."""
    return Player(os.path.join(job.root, job.extra["recorded"]), job.extra["recorded"])


class Player:
    """Knows the running test and what it asked in vain."""

    def __init__(self, folder, shown):
        self.folder, self.shown = folder, shown
        self.tape, self.missing, self.cassette = None, [], None
        Wires(self)

    def pytest_runtest_logstart(self, nodeid, location):
        """Another test: another tape."""
        self.tape, self.missing = cassettes.Tape(cassettes.path_of(self.folder, nodeid)), []

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        """Fail a test that asked for what was not recorded."""
        with self._vcr(item):
            outcome = yield
        if self.missing and outcome.excinfo is None:
            error = NotRecordedError("; ".join(dict.fromkeys(self.missing)))
            if hasattr(outcome, "force_exception"):
                outcome.force_exception(error)
            else:
                outcome._excinfo = (type(error), error, None)

    def ask(self, method, uri, body):
        """The response of one request.

        Raises NotRecordedError where there is none.
        """
        response = None if self.tape is None else self.tape.answer(method, uri, body)
        if response is None:
            why = self.tape.why_not(method, uri, body) if self.tape is not None else f"no test runs that may ask for {method} {uri}"
            self.missing.append(f"{why} (recordings of this test: {self._shown()})")
            raise NotRecordedError(self.missing[-1])
        return response

    def _shown(self):
        if self.tape is None or not self.tape.rows:
            return "none; `trivet record` makes them"
        return os.path.join(self.shown, os.path.relpath(self.tape.path, self.folder))

    def _vcr(self, item):
        """A cassette of vcrpy around a test whose libraries bring their own loop; nothing otherwise."""
        import contextlib

        path = self.tape.path if self.tape is not None else ""
        if not any(name in sys.modules for name in _LIBRARIES) or not os.path.exists(path) or find_spec("vcr") is None:
            return contextlib.nullcontext()
        import vcr

        player = vcr.VCR(record_mode="none", match_on=["trivet"], ignore_localhost=True)
        player.register_serializer("trivet", Serializer)
        player.register_matcher("trivet", same)
        return player.use_cassette(path, serializer="trivet")


def same(one, other):
    """Vcrpy's question whether two requests are one."""
    assert cassettes.key(one.method, one.uri, one.body) == cassettes.key(other.method, other.uri, other.body)


class Serializer:
    """Our files, as vcrpy reads and writes them."""

    @staticmethod
    def deserialize(text):
        """From a file."""
        import json

        data = json.loads(text)
        for row in data["interactions"]:
            row["request"]["body"] = cassettes.unpacked(row["request"].get("body"))
            row["response"]["body"] = {"string": cassettes.unpacked(row["response"].get("body"))}
        return data

    @staticmethod
    def serialize(data):
        """To a file."""
        rows = []
        for row in data["interactions"]:
            body = row["response"].get("body") or {}
            response = {**row["response"], "body": cassettes.packed(body.get("string") if isinstance(body, dict) else body)}
            rows.append({"request": {**row["request"], "body": cassettes.packed(row["request"].get("body"))}, "response": response})
        return cassettes.dumps(rows)


class _State:
    """One connection: where it seems to lead, whether it began TLS, and what was sent so far."""

    def __init__(self, other):
        self.other, self.address, self.tls, self.data = other, None, False, b""


class Wires:
    """Takes over sockets that would lead out."""

    def __init__(self, player):
        self.player, self.names, self.states = player, {}, weakref.WeakKeyDictionary()
        kind = socket.socket
        self.plain = {name: getattr(kind, name) for name in ("__init__", "connect", "connect_ex", "send", "sendall", "getpeername", "setsockopt")}
        for name in self.plain:
            setattr(kind, name, _bound(getattr(self, "_" + name.strip("_"))))
        kind.selected_alpn_protocol = kind.selected_npn_protocol = lambda _self: None
        kind.getpeercert = lambda _self, binary_form=False: b"" if binary_form else {}
        kind.version = lambda _self: "TLSv1.3"
        self.plain_lookup = socket.getaddrinfo
        socket.getaddrinfo = self._getaddrinfo
        plain_wrap = ssl.SSLContext.wrap_socket

        def wrap_socket(context, sock, *args, **kwargs):
            if sock in self.states:
                self.states[sock].tls = True
                return sock
            return plain_wrap(context, sock, *args, **kwargs)

        ssl.SSLContext.wrap_socket = wrap_socket

    def _init(self, sock, family=-1, type=-1, proto=-1, fileno=None):
        if fileno is None and family in (-1, socket.AF_INET, socket.AF_INET6) and type in (-1, socket.SOCK_STREAM, _STREAM):
            try:
                self.plain["__init__"](sock, family, type, proto, fileno)
            except OSError:
                self._pair(sock)  # the wall gives no socket that could lead anywhere
            return
        self.plain["__init__"](sock, family, type, proto, fileno)

    def _pair(self, sock):
        import _socket

        mine, other = _socket.socketpair()
        self.plain["__init__"](sock, socket.AF_UNIX, socket.SOCK_STREAM, 0, mine.detach())
        kept = socket.socket.__new__(socket.socket)
        self.plain["__init__"](kept, socket.AF_UNIX, socket.SOCK_STREAM, 0, other.detach())
        self.states[sock] = _State(kept)

    def _connect(self, sock, address):
        if not isinstance(address, tuple) or (str(address[0]) in _LOCAL and sock not in self.states):
            return self.plain["connect"](sock, address)
        if sock not in self.states:
            timeout, fd = sock.gettimeout(), sock.detach()
            os.close(fd)
            self._pair(sock)
            sock.settimeout(timeout)
        host = self.names.get(str(address[0]), str(address[0]))
        if host in _LOCAL:
            raise ConnectionRefusedError(111, "there is no network behind the wall")
        self.states[sock].address = (host, address[1])
        return None

    def _connect_ex(self, sock, address):
        try:
            return self._connect(sock, address) or 0
        except OSError as error:
            return error.errno or 111

    def _getpeername(self, sock):
        return self.states[sock].address if sock in self.states else self.plain["getpeername"](sock)

    def _setsockopt(self, sock, *args):
        return None if sock in self.states else self.plain["setsockopt"](sock, *args)

    def _getaddrinfo(self, host, port, family=0, type=0, proto=0, flags=0):
        name = host.decode() if isinstance(host, bytes) else host
        if name is None or name in _LOCAL or (isinstance(name, str) and name.replace(".", "").isdigit()):
            return self.plain_lookup(host, port, family, type, proto, flags)
        address = self.names.setdefault("of " + name, f"192.0.2.{1 + len(self.names) // 2 % 250}")
        self.names[address] = name
        number = int(port) if str(port).isdigit() else {"http": 80, "https": 443}.get(port, 0)
        return [(socket.AF_INET, type or socket.SOCK_STREAM, proto or 6, "", (address, number))]

    def _send(self, sock, data, *flags):
        if sock not in self.states:
            return self.plain["send"](sock, data, *flags)
        self._take(self.states[sock], bytes(data))
        return len(data)

    def _sendall(self, sock, data, *flags):
        if sock not in self.states:
            return self.plain["sendall"](sock, data, *flags)
        self._take(self.states[sock], bytes(data))
        return None

    def _take(self, state, data):
        state.data += data
        while True:
            request = parsed(state.data)
            if request is None:
                return
            method, target, headers, body, used = request
            state.data = state.data[used:]
            host, port = state.address
            scheme = "https" if state.tls else "http"
            name = headers.get("host") or (host if port in (80, 443) else f"{host}:{port}")
            uri = target if "://" in target else f"{scheme}://{name}{target}"
            answer = written(self.player.ask(method, uri, body), method)
            feed = self.plain["sendall"]
            if len(answer) <= _SMALL:
                feed(state.other, answer)
            else:
                threading.Thread(target=_feed, args=(feed, state.other, answer), daemon=True).start()


_STREAM = socket.SOCK_STREAM | getattr(socket, "SOCK_CLOEXEC", 0) | getattr(socket, "SOCK_NONBLOCK", 0)


def _feed(feed, other, answer):
    try:
        other.setblocking(True)
        feed(other, answer)
    except OSError:
        pass  # the client has hung up


def _bound(function):
    def method(sock, *args, **kwargs):
        return function(sock, *args, **kwargs)

    return method


def parsed(data):
    """Method, target, headers, body and length of the first request in some bytes; None where it is not there as a whole."""
    head, blank, rest = data.partition(b"\r\n\r\n")
    if not blank:
        return None
    lines = head.decode("latin-1").split("\r\n")
    method, target = [*lines[0].split(" "), "", ""][:2]
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = len(head) + 4
    if headers.get("transfer-encoding", "").lower() == "chunked":
        found = _chunks(rest)
        return None if found is None else (method, target, headers, found[0], length + found[1])
    size = int(headers.get("content-length") or 0)
    return None if len(rest) < size else (method, target, headers, rest[:size], length + size)


def _chunks(data):
    body, used = b"", 0
    while True:
        line, mark, _ = data[used:].partition(b"\r\n")
        if not mark:
            return None
        size = int(line.split(b";")[0], 16)
        start = used + len(line) + 2
        if len(data) < start + size + 2:
            return None
        body += data[start : start + size]
        used = start + size + 2
        if not size:
            return body, used


def written(response, method):
    """A recorded response as it goes over the wire: not encoded, and with its length."""
    body = cassettes.unpacked(response.get("body"))
    status = response.get("status") or {}
    code = int(status.get("code", 200))
    lines = [f"HTTP/1.1 {code} {status.get('message') or ''}".rstrip()]
    for name, values in (response.get("headers") or {}).items():
        if name.lower() not in ("transfer-encoding", "content-length", "connection"):
            lines += [f"{name}: {value}" for value in (values if isinstance(values, list) else [values])]
    if method == "HEAD":
        given = [value for name, value in (response.get("headers") or {}).items() if name.lower() == "content-length"]
        lines += [f"Content-Length: {value[0] if isinstance(value, list) else value}" for value in given[:1]]
        body = b""
    elif code >= 200 and code not in (204, 304):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body
