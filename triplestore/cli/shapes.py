"""The command that validates: SHACL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from triplestore.cli.options import NO, Common, at_option, common, counted, opening

if TYPE_CHECKING:
    from triplestore.shapes.report import ValidationReport

SHOWN: Final = 100
"""Results that `validate` shows."""

_SYNTAXES: Final = {"turtle": "turtle", "ntriples": "nt"}


@click.command()
@click.argument("store")
@click.argument("shapes", nargs=-1, required=True)
@click.option("--shapes-format", metavar="F", help="The format of the shapes, where suffixes don't tell.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", *_SYNTAXES]),
    default="text",
    show_default=True,
    help="Text, JSON, or the graph that the standard describes.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    default=SHOWN,
    show_default=True,
    help="Results as text; 0: all.",
)
@at_option
@common
def validate(
    options: Common,
    store: str,
    shapes: Sequence[str],
    shapes_format: str | None,
    format_: str,
    limit: int,
    at: int | None,
) -> None:
    """Validate the closure against shapes of SHACL Core. Exit code 1 if it does not conform."""
    with opening(options, store, at) as opened:
        report, known = opened.validate(shapes, shapes_format), opened.prefixes.known
    if format_ == "json":
        click.echo(json.dumps(report.as_dict(), indent=2))
    elif format_ == "text":
        for line in report_lines(report, known, limit):
            click.echo(line)
    else:
        click.echo(report.graph().serialize(format=_SYNTAXES[format_]), nl=False)
    if not report.conforms:
        raise SystemExit(NO)


def report_lines(report: ValidationReport, known: Mapping[str, str], limit: int) -> Iterator[str]:
    """A report as text: a table of results, then how many there are. limit: of them that are shown; 0: all."""
    from triplestore.model.terms import from_rdflib
    from triplestore.proof.text import writer

    if report.conforms:
        yield "conforms"
        return
    write = writer(dict(known))
    shown = report.results[: limit or None]
    rows = [("severity", "focus node", "path", "value", "what is wrong")]
    for result in shown:
        value = "" if result.value is None else write(from_rdflib(result.value))
        severity = str(result.severity).rpartition("#")[2]
        rows.append((severity, write(from_rdflib(result.focus)), result.path_text(write), value, result.what()))
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
    if len(shown) < len(report.results):
        yield f"... and {len(report.results) - len(shown):,} more (--limit 0 lists all)"
    kinds = ", ".join(f"{name} {number:,}" for name, number in report.counts().items())
    yield f"does not conform: {counted(len(report.results), 'result')} ({kinds})"
