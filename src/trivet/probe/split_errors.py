"""Judge side: exceptions that come from the subject, and the errors of split isolation itself."""

import builtins
import sys

from .split_codec import BadBytes


class SplitUnsupported(Exception):
    """A construct of the tests cannot cross into the subject's process; the message names it. Not a failure of the source."""


class SubjectGone(Exception):
    """The source ended its process, stopped answering in time, or broke the protocol."""


class SubjectDecided(Exception):
    """The source raised something that is the runner's to raise (a skip, an exit, an interrupt): it may answer, never decide."""


class SubjectTrace(Exception):
    """Where in the source an exception was raised, as text."""


RUNNERS = frozenset(
    ("pytest", "_pytest", "pluggy", "unittest", "hypothesis", "trivet_probe", "xdist", "doctest", "nose", "anyio", "pytest_asyncio", "_hypothesis_pytestplugin")
)
DECIDING = (KeyboardInterrupt, GeneratorExit)


def builtin_error(name):
    """A builtin exception class by name, or None."""
    kind = getattr(builtins, name, None) if type(name) is str else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseException) else None


def library_class(module, qualname, served):
    """A class of an already imported library module, or None; never one of the runner's or of the source."""
    top = module.partition(".")[0]
    if top in RUNNERS or top in served or module not in sys.modules:
        return None
    value = sys.modules[module]
    for part in qualname.split("."):
        value = getattr(value, part, None)
    return value if isinstance(value, type) else None


def build(kind, args, text, held, notes, cause, context):
    """Make an exception of ``kind`` (a builtin, a library's or a mirrored class) with what the subject said of it."""
    real = next(base for base in kind.__mro__ if base.__module__ == "builtins" and issubclass(base, BaseException))
    if issubclass(kind, DECIDING):
        return SubjectDecided("the source raised %s%r" % (kind.__name__, args))
    try:
        error = real.__new__(kind, *args)
        real.__init__(error, *args)
    except Exception:
        try:
            error = real.__new__(kind)
        except Exception as problem:
            raise BadBytes("an exception that cannot be made: %s" % problem) from None
    if not isinstance(error, OSError):
        error.args = args
    for name, value in held.items():
        if type(name) is str and not name.startswith("_tv_"):
            try:
                object.__setattr__(error, name, value)
            except (AttributeError, TypeError):
                continue
    if text is not None:
        object.__setattr__(error, "_tv_text", text)
    if notes:
        object.__setattr__(error, "__notes__", list(notes))
    error.__cause__ = cause
    if cause is None:
        error.__suppress_context__ = False
        error.__context__ = context
    return error
