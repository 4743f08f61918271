"""Subject side: the world around the source looks like the test's world where the test can see it, and like any program's world otherwise.

Output, log records and warnings are passed on in order; working folder, environment, arguments, log levels and files follow the judge's.
"""

import io
import os
import sys
import warnings

from .split_clock import Clock

RUNNER = ("pytest", "_pytest", "hypothesis", "_hypothesis", "xdist", "execnet", "iniconfig", "nose", "time_machine", "freezegun", "coverage")
"""What begins like this is installed for tests only, and a mark of them."""


def thin(paths, scratch):
    """Replace each folder of installed packages by one that holds links to all of them but those that only tests need."""
    for index, path in enumerate(paths):
        if os.path.basename(path) not in ("site-packages", "dist-packages") or not os.path.isdir(path):
            continue
        names = os.listdir(path)
        if not any(name.lower().startswith(RUNNER) for name in names):
            continue
        place = os.path.join(scratch, "lib", "%d" % index, os.path.basename(path))
        os.makedirs(place)
        for name in names:
            if not name.lower().startswith((*RUNNER, "__pycache__")):
                os.symlink(os.path.join(path, name), os.path.join(place, name))
        paths[index] = place


class Stream:
    """What ``sys.stdout.buffer`` is: every write is noted."""

    def __init__(self, sink, mark, fd):
        self.sink = sink
        self.mark = mark
        self.fd = fd
        self.closed = False
        self.name = "<%s>" % mark
        self.mode = "wb"

    def write(self, data):
        raw = bytes(data)
        self.sink.noise.append((self.mark, raw))
        return len(raw)

    def flush(self):
        pass

    def close(self):
        pass

    def readable(self):
        return False

    def writable(self):
        return True

    def seekable(self):
        return False

    def isatty(self):
        return False

    def fileno(self):
        return self.fd


class Mimic:
    """Holds the pending noise of one subject."""

    def __init__(self, exports):
        self.noise = []
        self.exports = exports
        self.logging = None
        self.home = ""
        self.tree = ""
        self.env = set()
        self.clock = Clock()

    def open_streams(self):
        """Replace the standard streams."""
        for mark, fd in (("stdout", 1), ("stderr", 2)):
            stream = io.TextIOWrapper(Stream(self, mark, fd), encoding="utf-8", errors="surrogateescape", newline="\n", write_through=True)
            stream.mode = "w"
            setattr(sys, mark, stream)
            setattr(sys, "__%s__" % mark, stream)
        warnings.showwarning = self.warned
        warnings.simplefilter("always")

    def warned(self, message, category, filename, lineno, file=None, line=None):
        """A warning was given."""
        self.noise.append(("warn", (message, str(filename), int(lineno))))

    def hook_logging(self):
        """Pass log records on, once the source has imported ``logging``."""
        logging = sys.modules.get("logging")
        if logging is None or self.logging is not None or not hasattr(logging, "root"):
            return
        self.logging = logging
        noise = self.noise

        class Passing(logging.Handler):
            def emit(self, record):
                facts = dict.copy(record.__dict__)
                facts["msg"], facts["args"] = record.getMessage(), None
                if record.exc_info and record.exc_info[1] is not None:
                    facts["exc_info"] = record.exc_info[1]
                else:
                    facts["exc_info"] = None
                noise.append(("log", facts))

        logging.root.addHandler(Passing(0))

    def take(self):
        """The pending noise, as one value, or None."""
        if self.logging is None:
            self.hook_logging()
        for stream in (sys.stdout, sys.stderr):
            if type(stream) is io.TextIOWrapper:
                try:
                    stream.flush()
                except ValueError:
                    pass
        if not self.noise:
            return None
        found, self.noise[:] = list(self.noise), []
        return found

    # --- following the judge

    def enter(self, home, tree):
        """Start in the source tree. The private folder is only made when a test names files, since most never do."""
        self.home, self.tree = home, tree
        os.chdir(tree)

    def settle(self):
        """Make the private working folder: the names of the source tree, and nothing else."""
        home, tree = self.home, self.tree
        os.makedirs(home, exist_ok=True)
        for name in os.listdir(tree):
            try:
                os.symlink(os.path.join(tree, name), os.path.join(home, name))
            except OSError:
                pass
        os.chdir(home)

    def follow(self, changes):
        """Apply what has changed in the judge's world."""
        for what, value in changes:
            if what == "home":
                self.settle()
            elif what == "env":
                for name, text in value.items():
                    if text is None:
                        os.environ.pop(name, None)
                    else:
                        os.environ[name] = text
            elif what == "cwd":
                self._folder(value)
                os.chdir(value)
            elif what == "argv":
                sys.argv[:] = value
            elif what == "file":
                self._file(*value)
            elif what == "stdin":
                sys.stdin = value
            elif what == "clock":
                if value is None:
                    self.clock.clear()
                else:
                    self.clock.set(*value)
            elif what == "seed":
                import random

                random.seed(*value)
            elif what == "level":
                import logging

                self.hook_logging()
                (logging.getLogger(value[0]) if value[0] else logging.root).setLevel(value[1])
            elif what == "disable":
                import logging

                logging.disable(value)
            elif what == "recursion":
                sys.setrecursionlimit(value)

    def _folder(self, path):
        """Make a folder of the private tree real, where it is a link into the source tree so far."""
        if not (path + os.sep).startswith(self.home + os.sep):
            return
        at = self.home
        for part in os.path.relpath(path, self.home).split(os.sep):
            if part in (".", ""):
                continue
            at = os.path.join(at, part)
            if os.path.islink(at) and os.path.isdir(at):
                target = os.path.realpath(at)
                os.unlink(at)
                os.mkdir(at)
                for name in os.listdir(target):
                    os.symlink(os.path.join(target, name), os.path.join(at, name))
            elif not os.path.isdir(at):
                os.mkdir(at)

    def _file(self, path, content, mode, when):
        """Put a file that the judge granted in its place."""
        if content is None:
            self._folder(path)
            return
        self._folder(os.path.dirname(path))
        if os.path.islink(path):
            os.unlink(path)
        with open(path, "wb") as stream:
            stream.write(content)
        os.chmod(path, mode | 0o200)
        os.utime(path, ns=(when, when))
