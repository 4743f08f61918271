"""Subject side: the loop that answers the judge, and the template that is forked for each test.

Started without any file of its own: the host hands the program over on a descriptor (see ``stage.split``). Nothing here is trusted by anyone; it
only has to serve honest source well.
"""

import array
import copy
import gc
import importlib
import importlib.util
import operator
import os
import socket
import sys
import threading
import types

from . import split_channel as ch
from .split_codec import TooDeep, Writer, pack_u32
from .split_export import Exports, exact, put_changes, snapshot, value_base
from .split_fakes import Stage
from .split_mimic import Mimic, thin
from .split_reader import Reader


def _fields(value):
    kind = type(value)
    base = value_base(kind)
    if base is not None:
        return exact(value, base)
    return tuple(getattr(value, name) for name, field in kind.__dataclass_fields__.items() if field.compare)


def _signature(value):
    import inspect

    signature = inspect.signature(value)
    empty = inspect.Parameter.empty

    def part(item):
        return (False, None) if item is empty else (True, item)

    return (
        tuple((p.name, int(p.kind), *part(p.default), *part(p.annotation)) for p in signature.parameters.values()),
        *part(signature.return_annotation),
    )


BUILTINS = {
    "len": len, "iter": iter, "next": next, "repr": repr, "str": str, "hash": hash, "bool": bool, "dir": dir, "int": int, "float": float,
    "complex": complex, "bytes": bytes, "format": format, "round": round, "reversed": reversed, "divmod": divmod, "pow": pow, "abs": abs,
    "copy": copy.copy, "deepcopy": copy.deepcopy, "fields": _fields, "signature": _signature, "isinstance": isinstance, "issubclass": issubclass,
    "callable": callable, "list": list, "trunc": __import__("math").trunc, "floor": __import__("math").floor, "ceil": __import__("math").ceil,
    "type": type, "fspath": os.fspath,
}
for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and_", "or_", "xor", "matmul", "neg", "pos", "invert", "index", "eq", "ne", "lt", "le", "gt", "ge", "contains", "getitem", "setitem", "delitem", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ilshift", "irshift", "iand", "ior", "ixor", "imatmul", "ipow", "length_hint"]:
    BUILTINS[_name] = getattr(operator, _name)


