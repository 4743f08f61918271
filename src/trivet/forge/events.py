"""Webhook deliveries: the signature first, then what they are about. A delivery only says where to look; it is never evidence."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from trivet.errors import ForgeError, SignatureError, TrivetError, UsageError
from trivet.forge.standing import pull_subject
from trivet.forge.words import Event, EventKind, Subject

BODY_LIMIT_B = 25_000_000
"""GitHub sends no more than this; a longer body is nobody's delivery."""
_HINT = "nothing was done; check the secret of the webhook"
_GITHUB_KINDS: dict[str, EventKind] = {
    "pull_request": "change",
    "pull_request_review": "change",
    "check_run": "change",
    "check_suite": "change",
    "merge_group": "queue",
    "installation": "installation",
    "installation_repositories": "installation",
    "member": "members",
    "membership": "members",
    "team": "members",
    "team_add": "members",
    "organization": "members",
    "ping": "ping",
}


def github_event(headers: Mapping[str, str], body: bytes, secrets: Sequence[str]) -> Event:
    """Check and read one delivery of GitHub.

    Args:
        headers: of the request; upper and lower case do not matter.
        body: its bytes, as they came.
        secrets: the webhook's secrets, several while one replaces the other; none is an error, not a pass.

    Raises:
        SignatureError: the SHA-256 signature is missing or wrong. The older SHA-1 one is not looked at.
        ForgeError: the content is not a delivery.
    """
    given = _lower(headers)
    if len(body) > BODY_LIMIT_B:
        raise ForgeError(f"a delivery of more than {BODY_LIMIT_B} bytes")
    _require_secrets(secrets)
    signature = given.get("x-hub-signature-256", "")
    if not any(_signed_by(body, signature, secret) for secret in secrets):
        raise SignatureError("the delivery is not signed with the webhook's secret", hint=_HINT)
    name, delivery = given.get("x-github-event", ""), given.get("x-github-delivery", "")
    if not name or not delivery:
        raise ForgeError("a delivery without its event or its id", where="X-GitHub-Event, X-GitHub-Delivery")
    return github_payload(name, delivery, document(body))


def gitlab_event(headers: Mapping[str, str], body: bytes, secrets: Sequence[str]) -> Event:
    """Check and read one delivery of GitLab: its token, or the signature that external status checks carry.

    Raises:
        SignatureError: neither holds.
        ForgeError: the content is not a delivery.
    """
    given = _lower(headers)
    if len(body) > BODY_LIMIT_B:
        raise ForgeError(f"a delivery of more than {BODY_LIMIT_B} bytes")
    _require_secrets(secrets)
    token, signature = given.get("x-gitlab-token"), given.get("x-gitlab-signature")
    if signature is not None:
        good = any(hmac.compare_digest(_digest(body, secret), signature.encode()) for secret in secrets)
    else:
        good = token is not None and any(hmac.compare_digest(secret.encode(), token.encode()) for secret in secrets)
    if not good:
        raise SignatureError("the delivery does not carry the webhook's secret", hint=_HINT)
    delivery = given.get("idempotency-key") or given.get("x-gitlab-event-uuid") or ""
    return gitlab_payload(given.get("x-gitlab-event", ""), delivery, document(body))


def github_payload(name: str, delivery: str, data: dict[str, Any]) -> Event:
    """Read a payload that needs no signature, because the caller has it from a file of its own; see `github_event`."""
    repository = data.get("repository")
    repository = repository if isinstance(repository, dict) else {}
    installation = data.get("installation")
    number: int | None = None
    subject: Subject | None = None
    kind = _GITHUB_KINDS.get(name, "other")
    action = str(data.get("action", ""))
    if name in ("pull_request", "pull_request_review"):
        pull = data.get("pull_request")
        if not isinstance(pull, dict) or not isinstance(pull.get("number"), int):
            raise ForgeError(f"a delivery of {name} without its pull request")
        number = pull["number"]
        kind = "closed" if name == "pull_request" and action == "closed" else "change"
    elif name in ("check_run", "check_suite"):
        # Only a person's wish to judge again is news; the rest are echoes of what we publish ourselves.
        number = _first_pull(data.get(name))
        kind = "change" if action in ("rerequested", "requested_action") and number is not None else "other"
    elif name == "merge_group":
        kind = "queue" if action == "checks_requested" else "queue-gone" if action == "destroyed" else "other"
        subject = queue_subject(data.get("merge_group"))
    return Event(
        kind=kind,
        delivery=delivery,
        repository=str(repository.get("full_name", "")),
        repository_id=str(repository.get("id", "")),
        number=number,
        installation=installation.get("id") if isinstance(installation, dict) and isinstance(installation.get("id"), int) else None,
        subject=subject,
        name=f"{name}.{action}" if action else name,
    )


