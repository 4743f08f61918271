"""``service.toml``: what the operator of a service says. Never read from a repository; it holds no secret, only paths to files."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from trivet.errors import ServiceError

Feedback = Literal["full", "names", "score", "verdict"]
"""How much of a decision those who may submit get to see; see ``docs/service.md``."""
Scope = Literal["submit", "read", "admin"]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$(?!\n)")]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0, le=86_400 * 366)]
_SIZE_LIMIT_B = 4 * 1024 * 1024


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The floor of all tables: frozen, and an unknown key is an error."""


class Server(Table, frozen=True):
    """``[server]``: where it listens and what it bears."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8321
    public_url: str = ""
    public: bool = False
    trusted_proxies: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    body_limit_b: Positive = 1_048_576
    requests_per_minute: Positive = 1_200
    connections: Positive = 512
    request_timeout_s: Seconds = 15
    drain_s: Seconds = 60
    session_s: Seconds = 28_800


class StoreTable(Table, frozen=True):
    """``[store]``: where it keeps what it knows."""

    data: Path = Path("trivet-data")
    url: str = ""
    url_file: Path | None = None
    keep_days: Positive = 3650
    keep_evidence_days: Positive = 365
    keep_audit_days: Positive = 365


class WorkerTable(Table, frozen=True):
    """``[worker]``: how a process judges."""

    embedded: bool = True
    slots: Positive = 1
    name: str = ""
    per_repository: Positive = 4
    poll_s: Annotated[float, Meta(ge=0.02, le=60)] = 0.2
    timeout_s: Seconds = 3600
    memory_b: Positive = 8_589_934_592
    command: tuple[str, ...] = ()


class Fetch(Table, frozen=True):
    """``[fetch]``: how objects come in."""

    protocols: tuple[Literal["https", "ssh", "file"], ...] = ("https", "ssh")
    private_hosts: tuple[str, ...] = ()
    size_limit_b: Positive = 2_147_483_648
    blob_limit_b: Positive = 104_857_600
    objects_limit: Positive = 5_000_000
    timeout_s: Seconds = 600


class Oracle(Table, frozen=True):
    """``[repositories.oracle]``: sealed files that live in a repository which agents cannot read."""

    source: str
    branch: str = "main"
    token_file: Path | None = None
    ssh_key_file: Path | None = None
    ssh_known_hosts_file: Path | None = None


class Repository(Table, frozen=True):
    """One ``[[repositories]]``: nothing else is ever fetched or judged."""

    name: Name
    url: str
    branches: Annotated[tuple[str, ...], Meta(min_length=1)] = ("main",)
    fetch_refs: tuple[str, ...] = ()
    token_file: Path | None = None
    ssh_key_file: Path | None = None
    ssh_known_hosts_file: Path | None = None
    python: Path | None = None
    isolation: Literal["auto", "shared", "split"] | None = None
    controls: Literal["all", "sample"] | None = None
    wall: Literal["auto", "kernel", "bubblewrap"] | None = None
    vary: bool = False
    advisory: bool = True
    reruns: Annotated[int, Meta(ge=0, le=100)] | None = None
    feedback: Feedback = "full"
    public: bool = False
    max_queued: Positive = 200
    forge: Literal["", "github", "gitlab"] = ""
    forge_name: str = ""
    repository_id: str = ""
    webhook_secret_file: Path | None = None
    oracle: Oracle | None = None


class Oidc(Table, frozen=True):
    """One ``[[oidc]]``: an issuer of CI tokens that is believed about ``repository_id``."""

    issuer: str
    audience: str
    keys_url: str = ""
    keys_file: Path | None = None
    claim: str = "repository_id"
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "ES256", "ES384", "EdDSA"], ...] = ("RS256", "ES256")
    scopes: tuple[Literal["submit", "read"], ...] = ("submit", "read")
    require: dict[str, str] = {}


class Sign(Table, frozen=True):
    """``[sign]``: the key that signs decisions, which no run ever has in reach, and the log that they go into."""

    key_file: Path
    log: Path | None = None


class ForgeTable(Table, frozen=True):
    """``[forges.github]`` or ``[forges.gitlab]``: how verdicts are published, and how deliveries are told from forgeries."""

    url: str = ""
    app_id: str = ""
    installation: int = 0
    key_file: Path | None = None
    token_file: Path | None = None
    webhook_secret_file: Path | None = None
    login: str = ""
    comment: bool = True
    reconcile_s: Seconds = 300


class Forges(Table, frozen=True):
    """``[forges]``."""

    github: ForgeTable | None = None
    gitlab: ForgeTable | None = None


class Settings(Table, frozen=True):
    """The whole of ``service.toml``."""

    schema: Literal[1]
    server: Server = Server()
    store: StoreTable = StoreTable()
    worker: WorkerTable = WorkerTable()
    fetch: Fetch = Fetch()
    repositories: tuple[Repository, ...] = ()
    oidc: tuple[Oidc, ...] = ()
    sign: Sign | None = None
    forges: Forges = Forges()

    def repository(self, name: str) -> Repository | None:
        """The repository of that name, None if the settings do not list it."""
        return next((repo for repo in self.repositories if repo.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all repositories."""
        return tuple(repo.name for repo in self.repositories)

    @property
    def store_url(self) -> str:
        """The URL of the store; a file in ``store.data`` where none is named.

        Raises:
            ServiceError: the file that holds it cannot be read.
        """
        if self.store.url_file is not None:
            return read_secret(self.store.url_file)
        return self.store.url or f"sqlite:///{self.store.data / 'trivet.db'}"

    @property
    def jobs_url(self) -> str:
        """The URL of the job engine's tables: beside the store, or in the same PostgreSQL database."""
        url = self.store_url
        return f"sqlite:///{self.store.data / 'jobs.db'}" if url.startswith("sqlite") else url


