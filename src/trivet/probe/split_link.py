"""Judge side: the connection to the subject. Numbered requests, callbacks that are served while one waits, one subject process for each test."""

import array
import os
import socket
import struct
import sys
import threading
import weakref

from . import split_channel as ch
from .split_codec import BadBytes, TooDeep, Writer
from .split_errors import RUNNERS, SplitUnsupported, SubjectGone
from .split_reader import Reader


class Session:
    """One subject process: the template (``generation`` 0, lives for the whole run) or the copy that serves one test."""

    def __init__(self, generation, channel, parent=None):
        self.generation = generation
        self.channel = channel
        self.parent = parent
        self.border = parent.highest if parent else 0
        self.highest = self.border
        self.proxies = {}
        self.dropped = []
        self.told = set(parent.told) if parent else set()
        self.broken = ""
        self.world = dict(parent.world) if parent else {}
        self.socket = None
        self.modules = []

    def find(self, number):
        """The proxy of an object, or None."""
        if self.parent is not None and number <= self.border:
            return self.parent.find(number)
        held = self.proxies.get(number)
        return held() if type(held) is weakref.ref else held

    def keep(self, number, proxy):
        """Remember the proxy of an object; returns the generation that it belongs to."""
        home = self.parent if self.parent is not None and number <= self.border else self
        try:
            home.proxies[number] = weakref.ref(proxy)
        except TypeError:
            home.proxies[number] = proxy
        home.highest = max(home.highest, number)
        return home.generation


    def keep_module(self, name, number, module):
        """Remember a module for as long as its process lives."""
        home = self if number > self.border or self.parent is None else self.parent
        home.proxies[number] = module
        home.highest = max(home.highest, number)
        if home.parent is not None:
            home.modules.append(name)

    def forget_modules(self):
        """Modules that were imported in one test are imported anew in the next."""
        for name in self.modules:
            sys.modules.pop(name, None)
            parent, _, child = name.rpartition(".")
            if parent in sys.modules:
                sys.modules[parent].__dict__.pop(child, None)


