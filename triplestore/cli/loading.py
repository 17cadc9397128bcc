"""Commands that make and fill a store: init, load."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from triplake.rulesets import axiomatic_of
from triplestore.cli.effects import effect_lines, outcome_line
from triplestore.cli.options import (
    Common,
    axiomatic_option,
    common,
    counting_option,
    default_graph_option,
    equality_option,
    nothing_to_verify,
    reporting,
    rules_option,
    say,
    shapes_option,
    tell_outside_profile,
    warn,
    warn_of_left_out,
    warn_of_missing_imports,
    warn_of_violations,
)
from triplestore.model.dataset import DefaultGraph
from triplestore.model.errors import UsageError
from triplestore.objects import is_remote

if TYPE_CHECKING:
    from triplake.loaders import OnError
    from triplestore.store import Store


@click.command()
@click.argument("store")
@rules_option
@axiomatic_option
@equality_option
@counting_option
@default_graph_option
@common
def init(
    options: Common,
    store: str,
    rules: Sequence[str],
    axiomatic: bool,
    equality: str | None,
    counting: bool,
    default_graph: str | None,
) -> None:
    """Make an empty store."""
    from triplestore.engine.select import check_engine
    from triplestore.store import Store

    check_engine(options.engine, options.master)
    nothing_to_verify(options)
    chosen = _rulesets(rules, axiomatic)
    kind = default_graph or DefaultGraph.UNION
    with Store.create(store, chosen, equality, engine="duckdb", counting=counting, default_graph=kind) as made:
        say(options, f"made {store}: rules {', '.join(r.name for r in made.rulesets)}, equality {made.equality}")
        warn_of_left_out(made)


base_option = click.option(
    "--base", metavar="IRI", help="What relative IRIs are resolved against (default: the place of each file)."
)


@click.command()
@click.argument("store")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--format", "format_", metavar="F", help="nt, ttl, nq, trig, rdfxml or jsonld, where suffixes don't tell."
)
@click.option("--no-materialise", is_flag=True, help="Load only; run `triplake materialise` later.")
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="At a fault: commit nothing, or load the rest and write what was left out to the rejects file.",
)
@click.option("--rejects", metavar="FILE", help="Where --on-error skip writes (default: STORE.rejects).")
@click.option(
    "--max-errors",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many entries --on-error skip may leave out without the exit code 3 (default: 0).",
)
@click.option(
    "--max-download",
    type=click.IntRange(min=1),
    default=1024,
    show_default=True,
    metavar="MIB",
    help="Of one document that is fetched by its URL.",
)
@click.option("--dry-run", is_flag=True, help="Show the effect, commit nothing.")
@click.option("--report", "report_format", type=click.Choice(["json"]), help="What was read, file by file, on stdout.")
@base_option
@click.option("--graph", metavar="IRI", default="", help="The graph that what is in no named graph goes into.")
@click.option("--graph-per-file", is_flag=True, help="It goes into a graph of each file, named by the file's IRI.")
@click.option("--template", metavar="FILE", help="The files are tables (CSV, Parquet); what triples each row gives.")
@click.option("--rml", is_flag=True, help="The files are mappings (RML, R2RML, YARRRML), carried out by morph-kgc.")
@click.option("--database", metavar="URL", default="", help="Of the tables that --rml maps, as SQLAlchemy writes it.")
@rules_option
@axiomatic_option
@equality_option
@counting_option
@default_graph_option
@shapes_option
@common
def load(
    options: Common,
    store: str,
    files: Sequence[str],
    format_: str | None,
    no_materialise: bool,
    on_error: OnError,
    rejects: str | None,
    max_errors: int | None,
    max_download: int,
    dry_run: bool,
    report_format: str | None,
    base: str | None,
    graph: str,
    graph_per_file: bool,
    template: str | None,
    rml: bool,
    database: str,
    rules: Sequence[str],
    axiomatic: bool,
    equality: str | None,
    counting: bool,
    default_graph: str | None,
    shapes: Sequence[str],
) -> None:
    """Load RDF files or tables, and compute the closure.

    FILES are files, folders, globs, URLs, or - for standard input. The store is made if it is not there.
    """
    from triplake.loaders.report import of_relative
    from triplestore.storage.versions import Versions
    from triplestore.store import Store

    if max_errors is not None and on_error != "skip":
        raise UsageError("--max-errors is for --on-error skip: otherwise the first fault stops")
    check_base(base)
    if graph and graph_per_file:
        raise UsageError("give --graph IRI or --graph-per-file, not both")
    if (template or rml) and (on_error != "stop" or rejects or base or graph_per_file):
        raise UsageError("--on-error skip, --rejects, --base and --graph-per-file are for RDF files, not for tables")
    if rml and (template or format_):
        raise UsageError("--rml is without --template and --format: a mapping says what it reads")
    if database and not rml:
        raise UsageError("--database is for --rml")
    made = not Versions(store).exists()
    if made:
        chosen = _rulesets(rules, axiomatic)
        kind = default_graph or DefaultGraph.UNION
        opened = Store.create(
            store, chosen, equality, counting=counting, hold=True, default_graph=kind, **options.engine_options
        )
    else:
        opened = Store.open(store, verify=options.verify, **options.engine_options)
    how: dict[str, Any] = {"materialise": not no_materialise, "graph": graph, "dry_run": dry_run}
    with opened, reporting(options, opened):
        if made:
            warn_of_left_out(opened)
        else:
            _check_settings(opened, rules, axiomatic, equality, counting, default_graph)
        opened.shapes = shapes
        if template:
            report = opened.load_table(*files, template=Path(template), format=format_, **how)
        elif rml:
            report = opened.load_rml(*files, database=database, **how)
        else:
            report = opened.load(
                *files,
                format=format_,
                on_error=on_error,
                rejects=rejects or (f"{_beside(store)}.rejects" if on_error == "skip" else None),
                base=base,
                graph_per_file=graph_per_file,
                most_fetched=max_download << 20,
                **how,
            )
        last = None
        if not dry_run:
            last = opened.log(opened.version)[-1]
            warn_of_violations(opened)
            warn_of_missing_imports(opened)
            tell_outside_profile(options, opened)
    if report.relative:
        warn(of_relative(report.relative))
    for left in report.left_out[:_NAMED]:
        place = left.file if left.line is None else f"{left.file}:{left.line}"
        more = f" (and {left.entries - 1:,} more of this file)" if left.entries > 1 else ""
        warn(f"{place}: {left.reason}{more}")
    if report.skipped:
        many = f" in {len(report.left_out):,} files" if len(report.left_out) > 1 else ""
        were = "entry was" if report.skipped == 1 else "entries were"
        warn(f"{report.skipped:,} faulty {were} left out{many}: see {report.rejects_path}")
    figures: dict[str, Any] = {}
    if last is not None:
        say(options, f"{store}: version {last.version}, {last.asserted:,} asserted, {last.facts:,} facts stored")
        figures = {"version": last.version, "asserted": last.asserted, "facts": last.facts}
    if report.effect is not None:
        say(options, outcome_line(report.effect, dry_run))
        for line in () if report_format else effect_lines(report.effect):
            click.echo(line)
        figures = {"dry_run": True, "effect": report.effect.as_dict()}
    if report_format == "json":
        click.echo(json.dumps({**report.as_dict(), **figures}, indent=2))
    if report.skipped > (max_errors or 0):
        raise SystemExit(LEFT_OUT)


LEFT_OUT: Final = 3
"""The exit code of a load that left out more than it might."""

_NAMED: Final = 20
"""Files that are named of those of which something was left out."""


def _beside(store: str) -> str:
    """A store's path without a slash at its end; of one in an object store its name, in this folder."""
    path = store.rstrip("/")
    return path.rsplit("/", 1)[-1] if is_remote(store) else path