class Subject:
    """One process that holds the source: the template, or the copy of it that serves one test."""

    def __init__(self, channel, tree, scratch):
        self.channel = channel
        self.exports = Exports()
        self.stage = Stage(self.exports, self.ask)
        self.mimic = Mimic(self.exports)
        self.hooks = self.stage.hooks()
        self.lock = threading.RLock()
        self.number = 0x40000000
        self.depth = 0
        self.tree = tree
        self.scratch = scratch
        self.children = {}
        self.loop = None
        self.exports.is_source = self.is_source
        self.sources = {}
        self.listed = set()
        self.ops = {
            ch.CALL: self.call, ch.METHOD: self.method, ch.GET: getattr, ch.SET: setattr, ch.DELETE: delattr, ch.IMPORT: self.load,
            ch.FIND: self.find, ch.BUILTIN: lambda name, args: BUILTINS[name](*args), ch.RELOAD: importlib.reload, ch.CLASS: self.make_class,
            ch.PICKLE: self.pickle, ch.AWAIT: self.finish, ch.ASK: self.ask_raw,
        }

    def is_source(self, name):
        """Whether a module comes from the source tree."""
        known = self.sources.get(name)
        if known is None:
            module = sys.modules.get(name)
            file = getattr(module, "__file__", None) or ""
            known = (not file and module is None) or file.startswith(self.tree)
            self.sources[name] = known
        return known

    # --- the loop

    def serve(self):
        """Answer until the judge hangs up."""
        try:
            while True:
                with self.lock:
                    kind, number, payload = self.channel.receive()
                self.handle(kind, number, payload)
        except ch.Gone:
            os._exit(0)

    def handle(self, kind, number, payload):
        """One message of the judge."""
        if kind == ch.WORLD:
            try:
                self.mimic.follow(self.reader(payload).get())
            except Exception:
                pass
        elif kind == ch.RELEASE:
            self.exports.release(self.reader(payload).get())
        elif kind == ch.FORK:
            self.fork(number, payload)
        elif kind == ch.KILL:
            self.kill(self.reader(payload).get())
        else:
            self.answer(kind, number, payload)

    def reader(self, payload, note=None):
        """A reader for one message."""
        return Reader(payload, 0, self.hooks, note)

    def answer(self, kind, number, payload):
        """Do a request and reply."""
        noted = []
        before = None
        try:
            r = self.reader(payload, noted)
            args = r.get()
            if noted and kind in (ch.CALL, ch.METHOD, ch.BUILTIN):
                before = snapshot(args)
            self.depth += 1
            try:
                value = self.ops[kind](*args)
            finally:
                self.depth -= 1
            failed = False
        except BaseException as error:
            value, failed = error, True
        known = {id(item): index for index, item in enumerate(noted)} if before is not None else None
        fresh = set(self.exports.told)
        try:
            w = self.exports.writer(known)
            try:
                changed = before is not None and snapshot(args) != before
            except TooDeep:
                changed = False
            if changed:
                put_changes(w, noted)
            else:
                w.out += pack_u32(0)
            if failed:
                self.exports.put_error(w, value)
            elif kind == ch.GET:
                self.exports.put_shared(w, value)
            else:
                w.put(value)
        except BaseException as error:
            self.exports.told = fresh
            w = Writer(self.exports.put)
            w.out += pack_u32(0)
            text = "a value that contains itself or is nested too deeply" if isinstance(error, (TooDeep, RecursionError)) else repr(error)
            w.put(("cannot", text))
            failed, self.exports.told = True, fresh
        with self.lock:
            self.tell()
            self.channel.send(ch.ERROR if failed else ch.REPLY, number, bytes(w.out))

    def tell(self):
        """Send pending output in front of what follows."""
        noise = self.mimic.take()
        if noise is not None:
            w = self.exports.writer()
            try:
                w.put(noise)
            except (TooDeep, RecursionError):
                return
            self.channel.send(ch.NOISE, 0, bytes(w.out))

    def ask(self, verb, lent, name, args, kwargs):
        """A callback to the judge: send, then serve what it asks meanwhile, until its answer comes."""
        with self.lock:
            if not self.depth:
                raise RuntimeError("a callback outside of a call")
            self.number += 1
            number = self.number
            self.tell()
            w = self.exports.writer()
            w.put((verb, lent, name, args, kwargs))
            self.channel.send(ch.CALLBACK, number, bytes(w.out))
            while True:
                kind, answered, payload = self.channel.receive()
                if kind not in (ch.REPLY, ch.ERROR):
                    self.handle(kind, answered, payload)
                    continue
                value = self.reader(payload).get()
                if kind == ch.ERROR:
                    raise value
                return value

    # --- requests

    @staticmethod
    def call(target, args, kwargs):
        """Call an object."""
        return target(*args, **kwargs)

    @staticmethod
    def method(holder, name, args, kwargs):
        """Call an attribute of an object."""
        return getattr(holder, name)(*args, **kwargs)

    def ask_raw(self, kind, name, args, kwargs):
        """Call what a class itself holds, past what instances or subclasses put in front of it."""
        for base in kind.__mro__:
            if name in base.__dict__:
                held = base.__dict__[name]
                if isinstance(held, (staticmethod, classmethod)):
                    return held.__get__(None, args[0] if isinstance(args[0], type) else type(args[0]))(*args[1:], **kwargs)
                return held(*args, **kwargs)
        return getattr(kind, name)(*args, **kwargs)

    def load(self, name):
        """Import a module: (module, package folders relative to the tree or None, names that ``*`` brings or None, path)."""
        module = importlib.import_module(name)
        self.sources.clear()
        # Functions and classes get their numbers here, so that each test's process knows them by the same ones.
        for label, loaded in list(sys.modules.items()):
            if label not in self.listed and self.is_source(label) and hasattr(loaded, "__dict__"):
                self.listed.add(label)
                for held in list(loaded.__dict__.values()):
                    if isinstance(held, (type, types.FunctionType)):
                        self.exports.number(held)
        self.mimic.hook_logging()
        path = getattr(module, "__path__", None)
        stars = getattr(module, "__all__", None)
        return (
            self.exports.number(module),
            None if path is None else [os.path.relpath(folder, self.tree) for folder in path],
            None if stars is None else list(stars),
            os.path.relpath(module.__file__, self.tree) if getattr(module, "__file__", None) else None,
            module.__doc__ if type(module.__doc__) is str else None,
            self.exports.next - 1,
        )

    def find(self, name):
        """Whether a module exists."""
        try:
            return importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            return False

    def make_class(self, name, bases, space, doc, module):
        """A class that a test derives from a class of the source."""
        wrap = {"v": lambda value: value, "p": property, "s": staticmethod, "c": classmethod}
        space = {key: wrap[mark](*parts) for key, (mark, *parts) in space.items()}
        space.setdefault("__module__", module)
        if doc is not None:
            space["__doc__"] = doc
        return types.new_class(name, bases, {}, lambda held: held.update(space))

    @staticmethod
    def pickle(value, protocol):
        """Pickle an object, or (bytes given) load one."""
        import pickle

        return pickle.loads(value) if isinstance(value, bytes) and protocol is None else pickle.dumps(value, protocol)

    def finish(self, awaitable):
        """Run an awaitable to its end."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()

        async def wait():
            return await awaitable

        return self.loop.run_until_complete(wait())

    # --- forks

    def fork(self, number, payload):
        """Make a copy of this process for one test; the descriptor of its channel came with the message."""
        home = self.reader(payload).get()
        fd = self.channel.fds.pop(0)
        self.reap()
        gc.freeze()  # else the copies' collector touches, and so copies, what they share
        pid = os.fork()
        if pid:
            os.close(fd)
            self.children[number] = pid
            return
        os.close(self.channel.fd)
        self.channel = ch.Channel(fd)
        self.children = {}
        self.mimic.noise.clear()
        self.mimic.enter(home, self.tree)
        self.serve()

    def reap(self):
        """Collect children that have ended."""
        for number, pid in list(self.children.items()):
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    del self.children[number]
            except ChildProcessError:
                del self.children[number]

    def kill(self, number):
        """End the copy that served a test."""
        pid = self.children.get(number)
        if pid:
            try:
                os.kill(pid, 9)
            except OSError:
                pass
        self.reap()


class Template(ch.Channel):
    """The template's channel: descriptors may come with a message."""

    def __init__(self, fd):
        super().__init__(fd)
        self.socket = socket.socket(fileno=fd)
        self.fds = []

    def _more(self, buf):
        room = socket.CMSG_SPACE(4 * array.array("i").itemsize)
        try:
            data, control, _, _ = self.socket.recvmsg(ch.CHUNK, room)
        except OSError as error:
            raise ch.Gone(str(error)) from None
        for level, kind, raw in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                found = array.array("i")
                found.frombytes(raw[:len(raw) - len(raw) % found.itemsize])
                self.fds.extend(found)
        if not data:
            raise ch.Gone("the judge has ended")
        return buf + data


def main(fd, tree, scratch, paths):
    """Serve the source tree on a descriptor; never returns."""
    sys.argv[:] = [""]
    for mark in ("PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(mark, None)
    sys.path[0:1] = list(paths)
    try:
        thin(sys.path, scratch)
    except OSError:
        pass
    channel = Template(fd)
    subject = Subject(channel, tree, scratch)
    subject.mimic.open_streams()
    subject.mimic.enter(os.path.join(scratch, "0"), tree)
    for name in [name for name in sys.modules if name == __package__ or name.startswith(__package__ + ".")]:
        del sys.modules[name]
    subject.serve()
