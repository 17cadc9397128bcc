"""Commands that say why: explain."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from triplestore.cli.options import NO, Common, at_option, common, opening, say
from triplestore.cli.terms import prefixes_of, token_of
from triplestore.errors import UsageError

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "dot"]),
    default="text",
    show_default=True,
    help="A tree, JSON, or a graph for Graphviz.",
)
prefix_option = click.option(
    "--prefix", "prefixes", multiple=True, metavar="NAME=IRI", help="A prefix for terms; may be given several times."
)


@click.command()
@click.argument("store")
@click.argument("triple", nargs=-1, metavar="S P O")
@click.option("--violation", metavar="RULE:N", help="Explain the N-th inconsistency of a rule that `check` lists.")
@format_option
@prefix_option
@at_option
@common
def explain(
    options: Common,
    store: str,
    triple: Sequence[str],
    violation: str | None,
    format_: str,
    prefixes: Sequence[str],
    at: int | None,
) -> None:
    """Show why a triple holds, down to asserted triples. Exit code 1 if it does not hold."""
    from triplestore.proof import text
    from triplestore.terms import to_rdflib

    if (len(triple) == 3) == (violation is not None) or (violation is None and len(triple) != 3):
        raise UsageError("give the subject, the predicate and the object of one triple, or --violation RULE:N")
    known = prefixes_of(prefixes)
    tokens = [token_of(term, known) for term in triple]
    with opening(options, store, at) as opened:
        found = (
            opened.explain(tuple(to_rdflib(token) for token in tokens))
            if violation is None
            else opened.explain_violation(*_numbered(violation))
        )
    if found is None:
        say(options, f"{' '.join(triple)} does not hold")
        raise SystemExit(NO)
    write = text.writer(known)
    if format_ == "json":
        click.echo(json.dumps(text.as_json(found), indent=2))
    else:
        for line in text.text(found, write) if format_ == "text" else text.dot(found, write):
            click.echo(line)


def _numbered(violation: str) -> tuple[str, int]:
    """A rule, and the number of one of its violations: 1 where none is said."""
    rule, colon, number = violation.rpartition(":")
    return (rule, int(number)) if colon and number.isdigit() else (violation, 1)
