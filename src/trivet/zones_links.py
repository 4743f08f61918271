"""Where a link points, judged by its text alone."""

from __future__ import annotations


def link_place(path: bytes, target: bytes) -> bytes | None:
    """Where a link at ``path`` points inside the tree (``b""`` is the root), or None when it leaves the tree or can't be told.

    ``..`` counts only at the start: after a name it would depend on what that name is.
    """
    if not target or target.startswith(b"/") or b"\0" in target or b"\\" in target:
        return None
    here = path.split(b"/")[:-1]
    down: list[bytes] = []
    for part in target.split(b"/"):
        if part in (b"", b"."):
            continue
        if part == b"..":
            if down or not here:
                return None
            here = here[:-1]
            continue
        if part.lower() == b".git":
            return None
        down.append(part)
    return b"/".join((*here, *down))