def check_base(base: str | None) -> None:
    if base is not None and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", base):
        raise UsageError(f"--base {base}: give an absolute IRI")


def _rulesets(rules: Sequence[str], axiomatic: bool) -> tuple[str, ...]:
    chosen = tuple(rules or ("owl2rl",))
    triples = axiomatic_of(chosen)
    return (*chosen, triples) if axiomatic and triples not in chosen else chosen


def _check_settings(
    store: Store,
    rules: Sequence[str],
    axiomatic: bool,
    equality: str | None,
    counting: bool,
    default_graph: str | None,
) -> None:
    names = [r.name for r in store.rulesets]
    wanted = _rulesets(rules or names, axiomatic)
    if (rules or axiomatic) and list(wanted) != names:
        raise UsageError(
            f"{store.path} has the rules {', '.join(names)}; change them with `triplake rules {store.path} add|remove`"
        )
    if equality and equality != store.equality:
        raise UsageError(f"{store.path} was made with equality {store.equality}; that is fixed for a store's life")
    if counting and not store.stats().counting:
        raise UsageError(
            f"{store.path} keeps no derivation counts; let it begin with `triplake materialise {store.path} --counting`"
        )
    if default_graph and default_graph != store.default_graph:
        raise UsageError(
            f"{store.path} has the default graph {store.default_graph}; change it with "
            f"`triplake graphs {store.path} --default-graph {default_graph}`"
        )
