"""Commands that say why: explain, why-same."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from triplestore.cli.options import NO, Common, at_option, common, opening, say
from triplestore.model.errors import UsageError
from triplestore.read.names import prefixes_of, token_of

if TYPE_CHECKING:
    from rdflib.term import Node

    from triplestore.model.report import Json
    from triplestore.store import Store

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "dot"]),
    default="text",
    show_default=True,
    help="Text, JSON, or a graph for Graphviz.",
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
    from triplestore.model.terms import to_rdflib
    from triplestore.proof import text

    if len(triple) != (3 if violation is None else 0):
        raise UsageError("give the subject, the predicate and the object of one triple, or --violation RULE:N")
    given = prefixes_of(prefixes)
    with opening(options, store, at) as opened:
        known = {**opened.prefixes.known, **given}
        tokens = [token_of(term, known) for term in triple]
        found = (
            opened.explain(tuple(to_rdflib(token) for token in tokens))
            if violation is None
            else opened.explain_violation(*_numbered(violation, opened.violated()))
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


LISTED: Final = 20
"""Members and bridges that `why-same A` lists by default."""


@click.command()
@click.argument("store")
@click.argument("terms", nargs=-1, required=True, metavar="A [B]")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Of a class, list N members and N bridges at most (default: {LISTED}); 0 for all.",
)
@click.option(
    "--cut",
    type=click.IntRange(min=1, max=100),
    metavar="N",
    help="Show the N best sets of links to remove for A and B to be two, those most likely wrong first.",
)
@format_option
@prefix_option
@at_option
@common
def why_same(
    options: Common,
    store: str,
    terms: Sequence[str],
    limit: int | None,
    cut: int | None,
    format_: str,
    prefixes: Sequence[str],
    at: int | None,
) -> None:
    """Show what makes A and B equal, or A's class.

    For A and B: the shortest chain of equalities. Of A alone: its class, and the links that hold it together.
    Exit code 1 if they are not one.
    """
    from triplestore.model.terms import to_rdflib
    from triplestore.proof import why_text
    from triplestore.proof.text import writer

    if len(terms) > 2:
        raise UsageError("give one term, for its class, or two, for what makes them one")
    if cut is not None and (len(terms) != 2 or format_ == "dot"):
        raise UsageError("--cut needs two terms, and shows text or JSON")
    if limit is not None and len(terms) == 2:
        raise UsageError("--limit is of the class of one term: give A alone, or leave it out")
    most = (LISTED if limit is None else limit) or None
    given = prefixes_of(prefixes)
    with opening(options, store, at) as opened:
        known = {**opened.prefixes.known, **given}
        write, nodes = writer(known), [to_rdflib(token_of(term, known)) for term in terms]
        chain = opened.why_same(*nodes) if len(nodes) == 2 else None
        found = opened.equality_class(nodes[0], most) if len(nodes) == 1 else None
        parting = opened.cuts(nodes[0], nodes[1], cut) if cut is not None and chain and chain.links else []
        missing = [] if chain or found else [t for t, n in zip(terms, nodes, strict=True) if not _occurs(opened, n)]
    as_json: Json
    as_dot: Iterator[str] = iter(())
    if parting:
        as_json, lines = why_text.cuts_json(parting), why_text.cuts_text(parting, write)
    elif chain is not None:
        as_json, lines = why_text.chain_json(chain), why_text.chain_text(chain, write)
        as_dot = why_text.chain_dot(chain, write)
    elif found is not None:
        as_json, lines = why_text.class_json(found), why_text.class_text(found, write, most or len(found.tokens))
        as_dot = why_text.class_dot(found, write)
    else:
        message = f"{terms[0]} equals nothing else" if len(terms) == 1 else f"{' and '.join(terms)} are not one"
        if missing:
            message += f": no triple of the store has {' or '.join(missing)}"
        say(options, message)
        raise SystemExit(NO)
    if format_ == "json":
        click.echo(json.dumps(as_json, indent=2))
    else:
        for line in lines if format_ == "text" else as_dot:
            click.echo(line)


def _occurs(store: Store, node: Node) -> bool:
    """Whether any triple of the closure has a term."""
    found = (store.match(subject=node), store.match(predicate=node), store.match(object=node))
    return any(next(triples, None) for triples in found)


def _numbered(violation: str, rules: Collection[str]) -> tuple[str, int]:
    """A rule, and the number of one of its violations: 1 where none is given. rules: those that are violated, of which
    one without a name is called by its file and line, as family:12. Raises UsageError for another text."""
    rule, colon, number = violation.rpartition(":")
    found = violation, 1
    if colon and number.isdecimal() and violation not in rules:
        with suppress(ValueError):  # more digits than Python reads
            found = rule, int(number)
    if not found[0]:
        raise UsageError(f"--violation takes RULE or RULE:NUMBER, as `triplake check` lists them, not '{violation}'")
    return found
