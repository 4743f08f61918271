"""The escape attempts: a program of its own (standard library, Python 3.9+) that is run *behind* a wall and tries to get out.

Started as ``python wall_escapes.py FACTS`` with a JSON object of what lies outside (see ``wall_probes``). It prints one JSON line for each
attempt: ``[name, "held" | "open", detail]``. An attempt that raises OSError was held; one that gets through says what it got.
Nothing here does damage where it succeeds: it is also run without a wall, to see that each attempt can succeed.
"""

import json

import escape_files  # noqa: F401 - registers its attempts
import escape_kernel  # noqa: F401
import escape_others  # noqa: F401
from escape_base import ATTEMPTS, FACTS


def main():
    wanted, harmful = FACTS.get("only"), tuple(FACTS.get("harmful", ()))
    if FACTS.get("names"):
        print("\n".join(ATTEMPTS))
        return
    for name, function in ATTEMPTS.items():
        if (wanted and name not in wanted) or (harmful and name.startswith(harmful)):
            continue
        try:
            row = [name, "open", str(function())]
        except OSError as error:
            row = [name, "held", str(error)]
        except BaseException as error:
            row = [name, "broken", repr(error)]
        print(json.dumps(row), flush=True)
    print(json.dumps(["end", "held", ""]), flush=True)


if __name__ == "__main__":
    main()
