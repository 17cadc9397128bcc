"""Commands that answer others: serve over HTTP, mcp to language models."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from triplestore.cli.configuration import configured
from triplestore.cli.options import (
    Common,
    Seconds,
    common,
    limits,
    load_folder_option,
    pair_of,
    read_text,
    same_as_option,
    say,
    services_option,
    shapes_option,
    sources_of,
)
from triplestore.model.endpoints import normalised_all
from triplestore.model.errors import UsageError, how_to_install

if TYPE_CHECKING:
    from triplestore.server.served import Served
    from triplestore.server.settings import Settings


@click.command(context_settings={"auto_envvar_prefix": "TRIPLAKE"})
@click.argument("stores", nargs=-1, metavar="[NAME=]STORE...")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    is_eager=True,
    callback=configured,
    help="Options from a file of TOML.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=3030, show_default=True, help="0 takes a free one.")
@click.option("--read-only", is_flag=True, help="No updates.")
@click.option("--accounts", metavar="FILE", help="Who may do what: see `triplake account`.")
@click.option(
    "--token",
    multiple=True,
    metavar="TOKEN",
    allow_from_autoenv=False,
    help="A bearer token; TRIPLAKE_TOKEN is one too.",
)
@click.option(
    "--user",
    multiple=True,
    metavar="NAME:PASSWORD",
    allow_from_autoenv=False,
    help="A user, for basic authentication.",
)
@click.option("--protect-reads", is_flag=True, help="Reads need a token or a user too, not only updates.")
@click.option("--insecure", is_flag=True, help="Let other machines in although nobody must identify.")
@click.option("--tls-certificate", metavar="FILE", help="Speak HTTPS, with this certificate (PEM) ..")
@click.option("--tls-key", metavar="FILE", help=".. and its key.")
@click.option("--cors", multiple=True, metavar="ORIGIN", help="A site whose pages may use the server.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="One more name that requests may address.")
@click.option("--timeout", type=Seconds(0.1), default=60, show_default=True, help="Seconds for a query.")
@click.option("--max-rows", type=click.IntRange(min=0), default=0, help="Rows of an answer; 0 (default): no limit.")
@click.option("--max-body", type=click.IntRange(min=1), default=256, show_default=True, help="MiB of a request's body.")
@click.option("--max-requests", type=click.IntRange(min=1), default=8, show_default=True, help="Queries at a time.")
@click.option("--queue", type=click.IntRange(min=0), default=100, show_default=True, help="Requests that wait.")
@click.option("--max-connections", type=click.IntRange(min=0), default=128, help="Of one address; 0: any; default 128.")
@click.option("--slow", type=Seconds(0.1), default=30, show_default=True, help="Seconds without progress.")
@click.option("--grace", type=Seconds(1), default=30, show_default=True, help="Seconds to end, when told.")
@click.option("--backup", metavar="FOLDER", help="Where backups of the store are kept: see `triplake backup`.")
@click.option("--backup-every", metavar="DURATION", help="Back up when it starts and so often: 6h, 1d.")
@click.option(
    "--stream",
    "streams",
    multiple=True,
    metavar="[NAME=]FILE",
    help="A continuous query to ask; see `triplake stream`.",
)
@click.option(
    *("--stream-from", "sources"),
    multiple=True,
    metavar="[NAME=]SOURCE",
    help="The stream it reads: a file or folder that grows; without, clients post it.",
)
@click.option("--lateness", metavar="DURATION", help="How long its windows wait for triples out of order.")
@click.option("--pace", type=float, metavar="N", help="Replay the streams, N units of their time a second.")
@click.option("--no-access-log", is_flag=True, help="No line of JSON on stderr for each request.")
@click.option("--log-queries", is_flag=True, help="Queries and updates go into the access log.")
@click.option("--json-log", is_flag=True, help="The server's own messages are lines of JSON too.")
@click.option("--traces", is_flag=True, help="Send traces by OpenTelemetry, where OTEL_EXPORTER_OTLP_ENDPOINT says.")
@shapes_option
@load_folder_option
@services_option
@same_as_option
@common
def serve(
    options: Common,
    stores: Sequence[str],
    config: str | None,
    host: str,
    port: int,
    read_only: bool,
    accounts: str | None,
    token: Sequence[str],
    user: Sequence[str],
    protect_reads: bool,
    insecure: bool,
    tls_certificate: str | None,
    tls_key: str | None,
    cors: Sequence[str],
    allow_host: Sequence[str],
    timeout: float,
    max_rows: int,
    max_body: int,
    max_requests: int,
    queue: int,
    max_connections: int,
    slow: float,
    grace: float,
    backup: str | None,
    backup_every: str | None,
    streams: Sequence[str],
    sources: Sequence[str],
    lateness: str | None,
    pace: float | None,
    no_access_log: bool,
    log_queries: bool,
    json_log: bool,
    traces: bool,
    shapes: Sequence[str],
    load_folder: str | None,
    allow_service: Sequence[str],
    same_as: str,
) -> None:
    """Serve SPARQL, graphs, streams and a web page over HTTP.

    These are the SPARQL 1.1 Protocol, the Graph Store Protocol, continuous queries, and a web page.

    One STORE is at the root of the address, several are each at /NAME/ (NAME is the folder's where there is none). Each
    option can be set in the environment too: TRIPLAKE_PORT is --port.
    """
    needed = ("starlette", "uvicorn", "python_multipart", "prometheus_client")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"serve needs {' and '.join(missing)}: {how_to_install('server')}")
    if traces and importlib.util.find_spec("opentelemetry") is None:
        raise UsageError(f"--traces needs OpenTelemetry's packages: {how_to_install('traces')}")
    from triplestore.server.logs import line_of, log_to_stderr
    from triplestore.server.run import known_hosts, listen
    from triplestore.server.settings import (
        Access,
        Certificate,
        Clients,
        Limits,
        Settings,
        StreamSettings,
        check_address,
        named_stores,
        origin_of,
        token_of,
        user_of,
    )
    from triplestore.streams.times import duration

    paths = named_stores(list(map(pair_of, stores)))
    tokens = tuple(map(token_of, (*token, *filter(None, [os.environ.get("TRIPLAKE_TOKEN")]))))
    origins = tuple(map(origin_of, cors))
    access = Access(tokens, tuple(map(user_of, user)), protect_reads, read_only, origins, accounts=accounts)
    if protect_reads and not access.authenticates:
        raise UsageError("--protect-reads needs --accounts, --token or --user")
    check_address(host, access, insecure)
    access = replace(access, hosts=known_hosts(host, access, tuple(allow_host)))
    if (tls_certificate is None) != (tls_key is None):
        raise UsageError("TLS needs a certificate and its key: give both --tls-certificate and --tls-key")
    certificate = Certificate(tls_certificate, tls_key) if tls_certificate and tls_key else None
    every = duration(backup_every) / 1000 if backup_every else None
    if backup_every and backup is None:
        raise UsageError("--backup-every needs --backup FOLDER, where the backups are kept")
    most = Limits(timeout, max_rows, max_body << 20, max_requests, queue)
    log_to_stderr(not (no_access_log or options.quiet), options.verbose, json_log)
    clients = Clients(min(slow, Clients().head_seconds), slow, per_address=max_connections, grace=grace)
    asked: StreamSettings | None = None
    if streams:
        if len(paths) > 1:
            raise UsageError("--stream is for a server of one store: start another server for the stream's")
        files = [pair_of(text) for text in streams]
        texts = tuple((name or Path(path).stem, read_text(path)) for name, path in files)
        asked = StreamSettings(texts, tuple(sources_of(sources).items()), lateness=lateness, pace=pace)
    elif sources or lateness or pace is not None:
        raise UsageError("--stream-from, --lateness and --pace are for continuous queries: give one by --stream FILE")
    services, guards = normalised_all(allow_service), tuple(shapes)
    given = (most, access, same_as, log_queries, load_folder, clients, services, asked, guards, traces)
    settings = Settings(*given, limits(options))
    served: dict[str, Served] = {}

    def tell(line: str) -> None:
        say(options, line_of("info", line) if json_log else line)

    try:
        for name, path in paths.items():
            kept = f"{backup.rstrip('/')}/{name}" if backup and name else backup
            served[name] = _served(options, path, settings, len(paths), (kept, every), tell)
        listen(served, host, port, lambda address: tell(f"serving on {address} (stop with Ctrl-C)"), certificate)
    except BaseException:
        for each in served.values():
            each.discard()
        raise


def _served(
    options: Common,
    store: str,
    settings: Settings,
    share: int,
    backup: tuple[str | None, float | None],
    tell: Callable[[str], None],
) -> Served:
    """One store of `share` that a server has. backup: where, and how many seconds apart."""
    from triplestore.server.backups import Backups
    from triplestore.server.broadcast import Broadcast
    from triplestore.server.served import Served
    from triplestore.server.work import MEMORY, Service

    memory = options.memory_limit or f"{MEMORY // share}%"
    chosen = {**options.engine_options, "memory_limit": memory}
    service = Service(store, settings, options.verify, **chosen)
    kept, every = backup
    served = Served(service, None, Backups(store, kept, every) if kept is not None else None)
    tell(f"{store}: version {service.readers.version}, on {service.readers.engine_name}")
    if settings.streams is not None:
        try:
            served.broadcast = Broadcast(store, settings.streams, settings.rules, **chosen)
        except BaseException:
            served.discard()
            raise
        for name in served.broadcast.channels:
            tell(f"continuous query {name}: /streams/{quote(name, safe=':/')}")
    return served


@click.command()
@click.argument("store")
@click.option("--write", is_flag=True, help="Let the model change the store, by SPARQL Update.")
@click.option("--timeout", type=Seconds(0.1), default=60, show_default=True, help="Seconds for an answer.")
@common
def mcp(options: Common, store: str, write: bool, timeout: float) -> None:
    """Serve a language model (Model Context Protocol).

    It gets tools to query the store, on standard input and output.
    """
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(f"mcp needs the Model Context Protocol's library: {how_to_install('mcp')}")
    from triplestore.server.mcp import server
    from triplestore.server.tools import Tools

    tools = Tools(store, timeout, limits(options), **{**options.engine_options, "verify": options.verify})
    try:
        say(options, f"{store}: tools on standard input and output, {'to read and write' if write else 'to read'}")
        server(tools, write).run("stdio")
    finally:
        tools.close()
