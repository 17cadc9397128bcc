"""Templates of triples, of CONSTRUCT, INSERT and DELETE, filled in for every solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from triplake.sparql.algebra import GraphTemplate, Triple
from triplestore.model.dataset import Quad
from triplestore.model.expression import Constant, Variable
from triplestore.model.stopping import check

Template = Sequence[GraphTemplate]


def names_of(template: Sequence[Triple]) -> tuple[str, ...]:
    """The variables of a template, blank nodes (``_:label``) among them, in the order in which they appear."""
    return tuple(dict.fromkeys(t.name for triple in template for t in triple if isinstance(t, Variable)))


def names_of_quads(template: Template) -> tuple[str, ...]:
    """The variables of a template of quads, in the order in which they appear."""
    graphs = (graph.name for graph, _ in template if isinstance(graph, Variable))
    return tuple(dict.fromkeys((*graphs, *(name for _, triples in template for name in names_of(triples)))))


def is_blank(name: str) -> bool:
    """Whether a variable of a template is a blank node of its own."""
    return name.startswith("_:")


def filled(template: Template, names: Sequence[str], rows: pa.Table, prefix: str) -> Iterator[Quad]:
    """The quads of a template for each row, whose columns are the tokens of the variables `names`.

    Blank nodes of the template are new in each row; their labels start with `prefix`. Quads with an unbound variable, a
    literal or triple term as subject or graph, or anything but an IRI as predicate, are left out.
    """
    own = [name for name in names_of_quads(template) if is_blank(name)]
    columns = [rows.column(place).to_pylist() for place in range(len(names))]
    for row in range(rows.num_rows):
        check()
        terms: dict[str, str | None] = {name: columns[place][row] for place, name in enumerate(names)}
        terms |= {name: f"_:{prefix}{row}_{place}" for place, name in enumerate(own)}
        for graph, triples in template:
            name = None if graph is None else graph.token if isinstance(graph, Constant) else terms[graph.name]
            if graph is not None and (name is None or name[0] in '"('):
                continue
            of = () if name is None else (name,)
            for triple in triples:
                s, p, o = (t.token if isinstance(t, Constant) else terms[t.name] for t in triple)
                if s is not None and p is not None and o is not None and s[0] not in '"(' and p[0] == "<":
                    yield s, p, o, *of
