"""The command that finds terms by words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import click

from triplestore.cli.options import NO, Common, at_option, common, opening, say
from triplestore.cli.proofs import prefix_option
from triplestore.model.errors import UsageError
from triplestore.model.terms import to_rdflib
from triplestore.read.names import prefixes_of, token_of

LISTED: Final = 20
"""Terms that are listed by default."""


@click.command()
@click.argument("store")
@click.argument("words", nargs=-1, required=True)
@click.option("--property", "properties", multiple=True, metavar="P", help="Only literals of this property.")
@click.option("--lang", metavar="TAG", help="Only literals of this language, as in en.")
@click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", default=LISTED, show_default=True, help="List N; 0 for all."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@prefix_option
@at_option
@common
def search(
    options: Common,
    store: str,
    words: Sequence[str],
    properties: Sequence[str],
    lang: str | None,
    limit: int,
    as_json: bool,
    prefixes: tuple[str, ...],
    at: int | None,
) -> None:
    """Find terms by words of their labels and other literals.

    Those that fit best come first.

    WORDS are words, "phrases", prefixes (rembr*), joined by AND, OR, NOT, + and -.
    """
    from triplestore.proof.text import writer

    given = prefixes_of(prefixes)
    if lang is not None and not lang.replace("-", "").isalnum():
        raise UsageError(f"--lang takes a tag, as in en or de-CH, not {lang!r}")
    with opening(options, store, at) as opened:
        known = {**opened.prefixes.known, **given}
        by = [to_rdflib(token_of(name, known)) for name in properties]
        found = opened.search(" ".join(words), limit + 1 if limit else None, by, lang)
    more = bool(limit) and len(found) > limit
    found = found[:limit] if more else found
    write = writer(known)
    if as_json:
        click.echo(json.dumps([hit.as_dict() for hit in found], indent=2, ensure_ascii=False))
    else:
        for hit in found:
            click.echo(f"{write(hit.term)}  {write(hit.property)}  {write(hit.text)}")
    if not found:
        say(options, "nothing found")
        raise SystemExit(NO)
    if more:
        say(options, f"there are more than {limit}: --limit 0 lists all")
