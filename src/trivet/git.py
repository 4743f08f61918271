"""Git, by plumbing only: repositories, commits, trees, blobs, changes, merges. Bytes, not text; nobody's configuration but ours."""

from __future__ import annotations

from trivet.git_objects import EXECUTABLE, FILE, FOLDER, GITLINK, LINK, Item
from trivet.git_repository import Merged, Repository, open_repository
from trivet.git_trees import CommitTree, PlainTree, Tree, WorkTree

__all__ = [
    "EXECUTABLE",
    "FILE",
    "FOLDER",
    "GITLINK",
    "LINK",
    "CommitTree",
    "Item",
    "Merged",
    "PlainTree",
    "Repository",
    "Tree",
    "WorkTree",
    "open_repository",
]
