"""Write tests/fakes/github_shapes.json: what GitHub's published API description says about the few calls that we make.

It needs npm: the description (@octokit/openapi, MIT) and the examples of deliveries (@octokit/webhooks-examples, MIT) are packages there.
They are far too large for this repository, so only names and types of what our fake and our adapters use are kept. With --check the file
is compared instead, and our reader of deliveries is fed with every example.

    python scripts/forge_shapes.py [--check] [--packages DIR]     DIR holds the two unpacked packages, openapi/ and webhooks-examples/
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHAPES = ROOT / "tests" / "fakes" / "github_shapes.json"
CALLS = (
    ("get", "/user"),
    ("get", "/orgs/{org}/teams/{team_slug}/members"),
    ("post", "/app/installations/{installation_id}/access_tokens"),
    ("get", "/repos/{owner}/{repo}"),
    ("get", "/repos/{owner}/{repo}/pulls"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"),
    ("get", "/repos/{owner}/{repo}/commits/{ref}/check-runs"),
    ("get", "/repos/{owner}/{repo}/commits/{commit_sha}/pulls"),
    ("get", "/repos/{owner}/{repo}/git/ref/{ref}"),
    ("post", "/repos/{owner}/{repo}/check-runs"),
    ("patch", "/repos/{owner}/{repo}/check-runs/{check_run_id}"),
    ("get", "/repos/{owner}/{repo}/issues/{issue_number}/comments"),
    ("post", "/repos/{owner}/{repo}/issues/{issue_number}/comments"),
    ("patch", "/repos/{owner}/{repo}/issues/comments/{comment_id}"),
    ("delete", "/repos/{owner}/{repo}/issues/comments/{comment_id}"),
    ("get", "/repos/{owner}/{repo}/rules/branches/{branch}"),
    ("get", "/repos/{owner}/{repo}/rulesets"),
    ("post", "/repos/{owner}/{repo}/rulesets"),
    ("get", "/repos/{owner}/{repo}/rulesets/{ruleset_id}"),
)
USED = frozenset(
    {
        "id", "node_id", "login", "type", "number", "state", "head", "base", "sha", "ref", "user", "labels", "name", "body",
        "commit_id", "submitted_at", "status", "conclusion", "external_id", "head_sha", "check_runs", "total_count", "output",
        "title", "summary", "annotations_count", "app", "slug", "object", "url", "token", "expires_at", "default_branch",
        "full_name", "target", "enforcement", "conditions", "rules", "bypass_actors", "parameters", "draft", "merged", "source_type",
        "ruleset_id",
    }
)
"""Properties of answers that are kept; of requests everything is."""
WORDS = ("type", "enum", "minLength", "maxLength", "minimum", "maximum", "pattern", "maxItems", "minItems", "const")


def main() -> int:
    """Write or compare; 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; compare, and read every example of a delivery")
    parser.add_argument("--packages", type=Path, help="where the packages lie unpacked (default: fetched by npm)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        packages = args.packages or fetched(Path(folder))
        text = json.dumps(shapes(packages / "openapi"), indent=0, sort_keys=True) + "\n"
        if not args.check:
            SHAPES.write_text(text, "utf-8")
            sys.stdout.write(f"wrote {SHAPES.relative_to(ROOT)}, {len(text)} bytes\n")
            return 0
        same = SHAPES.read_text("utf-8") == text
        sys.stdout.write("the shapes are those of the package\n" if same else "the shapes differ: run scripts/forge_shapes.py\n")
        return int(not same or not examples(packages / "webhooks-examples"))


def fetched(folder: Path) -> Path:
    """Let npm fetch both packages, and unpack them."""
    for name in ("openapi", "webhooks-examples"):
        done = subprocess.run(["npm", "pack", "--silent", f"@octokit/{name}"], cwd=folder, check=True, capture_output=True, text=True)
        with tarfile.open(folder / done.stdout.split()[-1]) as archive:
            archive.extractall(folder / name, filter="data")
        (folder / name / "package").rename(folder / f"{name}-unpacked")
        (folder / name).rmdir()
        (folder / f"{name}-unpacked").rename(folder / name)
    return folder


def shapes(package: Path) -> dict[str, Any]:
    """Each call with its query parameters, request body and good answers, reduced to names and types."""
    document = json.loads((package / "generated" / "api.github.com.deref.json").read_text("utf-8"))
    version = json.loads((package / "package.json").read_text("utf-8"))["version"]
    calls = {}
    for method, path in CALLS:
        found = document["paths"][path][method]
        body = found.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        answers = {
            status: reduced(answer["content"]["application/json"]["schema"], wanted=USED) if "content" in answer else None
            for status, answer in found["responses"].items()
            if status.startswith("2")
        }
        calls[f"{method.upper()} {path}"] = {
            "query": sorted(row["name"] for row in found.get("parameters", ()) if row.get("in") == "query"),
            "body": None if body is None else reduced(body, wanted=None),
            "answers": answers,
        }
    return {"source": f"@octokit/openapi {version}", "calls": calls}


def reduced(schema: Any, *, wanted: frozenset[str] | None) -> Any:
    """A schema without prose; answers lose what is not used, and so also what is required."""
    if not isinstance(schema, dict):
        return schema
    made = {word: schema[word] for word in WORDS if word in schema}
    if schema.get("nullable"):  # OpenAPI's word for what JSON Schema says with types
        made |= {"type": [made["type"], "null"]} if isinstance(made.get("type"), str) else {}
        made |= {"enum": [*made["enum"], None]} if "enum" in made else {}
    if isinstance(schema.get("properties"), dict):
        rows = {key: value for key, value in schema["properties"].items() if wanted is None or key in wanted}
        made["properties"] = {key: reduced(value, wanted=wanted) for key, value in rows.items()}
    if wanted is None and "required" in schema:
        made["required"] = schema["required"]
    if "items" in schema:
        made["items"] = reduced(schema["items"], wanted=wanted)
    if isinstance(schema.get("additionalProperties"), (dict, bool)) and wanted is None:
        made["additionalProperties"] = reduced(schema["additionalProperties"], wanted=wanted)
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            made[word] = [reduced(part, wanted=wanted) for part in schema[word]]
    return made


def examples(package: Path) -> bool:
    """Feed our reader with every example; true where it takes them all."""
    sys.path.insert(0, str(ROOT / "src"))
    from trivet.forge.events import github_payload  # noqa: PLC0415 - after the path is set

    counts: dict[str, int] = {}
    for row in json.loads((package / "api.github.com" / "index.json").read_text("utf-8")):
        for data in row["examples"]:
            event = github_payload(row["name"], "example", data)
            counts[event.kind] = counts.get(event.kind, 0) + 1
            if event.kind in ("change", "closed") and event.number is None:
                sys.stdout.write(f"{row['name']}: no number was found\n")
                return False
    sys.stdout.write("deliveries read: " + ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())) + "\n")
    return True


if __name__ == "__main__":
    sys.exit(main())
