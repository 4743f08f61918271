"""Deliveries: nobody's word counts without the secret, and what they say is only where to look."""

from __future__ import annotations

import hmac
import json

import pytest

from fakes.github import SECRET, FakeGitHub, oid, signed
from trivet.errors import ForgeError, SignatureError, TrivetError
from trivet.forge.events import github_event, gitlab_event


def delivery(name: str = "pull_request") -> tuple[dict[str, str], bytes]:
    fake = FakeGitHub()
    fake.open(7, head="a")
    (found,) = list(fake.take())
    return found


def test_a_signed_delivery_says_where_to_look() -> None:
    event = github_event(*delivery(), (SECRET,))
    assert (event.kind, event.number, event.repository, event.installation) == ("change", 7, "acme/rates", 3)


def test_a_second_secret_holds_while_it_replaces_the_first() -> None:
    assert github_event(*delivery(), ("new", SECRET)).number == 7


@pytest.mark.parametrize(
    "change",
    [
        lambda headers, body: (headers | {"X-Hub-Signature-256": ""}, body),
        lambda headers, body: ({k: v for k, v in headers.items() if k != "X-Hub-Signature-256"}, body),
        lambda headers, body: (headers | {"X-Hub-Signature-256": headers["X-Hub-Signature-256"].removeprefix("sha256=")}, body),
        lambda headers, body: (headers | {"X-Hub-Signature-256": "sha256=é"}, body),
        lambda headers, body: (headers, body + b" "),
        lambda headers, body: (headers, body.replace(b"opened", b"closed")),
        lambda headers, body: (headers | {"X-Hub-Signature-256": "sha256=" + hmac.new(b"other", body, "sha256").hexdigest()}, body),
        lambda headers, body: (headers | {"X-Hub-Signature-256": "sha1=" + hmac.new(SECRET.encode(), body, "sha1").hexdigest()}, body),
        lambda headers, body: (
            {**{k: v for k, v in headers.items() if k != "X-Hub-Signature-256"}, "X-Hub-Signature": "sha1=" + hmac.new(SECRET.encode(), body, "sha1").hexdigest()},
            body,
        ),
    ],
)
def test_a_forged_delivery_is_refused(change) -> None:
    with pytest.raises(SignatureError):
        github_event(*change(*delivery()), (SECRET,))


@pytest.mark.parametrize("secrets", [(), ("",), (SECRET, " ")])
def test_without_a_secret_nothing_is_believed(secrets: tuple[str, ...]) -> None:
    with pytest.raises(TrivetError, match="no secret"):
        github_event(*delivery(), secrets)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'"x"', b"\xff", b"[" * 100_000])
def test_signed_nonsense_is_one_clear_error(body: bytes) -> None:
    headers = {"x-github-event": "ping", "x-github-delivery": "d"} | {"x-hub-signature-256": "sha256=" + hmac.new(SECRET.encode(), body, "sha256").hexdigest()}
    with pytest.raises(ForgeError):
        github_event(headers, body, (SECRET,))


@pytest.mark.parametrize("name", ["pull_request", "pull_request_review"])
def test_a_delivery_without_its_subject_is_refused(name: str) -> None:
    with pytest.raises(ForgeError, match="without its pull request"):
        github_event(*signed(name, {"action": "opened"}, delivery="d"), (SECRET,))


def test_the_queue_is_told_by_the_event_alone() -> None:
    group = {"head_sha": oid("q"), "head_ref": f"refs/heads/gh-readonly-queue/main/pr-7-{oid('main')}", "base_sha": oid("main"), "base_ref": "refs/heads/main"}
    event = github_event(*signed("merge_group", {"action": "checks_requested", "merge_group": group}, delivery="d"), (SECRET,))
    assert event.kind == "queue"
    assert event.subject is not None
    assert (event.subject.head, event.subject.base_ref, event.subject.number) == (oid("q"), "main", None)
    assert github_event(*signed("merge_group", {"action": "destroyed", "merge_group": group}, delivery="d"), (SECRET,)).kind == "queue-gone"
    with pytest.raises(ForgeError):
        github_event(*signed("merge_group", {"action": "checks_requested", "merge_group": {**group, "head_sha": "x"}}, delivery="d"), (SECRET,))


def test_the_echo_of_our_own_checks_is_no_news() -> None:
    run = {"check_run": {"pull_requests": [{"number": 7}]}}
    assert github_event(*signed("check_run", {"action": "completed", **run}, delivery="d"), (SECRET,)).kind == "other"
    assert github_event(*signed("check_run", {"action": "rerequested", **run}, delivery="d"), (SECRET,)).number == 7


MERGE_REQUEST = {"object_kind": "merge_request", "project": {"id": 5, "path_with_namespace": "acme/rates"}, "object_attributes": {"iid": 4, "state": "opened"}}


def test_gitlab_is_believed_by_its_token_or_its_signature() -> None:
    body = json.dumps(MERGE_REQUEST).encode()
    event = gitlab_event({"X-Gitlab-Token": SECRET, "X-Gitlab-Event": "Merge Request Hook", "Idempotency-Key": "k"}, body, (SECRET,))
    assert (event.kind, event.number, event.repository, event.delivery) == ("change", 4, "acme/rates", "k")
    signature = hmac.new(SECRET.encode(), body, "sha256").hexdigest()
    assert gitlab_event({"X-Gitlab-Signature": signature}, body, (SECRET,)).number == 4
    for headers in ({}, {"X-Gitlab-Token": "no"}, {"X-Gitlab-Token": ""}, {"X-Gitlab-Signature": "0" * 64}, {"X-Gitlab-Token": SECRET, "X-Gitlab-Signature": "0" * 64}):
        with pytest.raises(SignatureError):
            gitlab_event(headers, body, (SECRET,))
