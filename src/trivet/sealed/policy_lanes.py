"""``.pyrefix-lanes.toml``, read as it stands; anything weaker than two separate lanes is refused."""

from __future__ import annotations

from typing import Any

from trivet.errors import PolicyError
from trivet.sealed.policy_file import fail, load_toml

_KEYS = {
    "blocking": {"root": str, "merge": "required", "forbid_agent_writes": True},
    "advisory": {"root": str, "merge": "report"},
}


def read_lanes(data: bytes, name: str, label: str) -> tuple[str, str]:
    """The roots of the blocking and the advisory lane, without slashes at the ends.

    Raises:
        PolicyError: a lane or key is missing, unknown or weaker than required, or one root lies inside the other.
    """
    table = load_toml(data, name, label)
    text = data.decode("utf-8")
    for key in table:
        if key != "lanes":
            fail(key, "unknown key", text, name, label, "known here: lanes")
    lanes = table.get("lanes")
    if not isinstance(lanes, dict):
        raise PolicyError("lanes: is required", where=f"{name} at {label}", hint="name [lanes.advisory] and [lanes.blocking]")
    for key in lanes:
        if key not in _KEYS:
            fail(f"lanes.{key}", "unknown lane", text, name, label, "known here: advisory, blocking")
    roots = {lane: _root(lane, lanes.get(lane), text, name, label) for lane in _KEYS}
    blocking, advisory = roots["blocking"], roots["advisory"]
    if f"{blocking}/".startswith(f"{advisory}/") or f"{advisory}/".startswith(f"{blocking}/"):
        fail("lanes.advisory.root", f"{advisory!r} and {blocking!r} overlap", text, name, label, "give each lane a folder of its own")
    return blocking, advisory


def _root(lane: str, row: Any, text: str, name: str, label: str) -> str:
    at = f"lanes.{lane}"
    if not isinstance(row, dict):
        fail(at, "is required", text, name, label, f"add [lanes.{lane}]")
    for key in row:
        if key not in _KEYS[lane]:
            fail(f"{at}.{key}", "unknown key", text, name, label, f"known here: {', '.join(_KEYS[lane])}")
    for key, wanted in _KEYS[lane].items():
        value = row.get(key)
        if wanted is str:
            continue
        if type(value) is not type(wanted) or value != wanted:
            fail(f"{at}.{key}", f"must be {_toml(wanted)}; anything weaker is refused", text, name, label)
    root = row.get("root")
    if not isinstance(root, str) or not root.strip("/") or root.startswith("/") or ".." in root.split("/") or "\\" in root:
        fail(f"{at}.root", "must be a folder inside the repository", text, name, label)
    return root.strip("/").removeprefix("./")


def _toml(value: object) -> str:
    return "true" if value is True else f'"{value}"'
