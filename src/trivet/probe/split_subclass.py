"""Judge side: a class of the tests that derives from a class of the source. It exists on both sides: the subject's copy calls back."""

import types

from . import split_channel as ch


def derive(meta, name, bases, space, options):
    """Make both halves of a class; called by the class statement of a test."""
    from . import split_remote

    link = split_remote.link
    if options:
        raise link.refuse("class %s with class arguments" % name)
    sent = {}
    for key, value in space.items():
        if key in ("__module__", "__qualname__", "__classcell__", "__doc__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__"):
            continue
        if isinstance(value, property):
            sent[key] = ("p", value.fget, value.fset, value.fdel)
        elif isinstance(value, (staticmethod, classmethod)):
            sent[key] = ("s" if isinstance(value, staticmethod) else "c", value.__func__)
        else:
            sent[key] = ("v", value)
    kept = (types.FunctionType, property, staticmethod, classmethod)
    local = {key: value for key, value in space.items() if isinstance(value, kept) or key in ("__module__", "__classcell__", "__doc__")}
    flags = dict(bases[0]._tv_flags) if isinstance(bases[0], meta) else {"eq": "own", "meta": "", "fields": None, "named": None}
    if "__eq__" in space:
        flags["eq"] = "own"
    local.update(_tv_local=True, _tv_flags=flags, _tv_number=None, _tv_saved={}, _tv_home=None, __qualname__=name)
    kind = meta(name, bases, local, tv_made=True)
    take = link.take
    held, take.derived = take.derived, kind
    try:
        answer = link.request(ch.CLASS, name, bases, sent, space.get("__doc__"), "__main__")
    finally:
        take.derived = held
    if answer is not kind:
        raise link.refuse("class %s, which derives from a class of the source" % name)
    return kind