def read_settings(path: Path) -> Settings:
    """Read ``service.toml``; paths in it are relative to its folder.

    Raises:
        ServiceError: it cannot be read, or a key is unknown or wrong.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_SIZE_LIMIT_B + 1)
        if len(data) > _SIZE_LIMIT_B:
            raise ServiceError("the settings are too large", where=str(path))
        return settings_of(tomllib.loads(data.decode()), path.absolute().parent, where=str(path))
    except OSError as error:
        hint = "name the file with --config FILE; `trivet serve --example` prints one"
        raise ServiceError(f"the settings cannot be read: {error.strerror}", where=str(path), hint=hint) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ServiceError(f"not TOML: {error}", where=str(path)) from error


def settings_of(data: dict[str, object], folder: Path, *, where: str = "service.toml") -> Settings:
    """Turn the data of a ``service.toml`` into settings.

    Raises:
        ServiceError: a key is unknown or wrong, or two keys contradict each other.
    """
    if data.get("schema") != 1:
        raise ServiceError("schema = 1 must be the first line", where=where)
    try:
        settings = msgspec.convert(data, Settings, strict=True, dec_hook=lambda kind, value: _path(kind, value, folder))
    except msgspec.ValidationError as error:
        raise ServiceError(_readable(str(error)), where=where, hint=_nearest(str(error))) from error
    _coherent(settings, where)
    return replace(settings, store=replace(settings.store, data=folder / settings.store.data))


def with_server(settings: Settings, *, host: str | None, port: int | None) -> Settings:
    """The settings with another place to listen."""
    server = settings.server
    return replace(settings, server=replace(server, host=host or server.host, port=server.port if port is None else port))


def _path(kind: type, value: object, folder: Path) -> Path:
    if kind is not Path or not isinstance(value, str):
        raise TypeError(f"not a path: {value!r}")
    return folder / value


def _readable(message: str) -> str:
    return re.sub(r" - at `\$\.?([^`]*)`", lambda found: f" at {found[1] or 'the top'}", message).replace("Object contains", "there is an")


def _nearest(message: str) -> str:
    unknown = re.search(r"unknown field `([^`]*)`", message)
    if unknown is None:
        return ""
    known = {field for kind in Table.__subclasses__() for field in kind.__struct_fields__}
    near = difflib.get_close_matches(unknown[1], known, 1)
    return f"did you mean {near[0]!r}?" if near else "see docs/service.md for the keys"


def _coherent(settings: Settings, where: str) -> None:
    names = settings.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ServiceError(f"the repository {twice[0]!r} stands twice", where=where)
    if settings.store.url and settings.store.url_file:
        raise ServiceError("store.url and store.url_file are both set", where=where, hint="keep the one without a password in it")
    if re.search(r"://[^/@:]*:[^/@]+@", settings.store.url):
        raise ServiceError(
            "store.url holds a password", where=where, hint="write the URL to a file of mode 0600 and name it in store.url_file"
        )
    for repo in settings.repositories:
        if repo.forge and not repo.forge_name:
            raise ServiceError(
                f"repository {repo.name!r} has a forge but no forge_name", where=where, hint='for example: forge_name = "team/project"'
            )
        if re.search(r"://[^/]*@", repo.url) and not repo.url.startswith("ssh://"):
            raise ServiceError(f"the URL of repository {repo.name!r} holds a name or password", where=where, hint="use token_file")
    for issuer in settings.oidc:
        if not issuer.keys_url.startswith("https://") and issuer.keys_file is None:
            raise ServiceError(f"the issuer {issuer.issuer!r} has neither a keys_url over https nor a keys_file", where=where)


def read_secret(path: Path) -> str:
    """Read a secret of one line from a file that others cannot read.

    Raises:
        ServiceError: it cannot be read, is empty, or others can read it.
    """
    try:
        mode = path.stat().st_mode
        # Kubernetes gives secrets to a group; nobody else may read one.
        if mode & 0o007:
            raise ServiceError("others can read this secret", where=str(path), hint=f"chmod 600 {path}")
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceError(f"the secret cannot be read: {error}", where=str(path)) from error
    if not text:
        raise ServiceError("the secret is empty", where=str(path))
    return text
