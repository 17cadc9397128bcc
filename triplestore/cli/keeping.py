"""Commands that look after a store: log, compact, vacuum, retention, copy, backup; and the demo."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from triplestore.cli.options import (
    NO,
    Common,
    at_option,
    common,
    counted,
    nothing_to_verify,
    opening,
    say,
    warn,
)
from triplestore.model.errors import UsageError
from triplestore.storage.place import MARK
from triplestore.storage.retention import MOST_DAYS, Retention

if TYPE_CHECKING:
    from triplestore.read.differences import Difference
    from triplestore.read.log import LogEntry
    from triplestore.storage.backup import BackedUp


@click.command()
@click.argument("store")
@click.argument("version", type=click.IntRange(min=1), required=False)
@click.option("--facts", is_flag=True, help="The triples that VERSION (default: the newest) added and removed.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help="Lines of each kind with --facts; 0 for all. [default: 100; all with --json]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
def log(options: Common, store: str, version: int | None, facts: bool, limit: int | None, as_json: bool) -> None:
    """List the versions of a store, or what one of them changed."""
    if limit is not None and not facts:
        raise UsageError("--limit is for the lines of --facts")
    if facts:
        with opening(options, store) as opened:
            most = (None if as_json else SHOWN) if limit is None else limit or None
            entry = opened.log(opened.version if version is None else version)[-1]
            with opened.log_facts(version) as change:
                (_write_json if as_json else _write_lines)(change, entry, most)
        return
    from triplestore.read.log import log_of
    from triplestore.storage.verify import examine
    from triplestore.storage.versions import Versions

    versions = Versions(store)
    versions.check()
    if options.verify:
        examine(versions, versions.read(version), sums=True)
    entries = log_of(versions, version)
    if as_json:
        click.echo(json.dumps([entry.as_dict() for entry in entries], indent=2))
        return
    click.echo(
        f"{'version':>7}  {'created':<20}  {'operation':<11} {'asserted':>12} {'facts':>12} {'seconds':>8}  algorithm"
    )
    for e in entries:
        click.echo(
            f"{e.version:>7}  {e.created:<20}  {e.last.operation:<11} {e.asserted:>12,} {e.facts:>12,} "
            f"{e.last.seconds:>8.2f}  {e.last.algorithm}"
        )


SHOWN: Final = 100
"""Triples of each kind that `log --facts` shows."""

_MEANING: Final = {
    "quads": "in named graphs",
    "asserted": "asserted",
    "inferred": "inferred, each class of equal terms under its representative",
    "equal": "classes of equal terms, each term with its representative",
}


def _write_lines(change: Difference, entry: LogEntry, limit: int | None) -> None:
    """A change as N-Triples lines with a sign before each."""
    since = "from nothing" if change.before is None else f"since version {change.before}"
    click.echo(f"# version {change.version}, {entry.created}: {entry.last.operation}, {since}")
    for kind, counts in change.counts.items():
        if kind == "equal" and not any(counts.values()):
            continue
        click.echo(f"# {_MEANING[kind]}: {counts['added']:,} added, {counts['removed']:,} removed")
        for sign, mark in (("removed", "-"), ("added", "+")):
            for line in change.lines(kind, sign, limit):
                click.echo(f"{mark} {line}")
            if limit is not None and (more := counts[sign] - limit) > 0:
                click.echo(f"# ... and {more:,} more {sign}; --limit 0 shows all")


def _write_json(change: Difference, entry: LogEntry, limit: int | None) -> None:
    """A change as one JSON object, written as its triples are read."""
    counted = {**entry, "before": change.before, "changes": change.counts}
    click.echo(f'{json.dumps(counted)[:-1]}, "triples": {{', nl=False)
    for place, (kind, counts) in enumerate(change.counts.items()):
        click.echo(f'{", " * bool(place)}"{kind}": {{', nl=False)
        for number, sign in enumerate(counts):
            click.echo(f'{", " * bool(number)}"{sign}": [', nl=False)
            for at, line in enumerate(change.lines(kind, sign, limit)):
                click.echo(f"{',' * bool(at)}\n  {json.dumps(line)}", nl=False)
            click.echo("]", nl=False)
        click.echo("}", nl=False)
    click.echo("}}")


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
@click.option(
    "--keep-versions",
    "--keep",
    "keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the newest N versions. [default: the store's rule]",
)
@click.option(
    "--keep-days",
    type=click.FloatRange(0, MOST_DAYS),
    metavar="D",
    help="Also keep the last version of each minute of D days.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@common
def vacuum(options: Common, store: str, keep: int | None, keep_days: float | None, dry_run: bool) -> None:
    """Forget old versions, and delete files that go with them.

    What is kept is what the options say; without them, what the store's rule says (see `triplake retention`).
    """
    from triplestore.storage.vacuum import vacuum as remove_unneeded
    from triplestore.storage.versions import Versions

    versions = Versions(store)
    versions.check()
    given = keep is not None or keep_days is not None
    rule = Retention(keep or 1, keep_days or 0.0) if given else versions.retention
    gone, files, freed, left = remove_unneeded(versions, rule, options.verify, dry_run)
    did = "would forget {}, delete {}, free {}" if dry_run else "forgot {}, deleted {}, freed {}"
    done = did.format(counted(gone, "version"), counted(files, "file"), f"{freed:,} bytes")
    say(options, f"{done}; {counted(left, 'version')} {'would be ' if dry_run else ''}kept")
    if left > 1 and not given:
        more = remove_unneeded(versions, Retention(1), dry=True)
        say(options, f"--keep-versions 1 would forget {counted(more.versions, 'version')}, free {more.bytes:,} bytes")


@click.command()
@click.argument("store")
@click.option(
    "--keep-versions", "versions", metavar="N", help="Keep the newest N versions, at least 1; `all` forgets none."
)
@click.option(
    "--keep-days",
    "days",
    type=click.FloatRange(0, MOST_DAYS),
    metavar="D",
    help="Also keep the last version of each minute of D days.",
)
@common
def retention(options: Common, store: str, versions: str | None, days: float | None) -> None:
    """Show which versions the store keeps, or change it.

    Writers forget the others now and then. A new store keeps the newest 100, and the last of each minute of a day.
    """
    from triplestore.storage.versions import Versions

    opened = Versions(store)
    opened.check()
    rule = opened.retention
    if versions is not None or days is not None:
        try:
            newest = rule.versions if versions is None else None if versions == "all" else int(versions)
        except ValueError:
            raise UsageError(f"--keep-versions takes a number of 1 or more, or `all`, not '{versions}'") from None
        if newest is None and days is not None:
            raise UsageError("all versions are kept, those of these days too: give --keep-days with --keep-versions N")
        if newest is not None and newest < 1:
            raise UsageError(f"--keep-versions takes a number of 1 or more, or `all`, not '{versions}'")
        rule = Retention(newest, rule.days if days is None else days)
        opened.change_retention(rule)
    click.echo(f"keeps {rule}")


@click.command()
@click.argument("store")
@click.option("--to", type=click.IntRange(min=1), metavar="VERSION", help="The version to go back to.")
@click.option("--from", "copy", metavar="BACKUP", help="A backup, to fetch what is missing or damaged from.")
@common
def restore(options: Common, store: str, to: int | None, copy: str | None) -> None:
    """Go back to an older version (--to) or a backup (--from).

    The first is the way back from a mistake; the second from files that are missing or damaged, or a store that is
    gone.
    """
    from triplestore.storage.backup import restore as brought_back
    from triplestore.store import Store

    if (to is None) == (copy is None):
        raise UsageError("say where to go back to: --to VERSION, or --from BACKUP")
    if copy is not None:
        _copied(options, f"brought {store} back", brought_back(store, copy))
        return
    assert to is not None
    made = Store.restore(store, to)
    if made == to:  # what was damaged was no version
        say(
            options,
            f"{MARK} of {store} was written again, with a retention of all versions; version {to} is the newest",
        )
    else:
        say(options, f"version {made} is what version {to} was")


@click.command()
@click.argument("store")
@click.argument("dest")
@common
def backup(options: Common, store: str, dest: str) -> None:
    """Bring a backup of all versions up to date, or make it.

    What DEST lacks is copied, each file compared with its checksum.

    DEST is a store itself, which can be read, or brought back with `restore --from`.
    """
    from triplestore.storage.backup import backup as brought

    _copied(options, f"{dest} is a backup of {store}", brought(store, dest))


def _copied(options: Common, what: str, found: BackedUp) -> None:
    """Say what a backup, or the way back from one, has done."""
    for number, why in found.damaged:
        warn(f"version {number} is left out: {why}")
    copied = f"copied {counted(found.new, 'version')}, {counted(found.files, 'file')}, {found.bytes:,} bytes"
    say(options, f"{what}: {copied}; it has {counted(found.versions, 'version')}")
    if found.damaged:
        raise SystemExit(NO)


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


_PREFIX_ARGUMENTS: Final = {"add": "NAME=IRI, as in ex=http://example.org/", "remove": "the names of prefixes"}


@click.command()
@click.argument("store")
@click.argument("action", type=click.Choice(["list", "add", "remove"]))
@click.argument("names", nargs=-1, metavar="[NAME=IRI | NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
def prefixes(options: Common, store: str, action: str, names: Sequence[str], as_json: bool) -> None:
    """List, add or remove the prefixes that a store keeps.

    Yours come first, then those of loaded files and updates.
    """
    from triplestore.read.names import prefixes_of

    if (action == "list") == bool(names):
        raise UsageError(
            "prefixes list takes no names" if names else f"prefixes {action} needs {_PREFIX_ARGUMENTS[action]}"
        )
    if as_json and action != "list":
        raise UsageError("--json is for prefixes list")
    with opening(options, store) as opened:
        if action != "list":
            add = prefixes_of(names) if action == "add" else {}
            opened.change_prefixes(add, () if add else [name.removesuffix(":") for name in names])
            say(options, f"{store}: {counted(len(opened.prefixes.declared), 'prefix')}")
            return
        found = opened.prefixes
    rows = [
        {"name": one.name, "iri": one.iri, "source": one.source or "you", "holds": found.holds(one)}
        for one in found.declarations
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width = max((len(one.name) for one in found.declarations), default=0) + 1
    for one in found.declarations:
        holds = "" if found.holds(one) else "   (not used: the name stands for another IRI)"
        source = f"   {one.source}" if one.source else ""
        click.echo(f"{one.name + ':':<{width}}  <{one.iri}>{source}{holds}")


@click.command()
@click.argument("folder", required=False)
@click.option("--stream", is_flag=True, help="Windows over a building's sensors instead; keeps nothing.")
@common
def demo(options: Common, folder: str | None, stream: bool) -> None:
    """Show load, inference, queries and updates on bundled data.

    The store is kept in FOLDER; by default it is temporary.
    """
    from triplestore.demo import building, run

    nothing_to_verify(options)
    if not stream:
        run(folder, options.engine_options)
    elif folder is not None:
        raise UsageError("the demo of streams keeps no store: leave out the folder, or --stream")
    else:
        building.run(options.engine_options)
