"""How the probe speaks: records on an inherited descriptor, written with references taken before any code under test was loaded."""

import os
import threading

from . import wire

_write, _getpid, _exit, _get_ident = os.write, os.getpid, os._exit, threading.get_ident


class Recorder:
    """Writes records; callable as ``emit(kind, **fields)``.

    Only the process that made it writes: a forked child that runs on into pytest leaves no trace. The descriptor is moved out of the low
    numbers and is not inherited by programs that tests start.
    """

    def __init__(self, fd, nonce):
        import fcntl

        self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)
        os.close(fd)
        self._nonce = nonce
        self._number = 0
        self._pid = _getpid()
        self._dump = wire.dump_record
        self._lock = threading.RLock()

    def __call__(self, kind, /, **fields):
        if _getpid() != self._pid:
            return
        with self._lock:
            line = self._dump(self._nonce, self._number, kind, fields)
            self._number += 1
            view = memoryview(line)
            while view:
                view = view[_write(self._fd, view) :]

    def close(self):
        """Write the closing message and end the process, without exit handlers of the code under test."""
        self("end", count=self._number)
        _exit(0)


def brief(error, limit=600):
    """Type and message of an exception in one bounded line; never raises an ordinary exception."""
    try:
        text = str(error)
    except Exception as inner:
        text = f"<str() raised {type(inner).__name__}>"
    return f"{type(error).__name__}: {text}"[:limit]
