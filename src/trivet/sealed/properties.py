"""Sealed properties as they are written: which tests a tree holds, and what can be said against one without running it.

A property that asserts nothing, or nothing that production code computes, decides nothing. A property that asks the network, the clock
or an unseeded source of chance decides something else each time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from trivet.model import Drift, Entry, Policy, text_of
from trivet.sealed.property_reach import Function, Module, Modules, Reach, is_fixture, production_names
from trivet.sealed.property_trivial import is_trivial
from trivet.sealed.property_words import Assertions, assertions_of
from trivet.zones import Zones, match


class _Tree(Protocol):
    @property
    def label(self) -> str: ...
    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]: ...
    def read(self, path: bytes) -> bytes | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One sealed test as written. ``digest`` covers its text and all that it reaches in the sealed tree; ``faults`` speak against it."""

    file: str
    function: str
    line: int
    digest: str
    faults: tuple[Drift, ...]
    reads: bool = False
    """An assertion reads a value of production code itself, rather than what a call gives back."""

    @property
    def name(self) -> str:
        """``file::Class::function`` as pytest writes it, without parameters."""
        return f"{self.file}::{self.function.replace('.', '::')}"


_NETWORK = (
    "socket.socket",
    "socket.create_connection",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "urllib.request.",
    "http.client.",
    "requests.",
    "httpx.",
    "aiohttp.",
    "urllib3.",
    "ftplib.",
    "smtplib.",
)
_TIME = (
    "time.time",
    "time.time_ns",
    "time.sleep",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.localtime",
    "time.gmtime",
    "time.ctime",
    "time.process_time",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "asyncio.sleep",
)
_CHANCE = ("os.urandom", "secrets.", "uuid.uuid1", "uuid.uuid4", "random.SystemRandom")


def read_properties(tree: _Tree, tests: tuple[str, ...], policy: Policy, zones: Zones) -> tuple[Property, ...]:
    """Read the properties of the given sealed test files, in file order."""
    entries = tree.entries()
    sealed, sources = [], []
    for entry in entries:
        if not entry.path.endswith(b".py") or entry.mode not in (0o100644, 0o100755):
            continue
        name = text_of(entry.path)
        if match(policy.zones.oracle, entry.path) or name.rpartition("/")[2] == "conftest.py" or name in tests:
            sealed.append(name)
        elif zones.place(entry.path).zone == "source":
            sources.append(name)
    modules = Modules(tree, sealed, production_names(sources, policy.score.paths))
    return tuple(found for file in tests for found in _of_file(modules, file))


def _of_file(modules: Modules, file: str) -> Iterator[Property]:
    module = modules.module(file)
    if module is None:
        return
    for owner, node in test_functions(module):
        extra = _beside(owner)
        reach = modules.reach(file, node, extra)
        name = f"{owner.name}.{node.name}" if owner else node.name
        full = f"{file}::{name.replace('.', '::')}"
        assertions = assertions_of(modules, module, node, owner)
        faults = _faults(assertions, node, reach)
        drifts = tuple(
            Drift(rule=rule, message=f"{full} {text}", path=file, line=line, level="warning" if rule == "TRV123" else "error")
            for rule, text, line in faults
        )
        yield Property(file=file, function=name, line=node.lineno, digest=reach.digest, faults=drifts, reads=assertions.reads)


def test_functions(module: Module) -> Iterator[tuple[ast.ClassDef | None, Function]]:
    """The test functions of a file with their class: ``test*`` in the module, in ``Test*`` classes and in test cases of unittest."""
    for nodes in module.defined.values():
        node = nodes[-1]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test") and not is_fixture(node):
            yield None, node
        elif isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or any("TestCase" in ast.dump(base) for base in node.bases)):
            last = {inner.name: inner for inner in node.body if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))}
            yield from ((node, inner) for name, inner in last.items() if name.startswith("test"))


def _beside(owner: ast.ClassDef | None) -> tuple[ast.AST, ...]:
    """What a class gives to each of its tests: its bases, attributes, set-up and fixtures."""
    if owner is None:
        return ()
    return (*owner.bases, *owner.decorator_list, *(part for part in owner.body if not getattr(part, "name", "").startswith("test")))


def _faults(assertions: Assertions, node: Function, reach: Reach) -> Iterator[tuple[str, str, int]]:
    yield from _worth(assertions, node, reach)
    for dotted, (_, line) in sorted(reach.calls.items()):
        if _named(dotted, _NETWORK):
            yield "TRV124", f"calls {dotted}, which asks the network", line
        elif _named(dotted, _TIME):
            yield "TRV124", f"calls {dotted}, which asks real time", line
        elif _named(dotted, _CHANCE) or (_draws(dotted) and "random.seed" not in reach.calls):
            yield "TRV123", f"calls {dotted}, which gives another value each time", line


def _worth(assertions: Assertions, node: Function, reach: Reach) -> Iterator[tuple[str, str, int]]:
    if not assertions.all:
        yield "TRV120", "asserts nothing, so it cannot fail", node.lineno
        return
    if not reach.production:
        yield "TRV122", "reaches no production code", node.lineno
    trivial = [part for part in assertions.all if is_trivial(part)]
    idle = [part for part in assertions.all if part not in assertions.telling]
    if len(trivial) == len(assertions.all):
        yield "TRV121", "holds whatever production code does", trivial[0].lineno
    elif reach.production and len(idle) == len(assertions.all):
        yield "TRV121", "asserts nothing that production code computes", idle[0].lineno


def _named(dotted: str, rows: tuple[str, ...]) -> bool:
    return any(dotted == row or (row.endswith(".") and dotted.startswith(row)) for row in rows)


def _draws(dotted: str) -> bool:
    """A draw from the shared generator of ``random``; ``random.Random(seed)`` and ``random.seed`` are none."""
    return dotted.startswith("random.") and dotted.count(".") == 1 and dotted not in ("random.Random", "random.seed")
