"""Commands about a store as a dataset: graphs, upgrade."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from triplestore.cli.options import Common, at_option, common, default_graph_option, maintain_option, opening, say
from triplestore.model.dataset import DEFAULT
from triplestore.model.errors import UsageError
from triplestore.model.prefixes import Names

if TYPE_CHECKING:
    from triplestore.store import Store
    from triplestore.write.datasets import GraphSupport


@click.command()
@click.argument("store")
@click.option(
    "--alone", is_flag=True, help="What each graph alone supports: triples, facts and classes that would go without it."
)
@default_graph_option
@maintain_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@at_option
@common
def graphs(
    options: Common, store: str, alone: bool, default_graph: str | None, maintain: str, as_json: bool, at: int | None
) -> None:
    """List the graphs of a store, or change its default graph."""
    if default_graph and (alone or as_json or at):
        raise UsageError("--default-graph changes the store: leave --alone, --json and --at out")
    if alone and at:
        raise UsageError("--alone tries changes of the newest version: leave --at out")
    with opening(options, store, at) as opened:
        if default_graph:
            opened.change_default_graph(default_graph, maintain)
            say(options, f"the default graph of {store} is {_means(opened)}")
            return
        sizes, names = opened.graphs(), Names(opened.prefixes.declared)
        supports = {g.name: opened.graph_support(g.name) for g in sizes if alone and g.name != DEFAULT}
        means = _means(opened)
        kind = opened.default_graph
    if as_json:
        rows = [
            {"graph": None if g.name == DEFAULT else g.name[1:-1] if g.name[0] == "<" else g.name, "triples": g.triples}
            | (_support_json(supports[g.name]) if g.name in supports else {})
            for g in sizes
        ]
        click.echo(json.dumps({"default_graph": kind, "graphs": rows}, indent=2))
        return
    for size in sizes:
        name = "the unnamed graph" if size.name == DEFAULT else names.token(size.name)
        click.echo(f"{size.triples:>12,}  {name}")
        if size.name in supports:
            found = supports[size.name]
            click.echo(
                f"{'':>12}  alone: {found.alone:,} triples, {found.facts:,} stored facts, "
                f"{found.classes.split:,} classes of equal terms would split"
            )
    click.echo(f"the default graph is {means}")


def _means(store: Store) -> str:
    if store.default_graph == "union":
        return "the union of all graphs, with what follows from it (union)"
    return "the unnamed graph, with what follows from it (separate)"


def _support_json(found: GraphSupport) -> dict[str, Any]:
    return {"alone": found.alone, "facts": found.facts, **found.classes.as_dict()}


@click.command()
@click.argument("store")
@common
def upgrade(options: Common, store: str) -> None:
    """Bring an older store to the newest format.

    Its next change would do so, too.
    """
    with opening(options, store) as opened:
        done = opened.upgrade()
        say(options, f"{store}: {'now' if done else 'already'} of the newest format, version {opened.version}")
