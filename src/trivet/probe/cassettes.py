"""Recorded HTTP exchanges: one JSON file a test, in the layout of vcrpy's own JSON, with ``base64`` beside ``string`` for bytes."""

import base64
import hashlib
import json
import os
import re
import urllib.parse

from . import redact

_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 100


def path_of(folder, nodeid):
    """The file of one test: ``FOLDER/tests/sealed/test_a/TestB.test_c-<parameters>.json``."""
    file, _, rest = nodeid.partition("::")
    name, bracket, parameters = rest.partition("[")
    name = name.replace("::", ".")
    if bracket:
        name += "-" + hashlib.sha256(parameters.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    name = _ODD.sub("_", name)[:_LONGEST]
    return os.path.join(folder, *[_ODD.sub("_", part) for part in os.path.splitext(file)[0].split("/")], name + ".json")


def folder_of(folder, file):
    """Where the recordings of one test file lie."""
    return os.path.join(folder, *[_ODD.sub("_", part) for part in os.path.splitext(file)[0].split("/")])


def load(path):
    """The exchanges of a file; an empty list where there is none. Raises ValueError where it is no such file."""
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except FileNotFoundError:
        return []
    if not isinstance(data, dict) or not isinstance(data.get("interactions"), list):
        raise ValueError("no recording: " + path)
    return data["interactions"]


def dumps(interactions):
    """The text of a file."""
    return json.dumps({"version": 1, "interactions": interactions}, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def packed(data):
    """Bytes as JSON holds them."""
    if data is None:
        return {"string": ""}
    if isinstance(data, str):
        return {"string": data}
    try:
        return {"string": bytes(data).decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(bytes(data)).decode("ascii")}


def unpacked(field):
    """What ``packed`` was given, as bytes; a plain text is taken as well."""
    if field is None:
        return b""
    if isinstance(field, str):
        return field.encode("utf-8")
    if "base64" in field:
        return base64.b64decode(field["base64"])
    return (field.get("string") or "").encode("utf-8")


def key(method, uri, body):
    """What makes two requests one: method, address with its parameters in any order, body."""
    parts = urllib.parse.urlsplit(redact.uri(uri))
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    query = tuple(sorted(urllib.parse.parse_qsl(parts.query, keep_blank_values=True)))
    return (method.upper(), parts.scheme, (parts.hostname or "").lower(), port, parts.path or "/", query, _plain(redact.body(body or b"")))


def _plain(body):
    data = body.encode("utf-8") if isinstance(body, str) else bytes(body)
    try:
        return json.dumps(json.loads(data), sort_keys=True)
    except (ValueError, RecursionError):
        return data


class Tape:
    """The exchanges of one test; each is given out once, in the order in which they were recorded."""

    def __init__(self, path):
        self.path = path
        self.rows = [(key(row["request"]["method"], row["request"]["uri"], unpacked(row["request"].get("body"))), row["response"]) for row in load(path)]
        self.given = [False] * len(self.rows)

    def answer(self, method, uri, body):
        """The response of a request, or None where none is left."""
        wanted = key(method, uri, body)
        for number, (known, response) in enumerate(self.rows):
            if known == wanted and not self.given[number]:
                self.given[number] = True
                return response
        return None

    def why_not(self, method, uri, body):
        """What a test is told whose request has no recording."""
        wanted = key(method, uri, body)
        times = sum(known == wanted for known, _ in self.rows)
        name = f"{method.upper()} {redact.uri(uri)}"
        if times:
            return f"{name} was recorded {times} times and is asked once more"
        near = [known for known, _ in self.rows if known[:5] == wanted[:5]]
        return f"there is no recording of {name}" + (" with these parameters and this body" if near else "")
