"""Commands that answer others: serve over HTTP, mcp to language models."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import click

from triplestore.cli.options import (
    Common,
    common,
    load_folder_option,
    pair_of,
    read_text,
    same_as_option,
    say,
    services_option,
    sources_of,
)
from triplestore.model.endpoints import normalised_all
from triplestore.model.errors import UsageError, how_to_install


@click.command()
@click.argument("store")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=3030, show_default=True, help="0 takes a free one.")
@click.option("--read-only", is_flag=True, help="No updates.")
@click.option("--token", multiple=True, metavar="TOKEN", help="A bearer token; TRIPLAKE_TOKEN is one too.")
@click.option("--user", multiple=True, metavar="NAME:PASSWORD", help="A user, for basic authentication.")
@click.option("--protect-reads", is_flag=True, help="Reads need a token or a user too, not only updates.")
@click.option("--insecure", is_flag=True, help="Let other machines in although nobody must identify.")
@click.option("--cors", multiple=True, metavar="ORIGIN", help="A site whose pages may use the server.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="One more name that requests may address.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=60, show_default=True, help="Seconds for a query.")
@click.option("--max-rows", type=click.IntRange(min=0), default=0, help="Rows of an answer; 0 (default): no limit.")
@click.option("--max-body", type=click.IntRange(min=1), default=256, show_default=True, help="MiB of a request's body.")
@click.option("--max-requests", type=click.IntRange(min=1), default=8, show_default=True, help="Queries at a time.")
@click.option("--queue", type=click.IntRange(min=0), default=100, show_default=True, help="Requests that wait.")
@click.option("--max-connections", type=click.IntRange(min=0), default=128, help="Of one address; 0: any; default 128.")
@click.option("--slow", type=click.FloatRange(min=0.1), default=30, show_default=True, help="Seconds without progress.")
@click.option("--grace", type=click.FloatRange(min=1), default=30, show_default=True, help="Seconds to end, when told.")
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
@load_folder_option
@services_option
@same_as_option
@common
def serve(
    options: Common,
    store: str,
    host: str,
    port: int,
    read_only: bool,
    token: Sequence[str],
    user: Sequence[str],
    protect_reads: bool,
    insecure: bool,
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
    streams: Sequence[str],
    sources: Sequence[str],
    lateness: str | None,
    pace: float | None,
    no_access_log: bool,
    log_queries: bool,
    load_folder: str | None,
    allow_service: Sequence[str],
    same_as: str,
) -> None:
    """Answer over HTTP: SPARQL 1.1 Protocol, Graph Store Protocol, continuous queries, and a web page."""
    missing = [name for name in ("starlette", "uvicorn", "python_multipart") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"serve needs {' and '.join(missing)}: {how_to_install('server')}")
    from triplestore.server.run import known_hosts, listen, log_to_stderr
    from triplestore.server.settings import Access, Clients, Limits, Settings, StreamSettings, check_address, user_of
    from triplestore.server.work import MEMORY, Service

    tokens = (*token, *filter(None, [os.environ.get("TRIPLAKE_TOKEN")]))
    if not all(tokens):
        raise UsageError("--token takes a token that is not empty")
    access = Access(tokens, tuple(map(user_of, user)), protect_reads, read_only, tuple(cors))
    if protect_reads and not access.authenticates:
        raise UsageError("--protect-reads needs --token or --user")
    check_address(host, access, insecure)
    access = replace(access, hosts=known_hosts(host, access, tuple(allow_host)))
    limits = Limits(timeout, max_rows, max_body << 20, max_requests, queue)
    log_to_stderr(access=not (no_access_log or options.quiet), verbose=options.verbose)
    clients = Clients(min(slow, Clients().head_seconds), slow, per_address=max_connections, grace=grace)
    asked: StreamSettings | None = None
    if streams:
        files = [pair_of(text) for text in streams]
        texts = tuple((name or Path(path).stem, read_text(path)) for name, path in files)
        asked = StreamSettings(texts, tuple(sources_of(sources).items()), lateness=lateness, pace=pace)
    elif sources or lateness or pace is not None:
        raise UsageError("--stream-from, --lateness and --pace are for continuous queries: give one by --stream FILE")
    services = normalised_all(allow_service)
    settings = Settings(limits, access, same_as, log_queries, load_folder, clients, services, asked)
    service = Service(store, settings, options.verify, **options.engine_options)
    say(options, f"{store}: version {service.readers.version}, on {service.readers.engine_name}")
    broadcast = None
    if asked is not None:
        from triplestore.server.broadcast import Broadcast

        broadcast = Broadcast(
            store, asked, **{**options.engine_options, "memory_limit": options.memory_limit or MEMORY}
        )
        for name in broadcast.channels:
            say(options, f"continuous query {name}: /streams/{quote(name, safe=':/')}")
    listen(service, host, port, lambda address: say(options, f"serving on {address} (stop with Ctrl-C)"), broadcast)


@click.command()
@click.argument("store")
@click.option("--write", is_flag=True, help="Let the model change the store, by SPARQL Update.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=60, show_default=True, help="Seconds for an answer.")
@common
def mcp(options: Common, store: str, write: bool, timeout: float) -> None:
    """Give a language model tools to ask the store, by the Model Context Protocol on standard input and output."""
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(f"mcp needs the Model Context Protocol's library: {how_to_install('mcp')}")
    from triplestore.server.mcp import server
    from triplestore.server.tools import Tools

    tools = Tools(store, timeout, **{**options.engine_options, "verify": options.verify})
    try:
        say(options, f"{store}: tools on standard input and output, {'to read and write' if write else 'to read'}")
        server(tools, write).run("stdio")
    finally:
        tools.close()
