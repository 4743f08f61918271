"""The whole environment of a git child, with nothing imported that a cache hit would have to wait for."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    # A commit-graph is an answer that somebody stored next to the objects; the objects themselves are asked.
    "core.commitGraph": "false",
    "core.useReplaceRefs": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.quotePath": "false",
    "core.autocrlf": "false",
    "core.warnAmbiguousRefs": "false",
    "diff.renames": "false",
    "diff.orderFile": os.devnull,
    "diff.ignoreSubmodules": "none",
    "diff.external": "",
    "merge.renormalize": "false",
    "gc.auto": "0",
    "protocol.allow": "never",
    "safe.directory": "*",
}


def git_environment(program: str, git_dir: str | Path) -> dict[str, str]:
    """The whole environment of a git child: no configuration of user or system, no attributes, hooks, filters, network or prompts."""
    env = {
        "PATH": os.pathsep.join((os.path.dirname(program), "/usr/bin", "/bin")),
        "LC_ALL": "C",
        "HOME": os.devnull,
        "GIT_DIR": str(git_dir),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ADVICE": "0",
        "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    }
    for number, (key, value) in enumerate(_SETTINGS.items()):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env
