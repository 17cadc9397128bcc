"""Commands that look after a store: log, compact, vacuum, copy; and the demo."""

from __future__ import annotations

import json

import click

from triplestore.cli.options import Common, at_option, common, opening, say


@click.command()
@click.argument("store")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@common
def log(options: Common, store: str, as_json: bool) -> None:
    """List the versions that can be read, and what made them."""
    with opening(options, store) as opened:
        entries = opened.log()
    if as_json:
        click.echo(json.dumps(entries, indent=2))
        return
    click.echo(
        f"{'version':>7}  {'created':<20}  {'operation':<11} {'asserted':>12} {'facts':>12} {'seconds':>8}  algorithm"
    )
    for e in entries:
        click.echo(
            f"{e['version']:>7}  {e['created']:<20}  {e.get('operation', ''):<11} {e['asserted']:>12,} "
            f"{e['facts']:>12,} {e.get('seconds', 0):>8.2f}  {e.get('algorithm', '')}"
        )


@click.command()
@click.argument("store")
@common
def compact(options: Common, store: str) -> None:
    """Rewrite fragmented tables as one sorted file each."""
    with opening(options, store) as opened:
        before = opened.version
        opened.compact()
        say(options, "nothing to compact" if opened.version == before else f"version {opened.version} is compact")


@click.command()
@click.argument("store")
@click.option("--keep", type=click.IntRange(min=1), default=1, show_default=True, help="Newest versions to keep.")
@common
def vacuum(options: Common, store: str, keep: int) -> None:
    """Forget older versions and delete the files that only they needed."""
    from triplestore.storage.manifest import Versions

    versions = Versions(store)
    versions.check()
    gone, files, freed = versions.vacuum(keep)
    say(options, f"forgot {gone:,} versions, deleted {files:,} files, freed {freed:,} bytes")


@click.command()
@click.argument("store")
@click.argument("dest")
@at_option
@common
def copy(options: Common, store: str, dest: str, at: int | None) -> None:
    """Write a compact copy of a store to a new folder."""
    with opening(options, store, at) as opened:
        opened.copy(dest)
    say(options, f"copied {store} to {dest}")


@click.command()
@click.argument("folder", required=False)
@common
def demo(options: Common, folder: str | None) -> None:
    """The main job, end to end, on bundled data, in seconds. FOLDER keeps the store; by default it is temporary."""
    from triplestore.demo import run

    run(folder, options.engine_options)
