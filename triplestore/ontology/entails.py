"""Whether a store entails a graph: the rules' closure, and what follows from it by reductions of the standard.

The rules of OWL 2 RL derive every assertion that an ontology of the profile entails (OWL 2 Profiles, theorem PR1), and
few axioms. `entails` reaches the others without any rule of its own:

1. An inconsistent store entails everything.
2. The graph, its blank nodes as variables, is looked up in the closure.
3. Class expressions that the graph describes by blank nodes exist (OWL 2 RDF-Based Semantics, section 8,
   comprehension): they are supposed, over fresh IRIs, where their parts are classes and properties of the store.
4. An axiom follows if its consequence does, or a contradiction, from its premises about individuals that occur
   nowhere else (`triplestore.ontology.axioms`); likewise `differentFrom`, membership of a complement, negative
   assertions.
5. What is left is looked up in the closure of the store and the expressions.

Every step is sound. Completeness is PR1's: for assertions over an ontology in the profile, no means no.
Suppositions are made in a scratch copy; the store itself is only read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from rdflib import OWL, RDF, RDFS, BNode, Graph, URIRef
from rdflib.term import Node

from triplestore.engine import temporary
from triplestore.model.terms import from_rdflib_quads
from triplestore.ontology.axioms import (
    CLASS_AXIOMS,
    PROPERTY_KINDS,
    Supposition,
    Triple,
    chain_meaning,
    complement_meaning,
    is_cardinality,
    is_pairwise,
    meaning,
    negative_meaning,
    of_properties,
    pairwise,
    values_within,
)
from triplestore.ontology.lists import read_list
from triplestore.ontology.lookup import Asked, in_closure
from triplestore.ontology.triple_terms import atoms, blank_nodes, renamed

_EXPRESSIONS: Final = (OWL.unionOf, OWL.intersectionOf, OWL.complementOf, OWL.oneOf, OWL.onProperty)
_CARDINALITIES: Final = (OWL.minCardinality, OWL.maxCardinality, OWL.cardinality)
_CLASS_KINDS: Final = (OWL.Class, RDFS.Class, OWL.Restriction)
_FILLERS: Final = (OWL.someValuesFrom, OWL.allValuesFrom)
_RESTRICTIONS: Final = (*_FILLERS, OWL.hasValue, *_CARDINALITIES)
_CLASSES: Final = (OWL.Thing, OWL.Nothing, RDFS.Resource, RDFS.Literal, *_CLASS_KINDS)
_PROPERTY_KINDS: Final = (RDF.Property, OWL.ObjectProperty, OWL.DatatypeProperty, *PROPERTY_KINDS)
_OF_PROPERTIES: Final = (RDFS.subPropertyOf, OWL.equivalentProperty, OWL.propertyDisjointWith, OWL.inverseOf)
"""Axioms both of whose ends are properties."""

_MEMBER: Final = re.compile(re.escape(str(RDF)) + "_[1-9][0-9]*")
"""rdf:_1, rdf:_2 .."""

_PREFIXES: Final = f"PREFIX owl: <{OWL}> PREFIX rdf: <{RDF}>"


@dataclass(frozen=True, slots=True)
class Entailment:
    """The answer, how it was found (`by`: one line for each step), and the triples that were not found to follow."""

    holds: bool
    by: tuple[str, ...]
    missing: tuple[Triple, ...] = ()


Open = Callable[[Path], Asked]
"""Opens the copy of a store in a folder."""


def entails(
    store: Asked,
    graph: Iterable[Triple],
    open_copy: Open,
    extensional: bool,
    axiomatic: bool = False,
    resources: bool = False,
) -> Entailment:
    """Whether the store entails a graph (rdflib triples); see the module's text for how.

    extensional: axioms are equivalences, as OWL's semantics has it; RDFS leaves them implications ("RDF 1.1 Semantics",
    section 9), so steps 3 to 5 are not for its rules. axiomatic: the axiomatic triples of RDF and RDFS hold; of rdf:_1,
    rdf:_2 .. they are supposed where the graph mentions these. resources: everything is an rdfs:Resource, so it is
    supposed of the IRIs that only the graph mentions ("RDF 1.1 Semantics", section 9.2.1, the closure towards a graph).

    Raises UsageError where the closure is not up to date, or for a triple that RDF has no place for.
    """
    conclusion = Graph()
    triples = [*graph] if isinstance(graph, Iterable) else graph
    from_rdflib_quads(triples, legal=False)  # raises UsageError for what holds other things than triples
    for triple in triples:
        conclusion.add(triple)
    found = store.check()
    if found:
        return Entailment(True, (f"the store is inconsistent ({found[0].rule}): everything follows",))
    if in_closure(store, conclusion):
        return Entailment(True, ("all of it is in the closure",))
    with _Scratch(store, open_copy) as scratch:
        reduction = _Reduction(store, scratch, conclusion)
        if axiomatic:
            reduction.number_members()
        if resources:
            reduction.add_resources()
        return reduction.answer(extensional)


class _Scratch(ExitStack):
    """A copy of a store to suppose things in, made when first needed."""

    def __init__(self, store: Asked, open_copy: Open) -> None:
        super().__init__()
        self._original, self._open = store, open_copy
        self._copy: Asked | None = None

    @property
    def store(self) -> Asked:
        if self._copy is None:
            folder = Path(self.enter_context(temporary.folder("entails"))) / "copy"
            self._original.copy(folder)
            self._copy = self.enter_context(closing(self._open(folder)))
        return self._copy

    def follows(self, supposition: Supposition) -> bool:
        """Whether what the supposition asks for follows from the copy."""
        self.store.update(add=supposition.given)
        try:
            if self.store.check():
                return True
            return supposition.then is not None and in_closure(self.store, [supposition.then])
        finally:
            self.store.update(delete=supposition.given)


class _Description(NamedTuple):
    """What says that a blank node is a class: triples, its parts that are classes by blank nodes, and individuals."""

    triples: list[Triple]
    classes: frozenset[Node]
    individuals: frozenset[Node]


@dataclass
class _Reduction:
    """Steps 3 to 5 for one conclusion."""

    store: Asked
    scratch: _Scratch
    graph: Graph
    by: list[str] = field(default_factory=list)

    def number_members(self) -> None:
        """Suppose what holds of the rdf:_n that the graph mentions."""
        members = [(term, RDF.type, RDF.Property) for term in self._mentioned if _MEMBER.fullmatch(term)]
        self._suppose(members, "container membership property(ies) of the graph are properties (axiomatic)")

    def add_resources(self) -> None:
        """Suppose that what the graph mentions are resources."""
        resources = [(term, RDF.type, RDFS.Resource) for term in self._mentioned]
        self._suppose(resources, "IRI(s) that only the graph mentions are resources (section 9.2.1)")

    @property
    def _mentioned(self) -> list[URIRef]:
        return sorted({atom for triple in self.graph for atom in atoms(*triple) if isinstance(atom, URIRef)})

    def _suppose(self, triples: Sequence[Triple], why: str) -> None:
        """Suppose triples that are not in the closure, for good."""
        new = [triple for triple in triples if not in_closure(self._current, [triple])]
        if new:
            self.by.append(f"{len(new)} {why}")
            self.scratch.store.update(add=new)

    def answer(self, extensional: bool) -> Entailment:
        if extensional:
            self._name_expressions()
            missing = [triple for triple, proved in self._goals() if not proved()]
            if missing:
                return Entailment(False, tuple(self.by), tuple(missing))
        if not in_closure(self._current, self.graph):
            alone = [triple for triple in self.graph if not in_closure(self._current, [triple])]
            return Entailment(False, tuple(self.by), tuple(alone or self.graph))
        return Entailment(True, tuple(self.by))

    # -- step 3 ----------------------------------------------------------------------------------------------------

    def _name_expressions(self) -> None:
        """Put a fresh IRI for each blank node that describes a class, and suppose its description."""
        nodes = {s for p in _EXPRESSIONS for s in self.graph.subjects(p)}
        wanted = {node: triples for node, triples in self._described().items() if node in nodes}
        lists = {s for triples in wanted.values() for s, _, _ in triples if isinstance(s, BNode)}
        names: dict[BNode, Node] = {b: URIRef(f"urn:triplake:supposed:node:{b}") for b in (*wanted, *lists)}

        def put(triple: Triple) -> Triple:
            s, p, o = (renamed(term, names) for term in triple)
            return s, p, o

        supposed = [put(t) for triples in wanted.values() for t in triples]
        if supposed:
            self.by.append(f"{len(wanted)} class expression(s) of the graph exist (comprehension, section 8)")
            self.scratch.store.update(add=supposed)
            replaced = Graph()
            for triple in self.graph:
                replaced.add(put(triple))
            self.graph = replaced

    def _described(self) -> dict[BNode, list[Triple]]:
        """The blank nodes that describe classes whose parts are known, none of them the class itself, with the triples
        that do."""
        nodes = {s for s in self.graph.subjects() if isinstance(s, BNode)}
        waiting = {s: described for s in nodes if (described := self._description(s)) is not None}
        found: dict[BNode, list[Triple]] = {}
        while waiting:
            to_come = {s for d in waiting.values() for s, _, _ in d.triples}
            ready = {s for s, d in waiting.items() if d.classes <= found.keys() and not d.individuals & to_come}
            if not ready:
                break
            found |= {s: waiting.pop(s).triples for s in ready}
        return found

    def _description(self, node: BNode) -> _Description | None:
        """How a blank node is described; None if it is no class, or of parts that are not known, or in two ways: that
        each of two expressions is a class does not say that one class is both."""
        asserted = list(self.graph.triples((node, None, None)))
        made = [(p, o) for _, p, o in asserted if p in _EXPRESSIONS or p in _RESTRICTIONS]
        ways = {p for p, _ in made}
        restriction = OWL.onProperty in ways
        if len(made) > 1 and not (len(made) == 2 and restriction and ways & {*_RESTRICTIONS}):
            return None
        kinds = _CLASS_KINDS if restriction else _CLASS_KINDS[:2]
        triples = [(s, p, o) for s, p, o in asserted if p in ways or (p == RDF.type and o in kinds)]
        classes: set[Node] = set()
        individuals: set[Node] = set()
        for p, o in made:
            if p in (OWL.unionOf, OWL.intersectionOf, OWL.oneOf):
                listed = read_list(self.graph, o)
                if listed is None:
                    return None
                (individuals if p == OWL.oneOf else classes).update(listed.members)
                triples += listed.triples
            elif p == OWL.complementOf or p in _FILLERS:
                classes.add(o)
            elif p == OWL.hasValue:
                individuals.add(o)
            elif not (self._is_property(o) if p == OWL.onProperty else is_cardinality(o)):
                return None
        blank = frozenset(part for part in classes if isinstance(part, BNode))
        if not triples or not all(self._is_class(part) for part in classes - blank):
            return None
        return _Description(triples, blank, frozenset(atoms(*individuals)))

    def _is_class(self, term: Node) -> bool:
        if isinstance(term, BNode):
            return term in self._described()
        if term in _CLASSES:
            return True
        uses = (RDFS.subClassOf, OWL.equivalentClass, OWL.disjointWith, OWL.complementOf)
        patterns = [
            *((term, RDF.type, kind) for kind in (OWL.Class, RDFS.Class, RDFS.Datatype)),
            *((term, p, BNode()) for p in uses),
            *((BNode(), p, term) for p in (RDF.type, RDFS.domain, RDFS.range, *uses)),
        ]
        return any(in_closure(self.store, [pattern]) for pattern in patterns)

    def _is_property(self, term: Node) -> bool:
        """Whether the store says that a term is a property: as a predicate, or in an axiom about properties."""
        if not isinstance(term, URIRef):
            return False
        patterns = [
            *((term, RDF.type, kind) for kind in _PROPERTY_KINDS),
            (BNode(), term, BNode()),
            *((term, p, BNode()) for p in (RDFS.domain, RDFS.range, OWL.propertyChainAxiom, *_OF_PROPERTIES)),
            *((BNode(), p, term) for p in (OWL.onProperty, OWL.assertionProperty, *_OF_PROPERTIES)),
        ]
        if any(in_closure(self.store, [pattern]) for pattern in patterns):
            return True
        listed = "(owl:propertyChainAxiom|owl:hasKey)/rdf:rest*/rdf:first"
        disjoint = "a owl:AllDisjointProperties ; owl:members/rdf:rest*/rdf:first"
        return any(
            bool(self.store.query(f"{_PREFIXES} ASK {{ ?x {way} {term.n3()} }}").boolean) for way in (listed, disjoint)
        )

    # -- step 4 ----------------------------------------------------------------------------------------------------

    @property
    def _current(self) -> Asked:
        """The store with what was supposed for good."""
        return self.scratch.store if self.by else self.store

    def _goals(self) -> list[tuple[Triple, Callable[[], bool]]]:
        """The axioms that have to be proved, each with its proof; they are taken out of the graph."""
        goals: list[tuple[Triple, Callable[[], bool]]] = []
        for node in [s for s, o in self.graph.subject_objects(RDF.type) if is_pairwise(o)]:
            goals += self._pairwise_goals(node)
        for node in list(self.graph.subjects(OWL.sourceIndividual)):
            goals += self._negative_goals(node)
        for prop, head in list(self.graph.subject_objects(OWL.propertyChainAxiom)):
            chain = read_list(self.graph, head) if isinstance(head, BNode) else None
            if chain is not None and all(self._is_property(each) for each in (prop, *chain.members)):
                axiom = (prop, OWL.propertyChainAxiom, head)
                if self._take([axiom, *chain.triples]):
                    goals.append((axiom, self._proof([chain_meaning(prop, chain.members)])))
        for triple in list(self.graph):
            if blank_nodes(*triple) or in_closure(self._current, [triple]):
                continue
            proof = self._axiom_proof(triple)
            if proof is not None:
                self._take([triple])
                goals.append((triple, proof))
        return goals

    def _axiom_proof(self, triple: Triple) -> Callable[[], bool] | None:
        s, p, o = triple
        if p == RDF.type:
            negated = self._objects(o, OWL.complementOf)
            if negated:
                return self._proof([complement_meaning(s, c) for c in negated], any)
        if s == o and in_closure(self._current, [(p, RDF.type, OWL.ReflexiveProperty)]):
            return self._reason(f"{p} is reflexive (section 5.13)")
        if p == RDFS.range and values_within(self._objects(s, RDFS.range), o):
            return self._reason(f"the values of the ranges of {s} are all in {o}")
        if p in CLASS_AXIOMS and not (self._is_class(s) and self._is_class(o)):
            return None
        suppositions = meaning(triple)
        if suppositions and not all(self._is_property(each) for each in of_properties(triple)):
            return None
        if p in (RDFS.domain, RDFS.range) and not self._is_class(o):
            return None
        return self._proof(suppositions) if suppositions else None

    def _proof(
        self, suppositions: Sequence[Supposition], quantifier: Callable[[Iterable[bool]], bool] = all
    ) -> Callable[[], bool]:
        def prove() -> bool:
            if not quantifier(self.scratch.follows(s) for s in suppositions):
                return False
            given = " and ".join(_text(t) for t in suppositions[0].given)
            then = suppositions[0].then
            self.by.append(
                f"from {given} follows {_text(then) if then else 'a contradiction'} (section {suppositions[0].section})"
            )
            return True

        return prove

    def _reason(self, line: str) -> Callable[[], bool]:
        def prove() -> bool:
            self.by.append(line)
            return True

        return prove

    def _pairwise_goals(self, node: Node) -> list[tuple[Triple, Callable[[], bool]]]:
        kinds = [o for o in self.graph.objects(node, RDF.type) if is_pairwise(o)]
        heads = [o for p in (OWL.members, OWL.distinctMembers) for o in self.graph.objects(node, p)]
        about = list(self.graph.triples((node, None, None)))
        if not isinstance(node, BNode) or (len(kinds), len(heads), len(about)) != (1, 1, 2):
            return []
        listed = read_list(self.graph, heads[0]) if isinstance(heads[0], BNode) else None
        if listed is None or not self._take([*about, *listed.triples]):
            return []
        pairs = pairwise(kinds[0], listed.members)
        return [(t, self._axiom_proof(t) or (lambda: False)) for t in pairs]

    def _negative_goals(self, node: Node) -> list[tuple[Triple, Callable[[], bool]]]:
        asserted = set(self.graph.predicate_objects(node)) - {(RDF.type, OWL.NegativePropertyAssertion)}
        about = dict(asserted)
        target = about.get(OWL.targetIndividual, about.get(OWL.targetValue))
        whole = len(asserted) == len(about) == 3 and isinstance(about.get(OWL.assertionProperty), URIRef)
        if not isinstance(node, BNode) or target is None or not whole:
            return []
        if not self._take(self.graph.triples((node, None, None))):
            return []
        triple = (about[OWL.sourceIndividual], about[OWL.assertionProperty], target)
        return [(triple, self._proof([negative_meaning(*triple)]))]

    def _take(self, triples: Iterable[Triple]) -> bool:
        """Take triples out of the graph; not if what is left mentions a blank node that they are about."""
        taken = set(triples)
        about = {s for s, _, _ in taken if isinstance(s, BNode)}
        if any(not about.isdisjoint(blank_nodes(*triple)) for triple in self.graph if triple not in taken):
            return False
        for triple in taken:
            self.graph.remove(triple)
        return True

    def _objects(self, s: Node, p: Node) -> list[Node]:
        if not isinstance(s, URIRef):
            return []
        answer = self._current.query(f"SELECT ?o WHERE {{ {s.n3()} {p.n3()} ?o }}")
        return [row[0] for row in answer]


def _text(triple: Triple) -> str:
    return " ".join(term.n3() for term in triple)
