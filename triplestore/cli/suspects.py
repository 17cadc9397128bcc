"""The command that ranks links by how likely they are wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from triplestore.cli.options import Common, at_option, common, counted, opening
from triplestore.cli.proofs import prefix_option
from triplestore.read.names import prefixes_of

if TYPE_CHECKING:
    from triplestore.proof.text import Write
    from triplestore.read.suspects import Suspect

LISTED: Final = 10
"""Suspects that are listed by default."""


@click.command()
@click.argument("store")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    default=LISTED,
    show_default=True,
    help="List the N most suspect links; 0 for all.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "rdfp"]),
    default="text",
    show_default=True,
    help="Text, JSON, or an update file that deletes the links, to be looked through first.",
)
@prefix_option
@at_option
@common
def suspects(options: Common, store: str, limit: int, format_: str, prefixes: tuple[str, ...], at: int | None) -> None:
    """Rank the links that make terms equal by how suspect they are.

    Those most likely wrong come first, each with its reasons.
    """
    from triplestore.proof.text import writer

    given = prefixes_of(prefixes)
    with opening(options, store, at) as opened:
        known = {**opened.prefixes.known, **given}
        found = opened.suspects(limit or None)
    if format_ == "json":
        click.echo(json.dumps([suspect.as_dict() for suspect in found], indent=2))
        return
    write = writer(known)
    lines = _text(found, write) if format_ == "text" else _update_file(found, write)
    for line in lines:
        click.echo(line)


def _text(found: list[Suspect], write: Write) -> Iterator[str]:
    from triplestore.read.suspects import reason_text

    if not found:
        yield "no link to doubt: no asserted triples make two terms equal"
    for number, suspect in enumerate(found, 1):
        parts = "" if suspect.parts is None else f", and parts it into {suspect.parts[0]:,} and {suspect.parts[1]:,}"
        yield f"{number}. {write(suspect.left)} = {write(suspect.right)}   {suspect.bits:.1f} bits"
        shared = f", which {suspect.shared:,} share" if suspect.shared > 2 else ""
        on = f" on {', '.join(map(write, suspect.on))}{shared}" if suspect.on else ""
        yield f"   {', '.join(suspect.by)}{on}; of a class of {counted(suspect.members, 'term')}{parts}"
        for reason in suspect.reasons:
            yield f"   {reason.bits:+6.1f}  {reason_text(reason, write)}"
        for triple in suspect.delete:
            yield f"   delete  {' '.join(map(write, triple))}"


def _update_file(found: list[Suspect], write: Write) -> Iterator[str]:
    from triplestore.model.terms import to_ntriples
    from triplestore.read.suspects import reason_text

    for number, suspect in enumerate(found, 1):
        by = ", ".join(suspect.by)
        yield f"# {number}. {suspect.bits:.1f} bits: {write(suspect.left)} = {write(suspect.right)} ({by})"
        for reason in suspect.reasons:
            yield f"#    {reason.bits:+.1f} {reason_text(reason, write)}"
        for triple, graphs in zip(suspect.delete, suspect.graphs or ((),) * len(suspect.delete), strict=True):
            written = " ".join(map(to_ntriples, triple))
            for graph in graphs or ("",):
                yield f"D {written} {graph} ." if graph.startswith("<") else f"D {written} ."
