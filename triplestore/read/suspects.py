"""Suspects: the links that make terms equal, those that are most likely wrong first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triplestore.dictionary import encoding
from triplestore.model.report import JsonObject, Report
from triplestore.model.tables import QUAD
from triplestore.model.terms import OWL, builtin, to_ntriples
from triplestore.proof.proof import ASSERTED
from triplestore.read.graphs import graphs_of
from triplestore.read.proofs import equality_source, with_graphs
from triplestore.read.session import Session

if TYPE_CHECKING:
    from triplestore.proof.computed import Source
    from triplestore.proof.cuts import Cut
    from triplestore.proof.suspects import Weighed

Triple = tuple[str, str, str]
"""Three tokens."""


@dataclass(frozen=True, slots=True)
class SuspectReason:
    """What speaks against a link, or for it.

    kind: "values" (the records on its sides agree or not), "different", "disjoint", "functional" (members on its sides
    contradict each other), "source" (they are two names of one source), "structure" (what it joins is linked sparsely
    otherwise), "size" (few classes are as large). bits: how much; each doubles the odds that the link is wrong, and
    below 0 halves them. terms: what it is about (tokens; of a source also a namespace): the property and a value on
    either side; two members, and their classes, or the functional property and their values, or the source. share: of
    "structure" the error degree, of "size" the share of classes as large.
    """

    kind: str
    bits: float
    terms: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Suspect(Report):
    """A link of a class of equal terms that may be wrong.

    left, right: two terms (tokens) that are one by it; where more share a key, `left` is the one to doubt. by: the ids
    of the rules, or "asserted"; on: the properties that they read; shared: how many terms share the key. members: of
    the class. parts: of a bridge, how many members are on the side of `left` and on the other; None where the class
    stays one without the link. bits: the sum of its reasons', the strongest of which is first. delete: the asserted
    triples without which the link is gone; graphs: of each of them, the named graphs that assert it.
    """

    left: str
    right: str
    by: tuple[str, ...]
    on: tuple[str, ...]
    shared: int
    members: int
    parts: tuple[int, int] | None
    bits: float
    reasons: tuple[SuspectReason, ...]
    delete: tuple[Triple, ...]
    graphs: tuple[tuple[str, ...], ...]

    def as_dict(self) -> JsonObject:
        """See `Report`; terms as N-Triples writes them."""
        return {
            "left": to_ntriples(self.left),
            "right": to_ntriples(self.right),
            "by": list(self.by),
            "on": [to_ntriples(token) for token in self.on],
            "shared_by": self.shared,
            "members": self.members,
            "parts": None if self.parts is None else list(self.parts),
            "bits": round(self.bits, 2),
            "reasons": [
                {
                    "kind": reason.kind,
                    "bits": round(reason.bits, 2),
                    "terms": [_written(term) for term in reason.terms],
                    **({"share": round(reason.share, 4)} if reason.share else {}),
                }
                for reason in self.reasons
            ],
            "delete": [[to_ntriples(token) for token in triple] for triple in self.delete],
            "graphs": [list(names) for names in self.graphs],
        }


def reason_text(reason: SuspectReason, write: Callable[[str], str]) -> str:
    """A reason in a sentence. write: a token as people read it."""
    terms = [write(term) if term[:1] in '<_"(' else f"<{term}>" for term in reason.terms]
    if reason.kind == "values":
        prop, left, right = terms
        if left == right:
            return f"{prop} is {left} on both sides"
        return f"{prop}: {left} and {right} {'differ' if reason.bits > 0 else 'agree'}"
    if reason.kind == "different":
        return f"{terms[0]} and {terms[1]} are declared different"
    if reason.kind == "disjoint":
        return f"{terms[0]} is a {terms[2]}, {terms[1]} a {terms[3]}, which are disjoint"
    if reason.kind == "functional":
        return f"{terms[2]} has one value, but {terms[0]} has {terms[3]}, {terms[1]} {terms[4]}"
    if reason.kind == "source":
        return f"{terms[0]} and {terms[1]} are two names in {terms[2]}, which names few things twice"
    if reason.kind == "structure":
        return f"other links between what it joins are sparse (error degree {reason.share:.2f})"
    return f"{reason.share:.1%} of the classes are at least as large"


def suspects(session: Session, most: int | None) -> list[Suspect]:
    """See `Store.suspects`."""
    from triplestore.proof.suspects import weigh

    source = equality_source(session)
    if source.same_as is None:
        return []
    has_graphs = session.manifest.has_graphs
    if has_graphs:
        session.workspace.views(QUAD)
    found = weigh(source, has_graphs)[:most]
    deleted = [_deleted(source, link) for link in found]
    ids = {term for link in found for term in (link.left, link.right, *_read(link))}
    ids |= {term for link in found for r in link.reasons for term in r.terms if isinstance(term, int)}
    tokens = encoding.decode(source.engine, ids | {i for triples in deleted for triple in triples for i in triple})
    written = [tuple((tokens[s], tokens[p], tokens[o]) for s, p, o in triples) for triples in deleted]
    graphs = graphs_of(session, {triple for triples in written for triple in triples}) if has_graphs else {}
    return [_suspect(link, triples, tokens, graphs) for link, triples in zip(found, written, strict=True)]


def cuts(session: Session, left: str, right: str, most: int) -> list[Cut]:
    """See `Store.cuts`; of tokens."""
    from triplestore.proof.cuts import cuts

    source = equality_source(session)
    if session.manifest.has_graphs:
        session.workspace.views(QUAD)
    found = cuts(source, left, right, most, session.manifest.has_graphs)
    proofs = iter(with_graphs(session, [link.proof for cut in found for link in cut.links]))
    return [replace(cut, links=tuple(replace(link, proof=next(proofs)) for link in cut.links)) for cut in found]


def _suspect(
    link: Weighed,
    delete: tuple[Triple, ...],
    tokens: dict[int, str],
    graphs: dict[Triple, tuple[str, ...]],
) -> Suspect:
    return Suspect(
        tokens[link.left],
        tokens[link.right],
        tuple(dict.fromkeys(rule for rule, _ in link.causes)),
        tuple(tokens[p] for p in _read(link)),
        link.shared,
        link.size,
        link.parts,
        link.bits,
        tuple(
            SuspectReason(r.kind, r.bits, tuple(tokens[t] if isinstance(t, int) else t for t in r.terms), r.share)
            for r in link.reasons
        ),
        delete,
        tuple(graphs.get(triple, ()) for triple in delete) if graphs else (),
    )


def _read(link: Weighed) -> tuple[int, ...]:
    """The properties that the rules of a link read."""
    return tuple(dict.fromkeys(p for rule, on in link.causes if rule != ASSERTED for p in on))


def _deleted(source: Source, link: Weighed) -> list[tuple[int, int, int]]:
    """The asserted triples (ids) of a link: equalities of its two terms, and what its left one has of the properties
    that rules read."""
    pi, same, on = source.same_as, builtin(OWL + "sameAs"), ", ".join(map(str, _read(link)))
    pairs = f"(t.s = {link.left} AND t.o = {link.right}) OR (t.s = {link.right} AND t.o = {link.left})"
    wanted = []
    if any(rule == ASSERTED for rule, _ in link.causes):
        wanted.append(f"(coalesce(m.representative, t.p) = coalesce(n.representative, {same}) AND ({pairs}))")
    if on:
        wanted.append(f"(coalesce(m.representative, t.p) IN ({on}) AND (t.s = {link.left} OR t.o = {link.left}))")
    return [
        (s, p, o)
        for s, p, o in source.engine.rows(
            f"SELECT t.s, t.p, t.o FROM asserted t LEFT JOIN {pi} m ON m.term = t.p "
            f"LEFT JOIN {pi} n ON n.term = {same} WHERE {' OR '.join(wanted)} ORDER BY t.s, t.p, t.o"
        )
    ]


def _written(term: str) -> str:
    """A token as N-Triples writes it; a namespace as it is."""
    return to_ntriples(term) if term[:1] in '<_"(' else term