class Link:
    """All sessions, and the one that is current."""

    def __init__(self, fd, timeout_s, world):
        self.lock = threading.RLock()
        self.timeout_s = timeout_s
        self.world = world
        self.template_socket = socket.socket(fileno=fd)
        self._limit(self.template_socket)
        self.template = Session(0, ch.Channel(fd))
        self.current = self.current_session = self.template
        self.served = frozenset()
        self.lender = self.take = None
        self.loans = 0
        self.in_item = False
        self.wide = 0
        self.count = 0
        self.number = 0
        self.hooks = {}
        self.other = None
        self.serve = None
        self.fix_in = self.fix_out = None
        self.cannot = ""
        self.pending = []
        self.depth = 0
        self.calls = 0

    def _limit(self, link):
        seconds = max(self.timeout_s, 1.0)
        span = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, span)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, span)

    # --- tests

    def begin(self):
        """A test starts; its subject is made when it is first needed."""
        self.in_item = True
        self.loans = self.lender.next - 1
        self.cannot = ""
        self.pending = []

    def end(self):
        """A test is over: its subject is ended."""
        self.in_item = False
        session, self.current = self.current, self.template
        if session is not self.template:
            session.socket.close()
            session.proxies.clear()
            session.forget_modules()
            session.broken = "the source's process: its test is over"
            self._drop_loans()
            try:
                self.template.channel.send(ch.KILL, 0, self._pack(session.generation))
            except ch.Gone:
                pass

    def session(self):
        """The session that a request goes to."""
        if self.in_item and not self.wide and self.current is self.template:
            self._fork()
        return self.current if not self.wide else self.template

    def _drop_loans(self):
        """Loans that were made for one test end with it."""
        lender, kept = self.lender, self.template.told
        for number in [number for number in reversed(lender.objects) if number > self.loans]:
            if number not in kept:
                _, key = lender.objects.pop(number)
                lender.numbers.pop(key, None)

    def _fork(self):
        if self.template.broken:
            raise SubjectGone(self.template.broken)
        ours, theirs = socket.socketpair()
        self._limit(ours)
        self.count += 1
        home = os.path.join(self.world.scratch, str(self.count))
        payload = self._pack(home)
        head = struct.pack("<IBI", len(payload), ch.FORK, self.count)
        try:
            self.template_socket.sendmsg([head + payload], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))])
        except OSError as error:
            ours.close()
            raise SubjectGone("the source's process is gone (%s)" % error) from None
        finally:
            theirs.close()
        session = Session(self.count, ch.Channel(ours.fileno()), self.template)
        session.socket = ours
        session.world["home"] = home
        self.current = session

    def _pack(self, value):
        w = Writer(self.other)
        w.put(value)
        return bytes(w.out)

    # --- requests

    def request(self, kind, *args):
        """Ask the subject; returns its answer, raises what it raised, SubjectGone or SplitUnsupported."""
        with self.lock:
            session = self.current_session = self.session()
            if session.broken:
                raise SubjectGone(session.broken)
            note = []
            w = Writer(self.other, note, None, self.fix_out)
            self.depth += 1
            try:
                try:
                    w.put(args)
                except (TooDeep, RecursionError):
                    raise self.refuse("an argument that contains itself or is nested too deeply") from None
                self.world.sync(self, session)
                if session.dropped:
                    self._release(session)
                self.number = number = self.number + 1 & 0x3FFFFFFF
                self.calls += 1
                self._send(session, kind, number, bytes(w.out))
                return self._wait(session, number, note)
            finally:
                self.depth -= 1
                if not self.depth and self.pending:
                    self._settle()

    def _settle(self):
        """A failure that a test's own callback raised is not swallowed by the source."""
        pending, self.pending = self.pending, []
        current = sys.exc_info()[1]
        for error in pending:
            if current is None:
                raise error

    def _release(self, session):
        gone = [number for number in session.dropped if session.find(number) is None]
        session.dropped = []
        if gone:
            self._send(session, ch.RELEASE, 0, self._pack(gone))

    def _send(self, session, kind, number, payload):
        try:
            session.channel.send(kind, number, payload)
        except ch.Gone as error:
            raise self._broke(session, error) from None

    def _broke(self, session, error):
        text = str(error)
        if text == "no answer in time":
            text = "no answer within %g s" % self.timeout_s
            if session is not self.template:
                self.template.channel.send(ch.KILL, 0, self._pack(session.generation))
        session.broken = "the source's process: " + text
        return SubjectGone(session.broken)

    def _wait(self, session, number, note):
        raised = None
        try:
            while True:
                kind, answered, payload = session.channel.receive()
                if kind == ch.NOISE:
                    problem = self.world.noise(self.reader(payload).get())
                    raised = raised or problem
                    continue
                if kind == ch.CALLBACK:
                    self._answer(session, answered, payload)
                    continue
                if answered != number or kind not in (ch.REPLY, ch.ERROR):
                    raise BadBytes("an answer to another question")
                r = self.reader(payload, note)
                changes = self._changes(r, note)
                value = r.get()
                if r.pos != r.end:
                    raise BadBytes("more than was announced")
                break
        except (ch.Gone, BadBytes) as error:
            raise self._broke(session, error) from None
        except RecursionError:
            raise self._broke(session, "an answer that is nested too deeply") from None
        except BaseException:
            session.broken = session.broken or "the source's process: a request was interrupted"
            raise
        for held, new in changes:
            _restore(held, new)
        if kind == ch.ERROR:
            if not isinstance(value, BaseException):
                raise self.refuse(value[1] if type(value) is tuple and len(value) == 2 else "an answer")
            self.pending = [error for error in self.pending if error is not value]
            raise value
        if raised is not None:
            raise raised
        return value

    def reader(self, payload, known=None):
        """A reader for one message of the subject."""
        return Reader(payload, 0, self.hooks, None, known, self.fix_in)

    def _changes(self, r, note):
        count = r.u32()
        if count == 0:
            return ()
        if count != len(note):
            raise BadBytes("changes to arguments that were not sent")
        found = [(held, r.get()) for held in note]
        return [(held, new) for held, new in found if new is not None and type(new) is type(held)]

    def _answer(self, session, number, payload):
        """Serve one callback."""
        w = Writer(self.other, None, None, self.fix_out)
        try:
            r = self.reader(payload)
            verb, lent, name, args, kwargs = r.get()
            value = self.serve(verb, lent, name, args, kwargs)
            w.put(value)
            kind = ch.REPLY
        except (ch.Gone, BadBytes):
            raise
        except SubjectGone:
            raise
        except BaseException as error:
            if isinstance(error, AssertionError) or type(error).__module__.partition(".")[0] in RUNNERS:
                self.pending.append(error)
            w = Writer(self.other, None, None, self.fix_out)
            w.put(error)
            kind = ch.ERROR
        self._send(session, kind, number, bytes(w.out))

    def refuse(self, what):
        """The error for what cannot cross; remembered, so that a test that swallows it is not taken for a pass."""
        self.cannot = self.cannot or what
        return SplitUnsupported("cannot cross into the source's process: %s" % what)


def _restore(held, new):
    """Give a caller's own container the content that the call left in it."""
    if isinstance(held, (list, bytearray)):
        held[:] = new
    elif isinstance(held, (dict, set)):
        held.clear()
        held.update(new)
    else:
        held.clear()
        held.extend(new)
