"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from trivet import errors
from trivet.cli.table import COMMANDS
from trivet.rules import RULES
from trivet.sealed import policy_file

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = {".git", ".venv", "__pycache__", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".import_linter_cache", "ci_out", "build", "dist"}
FILE_LINES, FUNCTION_LINES = 400, 80
PAGES = ROOT / "docs" / "rules"


def files(*patterns: str) -> Iterator[Path]:
    """The files of the repository, without what tools leave."""
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and not SKIPPED & set(path.relative_to(ROOT).parts) and not any(p.endswith(".egg-info") for p in path.parts):
                yield path


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


PYTHON = [path for path in files("src/**/*.py", "tests/**/*.py", "scripts/**/*.py", "benchmarks/**/*.py") if "corpus/" not in name(path)]


def test_no_file_is_longer_than_a_reader_bears() -> None:
    long = {name(path): count for path in PYTHON if (count := len(path.read_text("utf-8").splitlines())) > FILE_LINES}
    assert not long


def test_no_function_is_longer_than_a_reader_bears() -> None:
    long = {}
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES:
                    long[f"{name(path)}:{node.name}"] = lines
    assert not long


def test_no_module_is_named_after_nothing() -> None:
    assert not [name(path) for path in PYTHON if path.stem in ("utils", "util", "helpers", "common", "misc", "manager")]


def test_nothing_names_a_place_of_one_machine() -> None:
    places = re.compile(r"(?<![\w.$}-])/(?:work|root|home/\w+|Users/\w+|mnt)/")
    in_tests = re.compile(r"(?<![\w.$}-])/(?:work|Users/\w+)/")  # tests name places of a host as targets of attacks
    found = []
    for path in files("**/*", ".github/**/*", ".ci/*"):
        if path.suffix in (".lock", ".png") or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            if (in_tests if name(path).startswith("tests/") else places).search(line):
                found.append(f"{name(path)}:{number}: {line.strip()[:120]}")
    assert not found


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_each_rule_has_a_page_with_why_next_and_both_examples(rule) -> None:
    page = PAGES / f"{rule.id}.md"
    assert page.exists(), "run scripts/rule_pages.py and write the examples"
    text = page.read_text("utf-8")
    for part in (f"# {rule.id}: {rule.title}\n", f"`{rule.leg}`", f"**Why.** {rule.why}\n", f"**Next.** {rule.next}\n"):
        assert part in text, "run scripts/rule_pages.py"
    for section in ("## Fails", "## Passes"):
        example = re.search(section + r"\n\n```text\n(.*?)\n?```", text, re.DOTALL)
        assert example, section
        assert example[1].strip(), f"{section} has no example"


def test_no_page_outlives_its_rule() -> None:
    assert {path.stem for path in PAGES.glob("TRV*.md")} == set(RULES)
    listed = re.findall(r"^- \[(TRV\d+)\]", (PAGES / "index.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(RULES), "run scripts/rule_pages.py"


def test_no_advice_suggests_to_touch_an_oracle_to_get_green() -> None:
    for rule in RULES.values():
        if re.search(r"\b(test|fixture|manifest|ledger|lease|oracle)\b", rule.next, re.IGNORECASE):
            assert not re.match(r"(Edit|Change|Delete|Remove|Relax|Update) the (sealed )?(test|fixture|manifest|ledger|oracle)", rule.next), rule.id


def test_every_error_code_has_a_row() -> None:
    codes = {value.code for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.TrivetError)}
    text = (ROOT / "docs" / "messages.md").read_text("utf-8")
    assert not [code for code in codes if f"| {code} |" not in text]


def test_every_key_of_the_policy_is_explained() -> None:
    text = (ROOT / "docs" / "trivet-toml.md").read_text("utf-8")
    missing = []
    for table, struct in policy_file.TABLES.items():
        if table in ("", "zones.allow", "score.exclude", "score.override"):
            continue
        for field in msgspec.structs.fields(struct):
            if f"{table}.{field.encode_name}" not in text and f"`.{field.encode_name}`" not in text:
                missing.append(f"{table}.{field.encode_name}")
    assert not missing


def test_every_link_between_documents_leads_somewhere() -> None:
    broken = []
    for path in files("*.md", "docs/**/*.md", "tests/README.md", "examples/**/README.md"):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text("utf-8")):
            if not re.match(r"https?:|mailto:", target) and not (path.parent / target).exists():
                broken.append(f"{name(path)}: {target}")
    assert not broken


def test_the_lock_has_hashes_no_host_and_every_dependency() -> None:
    text = "".join(path.read_text("utf-8") for path in files("requirements/*.txt"))
    assert "://" not in text
    pinned = {row.split("==")[0].lower().replace("_", "-") for row in text.splitlines() if "==" in row and not row.startswith(" ")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = (row for extra in project["project"]["optional-dependencies"].values() for row in extra)
    wanted = [*project["project"]["dependencies"], *extras, *(row for group in project["dependency-groups"].values() for row in group if isinstance(row, str))]
    assert not [row for row in wanted if re.split(r"[<>=!~\[; ]", row)[0].lower() not in {pin.split("[")[0] for pin in pinned}], "run scripts/lock"
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert "--hash=sha256:" in block


def test_decisions_have_one_number_each_which_their_title_says() -> None:
    records = [*files("docs/decisions/*.md")]
    numbers = [path.name[:4] for path in records]
    assert numbers == [f"{number:04}" for number in range(1, len(records) + 1)]
    for path in records:
        assert path.read_text("utf-8").startswith(f"# {path.name[:4]}: "), name(path)


def test_every_dependency_of_the_gate_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    record = next((ROOT / "docs" / "decisions").glob("0008-*.md")).read_text("utf-8")
    for row in project["project"]["dependencies"]:
        assert f"| {re.split(r'[<>=!~ ]', row)[0]} |" in record


def test_actions_are_pinned_and_workflows_hold_no_token() -> None:
    workflows = [*files(".github/workflows/*.yml", "src/trivet/templates/github*.yml", "action.yml")]
    assert workflows
    for path in workflows:
        text = path.read_text("utf-8")
        for use in re.findall(r"uses:\s*(\S+)", text):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}|\./\S*", use), (name(path), use)
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")
        if "jobs:" in text:
            assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)
            assert text.count("runs-on:") == text.count("timeout-minutes:")


def test_change_notes_are_sentences_of_a_known_kind() -> None:
    for path in files("changelog.d/*"):
        assert re.fullmatch(r"[\w-]+\.(added|changed|fixed|removed|security)\.md", path.name), path.name
        assert path.read_text("utf-8").strip().endswith("."), path.name


def test_scripts_that_are_called_can_be_executed() -> None:
    for script in (".ci/run", "scripts/lock", "scripts/system_packages"):
        assert (ROOT / script).stat().st_mode & 0o111, script
        first = (ROOT / script).read_text("utf-8").splitlines()[0]
        subprocess.run([first.split("/")[-1].split()[-1], "-n", str(ROOT / script)], check=True)
    assert "set -euo pipefail" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_every_command_of_the_overview_is_there() -> None:
    assert not [row for row in COMMANDS if not (ROOT / "src" / "trivet" / "cli" / f"{row.replace('-', '_')}_command.py").exists()]


def test_the_measured_table_of_the_threat_model_is_what_was_measured() -> None:
    done = subprocess.run(["python3", str(ROOT / "scripts" / "measured.py"), "--check"], check=False)
    assert done.returncode == 0, "run scripts/measured.py with the results of a corpus run"
