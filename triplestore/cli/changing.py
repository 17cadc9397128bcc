"""Commands that change a store: init, load, materialise, update, rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from triplestore.cli.options import (
    Common,
    axiomatic_option,
    common,
    counted,
    counting_option,
    default_graph_option,
    equality_option,
    load_folder_option,
    maintain_option,
    nothing_to_verify,
    opening,
    reporting,
    rules_option,
    say,
    services_option,
    shapes_option,
    tell_outside_profile,
    warn,
    warn_of_missing_imports,
    warn_of_violations,
)
from triplestore.model.dataset import DefaultGraph
from triplestore.model.errors import UsageError

if TYPE_CHECKING:
    from triplake.loaders import OnError
    from triplestore.model.report import ClassDiff, ClassPart, UpdateReport
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
@base_option
@click.option("--graph", metavar="IRI", default="", help="The graph that what is in no named graph goes into.")
@click.option("--graph-per-file", is_flag=True, help="It goes into a graph of each file, named by the file's IRI.")
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
    base: str | None,
    graph: str,
    graph_per_file: bool,
    rules: Sequence[str],
    axiomatic: bool,
    equality: str | None,
    counting: bool,
    default_graph: str | None,
    shapes: Sequence[str],
) -> None:
    """Load RDF files (folders, globs, - for stdin), then materialise. Makes the store if there is none."""
    from triplake.loaders.read import of_relative
    from triplestore.storage.versions import Versions
    from triplestore.store import Store

    if max_errors is not None and on_error != "skip":
        raise UsageError("--max-errors is for --on-error skip: otherwise the first fault stops")
    _check_base(base)
    if graph and graph_per_file:
        raise UsageError("give --graph IRI or --graph-per-file, not both")
    made = not Versions(store).exists()
    if made:
        chosen = _rulesets(rules, axiomatic)
        kind = default_graph or DefaultGraph.UNION
        opened = Store.create(
            store, chosen, equality, counting=counting, hold=True, default_graph=kind, **options.engine_options
        )
    else:
        opened = Store.open(store, verify=options.verify, **options.engine_options)
    with opened, reporting(options, opened):
        if not made:
            _check_settings(opened, rules, axiomatic, equality, counting, default_graph)
        opened.shapes = shapes
        report = opened.load(
            *files,
            format=format_,
            materialise=not no_materialise,
            on_error=on_error,
            rejects=rejects or (f"{store.rstrip('/')}.rejects" if on_error == "skip" else None),
            base=base,
            graph=graph,
            graph_per_file=graph_per_file,
        )
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
    say(options, f"{store}: version {last.version}, {last.asserted:,} asserted, {last.facts:,} facts stored")
    if report.skipped > (max_errors or 0):
        raise SystemExit(LEFT_OUT)


LEFT_OUT: Final = 3
"""The exit code of a load that left out more than it might."""

_NAMED: Final = 20
"""Files that are named of those of which something was left out."""


def _check_base(base: str | None) -> None:
    if base is not None and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", base):
        raise UsageError(f"--base {base}: give an absolute IRI")


@click.command()
@click.argument("store")
@click.option("--counting/--no-counting", default=None, help="From now on keep derivation counts, or do not.")
@common
def materialise(options: Common, store: str, counting: bool | None) -> None:
    """Compute the closure from scratch."""
    with opening(options, store) as opened:
        opened.materialise(counting)
        last = opened.log()[-1]
        warn_of_violations(opened)
    say(options, f"{last.facts:,} facts in {last.last.seconds:.2f} s, {last.last.rounds} rounds")


class _WithBatch(click.Command):
    """A command whose --batch may stand without its number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = [a == "--batch" and not following.isdigit() for a, following in zip(args, [*args[1:], ""], strict=True)]
        given = [f"{a}={BATCH}" if is_bare else a for a, is_bare in zip(args, bare, strict=True)]
        return super().parse_args(ctx, given)


BATCH: Final = 1000
"""Transactions that `update --batch` puts together, where it does not say how many."""


