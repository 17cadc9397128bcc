"""Reasons: inconsistencies, why a triple holds, why terms are one. What proves them is in `triplestore.proof`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from triplestore.dictionary import encoding
from triplestore.model.equality import Equality
from triplestore.model.errors import UsageError
from triplestore.model.tables import ASSERTED, FACT, SAME_AS, TERM, VIOLATION
from triplestore.model.terms import OWL, from_rdflib, to_rdflib
from triplestore.model.terms import SAME_AS as SAME_AS_ID
from triplestore.read.graphs import graphs_of, graphs_of_facts
from triplestore.read.reasoning import reasoning, rules_of
from triplestore.read.session import Session
from triplestore.storage.manifest import RulesetText

if TYPE_CHECKING:
    from rdflib.term import Node

    from triplestore.compile.schema import Fact
    from triplestore.proof.computed import Source
    from triplestore.proof.proof import Proof
    from triplestore.proof.slices import Slice
    from triplestore.proof.why_same import Chain, EqualityClass


PROVED: Final = 100
"""Inconsistencies that `check` proves at once."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An inconsistency: the rule's id and the triples at fault (rdflib terms), as they are asserted where they are; of
    a triple that is inferred, the terms that represent their classes.

    by: for two values that are equal, if asked for, the rules of a shortest chain of equalities between them
    ("asserted": one was asserted). graphs: where the store has named graphs, those (tokens) that assert each of the
    triples, of any members of the classes; nothing of a triple that is inferred. proof: if asked for, of those at fault
    that rest on equal terms (the first `PROVED`), down to asserted triples of the terms as they are."""

    rule: str
    triples: tuple[tuple[Node, Node, Node], ...]
    by: tuple[str, ...] = ()
    graphs: tuple[tuple[str, ...], ...] = ()
    proof: Proof | None = None

    @property
    def premises(self) -> tuple[tuple[str, str, str], ...]:
        """The triples (tokens) at fault, of the terms as they are; nothing without a proof."""
        return () if self.proof is None else tuple(p.tokens for p in self.proof.premises if p.tokens is not None)

    @property
    def at_fault(self) -> tuple[tuple[str, str, str], ...]:
        """The triples (tokens) at fault: the premises of the proof where there is one, else `triples`."""
        return self.premises or tuple((from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in self.triples)

    @property
    def because(self) -> dict[tuple[str, str, str], tuple[str, ...]]:
        """The triples at fault, then the other asserted ones that they rest on, each with the graphs that assert it."""
        triples = self.at_fault
        if self.proof is None:
            return dict(zip(triples, self.graphs or ((),) * len(triples), strict=True))
        leaves = {p.tokens: p.graphs for p in self.proof.steps() if p.by == "asserted" and p.tokens is not None}
        return {triple: leaves.get(triple, ()) for triple in triples} | leaves


def check(session: Session, limit: int | None, by: bool) -> list[Violation]:
    """See `Store.check`."""
    from triplestore.materialise.same_as import is_clash

    found = _sourced(session, _violations(session, limit))
    merged = _merged(session, {i for _, row in found for i in row})
    found = _in_own_terms(session, found, merged)
    if not by:
        return [violation for violation, _ in found]
    equal = [(row[0], row[2]) for violation, row in found if is_clash(violation.rule, row)]
    if equal:
        from triplestore.proof.why_same import made_equal_by

        rules = iter(made_equal_by(source(session), equal))
        found = [(replace(v, by=next(rules)) if is_clash(v.rule, row) else v, row) for v, row in found]
    return _proved(session, found, merged)


Found = list[tuple[Violation, list[int]]]
"""Violations, each with its row: the ids that represent the terms of its triples, one after another."""


def _in_own_terms(session: Session, found: Found, merged: set[int]) -> Found:
    """Violations with the triples at fault as they are asserted, where they are, not in the terms that represent
    theirs. merged: the terms that equal others."""
    if not merged:
        return found
    from triplestore.proof.slices import Slice

    region = Slice(source(session))
    region.meet(merged)
    resting = [n for n, (_, row) in enumerate(found) if merged & {*row}]
    facts = {n: [(row[i], row[i + 1], row[i + 2]) for i in range(0, len(row), 3)] for n, (_, row) in enumerate(found)}
    region.want(fact for n in resting for fact in map(region.normal_fact, facts[n]))
    region.settle()
    own = {n: _asserted_as(region, facts[n]) for n in resting}
    tokens = encoding.decode(session.engine, {i for triples in own.values() for triple in triples for i in triple})
    terms = {i: to_rdflib(token) for i, token in tokens.items()}
    shown = list(found)
    for n, triples in own.items():
        violation, row = found[n]
        written = tuple((terms[s], terms[p], terms[o]) for s, p, o in triples)
        shown[n] = replace(violation, triples=written), row
    return _with_equal_terms(session, shown, own)


def _with_equal_terms(session: Session, found: Found, own: dict[int, list[Fact]]) -> Found:
    """Violations with the two terms of equalities that no other of the triples names, as members of a list are: those
    of a proof, of the first `PROVED`."""
    from triplestore.proof.explain import explain_violation

    shown = list(found)
    unclear = [n for n, triples in own.items() if any(p == SAME_AS_ID and s == o for s, p, o in triples)]
    for n in unclear[:PROVED]:
        violation, row = found[n]
        proof = explain_violation(source(session), violation.rule, row)
        equal = iter([step.tokens for step in proof.premises if step.tokens and step.tokens[1] == f"<{OWL}sameAs>"])
        triples = []
        for triple, (s, p, o) in zip(violation.triples, own[n], strict=True):
            named = next(equal, None) if p == SAME_AS_ID and s == o else None
            triples.append(triple if named is None else (to_rdflib(named[0]), to_rdflib(named[1]), to_rdflib(named[2])))
        shown[n] = replace(violation, triples=tuple(triples)), row
    return shown


def _asserted_as(region: Slice, facts: Sequence[Fact]) -> list[Fact]:
    """Facts (ids of representatives) as triples that are asserted; an equality is one of terms that the others name."""
    shown: list[Fact] = []
    named: dict[int, dict[int, None]] = {}
    for fact in facts:
        given = region.asserted.get(region.normal_fact(fact), []) if fact[1] != SAME_AS_ID else []
        best = min(given, key=lambda triple: (triple[0] == triple[2], triple), default=fact)
        shown.append(best)
        for term in best if best is not fact else ():
            named.setdefault(region.normal(term), {})[term] = None
    for place, (s, p, o) in enumerate(shown):
        if p == SAME_AS_ID and s == o and len(several := list(named.get(region.normal(s), ()))) > 1:
            shown[place] = several[0], p, several[1]
    return shown


def _proved(session: Session, found: Found, merged: set[int]) -> list[Violation]:
    """Violations, the first of those that rest on equal terms with proofs."""
    from triplestore.materialise.same_as import is_clash
    from triplestore.proof.explain import explain_violation

    resting = [n for n, (v, row) in enumerate(found) if is_clash(v.rule, row) or merged & {*row}][:PROVED]
    proofs = [explain_violation(source(session), found[n][0].rule, found[n][1]) for n in resting]
    proved = dict(zip(resting, with_graphs(session, proofs), strict=True))
    return [replace(v, proof=proved.get(n)) for n, (v, _) in enumerate(found)]


def _merged(session: Session, ids: set[int]) -> set[int]:
    """Those of some terms that equal others."""
    classes = source(session).same_as if ids and session.view.congruent else None
    if classes is None:
        return set()
    listed = ", ".join(map(str, sorted(ids)))
    return {term for (term,) in session.engine.rows(f"SELECT term FROM {classes} WHERE term IN ({listed})")}


def _sourced(session: Session, found: Found) -> Found:
    """Violations with the graphs of their triples."""
    triples = {tuple(row[i : i + 3]) for _, row in found for i in range(0, len(row), 3)}
    names = graphs_of_facts(session, triples)
    if not names:
        return found
    return [
        (replace(v, graphs=tuple(names.get(tuple(row[i : i + 3]), ()) for i in range(0, len(row), 3))), row)
        for v, row in found
    ]


def explain(session: Session, triple: tuple[str, str, str]) -> Proof | None:
    """See `Store.explain`; of tokens."""
    from triplestore.proof.explain import explain  # when asked for: a query starts without it

    found = explain(source(session), triple)
    return None if found is None else with_graphs(session, [found])[0]


def why_same(session: Session, left: str, right: str) -> Chain | None:
    """See `Store.why_same`; of tokens."""
    from triplestore.proof.why_same import why_same

    found = why_same(equality_source(session), left, right)
    if found is None:
        return None
    proofs = with_graphs(session, [link.proof for link in found.links])
    links = (replace(link, proof=proof) for link, proof in zip(found.links, proofs, strict=True))
    return replace(found, links=tuple(links))


def equality_class(session: Session, term: str, most: int | None) -> EqualityClass | None:
    """See `Store.equality_class`; of a token."""
    from triplestore.proof.why_same import equality_class

    found = equality_class(equality_source(session), term, most)
    if found is None:
        return None
    proofs = with_graphs(session, [bridge.link.proof for bridge in found.bridges])
    bridges = (
        replace(bridge, link=replace(bridge.link, proof=proof))
        for bridge, proof in zip(found.bridges, proofs, strict=True)
    )
    return replace(found, bridges=tuple(bridges))


def with_graphs(session: Session, proofs: Sequence[Proof]) -> list[Proof]:
    """Proofs with the graphs of their asserted triples."""
    graphs = graphs_of(session, {triple for proof in proofs for triple in proof.asserted()})
    return [proof.sourced(graphs) for proof in proofs] if graphs else list(proofs)


def violated(session: Session) -> dict[str, int]:
    """See `Store.violated`."""
    session.readable()
    session.workspace.views(VIOLATION)
    return dict(session.engine.rows("SELECT rule, count(*) AS n FROM violation GROUP BY rule ORDER BY rule"))


def explain_violation(session: Session, rule: str, number: int) -> Proof:
    """See `Store.explain_violation`."""
    from triplestore.proof.explain import explain_violation

    session.readable()
    session.workspace.views(VIOLATION)
    one = f"SELECT facts FROM violation WHERE rule = {session.engine.dialect.string(rule)}"
    rows = session.engine.rows(f"{one} ORDER BY facts LIMIT 1 OFFSET {number - 1}") if number > 0 else []
    if not rows:
        count = violated(session).get(rule, 0)
        raise UsageError(f"there is no inconsistency {number} of the rule {rule!r}: `triplake check` lists {count}")
    return with_graphs(session, [explain_violation(source(session), rule, rows[0][0])])[0]


def source(session: Session) -> Source:
    """The closure as proofs read it; kept for as long as the workspace's tables are."""
    from triplestore.proof.source import source as make

    session.readable()
    manifest, workspace, engine = session.manifest, session.workspace, session.engine
    workspace.views(TERM, ASSERTED, FACT, SAME_AS)
    workspace.given(session.view.equal_values)

    def made() -> Source:
        congruence = rules_of(RulesetText("equality")) if manifest.equality == Equality.AXIOMS else ()
        return make(engine, reasoning(engine, manifest), congruence)

    return workspace.cache.get("proofs", manifest, made)


def equality_source(session: Session) -> Source:
    """The same, where terms can be one at all. Raises UsageError with equality off."""
    if not session.view.congruent:
        raise UsageError(
            f"{session.path} has equality off: owl:sameAs is a property like any other there, and makes nothing one"
        )
    return source(session)


def _violations(session: Session, limit: int | None = None) -> list[tuple[Violation, list[int]]]:
    """The inconsistencies in the order of `check`, with their rows."""
    session.readable()
    session.workspace.views(VIOLATION, TERM)
    ranked = "SELECT rule, facts, row_number() OVER (PARTITION BY rule ORDER BY facts) AS n FROM violation"
    bounded = "" if limit is None else f" WHERE n <= {limit}"
    rows = session.engine.rows(f"SELECT rule, facts FROM ({ranked}) v{bounded} ORDER BY rule, n")
    tokens = encoding.decode(session.engine, (i for _, facts in rows for i in facts))
    found = []
    for rule, facts in rows:
        terms = [to_rdflib(tokens[i]) for i in facts]
        triples = tuple((terms[i], terms[i + 1], terms[i + 2]) for i in range(0, len(terms), 3))
        found.append((Violation(rule, triples), list(facts)))
    return found
