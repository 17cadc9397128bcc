"""Drawings, for notebooks: a class of equal terms with what joins it, and how a store has grown."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import networkx as nx

from triplestore.model.errors import UsageError, how_to_install
from triplestore.proof.text import writer
from triplestore.read.log import DAMAGED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from triplestore.model.prefixes import Prefixes
    from triplestore.proof.why_same import EqualityClass
    from triplestore.read.log import LogEntry

_BRIDGE, _LINK = "#c2253a", "#8a93a6"


def axes(given: Axes | None) -> Axes:
    """Those that were given, or new ones. Raises UsageError without matplotlib."""
    if given is not None:
        return given
    try:
        from matplotlib import pyplot
    except ImportError:
        raise UsageError(f"drawings need matplotlib: {how_to_install('plots')}") from None
    made: Axes = pyplot.subplots(layout="constrained")[1]
    return made


def plot_class(found: EqualityClass, prefixes: Prefixes, given: Axes | None) -> Axes:
    """The members of a class as points, what joins two as a line, bridges thick and red."""
    made, write = axes(given), writer(prefixes.known)
    graph: nx.MultiGraph[str] = nx.MultiGraph()
    graph.add_nodes_from(found.tokens)
    for left, right, by, bridge in found.joined:
        graph.add_edge(left, right, by=by, bridge=bridge)
    places = nx.spring_layout(graph, seed=1)
    for bridge, colour, width in ((False, _LINK, 1.0), (True, _BRIDGE, 2.5)):
        edges = [(left, right) for left, right, is_bridge in graph.edges(data="bridge") if is_bridge is bridge]
        nx.draw_networkx_edges(graph, places, edges, ax=made, edge_color=colour, width=width)
    nx.draw_networkx_nodes(graph, places, ax=made, node_size=60)
    names = {token: write(token) for token in graph}
    above = {token: (x, y + 0.04) for token, (x, y) in places.items()}
    nx.draw_networkx_labels(graph, above, names, 8, ax=made, verticalalignment="bottom", clip_on=False)
    rules = {(left, right, 0): rule for left, right, rule in graph.edges(data="by") if rule != "asserted"}
    nx.draw_networkx_edge_labels(graph, places, rules, font_size=7, ax=made)
    made.set_title(f"{len(found.tokens):,} equal terms, {found.bridge_count:,} bridges")
    made.set_axis_off()
    return made


def plot_versions(log: list[LogEntry], given: Axes | None) -> Axes:
    """The asserted triples and the stored facts of each version that can be read, over its time."""
    made, log = axes(given), [entry for entry in log if entry.last.operation != DAMAGED]
    times: list[Any] = [datetime.fromisoformat(entry.created) for entry in log]
    for name, counts in (("facts stored", [e.facts for e in log]), ("asserted", [e.asserted for e in log])):
        made.plot(times, counts, marker="o", markersize=3, label=name, drawstyle="steps-post")
    for time, entry in zip(times, log, strict=True):
        made.annotate(str(entry.version), (time, entry.facts), textcoords="offset points", xytext=(0, 4), fontsize=7)
    made.set_ylim(bottom=0)
    made.set_ylabel("triples")
    made.set_title("Versions")
    made.legend()
    made.figure.autofmt_xdate()
    return made
