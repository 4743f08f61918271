"""One table of all figures: id, goal, figure, physical limit. Reads what the scripts wrote to benchmarks/results.

python benchmarks/table.py [--run] [--markdown] [FOLDER]

With ``--run`` all scripts run first, one after the other; one that fails is named at the end and does not stop the others.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
OPTIONS = {"bench_cold.py": ("--small",)}
"""What a script needs to be told."""
COLUMNS = ("id", "what", "goal", "figure", "quartiles", "", "physical limit")


def rows(folder: Path) -> list[tuple[str, ...]]:
    """The lines of the table, by id; figures without an id come last."""
    found: list[tuple[tuple[int, str], tuple[str, ...]]] = []
    for file in sorted(folder.glob("*.json")):
        result = json.loads(file.read_text("utf-8"))
        for number, figure in enumerate(result.get("figures", ())):
            digits = re.search(r"\d+", figure["id"])
            order = (int(digits[0]) if digits else 1000, f"{file.name} {number:03}")
            found.append((order, cells(figure, loaded=bool(result.get("loaded")))))
    return [cell for _, cell in sorted(found)]


def cells(figure: dict[str, Any], *, loaded: bool) -> tuple[str, ...]:
    """One figure as text."""
    goal = "" if figure["goal"] is None else f"{figure['way']} {figure['goal']:g} {figure['unit']}"
    value = "not measured" if figure["value"] is None else f"{figure['value']:.3g} {figure['unit']}"
    spread = "" if not figure.get("spread") else "{:.3g} to {:.3g}".format(*figure["spread"])
    word = {True: "reached", False: "NOT reached", None: ""}[figure["held"]]
    what = figure["what"] + (", cores busy" if loaded else "")
    limit = "; ".join(part for part in (figure["limit"], figure["note"]) if part)
    return figure["id"], what, goal, value, spread, word, limit


def render(table: list[tuple[str, ...]], *, markdown: bool) -> str:
    """The table as text, or as Markdown."""
    lines = [COLUMNS, *table]
    if markdown:
        body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines]
        return "\n".join([body[0], "|" + "---|" * len(COLUMNS), *body[1:]]) + "\n"
    widths = [max(len(row[at]) for row in lines) for at in range(len(COLUMNS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in lines) + "\n"


def run_all() -> list[str]:
    """Run every script; the names of those that failed."""
    failed = []
    for script in sorted(RESULTS.parent.glob("bench_*.py")):
        print(script.name, flush=True)
        if subprocess.run([sys.executable, str(script), *OPTIONS.get(script.name, ())], check=False).returncode:
            failed.append(script.name)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--run", action="store_true", help="run all scripts first")
    options = parser.parse_args()
    failed = run_all() if options.run else []
    table = rows(options.folder)
    if not table:
        print("no results yet: run `make bench`, or one of the scripts", file=sys.stderr)
        return 2
    print(render(table, markdown=options.markdown), end="")
    for name in failed:
        print(f"{name} failed", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
