"""Judge side: the test's world, as far as the subject may see it, and what the subject lets out.

In front of a request go the changes since the last one: environment, working folder, arguments, standard input, clock, log levels, seeds that the tests set,
and the bytes of files that an argument names. Paths below the judge's tree are translated to the subject's private folder, and back.
"""

import logging
import os
import random
import sys
import warnings

from . import split_channel as ch
from . import split_clock
from .split_codec import BadBytes

HIDDEN = ("PYTEST", "TRIVET", "HYPOTHESIS", "PYTHONHASHSEED", "SOURCE_DATE_EPOCH", "PYTHONPATH", "TMPDIR", "CI")
QUIET = ("trivet_probe", "_pytest", "hypothesis", "pytest", "unittest")
LONGEST_PATH = 1024
MOST_FILES, MOST_BYTES = 500, 16_000_000


class World:
    """What is mirrored, and how far each session has been told."""

    def __init__(self, root, tree, scratch, tests):
        self.root = root.rstrip(os.sep)
        self.tree = tree.rstrip(os.sep)
        self.scratch = scratch
        self.tests = frozenset(os.path.join(self.root, name) for name in tests)
        self.base_env = dict(os.environ)
        self.base_argv = list(sys.argv)
        self.base_limit = sys.getrecursionlimit()
        self.base_clock = split_clock.mark()
        self.files = []
        self.named = False
        self.events = []
        self.link = None
        self._watch()

    def _watch(self):
        """Note log levels and seeds that the tests set."""
        events = self.events
        set_level, disable, seed = logging.Logger.setLevel, logging.disable, random.seed

        def setLevel(this, level):
            set_level(this, level)
            events.append(("level", (this.name if this is not logging.root else "", this.level)))

        def disabled(level=logging.CRITICAL):
            disable(level)
            events.append(("disable", logging.root.manager.disable))

        def seeded(*args, **kwargs):
            seed(*args, **kwargs)
            if not sys._getframe(1).f_globals.get("__name__", "").startswith(QUIET):
                events.append(("seed", args if all(type(arg) in (int, float, str, bytes, type(None)) for arg in args) else (0,)))

        logging.Logger.setLevel, logging.disable, random.seed = setLevel, disabled, seeded

    # --- going out

    def sync(self, link, session):
        """Tell the subject what has changed; before a request."""
        held = session.world
        changes = []
        env = os.environ._data
        if held.get("raw") != env:
            held["raw"] = dict(env)
            wanted = self._env()
            told = held.get("env", {})
            changed = {name: text for name, text in wanted.items() if told.get(name, "") != text or name not in told}
            changed.update({name: self.base_env.get(name) for name in told if name not in wanted})
            if changed:
                changes.append(("env", changed))
            held["env"] = wanted
        try:
            folder = os.getcwd()
        except OSError:
            folder = self.root
        if folder != held.get("cwd", self.root) or ("cwd" in held and held.get("entered") != session.generation):
            held["cwd"], held["entered"] = folder, session.generation
            changes.append(("cwd", folder))
        if sys.argv != held.get("argv", self.base_argv):
            held["argv"] = list(sys.argv)
            changes.append(("argv", [""] if sys.argv == self.base_argv else [str(part) for part in sys.argv]))
        done = held.get("events", 0)
        if done != len(self.events):
            changes += self.events[done:]
            held["events"] = len(self.events)
        stdin = sys.stdin
        if stdin is not held.get("stdin"):
            foreign = stdin is None or stdin is sys.__stdin__ or type(stdin).__module__.startswith("_pytest")
            if not foreign or held.get("stdin_lent"):
                held["stdin_lent"] = not foreign
                changes.append(("stdin", None if foreign else stdin))
            held["stdin"] = stdin
        limit = sys.getrecursionlimit()
        if limit != held.get("limit", self.base_limit):
            held["limit"] = limit
            changes.append(("recursion", limit))
        moment = split_clock.seen_by_tests(self.base_clock)
        if moment != held.get("clock"):
            held["clock"] = moment
            changes.append(("clock", moment))
        if self.files:
            changes += self._granted(held)
        if (self.named or folder != self.root) and held.get("home_of") is not session:
            held["home_of"] = session
            changes.insert(0, ("home", None))
        if changes:
            from .split_codec import Writer

            w = Writer(link.other, None, None, self.text_out)
            w.put(changes)
            self.files, self.named = [], False
            link._send(session, ch.WORLD, 0, bytes(w.out))

    def _env(self):
        """The environment's difference to what it was before the tests."""
        base = self.base_env
        found = {name: text for name, text in os.environ.items() if base.get(name) != text and not name.startswith(HIDDEN)}
        found.update((name, None) for name in base if name not in os.environ and not name.startswith(HIDDEN))
        return found

    def text_out(self, text):
        """Translate the judge's paths, and note files that are named."""
        if len(text) <= LONGEST_PATH and ("/" in text or "." in text) and "\n" not in text and "\0" not in text:
            self._note(text)
        if self.root in text:
            self.named = True
            text = text.replace(self.root, self.link.current_session.world.get("home", os.path.join(self.scratch, "0")))
        return text

    def text_in(self, text):
        """Translate the subject's paths back."""
        home = self.link.current_session.world.get("home")
        if home is not None and home in text:
            text = text.replace(home, self.root)
        if self.tree in text:
            text = text.replace(self.tree, self.root)
        return text

    def _note(self, text):
        try:
            path = os.path.normpath(os.path.join(os.getcwd(), text))
            if not path.startswith(self.root + os.sep):
                return
            if os.path.isfile(path):
                self.named = True
                self.files.append(path)
            elif os.path.isdir(path) and "/" in text:
                self.named = True
                self._folder(path)
        except (OSError, ValueError):
            return

    def _folder(self, path):
        """A folder of fixtures is granted with its files; one that holds tests is not."""
        found, size = [], 0
        for at, folders, names in os.walk(path):
            folders[:] = [name for name in folders if name not in (".git", "__pycache__")]
            for name in names:
                file = os.path.join(at, name)
                if file in self.tests or name == "conftest.py":
                    return
                found.append(file)
                size += os.path.getsize(file)
                if len(found) > MOST_FILES or size > MOST_BYTES:
                    return
        self.files += found or [path]

    def _granted(self, held):
        given = held.setdefault("given", {})
        if held.get("given_of") is not self.link.current_session:
            given = held["given"] = {}
            held["given_of"] = self.link.current_session
        found = []
        for path in dict.fromkeys(self.files):
            if os.path.isdir(path):
                found.append(("file", (path, None, 0, 0)))
                continue
            try:
                state = os.stat(path)
                if given.get(path) == (state.st_mtime_ns, state.st_size) or os.path.exists(self.tree + path[len(self.root):]):
                    continue
                with open(path, "rb") as stream:
                    content = stream.read(MOST_BYTES)
            except OSError:
                continue
            given[path] = (state.st_mtime_ns, state.st_size)
            found.append(("file", (path, content, state.st_mode & 0o777, state.st_mtime_ns)))
        return found

    # --- coming in

    def noise(self, items):
        """Let out what the subject printed, logged and warned of; returns an exception if a warning is one here."""
        problem = None
        if type(items) is not list:
            raise BadBytes("no output")
        for item in items:
            if type(item) is not tuple or len(item) != 2:
                raise BadBytes("no output")
            mark, value = item
            if mark in ("stdout", "stderr") and type(value) is bytes:
                stream = sys.stdout if mark == "stdout" else sys.stderr
                if stream is not None:
                    stream.write(self.text_in(value.decode("utf-8", "surrogateescape")))
            elif mark == "warn" and type(value) is tuple and len(value) == 3 and isinstance(value[0], Warning):
                try:
                    warnings.warn_explicit(value[0], type(value[0]), str(value[1]), int(value[2]))
                except Warning as error:
                    problem = problem or error
            elif mark == "log" and type(value) is dict and type(value.get("name")) is str and type(value.get("levelno")) is int:
                self._record(value)
            else:
                raise BadBytes("unknown output")
        return problem

    @staticmethod
    def _record(facts):
        error = facts.get("exc_info")
        facts["exc_info"] = (type(error), error, error.__traceback__) if isinstance(error, BaseException) else None
        facts["exc_text"] = None
        logger = logging.getLogger(facts["name"]) if facts["name"] != "root" else logging.root
        if logger.isEnabledFor(facts["levelno"]):
            logger.handle(logging.makeLogRecord({str(name): value for name, value in facts.items()}))
