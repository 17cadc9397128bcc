"""Which terms are one, and why, over the whole store."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from triplestore.dictionary import encoding
from triplestore.model.report import JsonObject, Report
from triplestore.model.tables import SAME_AS, TERM
from triplestore.model.terms import node_to_ntriples, to_ntriples, to_rdflib
from triplestore.read.proofs import equality_source
from triplestore.read.session import Session

if TYPE_CHECKING:
    from rdflib.term import Node


@dataclass(frozen=True, slots=True)
class SizeRange:
    """How many classes have from `least` to `most` members."""

    least: int
    most: int
    classes: int


@dataclass(frozen=True, slots=True)
class LargeClass:
    """A class: its size, and its first members."""

    size: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClassCause:
    """A rule, the constants (such as properties) that it makes terms equal by, and the links that it made."""

    rule: str
    on: tuple[str, ...]
    links: int


@dataclass(frozen=True, slots=True, eq=False)
class EqualityStats(Report):
    """Classes of equal terms: how many, their members, sizes, the largest, and what made them. by_derived_facts: merges
    that rest on derived triples. docs/commands.md explains each."""

    classes: int
    members: int
    sizes: tuple[SizeRange, ...]
    largest: tuple[LargeClass, ...]
    causes: tuple[ClassCause, ...]
    by_derived_facts: int

    def as_dict(self) -> JsonObject:
        """See `Report`."""
        return {
            "classes": self.classes,
            "members": self.members,
            "sizes": [{"from": s.least, "to": s.most, "classes": s.classes} for s in self.sizes],
            "largest": [{"size": c.size, "members": list(c.members)} for c in self.largest],
            "causes": [{**asdict(c), "on": list(c.on)} for c in self.causes],
            "by_derived_facts": self.by_derived_facts,
        }


def equality_classes(session: Session, most: int, members: int) -> list[tuple[int, list[Node]]]:
    """See `Store.equality_classes`."""
    session.readable()
    session.workspace.views(SAME_AS, TERM)
    return _largest(session, SAME_AS.name, most, members)


def equality_stats(session: Session, most: int) -> EqualityStats:
    """See `Store.equality_stats`."""
    from triplestore.proof.causes import causes

    source = equality_source(session)
    found, pi = causes(source), source.same_as
    rows = session.engine.query(
        "SELECT size, count(*) AS classes FROM "
        f"(SELECT count(*) AS size FROM {pi} GROUP BY representative) c GROUP BY size ORDER BY size"
    ).to_pylist()
    sizes: dict[int, int] = {}
    for row in rows:
        bucket = 1 << (int(row["size"]).bit_length() - 1)
        sizes[bucket] = sizes.get(bucket, 0) + int(row["classes"])
    return EqualityStats(
        classes=sum(int(row["classes"]) for row in rows),
        members=sum(int(row["size"]) * int(row["classes"]) for row in rows),
        sizes=tuple(SizeRange(least, 2 * least - 1, n) for least, n in sizes.items()),
        largest=tuple(
            LargeClass(size, tuple(map(node_to_ntriples, terms))) for size, terms in _largest(session, str(pi), most, 5)
        ),
        causes=tuple(ClassCause(c.rule, tuple(to_ntriples(t) for t in c.on), c.links) for c in found.causes),
        by_derived_facts=found.derived,
    )


def _largest(session: Session, pi: str, most: int, members: int) -> list[tuple[int, list[Node]]]:
    """The largest classes of a table of representatives, as `Store.equality_classes` has them."""
    sizes = session.engine.query(
        f"SELECT representative, count(*) AS n FROM {pi} GROUP BY representative "
        f"ORDER BY n DESC, representative LIMIT {int(most)}"
    ).to_pylist()
    if not sizes:
        return []
    listed = ", ".join(str(row["representative"]) for row in sizes)
    rows = session.engine.query(
        f"SELECT term, representative FROM (SELECT term, representative, row_number() OVER "
        f"(PARTITION BY representative ORDER BY term) AS n FROM {pi} WHERE representative IN ({listed})) m "
        f"WHERE n <= {int(members)} ORDER BY term"
    ).to_pylist()
    tokens = encoding.decode(session.engine, (row["term"] for row in rows))
    found: dict[int, list[Node]] = {row["representative"]: [] for row in sizes}
    for row in rows:
        found[row["representative"]].append(to_rdflib(tokens[row["term"]]))
    return [(int(row["n"]), found[row["representative"]]) for row in sizes]
