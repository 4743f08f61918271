"""The Python client and the tools for agents against a running service, whose command is a stand-in that ends at once."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from doc_examples import example
from service_process import ROOT, Place, Running
from trivet.cli import load, parser_of
from trivet.client import Client
from trivet.errors import ClientError


@dataclass
class Reached:
    """A running service with its place, address and token."""

    place: Place
    running: Running
    address: str
    token: str


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[Reached]:
    place = Place(tmp_path_factory.mktemp("clients"), heads=12)
    running, address = place.serve()
    yield Reached(place=place, running=running, address=address, token=place.token())
    assert running.stop() == 0, running.said


def heads(place: Place, digits: str) -> list[str]:
    return [head for head in place.heads if head[-1] in digits]


def test_a_score_is_asked_for_and_waited_for(service) -> None:
    with Client(service.address, token=service.token) as client:
        for head in service.place.heads[:3]:
            seen: list[str] = []
            asked = client.submit("alpha", base=service.place.base, head=head)
            score = client.wait(asked.id, timeout_s=60, on_change=lambda score, seen=seen: seen.append(score.state))
            wanted = "MERGE_OK" if head[-1].isdigit() else "MERGE_BLOCKED"
            assert (score.word, score.over, seen[-1]) == (wanted, True, "done")
            assert client.submit("alpha", base=service.place.base, head=head).id == asked.id, "asking again is the same score"
            assert client.decision(asked.id)["merge"] is score.merge
            assert [event.kind for event in client.events(asked.id)][-1] == "end"
        assert len(client.scores("alpha")) >= 3
        assert client.leases("alpha") == ()
        assert client.history("alpha")["repo"] == "alpha"


def test_the_example_of_the_documentation_runs(service, capsys) -> None:
    head = next(head for head in service.place.heads if head[-1] in "abcd")
    known = {"url": service.address, "token": service.token, "base": service.place.base, "head": head}
    exec(compile(example("clients.md", "trivet.client"), "clients.md", "exec"), known)
    told = capsys.readouterr().out
    assert "MERGE_BLOCKED" in told
    assert "TRV201 tests/sealed/test_a.py:3" in told


def test_agents_can_be_configured_as_the_documentation_says() -> None:
    configured = json.loads(example("clients.md", "Tools for agents", language="json"))["mcpServers"]["trivet"]
    assert configured["command"] == "trivet"
    args = parser_of("mcp", load("mcp")).parse_args(configured["args"][1:])
    assert (args.server, args.repo, str(args.token_file)) == ("https://scores.example", ["shop"], "trivet.token")


def test_refusals_have_their_status(service) -> None:
    with Client(service.address, token="trv_wrong") as client, pytest.raises(ClientError) as caught:
        client.scores()
    assert caught.value.status == 401
    with Client(service.address, token=service.token) as client:
        for ask, status in ((lambda: client.score("0" * 24), 404), (lambda: client.submit("nobody", base="b" * 40, head="c" * 40), 404), (lambda: client.submit("alpha", base="x", head="y"), 400)):
            with pytest.raises(ClientError) as caught:
                ask()
            assert caught.value.status == status


async def talk(service: Reached, *calls: tuple[str, dict[str, object]]) -> tuple[list[str], list[tuple[bool, str]]]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "TRIVET_SERVER": service.address, "TRIVET_TOKEN": service.token}
    child = StdioServerParameters(command=sys.executable, args=["-m", "trivet", "mcp", "--repo", "alpha"], env=env)
    async with stdio_client(child) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        told = []
        for name, arguments in calls:
            result = await session.call_tool(name, arguments)
            told.append((result.is_error, " ".join(part.text for part in result.content)))
    return [tool.name for tool in tools], told


def test_an_agent_submits_and_reads_over_stdio_and_can_do_nothing_else(service) -> None:
    head = service.place.heads[4]
    # In a thread of its own: a browser that another test of this process drives keeps a loop running in this one.
    with ThreadPoolExecutor(max_workers=1) as pool:
        talked = talk(
            service,
            ("submit_score", {"repo": "alpha", "base": service.place.base, "head": head, "wait_s": 60}),
            ("list_scores", {"repo": "alpha"}),
            ("explain_rule", {"rule": "TRV201"}),
            ("read_score", {"score_id": "0" * 24}),
            ("submit_score", {"repo": "other", "base": service.place.base, "head": head}),
        )
        names, told = pool.submit(asyncio.run, talked).result()
    assert names == ["submit_score", "read_score", "list_scores", "list_leases", "explain_rule"]
    (failed, text), (_, listed), (_, rule), (unknown, why), (foreign, refusal) = told
    assert not failed
    assert text.startswith("MERGE_OK" if head[-1].isdigit() else "MERGE_BLOCKED")
    assert head[:12] in listed
    assert "sealed property does not hold" in rule
    assert unknown
    assert "refused (404)" in why
    assert foreign
    assert "no repository 'other' here" in refusal
    assert service.token not in str(told)
