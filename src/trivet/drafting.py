"""Draft advisory tests for a failing trace and a sample of its input. Nothing sealed and nothing personal leaves; a draft decides nothing.

The draft goes below the proposed zone and nowhere else, under a name that the answer has no say in. It is not run.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trivet.drafting_endpoint import Endpoint, ask, check
from trivet.drafting_prompt import body, code_of
from trivet.drafting_redactor import Redactor
from trivet.errors import OutputError, UsageError
from trivet.git import Tree, WorkTree
from trivet.model import Policy, text_of
from trivet.sealed.policy import read_policy
from trivet.zones import Zones

LIMIT_B = 10_000_000
"""A longer trace, sample or source file is not read."""
_NAME = re.compile(r"test_[a-z0-9_]{1,80}\.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """What a draft is made of. ``trace`` is text; ``sample`` and ``sources`` are files; ``name`` "" is made from what is sent."""

    root: Path
    endpoint: Endpoint
    model: str
    trace: str
    sample: Path | None = None
    sources: tuple[Path, ...] = ()
    fields: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What would be sent: the exact bytes, how many things of each kind were taken out, and where the draft would go."""

    body: bytes
    taken: tuple[tuple[str, int], ...]
    path: Path


def question(request: DraftRequest) -> Question:
    """Put together what would be sent, and send nothing.

    Raises:
        UsageError: a file cannot be read, is sealed, or is none of production code; the name or endpoint is wrong.
        PolicyError: the policy of the folder cannot be read.
    """
    check(request.endpoint)
    tree = WorkTree(request.root)
    policy = read_policy(tree)
    zones = Zones(policy.zones)
    sealed = dict(_sealed(tree, zones))
    redactor = Redactor(fields=request.fields, sealed=[data.decode("utf-8", "replace") for data in sealed.values()])
    sample = "" if request.sample is None else redactor.sample(_read(tree, zones, sealed, request.sample))
    sources = []
    for path in request.sources:
        text = _read(tree, zones, sealed, path)
        inside = _inside(tree, path)
        if inside is None or zones.place(inside).zone != "source":
            raise UsageError("only files of the source zone are sent as production code", where=str(path))
        sources.append((redactor.text(text_of(inside)), redactor.text(text)))
    # The trace comes last, when all values of named fields are known; what came before is gone over once more with the same knowledge.
    trace = redactor.text(request.trace)
    sample = redactor.text(sample)
    sent = body(request.model, trace, sample, tuple((path, redactor.text(text)) for path, text in sources))
    name = request.name or f"test_draft_{hashlib.sha256(sent).hexdigest()[:10]}.py"
    return Question(body=sent, taken=tuple(sorted(redactor.counts.items())), path=_place(tree, policy, zones, name))


def draft(request: DraftRequest, asked: Question) -> Path:
    """Ask, and write the draft.

    Raises:
        EndpointError: the endpoint did not answer, or with something else than tests.
        OutputError: the file exists or cannot be written.
    """
    text = code_of(ask(request.endpoint, asked.body))
    head = "# A draft by a language model: read it before you keep it. It lies in the proposed zone and decides nothing.\n"
    try:
        asked.path.parent.mkdir(parents=True, exist_ok=True)
        _refuse_links(WorkTree(request.root).root, asked.path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(asked.path, flags, 0o644), "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(head + text)
    except FileExistsError as error:
        raise OutputError("the draft's file exists already", where=str(asked.path), hint="name another one with --name") from error
    except OSError as error:
        raise OutputError(f"the draft cannot be written: {error.strerror or error}", where=str(asked.path)) from error
    return asked.path


# --- what may be read ---------------------------------------------------------------------------


def _sealed(tree: Tree, zones: Zones) -> Iterator[tuple[bytes, bytes]]:
    for entry in tree.entries():
        if zones.place(entry.path, entry.mode).zone == "oracle":
            data = tree.read(entry.path)
            if data is not None:
                yield entry.path, data


def _read(tree: WorkTree, zones: Zones, sealed: dict[bytes, bytes], path: Path) -> str:
    try:
        if path.stat().st_size > LIMIT_B:
            raise UsageError(f"the file is longer than {LIMIT_B} bytes", where=str(path))
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror or error}", where=str(path)) from error
    name = _inside(tree, path)
    copied = bool(data.strip()) and data.strip() in {part.strip() for part in sealed.values()}
    if copied or (name is not None and zones.place(name).zone == "oracle"):
        raise UsageError("a sealed file is never sent", where=str(path), hint="give a sample of the failing input instead")
    return data.decode("utf-8", "replace")


def _inside(tree: WorkTree, path: Path) -> bytes | None:
    """The path of a file as the repository names it, links resolved; None outside of it."""
    try:
        return os.fsencode(path.resolve().relative_to(tree.root.resolve()).as_posix())
    except ValueError:
        return None


# --- where it may go ----------------------------------------------------------------------------


def _place(tree: WorkTree, policy: Policy, zones: Zones, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise UsageError(f"a draft is named test_….py in small letters, digits and underscores, not {name!r}")
    for pattern in policy.zones.proposed:
        folder = pattern.lstrip("/").partition("*")[0].rstrip("/")
        path = f"{folder}/{name}" if folder else name
        if not pattern.startswith("!") and zones.place(path.encode()).zone == "proposed":
            _refuse_links(tree.root, tree.root / path)
            return tree.root / path
    hint = 'an owner adds proposed = ["tests/proposed/**"]'
    raise UsageError("the policy has no proposed zone to write to", where=policy.source, hint=hint)


def _refuse_links(root: Path, path: Path) -> None:
    """No folder on the way may be a link: the draft would land in another zone, or outside."""
    for parent in path.parents:
        if parent == root:
            return
        if parent.is_symlink():
            raise UsageError("a link is in the way of the draft", where=str(parent))
    raise UsageError("the draft would leave the repository", where=str(path))
