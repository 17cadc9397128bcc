"""Commands that change a store: materialise, update, rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from triplake.rulesets import BUILT_IN, named
from triplestore.cli.effects import effect_lines, outcome_line
from triplestore.cli.loading import base_option, check_base
from triplestore.cli.options import (
    Common,
    common,
    counted,
    load_folder_option,
    maintain_option,
    opening,
    say,
    services_option,
    shapes_option,
    warn_of_left_out,
    warn_of_violations,
)
from triplestore.model.errors import UsageError
from triplestore.model.thresholds import SIZES

if TYPE_CHECKING:
    from triplestore.model.report import UpdateReport


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
    say(options, f"{last.facts:,} facts in {last.last.seconds:.2f} s, {counted(last.last.rounds, 'round')}")


class _WithBatch(click.Command):
    """A command whose --batch may stand without its number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = [a == "--batch" and not following.isdigit() for a, following in zip(args, [*args[1:], ""], strict=True)]
        given = [f"{a}={SIZES.objects}" if is_bare else a for a, is_bare in zip(args, bare, strict=True)]
        return super().parse_args(ctx, given)


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
    """Apply updates: add, delete and change triples.

    FILES are RDF Patch (.rdfp), SPARQL Update (.ru), or folders of them, applied in order. Files of plain triples are
    given by --add and --delete, graphs to drop by --drop-graph.
    """
    if not (files or add or delete or drop_graphs):
        raise UsageError(
            "nothing to apply: give update files (.rdfp, .ru), --add FILE, --delete FILE or --drop-graph IRI"
        )
    check_base(base)
    with opening(options, store) as opened:
        _give_back()
        opened.shapes = shapes
        opened.services, opened.retries = allow_service, opened.retries if retry is None else retry
        done = unasserted = 0

        def each(report: UpdateReport) -> None:
            nonlocal done, unasserted
            transactions = report.transactions or 1
            done, unasserted = done + transactions, unasserted + (report.not_asserted or 0)
            several = f"{counted(done, 'transaction')}: " if done > 1 or transactions > 1 else ""
            say(options, several + outcome_line(report, dry_run))
            for line in effect_lines(report):
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


def _give_back() -> None:
    """Let Arrow give back what it frees. Its own pool keeps that for later, and a command ends soon: a change of 100
    facts of 13 million triples reads some 700 pages, and takes a tenth less memory."""
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())


@click.command()
@click.argument("store")
@click.argument("action", metavar="list|add|remove", default="")
@click.argument("names", nargs=-1, metavar="[NAME_OR_FILE]...")
@click.option("--data", multiple=True, metavar="PATH", help="check: run the rules on a store, or on files of RDF.")
@click.option("--with", "others", multiple=True, metavar="NAME_OR_FILE", help="check: rules that run with them.")
@click.option("--json", "as_json", is_flag=True, help="check: print JSON.")
@maintain_option
@common
def rules(
    options: Common,
    store: str,
    action: str,
    names: Sequence[str],
    data: Sequence[str],
    others: Sequence[str],
    as_json: bool,
    maintain: str,
) -> None:
    """List, add, remove or check rules.

    The closure of the store is kept up to date.

    Or `triplake rules list`: the built-in rulesets. Or `triplake rules check FILE...`: what is most likely not meant in
    files of rules, and what each rule does.
    """
    from triplestore.read.reasoning import origin, rules_of, switched_off

    actions = ("list", "add", "remove")
    if store == "check" and action not in actions:
        from triplestore.cli.rule_check import check

        if not action:
            raise UsageError("rules check needs files of rules: triplake rules check FILE...")
        check(options, (action, *names), data, others, as_json)
        return
    if store == "list" and not action:
        for name, row in BUILT_IN.items():
            click.echo(f"{name}: {counted(len(named(name).rules), 'rule')}, {row.description}")
        return
    if action not in actions:
        wrong = f"'{action}' is not one of 'list', 'add', 'remove'" if action else "give 'list', 'add' or 'remove'"
        raise UsageError(f"{wrong} after the store; or say: triplake rules check FILE...")
    if data or others or as_json:
        raise UsageError("--data, --with and --json are for triplake rules check FILE...")
    if action == "list":
        if names:
            raise UsageError("rules list takes no names")
        with opening(options, store) as opened:
            for ruleset in opened.rulesets:
                found = rules_of(ruleset)
                click.echo(f"{ruleset.name}: {counted(len(found), 'rule')}, {origin(ruleset)}")
                for rule in found if options.verbose else ():
                    click.echo(f"  {rule.name} ({rule.source}:{rule.line})")
                for name in switched_off(ruleset):
                    click.echo(f"  {name} is switched off in the file and left out")
        return
    if not names:
        raise UsageError(f"rules {action} needs the name of a ruleset or a file of rules")
    with opening(options, store) as opened:
        add, remove = (names, ()) if action == "add" else ((), names)
        say(options, outcome_line(opened.change_rules(add, remove, maintain)))
        warn_of_left_out(opened, add)
        say(options, f"rules now: {', '.join(r.name for r in opened.rulesets) or 'none'}")
        warn_of_violations(opened)