@click.command(cls=_WithBatch)
@click.argument("store")
@click.argument("files", nargs=-1)
@click.option("--add", multiple=True, metavar="FILE", help="An RDF file whose triples are added.")
@click.option("--delete", multiple=True, metavar="FILE", help="An RDF file whose triples are deleted.")
@click.option("--drop-graph", "drop_graphs", multiple=True, metavar="IRI", help="A named graph that is dropped.")
@maintain_option
@services_option
@load_folder_option
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=1,
    metavar="[N]",
    help="Put N transactions together, each group one version. [without N: 1000]",
)
@click.option("--dry-run", is_flag=True, help="Show the effect, commit nothing.")
@click.option(
    "--retry",
    type=click.IntRange(min=0),
    metavar="N",
    help="Carry a transaction out again N times at most where another process is first. [default: 10]",
)
@base_option
@shapes_option
@common
def update(
    options: Common,
    store: str,
    files: Sequence[str],
    add: Sequence[str],
    delete: Sequence[str],
    drop_graphs: Sequence[str],
    maintain: str,
    load_folder: str | None,
    allow_service: Sequence[str],
    batch: int,
    dry_run: bool,
    retry: int | None,
    base: str | None,
    shapes: Sequence[str],
) -> None:
    """Apply update files, or folders of them, in order: RDF Patch (.rdfp), SPARQL Update (.ru); or plain triples by
    --add and --delete; or drop graphs by --drop-graph."""
    if not (files or add or delete or drop_graphs):
        raise UsageError(
            "nothing to apply: give update files (.rdfp, .ru), --add FILE, --delete FILE or --drop-graph IRI"
        )
    _check_base(base)
    if shapes and dry_run:
        raise UsageError("--shapes guards what is committed, and --dry-run commits nothing: give one of them")
    with opening(options, store) as opened:
        opened.shapes = shapes
        opened.services, opened.retries = allow_service, opened.retries if retry is None else retry
        done = unasserted = 0

        def each(report: UpdateReport) -> None:
            nonlocal done, unasserted
            transactions = report.transactions or 1
            done, unasserted = done + transactions, unasserted + (report.not_asserted or 0)
            several = f"{counted(done, 'transaction')}: " if done > 1 or transactions > 1 else ""
            say(options, several + _told(report, dry_run))
            for line in () if report.classes is None else _class_lines(report.classes):
                click.echo(line)

        opened.update_files(
            *files,
            add=add,
            delete=delete,
            drop_graphs=drop_graphs,
            maintain=maintain,
            dry_run=dry_run,
            load_folder=load_folder,
            batch=batch,
            base=base,
            each=each,
        )
        if unasserted:
            were = f"{counted(unasserted, 'triple')} to delete {'was' if unasserted == 1 else 'were'} not asserted"
            say(options, f"{were}: only asserted ones can go, and what follows from others stays")
        if not dry_run:
            warn_of_violations(opened)


@click.command()
@click.argument("store")
@click.argument("action", type=click.Choice(["list", "add", "remove"]))
@click.argument("names", nargs=-1, metavar="[NAME_OR_FILE]...")
@maintain_option
@common
def rules(options: Common, store: str, action: str, names: Sequence[str], maintain: str) -> None:
    """List, add or remove the rules of a store; the closure is maintained."""
    from triplestore.read.reasoning import origin, rules_of

    if action == "list":
        with opening(options, store) as opened:
            for ruleset in opened.rulesets:
                found = rules_of(ruleset)
                click.echo(f"{ruleset.name}: {counted(len(found), 'rule')}, {origin(ruleset)}")
                for rule in found if options.verbose else ():
                    click.echo(f"  {rule.name} ({rule.source}:{rule.line})")
        return
    if not names:
        raise UsageError(f"rules {action} needs the name of a ruleset or a file of rules")
    with opening(options, store) as opened:
        add, remove = (names, ()) if action == "add" else ((), names)
        say(options, _told(opened.change_rules(add, remove, maintain)))
        say(options, f"rules now: {', '.join(r.name for r in opened.rulesets) or 'none'}")
        warn_of_violations(opened)


def _told(report: UpdateReport, dry_run: bool = False) -> str:
    """What an update did, in a line; why, where the closure was computed from scratch although that was not asked."""
    d = "" if dry_run else "d"
    line = (
        f"{'would add' if dry_run else 'added'} {report.added:,} and delete{d} {report.deleted:,} stored facts, "
        f"merge{d} {report.merged:,}, split {counted(report.split, 'term')}, {report.seconds:.3f} s "
        f"by {report.algorithm}"
    )
    unasked = report.algorithm == "rematerialise" and report.reason != "asked for"
    return f"{line}: {report.reason}" if unasked else line


def _class_lines(diff: ClassDiff) -> Iterator[str]:
    """What a dry run reports of classes of equal terms."""

    def listed(parts: Sequence[ClassPart]) -> str:
        few = [f"{part.term} ({part.members:,})" if part.members > 1 else part.term for part in parts[:10]]
        return ", ".join(few) + (f" and {len(parts) - 10:,} more" if len(parts) > 10 else "")

    for merge in diff.merges:
        yield f"would make one: {listed(merge)}"
    if (more := diff.merged - len(diff.merges)) > 0:
        yield f"... and {more:,} more merges"
    for split in diff.splits:
        yield f"would split {listed([split.whole])} into {listed(split.into)}"
    if (more := diff.split - len(diff.splits)) > 0:
        yield f"... and {more:,} more splits"


AXIOMATIC: Final = "rdfs-axiomatic"

_WITH_RDFS: Final = frozenset(("owl2rl", "rdfs-plus", "rdfs", AXIOMATIC))
"""The built-in rulesets that go beyond RDF, to RDFS at least."""


def _rulesets(rules: Sequence[str], axiomatic: bool) -> tuple[str, ...]:
    chosen = tuple(rules or ("owl2rl",))
    triples = _axiomatic(chosen)
    return (*chosen, triples) if axiomatic and triples not in chosen else chosen


def _axiomatic(names: Sequence[str]) -> str:
    """The ruleset that --axiomatic means beside others: the axiomatic triples of RDF alone beside its rules alone."""
    return "rdf-axiomatic" if "rdf" in names and not _WITH_RDFS.intersection(names) else AXIOMATIC


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
