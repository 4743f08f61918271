#!/usr/bin/env python3
"""Keep the measured table of the threat model true: which attack families each level of isolation stopped.

measured.py LEVEL RESULTS.json     take the results of a corpus run (`run_cases.py --json`) for one level, and write the table anew
measured.py --check                fail if the table is not what the measurements say
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "src" / "trivet" / "templates" / "measured.json"
PAGE = ROOT / "docs" / "threat-model.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
CORPUS = "cases-runtime"


def counted(rows: Iterable[dict[str, Any]]) -> dict[str, list[int]]:
    """Family → [right, all] of the cases in which only production code moves."""
    found: dict[str, list[int]] = {}
    for row in rows:
        if row["corpus"] != CORPUS:
            continue
        pair = found.setdefault("honest" if row["kind"] == "honest" else row["family"], [0, 0])
        pair[0] += bool(row["right"])
        pair[1] += 1
    return dict(sorted(found.items()))


def table(levels: dict[str, dict[str, list[int]]]) -> str:
    """The table in Markdown; the honest patches that merged stand in the last row."""
    names = sorted({family for level in levels.values() for family in level} - {"honest"})
    lines = ["| family | " + " | ".join(levels) + " |", "|---|" + "---|" * len(levels)]
    for family in names:
        cells = ["{} of {}".format(*level[family]) if family in level else "-" for level in levels.values()]
        lines.append(f"| [{family}](attacks/{family}.md) | " + " | ".join(cells) + " |")
    sums = [[sum(pair[at] for name, pair in level.items() if name != "honest") for at in (0, 1)] for level in levels.values()]
    lines.append("| all attacks stopped | " + " | ".join(f"{right} of {total}" for right, total in sums) + " |")
    honest = ["{} of {}".format(*level["honest"]) if "honest" in level else "-" for level in levels.values()]
    lines.append("| honest patches merged | " + " | ".join(honest) + " |")
    return "\n".join(lines) + "\n"


def page(text: str, levels: dict[str, dict[str, list[int]]]) -> str:
    """The page with its table written anew."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE.name} lacks the marks of the table")
    return before + BEGIN + table(levels) + END + after


def main(argv: list[str]) -> int:
    """Take results, or check."""
    levels: dict[str, dict[str, list[int]]] = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
    if argv == ["--check"]:
        return int(page(PAGE.read_text("utf-8"), levels) != PAGE.read_text("utf-8"))
    level, results = argv
    levels[level] = counted(json.loads(Path(results).read_text("utf-8")))
    DATA.write_text(json.dumps(levels, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(PAGE.read_text("utf-8"), levels), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
