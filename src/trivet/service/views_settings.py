"""The settings in words: what a reader of the dashboard may know of ``service.toml``. Files that hold secrets are never named."""

from __future__ import annotations

from trivet.service.settings import Repository, Settings
from trivet.service.views import Settings as SettingsView
from trivet.service.views import TokenRow
from trivet.service.wording import counted, span

Rows = tuple[tuple[str, str], ...]
_KIB = 1024


def size(amount_b: int) -> str:
    """Bytes as people read them: ``2 GiB``."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if amount_b >= _KIB**power:
            return f"{amount_b / _KIB**power:.3g} {unit}"
    return f"{amount_b} B"


def days(number: int) -> str:
    """Days in words."""
    return counted(number, "day")


def settings_view(settings: Settings, names: tuple[str, ...], tokens: tuple[TokenRow, ...], *, admin: bool) -> SettingsView:
    """The page of settings: the service as a whole for administrators, and each repository that may be seen.

    Args:
        settings: what ``service.toml`` says.
        names: the repositories that the reader may see.
        tokens: access tokens to show; empty for readers who are no administrators.
        admin: whether the reader may know how the host is set up.
    """
    groups: list[tuple[str, Rows]] = []
    if admin:
        groups += [
            ("Server", _server(settings)),
            ("Store", _store(settings)),
            ("Workers", _worker(settings)),
            ("Fetching", _fetch(settings)),
        ]
        groups += [("Signing and sign-in", _trust(settings))]
    groups += [(f"Repository {repo.name}", _repository(repo, admin=admin)) for repo in settings.repositories if repo.name in names]
    return SettingsView(groups=tuple(groups), tokens=tokens, file="service.toml")


def _server(settings: Settings) -> Rows:
    server = settings.server
    return (
        ("listens on", f"{server.host}:{server.port}"),
        ("reached as", server.public_url),
        ("public", "everybody may read" if server.public else "only with a token"),
        ("rate limit", f"{server.requests_per_minute:,} requests a minute"),
        ("body limit", size(server.body_limit_b)),
        ("session", span(server.session_s)),
    )


def _store(settings: Settings) -> Rows:
    store = settings.store
    kind = "SQLite" if not store.url_file and (not store.url or store.url.startswith("sqlite")) else "PostgreSQL"
    return (
        ("engine", kind),
        ("keeps verdicts", days(store.keep_days)),
        ("keeps evidence", days(store.keep_evidence_days)),
        ("keeps audit", days(store.keep_audit_days)),
    )


def _worker(settings: Settings) -> Rows:
    worker = settings.worker
    return (
        ("in this process", "yes" if worker.embedded else "no: trivet worker"),
        ("at once", counted(worker.slots, "judgement")),
        ("a repository", f"at most {worker.per_repository} at once"),
        ("longest", span(worker.timeout_s)),
    )


def _fetch(settings: Settings) -> Rows:
    fetch = settings.fetch
    return (
        ("protocols", ", ".join(fetch.protocols)),
        ("size limit", size(fetch.size_limit_b)),
        ("one object", size(fetch.blob_limit_b)),
        ("longest", span(fetch.timeout_s)),
    )


def _trust(settings: Settings) -> Rows:
    forges = [name for name, table in (("GitHub", settings.forges.github), ("GitLab", settings.forges.gitlab)) if table is not None]
    return (
        ("decisions", "signed" if settings.sign else "not signed: [sign] names a key"),
        ("CI issuers", ", ".join(issuer.issuer for issuer in settings.oidc) or "none"),
        ("published to", ", ".join(forges) or "no forge"),
    )


def _repository(repo: Repository, *, admin: bool) -> Rows:
    rows = [
        ("branches", ", ".join(repo.branches)),
        ("feedback", repo.feedback),
        ("isolation", repo.isolation or "as its policy says"),
        ("wall", repo.wall or "as its policy says"),
        ("controls", repo.controls or "as its policy says"),
        ("advisory lane", "runs" if repo.advisory else "off"),
        ("public", "everybody may read" if repo.public else "only with a token"),
    ]
    if admin:
        rows[:0] = [("fetched from", repo.url)]
        rows += [("oracles from", repo.oracle.source)] if repo.oracle else []
        rows += [("forge", f"{repo.forge} {repo.forge_name}")] if repo.forge else []
        rows += [("waiting at most", str(repo.max_queued))]
    return tuple(rows)
