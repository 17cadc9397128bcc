"""What can be set when a server is started."""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from triplestore.materialise.limits import Limits as RuleLimits
from triplestore.model.errors import UsageError

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")

MAX_URL: Final = 32 << 10
"""Bytes of a request's path and parameters."""

MAX_HEAD: Final = 64 << 10
"""Bytes of a request's headers."""

MAX_QUERY: Final = 16 << 20
"""Bytes of a query in a request's body, which is held and parsed in memory; other bodies have the limit of `Limits`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server does at most. Seconds; bytes of a request's body; 0 rows: no limit.

    concurrent: reads at a time; queue: requests that wait for one of them, or for the writer, before others are turned
    away; update_seconds: None lets an update take its time.
    """

    query_seconds: float = 60.0
    rows: int = 0
    body: int = 256 << 20
    concurrent: int = 8
    queue: int = 100


@dataclass(frozen=True, slots=True)
class Clients:
    """What clients may hold of a server. Seconds; 0 connections: no limit.

    head_seconds: for the line and the headers of a request; body_seconds: in which at least a kilobyte of its body
    comes, or some of its answer is read; linger_seconds: for which the rest of a body is taken, and thrown away, after
    its answer, which a connection that is closed at once may lose; per_address: connections at a time from one address;
    grace: for requests that run when the server has to end.
    """

    head_seconds: float = 20.0
    body_seconds: float = 30.0
    linger_seconds: float = 5.0
    per_address: int = 128
    grace: float = 30.0


@dataclass(frozen=True, slots=True)
class Access:
    """Who may do what.

    tokens: bearer tokens; users: (name, password) pairs for basic authentication; accounts: a file of more of both,
    with roles (see `triplestore.server.accounts`). With any of them, updates need one, and with `protect_reads` reads
    too. read_only: no updates at all. origins: sites whose pages may use the server from a browser (CORS). hosts: names
    by which the server may be addressed; empty: any.
    """

    tokens: tuple[str, ...] = ()
    users: tuple[tuple[str, str], ...] = ()
    protect_reads: bool = False
    read_only: bool = False
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    accounts: str | None = None

    @property
    def authenticates(self) -> bool:
        return bool(self.tokens or self.users or self.accounts)


@dataclass(frozen=True, slots=True)
class Certificate:
    """What TLS proves a server by: files of PEM, the certificate with those that signed it, and its key."""

    file: str
    key: str

    def context(self) -> ssl.SSLContext:
        """For a server. Raises UsageError."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        self.use(made)
        return made

    def use(self, context: ssl.SSLContext) -> None:
        """Read the files again, for connections that are yet to be made. Raises UsageError; then those before stay."""
        for file in (self.file, self.key):
            if not Path(file).is_file():
                raise UsageError(f"{file}: there is no such file; TLS needs a certificate and its key, as PEM")
        try:  # where they do not fit, a context has let go of those before
            for one in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), context):
                one.load_cert_chain(self.file, self.key, password=lambda: "")
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise UsageError(f"{self.file} and {self.key} are not a certificate and its key (PEM): {reason}") from error


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Continuous queries that a server asks. queries: pairs of a name, for one that registers none, and its text;
    sources: pairs of a stream's name ("" is the only one) and a path; clients post the streams without one. algorithm,
    lateness, pace: see `Store.stream`."""

    queries: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str, str], ...] = ()
    algorithm: str = "auto"
    lateness: str | None = None
    pace: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """A server's settings. load_folder: the folder whose files LOAD may read; None: no files. services: the endpoints
    that SERVICE may ask. streams: None: there are none. shapes: files of SHACL that what is published has to conform
    to. traces: send a span of OpenTelemetry for each request. rules: how far those that make terms may go."""

    limits: Limits = field(default_factory=Limits)
    access: Access = field(default_factory=Access)
    same_as: str = "expand"
    log_queries: bool = False
    load_folder: str | None = None
    clients: Clients = field(default_factory=Clients)
    services: tuple[str, ...] = ()
    streams: StreamSettings | None = None
    shapes: tuple[str, ...] = ()
    traces: bool = False
    rules: RuleLimits = field(default_factory=RuleLimits)


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_address(host: str, access: Access, insecure: bool) -> None:
    """Raise UsageError for an address that others can reach, where anybody could change the store."""
    if not is_loopback(host) and not access.authenticates and not insecure:
        raise UsageError(
            f"{host} can be reached from other machines, and nobody would have to identify: give --accounts, "
            "--token or --user, or --insecure if that is what you want"
        )


def origin_of(text: str) -> str:
    """A site as browsers name it. Raises UsageError for what no browser sends."""
    found = text.rstrip("/").lower()
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/?#@\s*]+", found):
        raise UsageError(f"--cors takes a site, as https://example.org, not '{text}'")
    return found


def token_of(text: str) -> str:
    """A token, without white space around it. Raises UsageError for one that is empty, or that no header can hold."""
    found = text.strip()
    if not found:
        raise UsageError("--token takes a token that is not empty")
    if not (found.isascii() and found.isprintable()):
        raise UsageError("--token takes a token of ASCII characters: no header of HTTP can hold others")
    return found


def user_of(text: str) -> tuple[str, str]:
    """NAME:PASSWORD, cut. Raises UsageError where there is no colon, or nothing on a side of it."""
    name, colon, password = text.partition(":")
    if not (name and colon and password):
        raise UsageError("--user takes NAME:PASSWORD")
    return name, password


def named_stores(given: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The paths of stores by the names that they have in addresses, from pairs of a name ("": none was given) and a
    path: "" is that of a store that is alone. Raises UsageError."""
    if not given:
        raise UsageError("which store? give its folder, as in `triplake serve kg`")
    if len(given) == 1 and not given[0][0]:
        return {"": given[0][1]}
    found: dict[str, str] = {}
    for name, path in given:
        name = name or name_of(path)
        if not _STORE.fullmatch(name) or name in ("static", "health", "metrics", "admin"):
            raise UsageError(f"'{name}' cannot be a store's name in an address: give NAME={path}, with letters, digits")
        if name in found:
            raise UsageError(f"two stores would be at /{name}/: give one of them another name, NAME={path}")
        found[name] = path
    return found


def name_of(path: str | Path) -> str:
    """What the store at a path is called where nobody has given it a name: its folder's."""
    return str(path).rstrip("/").rpartition("/")[2]


_STORE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
