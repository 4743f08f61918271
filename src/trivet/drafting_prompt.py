"""What is asked of the endpoint, and what is taken from its answer."""

from __future__ import annotations

import ast
import json
import re

from trivet.errors import EndpointError

LIMIT = 60_000
"""Characters of one part of the question."""
CODE_B = 200_000
_TASK = (
    "You write regression tests with pytest. You get the trace of a failure and a sample of its input; words in brackets such as [name 1] "
    "stand for values that were taken out. Write one Python file of tests that fail while the defect is there and pass once it is fixed. "
    "Make up plausible values instead of the words in brackets. Assert on what the production code returns or raises. Use no network, "
    "no clock, no randomness, no file outside tmp_path, and no file of the sealed tests. "
    "Answer with one fenced block of Python and nothing else."
)


def body(model: str, trace: str, sample: str, sources: tuple[tuple[str, str], ...]) -> bytes:
    """The bytes of the question; every text in it has been through the redactor."""
    parts = [f"Trace of the failure:\n\n{_bounded(trace)}"]
    parts += [f"Sample of the input:\n\n{_bounded(sample)}"] if sample else []
    parts += [f"Production code, {path}:\n\n{_bounded(text)}" for path, text in sources]
    question = {
        "model": model,
        "temperature": 0,
        "messages": [{"role": "system", "content": _TASK}, {"role": "user", "content": "\n\n".join(parts)}],
    }
    return json.dumps(question, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _bounded(text: str) -> str:
    """The first and last part of a long text: a trace begins with the call and ends with the failure."""
    if len(text) <= LIMIT:
        return text
    half = LIMIT // 2
    return f"{text[:half]}\n[{len(text) - LIMIT} characters left out]\n{text[-half:]}"


def code_of(answer: str) -> str:
    """The Python of an answer.

    Raises:
        EndpointError: it holds no Python that parses, or no test.
    """
    blocks = re.findall(r"^```[ \t]*(?:python|py)?[ \t]*\r?\n(.*?)^```", answer, re.DOTALL | re.MULTILINE | re.IGNORECASE)
    text = max(blocks, key=len) if blocks else answer
    if len(text.encode("utf-8", "replace")) > CODE_B or "\0" in text:
        raise EndpointError("the draft is too long, or no text", hint="ask again, with a shorter trace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise EndpointError(f"the draft is not Python: {error}", hint="ask again, or another model") from error
    names = (node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    if not any(name.startswith("test") for name in names):
        raise EndpointError("the draft holds no test", hint="ask again, or another model")
    return text.replace("\r\n", "\n").strip("\n") + "\n"
