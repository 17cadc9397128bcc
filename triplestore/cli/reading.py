"""Commands that read a store: query, export, check, entails, stats."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from triplestore.cli.options import (
    NO,
    Common,
    at_option,
    common,
    counted,
    opening,
    outside_profile_lines,
    prefer_option,
    read_text,
    same_as_option,
    say,
    services_option,
    warn,
)
from triplestore.model.dataset import DEFAULT
from triplestore.model.errors import UsageError

Triple = tuple[str, str, str]
"""Three tokens."""

if TYPE_CHECKING:
    from triplestore.model.report import JsonObject
    from triplestore.read.equality import EqualityStats
    from triplestore.read.proofs import Violation
    from triplestore.read.stats import StoreStats


@click.command()
@click.argument("store")
@click.argument("sparql", required=False)
@click.option("--file", "-f", "file", metavar="FILE", help="Read the query from a file (- for stdin).")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "tsv", "json", "xml", "nt", "ttl", "rdf", "jsonld", "nq", "trig"]),
    help="Default: table, or ttl for CONSTRUCT and DESCRIBE.",
)
@same_as_option
@prefer_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 if an ASK is false.")
@click.option("--explain", is_flag=True, help="Show algebra, SQL and the engine's plan with row counts.")
@services_option
@at_option
@common
def query(
    options: Common,
    store: str,
    sparql: str | None,
    file: str | None,
    format_: str | None,
    same_as: str,
    prefer: tuple[str, ...],
    exit_code: bool,
    explain: bool,
    allow_service: Sequence[str],
    at: int | None,
) -> None:
    """Answer a SPARQL query: SELECT, ASK, CONSTRUCT or DESCRIBE."""
    if (sparql is None) == (file is None):
        raise UsageError("give the query as an argument, or a file of it with -f, and not both")
    if sparql is not None and (sparql.endswith((".rq", ".sparql")) or os.path.isfile(sparql)):
        raise UsageError(f"{sparql} is the name of a file: give it with -f, as in `triplake query {store} -f {sparql}`")
    text = sparql if sparql is not None else read_text(str(file))
    if explain and format_ not in (None, "json"):
        raise UsageError(f"--explain is shown as text or as json, not as {format_}")
    if explain and exit_code:
        raise UsageError("--exit-code is of an answer, which --explain does not show")
    with opening(options, store, at) as opened:
        opened.services = allow_service
        if explain:
            found = opened.explain_query(text, same_as, prefer)
            click.echo(json.dumps(found.as_json(), indent=2) if format_ else found.text(), nl=bool(format_))
            return
        result = opened.query(text, same_as, stream=True, prefer=prefer)
        if exit_code and result.kind != "ask":
            raise UsageError(f"--exit-code is of ASK: this is a {result.kind.upper()}")
        for warning in result.warnings:
            click.echo(f"warning: {warning}", err=True)
        result.write(sys.stdout, format_ or ("ttl" if result.kind in ("construct", "describe") else "table"))
    if exit_code and not result.boolean:
        raise SystemExit(NO)


@click.command()
@click.argument("store")
@click.option(
    "--what",
    type=click.Choice(["asserted", "inferred", "all"]),
    default="all",
    show_default=True,
    help="Which triples.",
)
@same_as_option
@prefer_option
@click.option("--output", "-o", metavar="FILE", help="Format and compression by suffix; default N-Triples to stdout.")
@click.option("--sorted", "ordered", is_flag=True, help="N-Triples lines in the order of their bytes.")
@click.option(
    "--graph", metavar="IRI", help="The asserted triples of this graph alone; the unnamed one is called default."
)
@click.option("--virtual", is_flag=True, help="Also what holds of every term: it equals itself, is an rdfs:Resource.")
@at_option
@common
def export(
    options: Common,
    store: str,
    what: str,
    same_as: str,
    prefer: tuple[str, ...],
    output: str | None,
    ordered: bool,
    graph: str | None,
    virtual: bool,
    at: int | None,
) -> None:
    """Write the store's triples.

    N-Quads and TriG have them in their graphs.
    """
    from triplestore.cli.export import leaves_out_graphs, write_export
    from triplestore.read.names import graph_token

    name = None if graph is None else DEFAULT if graph == "default" else graph_token(graph)
    with opening(options, store, at) as opened:
        if name not in (None, DEFAULT) and not opened.has_graph(str(name)):
            raise UsageError(f"there is no graph {name} in {store}: `triplake graphs {store}` lists them")
        count = write_export(opened, output, what, same_as, ordered, virtual, prefer, name)
        if leaves_out_graphs(opened, output, what, name):
            warn("the triples of named graphs are left out: `-o FILE.trig` or `-o FILE.nq` writes them")
    say(options, f"wrote {count:,} triples")


SHOWN: Final = 10
"""Inconsistencies of each rule that `check` lists by default."""


def _in_own_terms(violation: Violation) -> JsonObject:
    """The same as JSON."""
    from triplestore.model.terms import to_ntriples

    rest = [triple for triple in violation.because if triple not in violation.at_fault]
    return {
        name: [[to_ntriples(token) for token in triple] for triple in found]
        for name, found in (("terms", violation.at_fault), ("because", rest))
    }


@click.command()
@click.argument("store")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"List N of each rule at most, 0 for all (default: {SHOWN}; all with --json).",
)
@at_option
@common
def check(options: Common, store: str, as_json: bool, limit: int | None, at: int | None) -> None:
    """List inconsistencies by rule, with their triples. Exit code 1 if there are any."""
    from triplestore.cli.prefixes import Printed
    from triplestore.model.terms import node_to_ntriples
    from triplestore.proof.text import graphs_json, named, writer

    bound = (None if as_json else SHOWN) if limit is None else limit or None
    with opening(options, store, at) as opened:
        counts, found, declared = opened.violated(), opened.check(bound, by=True), opened.prefixes.declared
    if as_json:
        rows = [
            {
                "rule": v.rule,
                "triples": [list(map(node_to_ntriples, t)) for t in v.triples],
                **({"by": v.by} if v.by else {}),
                **(_in_own_terms(v) if v.proof else {}),
                **({"graphs": [graphs_json(graphs) for graphs in v.graphs]} if v.graphs else {}),
            }
            for v in found
        ]
        click.echo(json.dumps(rows, indent=2))
    elif not counts:
        click.echo("consistent")
    else:
        write = writer(declared)
        printed = Printed((triple for violation in found for triple in violation.because), declared)
        for line in (*printed.declarations, *([""] if printed.declarations else [])):
            click.echo(line)
        for rule, count in counts.items():
            click.echo(f"{rule}: {counted(count, 'inconsistency')}")
            listed = [violation for violation in found if violation.rule == rule]
            for number, violation in enumerate(listed, 1):
                for place, (triple, graphs) in enumerate(violation.because.items()):
                    source = f"   [asserted in {named(graphs, write)}]" if graphs else ""
                    because = "" if triple in violation.at_fault else "because "
                    click.echo(
                        f"{f'{number:>5}. ' if place == 0 else '       '}{because}{printed.triple(triple)}{source}"
                    )
                if violation.by:
                    click.echo(f"       by {', '.join(violation.by)}")
            if len(listed) < count:
                click.echo(f"       ... and {count - len(listed):,} more (--limit 0 lists all)")
        click.echo(counted(sum(counts.values()), "inconsistency"))
    if counts:
        raise SystemExit(NO)


@click.command()
@click.argument("store")
@click.argument("files", nargs=-1, required=True)
@click.option("--format", "format_", metavar="F", help="The format of the files, where suffixes don't tell.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@at_option
@common
def entails(
    options: Common, store: str, files: Sequence[str], format_: str | None, as_json: bool, at: int | None
) -> None:
    """Say whether a graph follows from the store. Exit code 1 if it does not."""
    from triplake.loaders import quads_of, sources
    from triplestore.model.terms import node_to_ntriples, to_rdflib

    found = [t for number, source in enumerate(sources(files, format_)) for t in quads_of(source, number)]
    graph = [(to_rdflib(s), to_rdflib(p), to_rdflib(o)) for s, p, o, *_ in found]
    with opening(options, store, at) as opened:
        answer = opened.entails(graph)
    missing = [" ".join(map(node_to_ntriples, triple)) for triple in answer.missing]
    if as_json:
        click.echo(json.dumps({"entailed": answer.holds, "by": answer.by, "missing": missing}, indent=2))
    else:
        click.echo("entailed" if answer.holds else "not entailed")
        for line in answer.by:
            click.echo(f"    {line}")
        if missing:
            click.echo("not found to follow:")
        for line in missing:
            click.echo(f"    {line} .")
    if not answer.holds:
        raise SystemExit(NO)


@click.command()
@click.argument("store")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--same-as", is_flag=True, help="Show which terms are one, and what made them so.")
@at_option
@common
def stats(options: Common, store: str, as_json: bool, same_as: bool, at: int | None) -> None:
    """Show the figures of a store, or what owl:sameAs does to it."""
    with opening(options, store, at) as opened:
        if same_as:
            equality = opened.equality_stats()
            found, lines = equality.as_dict(), _equality_lines(equality)
        else:
            counts = opened.stats()
            found, lines = counts.as_dict(), _count_lines(counts)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for line in lines:
        click.echo(line)
    if not found.get("materialised", True):
        warn(
            "the closure is not up to date: all but asserted is of the closure before; "
            f"run `triplake materialise {store}`"
        )


def _count_lines(found: StoreStats) -> Iterator[str]:
    """`stats` as text."""
    shown = found.as_dict()
    del shown["outside_profile"]  # a number here, and lines at the end
    shown["outside_profile"] = sum(finding.count for finding in found.outside_profile)
    for key, value in shown.items():
        if isinstance(value, dict):  # the last operation: --json has all of its figures
            last = found.last
            by = f" by {last.algorithm}" if last.algorithm != "none" else ""
            effect = f"added {last.added:,} and deleted {last.deleted:,} stored facts"
            value = f"{last.operation}{by}: {effect}, {last.seconds:.2f} s"
        elif isinstance(value, list):
            value = ", ".join(value)
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, int):
            value = f"{value:,}"
        yield f"{key.replace('_', ' '):<15} {value}"
    yield from outside_profile_lines(found.outside_profile)


def _equality_lines(found: EqualityStats) -> Iterator[str]:
    """`stats --same-as` as text."""
    classes = "1 class" if found.classes == 1 else f"{found.classes:,} classes"
    yield f"{found.members:,} terms in {classes} of equal terms"
    for sizes in found.sizes:
        many = f" to {sizes.most:,}" if sizes.most > 3 else " or 3"
        yield f"  {sizes.classes:>12,} of {sizes.least:,}{many} terms"
    if found.largest:
        yield "largest:"
    for one in found.largest:
        more = f" and {one.size - len(one.members):,} more" if one.size > len(one.members) else ""
        yield f"  {one.size:>12,} {', '.join(one.members)}{more}"
    if found.causes or found.by_derived_facts:
        yield "links, by what made them:"
    for cause in found.causes:
        yield f"  {cause.links:>12,} {cause.rule} {' '.join(cause.on)}"
    if found.by_derived_facts:
        yield f"  {found.by_derived_facts:>12,} merges more, by rules from derived facts"
