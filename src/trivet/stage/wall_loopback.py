"""An own loopback: brings ``lo`` up in the network namespace this process is in."""

from __future__ import annotations

import fcntl
import socket
import struct

_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 1


def raise_loopback() -> None:
    """Bring the loopback interface up; needs CAP_NET_ADMIN in the network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        row = fcntl.ioctl(handle, _SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", row)[1]
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
