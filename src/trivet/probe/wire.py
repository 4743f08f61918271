"""The message format between the host and the probe: the one file of this folder that the host imports too.

The host hands the probe one ``Job`` as JSON on a descriptor. The probe answers with records, one JSON object a line, on another descriptor.
Each record has ``n`` (the nonce of the job), ``i`` (a running number from 0) and ``k`` (its kind):

``start``          pid, interpreter and pytest versions; the first record
``env``            facts about the environment: name to value
``refused``        ``text``: the interpreter or its pytest cannot run the job
``collected``      ``ids``: a slice of the node ids, in collection order
``generated``      ``ids``: a slice of the ids of tests with generated inputs
``internal``       ``text``: the runner itself broke, or was left by an exception
``collect_error``  ``file``, ``text``: a sealed file could not be collected
``collect_skip``   ``file``, ``reason``, ``env``, ``src``: a whole file was skipped
``begin``          ``id``: a test starts
``phase``          ``id``, ``when``, ``out`` (passed, failed, skipped, xfailed, xpassed), ``s`` (seconds), and where there are some: ``reason``,
                   ``env`` (a skip that speaks of the environment), ``src`` (raised by production code), ``fail`` (type, message, file, line)
``sub``            ``id``, ``out``, ``fail``: one subtest
``done``           ``id``: a test is over
``sign``           ``kind``, ``detail``, ``blocking``: a trace of tampering
``control``        what became of a negative control
``end``            ``count``: how many records came before; the last record
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional

_quote = json.encoder.encode_basestring_ascii

VERSION = 1
"""Raised when a record or a job changes its meaning."""

MAX_LINE = 1_000_000
"""Longest record in bytes; a longer line breaks the protocol."""


@dataclass
class Job:
    """What the probe has to do; every path is absolute except ``files``, which are relative to ``root``."""

    root: str
    files: List[str]
    paths: List[str]
    nonce: str
    ids: Optional[List[str]] = None
    """Exact node ids to keep; None keeps all."""
    drop: List[str] = field(default_factory=list)
    lift: List[str] = field(default_factory=list)
    """Node ids (or files, for a skip of a whole module) whose skip and xfail marks are lifted."""
    mode: str = "plain"
    controls: List[Dict[str, Any]] = field(default_factory=list)
    clock: Optional[float] = None
    """Seconds since the epoch at which the wall clock stands; None is the real clock."""
    clock_asked: bool = False
    """The policy names the clock itself: it stands still, and without a way to freeze it the job is refused."""
    clock_from: str = ""
    """Who holds the clock: "" the probe (time-machine), "preload" a library that the host put in front."""
    seed: int = 0
    order_seed: Optional[int] = None
    fresh: int = 0
    """Above 0: run only hypothesis tests, with that many examples drawn from ``fresh_seed``."""
    fresh_seed: int = 0
    source_roots: List[str] = field(default_factory=list)
    sealed: List[str] = field(default_factory=list)
    """Further sealed files, relative to ``root``, that lie inside a source root."""
    source_names: List[str] = field(default_factory=list)
    """Top-level modules that production code brings; they must come from the scoring tree."""
    own_runner: List[str] = field(default_factory=list)
    """Those of ``source_names`` on base that the runner itself needs: they are imported from the scoring tree even for the runner."""
    isolation: str = "shared"
    subject_fd: int = -1
    test_timeout_s: float = 60.0
    scratch: str = ""
    version: int = VERSION
    trial: Dict[str, Any] = field(default_factory=dict)
    """A trial of files: ``seconds`` (file to seconds it may take), ``total`` (seconds for all) and ``green`` (ids that must pass). What is
    left of a file is not run once it took longer or one of its tests did not pass; when the time for all is over nothing is."""
    extra: Dict[str, Any] = field(default_factory=dict)


def dump_job(job: Job) -> bytes:
    """Encode a job."""
    return json.dumps(asdict(job), ensure_ascii=True, separators=(",", ":")).encode("ascii")


def load_job(data: bytes) -> Job:
    """Decode a job; raises ValueError or TypeError when it is none of this version."""
    job = Job(**json.loads(data))
    if job.version != VERSION:
        raise ValueError(f"job of version {job.version}, this probe speaks {VERSION}")
    return job


def dump_record(nonce: str, number: int, kind: str, fields: Dict[str, Any]) -> bytes:
    """Encode one record as a line."""
    return _encode({"n": nonce, "i": number, "k": kind, **fields}).encode("ascii") + b"\n"


def _encode(value: Any) -> str:
    """Write JSON without a look at the ``json`` module, which tests and code under test may patch while records are written."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value) if value - value == 0 else "null"
    if isinstance(value, dict):
        return "{" + ",".join([_quote(str(key)) + ":" + _encode(item) for key, item in value.items()]) + "}"
    return "[" + ",".join([_encode(item) for item in value]) + "]"


def load_record(line: bytes) -> Dict[str, Any]:
    """Decode one line; raises ValueError when it is no record."""
    record = json.loads(line)
    if not isinstance(record, dict) or not isinstance(record.get("k"), str) or not isinstance(record.get("i"), int):
        raise ValueError("not a record")
    return record
