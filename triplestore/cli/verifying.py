"""The command that reads a store through: whether its files are what was written, and say what follows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn

import click

from triplestore.cli.options import NO, Common, at_option, common, counted, opening, say, warn
from triplestore.model.errors import DamagedStoreError
from triplestore.storage.place import DATA, MARK, VERSIONS

if TYPE_CHECKING:
    from triplestore.write.deep import Fault


@click.command()
@click.argument("store")
@at_option
@click.option("--deep", is_flag=True, help="Then compute the closure of the newest (or of --at) again, and compare.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
def verify(options: Common, store: str, at: int | None, deep: bool, as_json: bool) -> None:
    """Check every file of a store against its checksum.

    All versions are read, or that of --at.

    --deep takes as long as `materialise`, and room for a copy in the temporary folder. Exit code 0: all are whole; 1:
    older versions are damaged, the newest is whole; 5: the newest one, or that of --at, is damaged.
    """
    from triplestore.storage.verify import verify as read_all
    from triplestore.storage.versions import Versions

    versions = Versions(store)
    if not (versions.numbers() and versions.mark_fault()):  # else it is one of the damages
        versions.check()
    if at is not None and at not in versions.numbers():
        versions.read(at)  # says which there are
    found = read_all(versions, None if at is None else [at])
    if not found.versions:
        versions.read()  # says why
    faults: list[Fault] | None = None
    told = ""
    if deep and found.newest_is_whole:
        from triplestore.write.deep import deep as computed_again

        with opening(options, store, at) as opened:
            faults = computed_again(opened)
            told = (
                "; the closure is what follows"
                if opened.materialised
                else f"; the closure was not compared: `triplake materialise {store}` brings it up to date"
            )
    if as_json:
        more = {} if faults is None else {"faults": [asdict(fault) for fault in faults]}
        click.echo(json.dumps({**asdict(found), "whole": found.whole, **more}, indent=2))
    for damage in () if as_json else found.damages:
        of = f" (table {damage.table}, version {_listed(damage.versions)})" if damage.table else ""
        click.echo(f"{store}/{damage.path}{of} {damage.what}")
    read = f"read {counted(found.files, 'file')}, {found.bytes:,} bytes"
    if found.strays:
        warn(
            f"no version names {counted(len(found.strays), 'file')} of {store}/{DATA}: a writer was killed, or a file "
            f"of {store}/{VERSIONS} was lost. `triplake restore {store} --from BACKUP` brings back a lost version; "
            f"`triplake vacuum {store}` deletes the files"
        )
    if found.unsummed:
        warn(
            f"{counted(found.unsummed, 'file')} not verified: a store of format 2 has no checksums. "
            "The next write adds them"
        )
    if faults:
        _faulty(store, found.versions[-1], faults, as_json)
    if not found.damages:
        say(options, f"{read}: {counted(len(found.versions), 'version')} whole{told}")
        return
    summary = f"{read}, {counted(len(found.damages), 'file')} damaged"
    if found.newest_is_whole:
        damaged = [n for n in found.versions if n not in found.whole]
        keep = sum(n > damaged[-1] for n in found.versions)
        warn(
            f"{summary}, of older versions only: {_listed(damaged)}; the newest, {found.versions[-1]}, is whole. "
            f"`triplake vacuum {store} --keep-versions {keep}` forgets the damaged ones, and those before them"
        )
        raise SystemExit(NO)
    if any(damage.path == MARK for damage in found.damages):
        raise DamagedStoreError(
            f"{summary}; without {MARK} no version can be opened: `triplake restore {store} --from BACKUP` brings it "
            f"back, `triplake restore {store} --to {found.versions[-1]}` writes it again, with a retention of all "
            "versions"
        )
    way = f"none is whole: `triplake restore {store} --from BACKUP` brings it back from a backup"
    if found.whole:
        last = found.whole[-1]
        way = f"whole: {_listed(found.whole)}; `triplake restore {store} --to {last}` goes back to version {last}"
    raise DamagedStoreError(f"{summary}; of the versions {way}")


def _faulty(store: str, version: int, faults: Sequence[Fault], as_json: bool) -> NoReturn:
    """Say what `verify --deep` found."""
    for fault in () if as_json else faults:
        click.echo(f"{fault.table}: {fault.what}: {fault.rows:,}")
        for row in fault.shown:
            click.echo(f"  {row}")
    closure = all(fault.what.startswith("closure") for fault in faults)
    way = f"`triplake materialise {store}` computes it again" if closure else "go back to a version that is right"
    raise DamagedStoreError(
        f"the files of version {version} of {store} are as they were written, but what they say is wrong; {way}, and "
        "please report it, with what made the version (`triplake log`)"
    )


def _listed(numbers: Sequence[int]) -> str:
    """Ascending numbers, those in a row as a range."""
    runs = list[list[int]]()
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in runs)
