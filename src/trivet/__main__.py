"""Entry point: ``python -m trivet`` and the ``trivet`` command."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Run the command line and exit with its status."""
    argv = sys.argv[1:]
    sys.exit(_known(argv) if argv[:1] == ["gate"] else _run(argv))


def _known(argv: list[str]) -> int:
    """A question that was answered before is answered without loading the command line."""
    from trivet import quick  # noqa: PLC0415 - not on the way of other commands

    try:
        status = quick.attempt(argv[1:], os.environ)  # noqa: TID251 - this is the door
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was judged, the merge stays blocked\n")
        return 3
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 3
    except Exception:  # noqa: BLE001 - whatever is wrong there, the long way judges, and says so if it meets it too
        status = None
    return _run(argv) if status is None else status


def _run(argv: list[str]) -> int:
    from trivet.cli import main  # noqa: PLC0415 - keeps `python -m trivet` start-up in one place

    return main(argv)


if __name__ == "__main__":
    run()
