"""The commands and their one-line texts, in the order in which a newcomer meets them."""

from __future__ import annotations

COMMANDS: dict[str, str] = {
    "init": "write configuration, folders, owners and CI jobs for a repository",
    "seal": "write or check the manifests of sealed tests and fixtures",
    "gate": "judge a change: three verdicts, advisory report, join",
    "verdict": "judge one leg, for a separate CI job",
    "join": "AND the verdict files of one change",
    "admit": "judge an oracle change",
    "lease": "add, adopt, list, check, renew and remove leases; print digests",
    "split": "cut a mixed change into a source part and an oracle part",
    "advisory": "run the agent's own tests: a report, never a verdict",
    "explain": "say which zone a path is in, what a rule means, or what a decision says",
    "try": "say what the gate would have said of the last commits",
    "policy": "show the policy that counts, or the schema of trivet.toml",
    "replay": "judge again what a decision was about, and say whether the outcome is equal",
    "env": "print the environment part of the replay key, and its digest",
    "github": "review evidence, comment and checks on GitHub",
    "gitlab": "review evidence, comment and statuses on GitLab",
    "doctor": "say what this host and this repository can and cannot hold",
    "key": "make, show, trust, rotate and revoke signing keys",
    "verify": "check a signed decision, and answer it",
    "attach": "put signed verdicts beside the commit that they are about",
    "log": "keep and check a transparency log of decisions",
    "serve": "run the scoring service",
    "worker": "judge for a scoring service",
    "submit": "ask a scoring service for a score",
    "token": "make, list and revoke tokens of a scoring service",
    "store": "migrate, check, back up, restore and tidy the store of a scoring service",
    "mcp": "give agents tools to submit and read scores (Model Context Protocol, stdio)",
    "completion": "print a shell completion script",
}
