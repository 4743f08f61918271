"""Judge side: plain containers that an object of the source holds as attribute. A change is made there and here."""

from . import split_channel as ch


def _both(base, name):
    plain = getattr(base, name)

    def change(self, *args, **kwargs):
        from .split_remote import link

        if name in ("__setitem__", "__delitem__"):
            link.request(ch.BUILTIN, name.strip("_"), (self, *args))
        else:
            link.request(ch.METHOD, self, name, args, kwargs)
        return plain(self, *args, **kwargs)

    change.__name__ = name
    return change


def _made(base, names):
    space = {name: _both(base, name) for name in names}
    space["__reduce_ex__"] = lambda self, protocol: (base, (base(self),))
    space["__copy__"] = base
    space["__deepcopy__"] = lambda self, memo: __import__("copy").deepcopy(base(self), memo)
    space["__class__"] = property(lambda self: base)
    return type(base.__name__, (base,), space)


SHARED = {
    list: _made(list, ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "__setitem__", "__delitem__", "__iadd__")),
    dict: _made(dict, ("update", "pop", "popitem", "setdefault", "clear", "__setitem__", "__delitem__")),
    set: _made(set, ("add", "discard", "remove", "pop", "clear", "update", "difference_update", "intersection_update")),
}
"""Exact builtin type to the kind that is shared."""
KINDS = frozenset(SHARED.values())
