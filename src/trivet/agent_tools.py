"""Tools for agents over the Model Context Protocol: ask for a score, read it, learn what a rule means. Nothing else.

The operator decides which service, which token and which repositories; a caller of a tool cannot loosen, sign, cancel or publish anything.
A verdict is text for the agent to read: the merge is decided elsewhere, by the service and the forge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from trivet import __version__
from trivet.client import Client, Score
from trivet.errors import TrivetError, UsageError
from trivet.model import LEGS
from trivet.rules import RULES

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_INSTRUCTIONS = (
    "trivet judges a commit with sealed tests that you cannot change. Commit and push your work, then call submit_score with full commit "
    "ids. Only production code may change: a commit that also touches sealed tests, fixtures, manifests, leases or CI is blocked whatever "
    "its tests say. read_score tells what to do next."
)
P = ParamSpec("P")
_LONGEST_WAIT_S = 300
_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What the tools do, without the protocol.

    ``connect`` opens a client; ``repos`` are those an agent may name, empty for all of the token.
    """

    connect: Callable[[], Client]
    repos: tuple[str, ...] = ()

    def submit_score(self, repo: str, base: str, head: str, ref: str = "", wait_s: int = 0) -> str:
        """Ask for a score of commit ``head`` on top of commit ``base`` (full ids), and wait for it, up to ``wait_s`` seconds (at most 300).

        ``base`` is a commit of the protected branch; ``ref`` is your branch, whose older heads this one replaces. Asking again is free.
        """
        self._allowed(repo)
        with self.connect() as client:
            score = client.submit(repo, base=base, head=head, ref=ref)
            if not score.over and wait_s > 0:
                score = self._waited(client, score, min(wait_s, _LONGEST_WAIT_S))
            return told(score)

    def read_score(self, score_id: str) -> str:
        """Read a score: whether it may merge, the three verdicts, what blocked and what to do next."""
        with self.connect() as client:
            score = client.score(score_id)
            self._allowed(score.repo)
            return told(score)

    def list_scores(self, repo: str, limit: int = 10) -> str:
        """List the newest scores of a repository, newest first (at most 50)."""
        self._allowed(repo)
        with self.connect() as client:
            rows = client.scores(repo, limit=max(1, min(limit, 50)))
        return "\n".join(f"{row.id}  {row.word}  {row.state}  {row.head[:12]}" for row in rows) or "no scores yet"

    def list_leases(self, repo: str) -> str:
        """List the leases of a repository: sealed tests that may be skipped, by whom and until when. Only owners can add one."""
        self._allowed(repo)
        with self.connect() as client:
            rows = client.leases(repo)
        lines = [f"{row.get('qualname')}  until {row.get('expires_at')}  owner {row.get('owner')}: {row.get('reason')}" for row in rows]
        return "\n".join(lines) or "no leases: every sealed test has to run and pass"

    def explain_rule(self, rule: str) -> str:
        """Say what a rule such as TRV201 means, why it is there and what to do."""
        known = RULES.get(rule.strip().upper())
        if known is None:
            raise UsageError(f"no rule {rule!r}", hint="rules look like TRV201; read_score names those that blocked")
        return f"{known.id} ({known.leg}): {known.title}\nwhy: {known.why}\nnext: {known.next}"

    def _allowed(self, repo: str) -> None:
        if self.repos and repo not in self.repos:
            raise UsageError(f"no repository {repo!r} here", hint="there are " + ", ".join(self.repos))

    @staticmethod
    def _waited(client: Client, score: Score, seconds: float) -> Score:
        try:
            return client.wait(score.id, timeout_s=seconds)
        except TrivetError:
            return client.score(score.id)


def told(score: Score) -> str:
    """A score as text for an agent: the word first, then what to do."""
    lines = [f"{score.word}  score {score.id} of {score.repo}, head {score.head}, state {score.state}"]
    lines += [f"{leg}: {score.verdicts.get(leg) or 'not decided'}" for leg in reversed(LEGS)]
    if score.problem:
        lines.append(f"problem: {score.problem}")
    reasons = score.reasons
    lines += reasons[:_SHOWN]
    if len(reasons) > _SHOWN:
        lines.append(f"and {len(reasons) - _SHOWN} more findings")
    if not score.over:
        lines.append(f"next: call read_score with {score.id} again in a few seconds")
    elif score.merge is None:
        lines.append("next: nothing was decided, the merge stays blocked; submit again, or tell a maintainer")
    if score.page:
        lines.append(f"page: {score.page}")
    return "\n".join(lines)


def server(connect: Callable[[], Client], *, repos: Sequence[str] = ()) -> MCPServer:
    """The server with its tools; ``.run()`` serves standard input and output.

    Args:
        connect: opens a client with the operator's address and token.
        repos: the repositories that agents may name; empty for all that the token may.

    Raises:
        ModuleNotFoundError: the extra ``trivet[mcp]`` is not installed.
    """
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - of the extra
    from mcp.types import ToolAnnotations  # noqa: PLC0415

    tools = Tools(connect=connect, repos=tuple(repos))
    made = MCPServer("trivet", instructions=_INSTRUCTIONS, version=__version__, log_level="ERROR")
    ask = ToolAnnotations(title="Ask for a score", read_only_hint=False, destructive_hint=False, idempotent_hint=True)
    made.add_tool(_telling(tools.submit_score), annotations=ask)
    for tool, title in (
        (tools.read_score, "Read a score"),
        (tools.list_scores, "List scores"),
        (tools.list_leases, "List leases"),
        (tools.explain_rule, "Explain a rule"),
    ):
        made.add_tool(_telling(tool), annotations=ToolAnnotations(title=title, read_only_hint=True))
    return made


def _telling(tool: Callable[P, str]) -> Callable[P, str]:
    """A tool whose errors reach the agent as they are: what is wrong and what to do, without a traceback."""
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 - of the extra

    @wraps(tool)
    def telling(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return tool(*args, **kwargs)
        except TrivetError as error:
            raise ToolError(": ".join(part for part in (error.message, error.hint) if part)) from error

    return telling
