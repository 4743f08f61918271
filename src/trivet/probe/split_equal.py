"""Judge side: when is a remote object equal to something? The judge decides; the source only gives evidence."""

from . import split_channel as ch


class Nothing:
    """A fresh instance is equal to nothing."""

    __slots__ = ()
    __module__ = "__main__"


def equal(self, other):
    """``self == other`` for a remote reference.

    With plain data: only a class that defines its equality can be equal to it, if it holds the very same content when the judge takes it apart, and
    then agrees; anything else is for the other operand's class to say. With another remote object: by identity where the class has no equality of
    its own, by fields where it is a dataclass, else by the class's ``__eq__``, which must first say that the object differs from something new.
    """
    from .split_remote import RemoteMeta, link

    kind = type(self)
    mode = kind._tv_flags["eq"]
    if not isinstance(type(other), RemoteMeta):
        return _holds(self, other) if mode == "own" else NotImplemented
    if mode == "object":
        if type(other)._tv_flags["eq"] == "object" or type(other) is kind:
            return self is other
        return NotImplemented
    if mode == "fields":
        if type(other) is not kind:
            return NotImplemented
        return self is other or link.request(ch.BUILTIN, "fields", (self,)) == link.request(ch.BUILTIN, "fields", (other,))
    if link.request(ch.BUILTIN, "eq", (self, other)) is not True:
        return False
    return link.request(ch.BUILTIN, "eq", (self, Nothing())) is not True


def _holds(self, other):
    """Whether a collection of the source holds what a plain collection holds; NotImplemented where that cannot be seen from here."""
    from .split_remote import link

    names = {name for base in type(self).__mro__ for name in vars(base)}
    try:
        if type(other) in (set, frozenset) and "__iter__" in names:
            same = {*self} == other
        elif type(other) in (list, tuple) and "__iter__" in names:
            same = [*self] == [*other]
        elif type(other) is dict and "__iter__" in names and "__getitem__" in names:
            same = {key: self[key] for key in self} == other
        else:
            return NotImplemented
    except (TypeError, KeyError):
        return NotImplemented
    return same and link.request(ch.BUILTIN, "eq", (self, other)) is True


def hashed(self):
    """A hash that agrees with ``equal``."""
    from .split_remote import link

    mode = type(self)._tv_flags["eq"]
    if mode == "object":
        return hash(id(self))
    if mode == "fields":
        return hash((type(self)._tv_number, link.request(ch.BUILTIN, "fields", (self,))))
    return int(link.request(ch.BUILTIN, "hash", (self,)))
