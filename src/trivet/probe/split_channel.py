"""Frames between judge and subject: length, kind, number, payload. Both sides load this file.

Judge to subject: requests (each is answered), and ``world`` and ``release`` (not answered). Subject to judge: ``reply`` or ``error`` with the
number of the request, ``noise`` (output, log records, warnings; before the reply that follows them), and ``callback`` (answered by the judge).
"""

import os
import struct

MAX_FRAME = 64 * 1024 * 1024
"""Longest frame in bytes."""
CHUNK = 262_144

_head = struct.Struct("<IBI")
HEAD = _head.size
_read, _write = os.read, os.write

CALL, METHOD, GET, SET, DELETE, IMPORT, FIND, BUILTIN, RELOAD, CLASS, PICKLE, AWAIT, ASK = range(1, 14)
WORLD, RELEASE, FORK, KILL = range(30, 34)
REPLY, ERROR, NOISE, CALLBACK = range(50, 54)


class Gone(Exception):
    """The other side has closed the channel, broke the protocol, or did not answer in time."""


class Channel:
    """One end of a stream socket."""

    def __init__(self, fd):
        self.fd = fd
        self.buf = b""

    def send(self, kind, number, payload):
        """Send one frame; raises Gone."""
        data = _head.pack(len(payload), kind, number) + payload
        try:
            sent = _write(self.fd, data)
            if sent != len(data):
                view = memoryview(data)[sent:]
                while view:
                    view = view[_write(self.fd, view):]
        except (OSError, ValueError) as error:
            raise Gone("the channel is closed (%s)" % error) from None

    def receive(self):
        """Wait for one frame: (kind, number, payload); raises Gone."""
        buf = self.buf
        while len(buf) < HEAD:
            buf = self._more(buf)
        length, kind, number = _head.unpack_from(buf)
        if length > MAX_FRAME:
            raise Gone("a message of %d bytes" % length)
        end = HEAD + length
        if len(buf) < end:
            parts, have = [buf], len(buf)
            while have < end:
                part = self._more(b"")
                parts.append(part)
                have += len(part)
            buf = b"".join(parts)
        self.buf = buf[end:]
        return kind, number, buf[HEAD:end]

    def _more(self, buf):
        try:
            data = _read(self.fd, CHUNK)
        except BlockingIOError:
            raise Gone("no answer in time") from None
        except (OSError, ValueError) as error:
            raise Gone("the channel is closed (%s)" % error) from None
        if not data:
            raise Gone("the other side has ended")
        return buf + data
