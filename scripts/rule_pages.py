"""Write a skeleton page for each rule that has none, and bring the generated head of the others up to date.

The head (title, verdict, why, next) comes from rules.py; the examples below it are written by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

from trivet.rules import RULES, Rule

PAGES = Path(__file__).resolve().parent.parent / "docs" / "rules"
LEGS = ("oracle-integrity", "src-score", "flake-lease")


def head(rule: Rule) -> str:
    """What rules.py says."""
    return f"# {rule.id}: {rule.title}\n\nVerdict: `{rule.leg}`\n\n**Why.** {rule.why}\n\n**Next.** {rule.next}\n\n"


def index() -> str:
    """The list of all pages."""
    text = "# The rules\n\nEvery finding names one of these. `trivet explain RULE` prints the same.\n"
    for leg in LEGS:
        text += f"\n## {leg}\n\n" + "".join(f"- [{rule.id}]({rule.id}.md) {rule.title}\n" for rule in RULES.values() if rule.leg == leg)
    return text


def main() -> int:
    """Write; tell which pages still need examples."""
    for rule in RULES.values():
        page = PAGES / f"{rule.id}.md"
        old = page.read_text("utf-8") if page.exists() else ""
        body = old[old.index("## Fails") :] if "## Fails" in old else "## Fails\n\n```text\n```\n\n## Passes\n\n```text\n```\n"
        page.write_text(head(rule) + body, "utf-8")
        if "```text\n```" in body:
            sys.stdout.write(f"{page}: write the examples\n")
    (PAGES / "index.md").write_text(index(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
