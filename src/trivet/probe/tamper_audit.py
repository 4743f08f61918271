"""Events of the interpreter that have production code on their stack: evidence, and two that no honest code raises.

An audit hook cannot be taken away once it is installed. It costs well under a microsecond for an event that it does not watch.
"""

import os
import sys
import types

_getframe, _realpath = sys._getframe, os.path.realpath

EVENTS = {
    "gc.get_objects": "walks all objects of the process",
    "gc.get_referrers": "looks for who refers to an object",
    "sys._getframe": "reads the frames of its callers",
    "sys._current_frames": "reads the frames of all threads",
    "sys.settrace": "sets a trace function",
    "sys.setprofile": "sets a profile function",
    "ctypes.dlopen": "loads a library with ctypes",
    "ctypes.cdata": "reads memory with ctypes",
    "ctypes.cdata/buffer": "reads memory with ctypes",
    "ctypes.string_at": "reads memory with ctypes",
    "os.kill": "sends a signal",
    "os.fork": "forks",
    "os.exec": "replaces the process",
    "os.posix_spawn": "starts a process",
    "os.putenv": "changes the environment",
    "os.chdir": "changes the working folder",
    "resource.setrlimit": "changes a limit",
}
WATCHED = {"open", "object.__setattr__", *EVENTS}
_DIRECT = {"pathlib.py", "_local.py", "_abc.py", "__init__.py", "codecs.py", "_bootlocale.py", "fileinput.py", "shutil.py", "<frozen codecs>"}
"""Files of the standard library through which a program opens a file by its name; others (linecache, inspect) may do it to show a traceback."""


class Audit:
    """Collects events of production code until it is stopped."""

    def __init__(self, state):
        self.state, self.places, self.armed, self.busy = state, state.places, False, False
        root = _realpath(state.job.root)
        self.tests = {os.path.join(root, name) for name in state.job.files if name.endswith(".py")}
        self.names = {os.path.basename(path) for path in self.tests}

    def arm(self):
        """From now on."""
        self.armed = True

    def stop(self):
        """No more."""
        self.armed = False

    def hook(self, event, args):
        """Called by the interpreter."""
        if not self.armed or self.busy or event not in WATCHED:
            return
        self.busy = True  # what is done here raises events too
        try:
            if event == "open":
                self._open(args)
            elif event == "object.__setattr__":
                self._setattr(args)
            else:
                self._event(event)
        finally:
            self.busy = False

    def _event(self, event):
        frame = _getframe(2)
        if self.places.of(frame.f_code.co_filename, frame.f_globals) == "source":
            self._say("audit", f"{self._short(frame)} {EVENTS[event]} ({event})", False)

    def _setattr(self, args):
        """``f.__code__ = …`` on a function that is not production code's own."""
        target, name = args[0], args[1] if len(args) > 1 else ""
        if name != "__code__" or not isinstance(target, types.FunctionType):
            return
        frame = _getframe(2)
        if not self.places.caller_is_source(frame):
            return
        owner = self.places.of(target.__code__.co_filename, target.__globals__)
        self._say("code", f"production code replaces the code of {target.__module__}.{target.__qualname__}", owner in ("sealed", "library"))

    def _open(self, args):
        """The text of a sealed test, read by production code itself."""
        path = args[0] if args else None
        if not isinstance(path, str) or os.path.basename(path) not in self.names:
            return
        if _realpath(path) not in self.tests:
            return
        frame, through = _getframe(2), []
        while frame is not None:
            file = frame.f_code.co_filename
            place = self.places.of(file, frame.f_globals)
            if place == "source":
                how = "" if _DIRECT.issuperset(through) else f" through {through[-1]}"
                handed = self._handed(frame, path)
                name = os.path.basename(path)
                self._say("oracle", f"production code reads the text of the sealed {name}{how}{' that a test names' if handed else ''}", not how and not handed)
                return
            if place == "sealed" or "importlib" in file:
                return
            through.append(os.path.basename(file))
            frame = frame.f_back

    def _handed(self, frame, path):
        """Whether a sealed frame on the stack names its own file, or holds this path: then the test asked for it."""
        while frame is not None:
            if self.places.of(frame.f_code.co_filename, frame.f_globals) == "sealed":
                held = [value for value in frame.f_locals.values() if isinstance(value, (str, os.PathLike))]
                if "__file__" in frame.f_code.co_names or any(os.fspath(value) == path for value in held if type(value).__module__ in ("builtins", "pathlib")):
                    return True
            frame = frame.f_back
        return False

    def _short(self, frame):
        file = frame.f_code.co_filename
        return file[len(self.places.root):] if file.startswith(self.places.root) else os.path.basename(file)

    def _say(self, kind, detail, blocking):
        self.state.sign(kind, detail, blocking)


def install(state):
    """Add the hook for good; it sleeps until ``arm``."""
    audit = Audit(state)
    sys.addaudithook(audit.hook)
    return audit
