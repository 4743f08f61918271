"""What the server imports before it is forked: the runner, this probe, and the parts of the standard library that a run looks at anyway."""

import importlib
import types

from . import launch

PARTS = ("wire", "record", "watch", "calm", "tamper", "mutate", "split_judge")


def load(request):
    """Import what every job of this judgement imports, none of which may come from the scoring tree: the server has no path into any tree.

    ``root``, ``files``, ``source_names`` as in a job.
    """
    launch.import_runner(None)
    for name in PARTS:
        importlib.import_module(f"{__package__}.{name}")
    from . import tamper

    tamper.load(types.SimpleNamespace(root=request["root"], files=request["files"]), frozenset(request["source_names"]))