def queue_subject(group: object) -> Subject:
    """The merge queue's entry of a ``merge_group`` delivery.

    Raises:
        ForgeError: a part is missing.
    """
    try:
        if not isinstance(group, dict):
            raise TypeError("merge_group")  # noqa: TRY301 - one way out
        queue = str(group["head_ref"]).removeprefix("refs/heads/")
        base_ref = str(group["base_ref"]).removeprefix("refs/heads/")
        probe = {"number": 1, "state": "open", "head": {"sha": group["head_sha"]}, "base": {"sha": group["base_sha"], "ref": base_ref}}
        checked = pull_subject(probe)
    except (KeyError, TypeError) as error:
        raise ForgeError(f"a merge group without its {error}") from error
    return Subject(number=None, head=checked.head, base=checked.base, base_ref=base_ref, queue_ref=queue)


def gitlab_payload(name: str, delivery: str, data: dict[str, Any]) -> Event:
    """Read a payload that needs no signature; see `gitlab_event`."""
    project = data.get("project")
    project = project if isinstance(project, dict) else {}
    kind: EventKind = "other"
    number: int | None = None
    if data.get("object_kind") == "merge_request":
        attributes = data.get("object_attributes")
        if not isinstance(attributes, dict) or not isinstance(attributes.get("iid"), int):
            raise ForgeError("a delivery of a merge request without its number")
        number = attributes["iid"]
        kind = "closed" if attributes.get("state") in ("closed", "merged") else "change"
    elif str(data.get("event_name", "")).startswith(("user_add_to", "user_remove_from", "user_update_for")):
        kind = "members"
    return Event(
        kind=kind,
        delivery=delivery,
        repository=str(project.get("path_with_namespace", "")),
        repository_id=str(project.get("id", "")),
        number=number,
        name=name or str(data.get("object_kind", "")),
    )


def _first_pull(part: object) -> int | None:
    pulls = part.get("pull_requests") if isinstance(part, dict) else None
    numbers = [row.get("number") for row in pulls if isinstance(row, dict)] if isinstance(pulls, list) else []
    return next((number for number in numbers if isinstance(number, int)), None)


def document(body: bytes) -> dict[str, Any]:
    """The JSON object of a delivery.

    Raises:
        ForgeError: it is none.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ForgeError("the delivery is no JSON", hint="let the webhook send application/json") from error
    if not isinstance(data, dict):
        raise ForgeError("the delivery is no object")
    return data


def _signed_by(body: bytes, signature: str, secret: str) -> bool:
    try:
        from gidgethub import ValidationFailure, sansio  # noqa: PLC0415 - only who takes deliveries pays for it
    except ImportError:
        raise UsageError("taking deliveries needs the extra `forge`", hint="pip install 'trivet[forge]'") from None
    if not signature.startswith("sha256=") or not signature.isascii():
        return False
    try:
        sansio.validate_event(body, signature=signature, secret=secret)
    except ValidationFailure:
        return False
    return True


def _digest(body: bytes, secret: str) -> bytes:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()


def _require_secrets(secrets: Sequence[str]) -> None:
    if not secrets or not all(secret.strip() for secret in secrets):
        raise TrivetError("the webhook has no secret, so nobody's delivery can be believed", hint="give it one, here and at the forge")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in headers.items()}
