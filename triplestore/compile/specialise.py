"""Specialisation by schema: rules and an ontology become a program of shapes and their instances.

1. The schema facts are closed under the rules that mention schema only (scm-* and the like).
2. The schema part of every other rule is joined with them: each match is a *rule instance*, the rule with its
   constants filled in (the program Pi of Motik et al. 2015, as data).
3. Instances are grouped by shape (`triplestore.compile.plan`): one shape, one statement against one table.

That is for schemas that are small next to the data. An atom whose facts are many (`large`: the classes of a taxonomy,
say) is as well joined by the engine: a rule that has one keeps its schema atoms as data atoms, and is one instance of a
shape like any other (cax-sco is then [?x a ?c1], [?c1 rdfs:subClassOf ?c2], scm-sco the join that prp-trp is). So is a
rule that derives such facts (scm-hv); one that others make superfluous (`triplestore.compile.redundancy`) is left out:
it would derive the same many times. Rules over lists, and rules with NOT or AGGREGATE, are always specialised. Which
way a rule goes changes what it costs, never what it derives.

What rules go through before that is in `triplestore.compile.passes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from triplestore.compile.data_rule import DataRule
from triplestore.compile.dependency import ALL, Node
from triplestore.compile.lists import FIRST, NIL, REST, unroll
from triplestore.compile.passes import Options, drafts_of, may_join
from triplestore.compile.program import Program
from triplestore.compile.schema import (
    LENGTH,
    Constants,
    Fact,
    SchemaFacts,
    atom_node,
    condition_of,
    filled,
    is_schema_atom,
    matched,
    matches,
)
from triplestore.compile.unify import SAME_AS_TOKEN
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError
from triplestore.model.rule import Aggregate, Atom, Bind, ListOf, MemberOf, Rule, SchemaElement, constants_of
from triplestore.model.terms import BUILTIN_IRIS, SAME_AS, TYPE, iri_token


class Specialiser:
    """Rules for one equality mode; see the module's text. large, evidence, names: see `passes.Options`.

    Instances that derive `c sameAs c` of a constant are kept: by it a constant occurs, and, where it is of
    constants that equal each other, whoever takes facts away has to see that the equality loses its support.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        equality: Equality,
        large: Collection[Node] = frozenset(),
        evidence: bool = False,
        names: frozenset[str] = frozenset(),
    ) -> None:
        options = Options(equality, frozenset(large), names, evidence)
        self.equality, self.large, self._options = equality, options.large, options
        self._rules = tuple(rules)
        self._renamed: dict[frozenset[str], Specialiser] = {}
        self.schema_rules: list[Rule] = []
        self._data_rules: list[DataRule] = []
        self._matched: set[Node] = {(FIRST, ALL), (REST, ALL)}  # nodes of schema atoms that are matched here
        self._joined: set[Node] = set()  # and of those that are data
        self.splittable: set[Node] = set()
        """Nodes of schema atoms that may be made `large` with effect: those of rules without lists."""
        drafts = drafts_of(self._rules, options)
        for draft in drafts:
            nodes = {atom_node(e) for e in draft.rule.body if isinstance(e, Atom) and is_schema_atom(e)}
            self.splittable |= nodes if may_join(draft.rule) else set()
            (self._joined if draft.joined else self._matched).update(nodes)
            if draft.closes_schema:
                self.schema_rules.append(draft.rule)
            else:
                heads: Sequence[Atom | None] = draft.rule.heads or (None,)
                self._data_rules.extend(DataRule(draft, head, options) for head in heads)
        self.constants = frozenset(token for draft in drafts for token in constants_of(draft.rule))
        """Tokens of all constants of the rules."""

    @property
    def making(self) -> Sequence[Rule]:
        """The rules that may make terms."""
        return [rule for rule in self._rules if any(isinstance(element, Bind | Aggregate) for element in rule.body)]

    def under(self, constants: Constants) -> Specialiser:
        """The specialiser of the rules as they read under pi. constants: ids are normalised.

        Raises InputError where the rules make no sense so: they read lists, and pi leaves none; they count equalities.
        """
        names = frozenset(t for t in self.constants if t != SAME_AS_TOKEN and constants.get(t) == SAME_AS)
        lost = [token for token, number in _LISTS.items() if constants.get(token, number) != number]
        rule = next((r for r in self._rules if any(isinstance(e, ListOf | MemberOf) for e in r.body)), None)
        if lost and rule is not None:
            raise InputError(
                f"{lost[0]} equals another term of the vocabulary, so that rule {rule.name} can read no list\n"
                "take out that equality, or the rules over lists"
            )
        if names <= self._options.names:
            return self
        if names not in self._renamed:
            self._renamed[names] = Specialiser(self._rules, self.equality, self.large, self._options.evidence, names)
        return self._renamed[names]

    def unread(self, constants: Constants) -> frozenset[Node]:
        """Nodes (ids normalised) of the schema facts that rules read as data only: `schema` needs none of them, but
        those that speak of owl:sameAs itself."""
        here = self.under(constants)
        joined, matched = ({normal_node(n, constants) for n in nodes} for nodes in (here._joined, here._matched))
        of_types = normal_node((TYPE, ALL), constants)  # what equals rdf:type is matched where some of its classes are
        return frozenset(node for node in joined - {of_types} if not _among(*node, matched))

    def condition(self, constants: Constants) -> str:
        """Which facts (columns s, p, o) `schema` needs, as SQL."""
        unread, schema = self.unread(constants), constants.vocabulary.condition
        if not unread:
            return schema
        return f"({schema} AND (s = {SAME_AS} OR o = {SAME_AS} OR NOT {condition_of(unread)}))"

    def close(
        self, schema: SchemaFacts, delta: Iterable[Fact], constants: Constants, most: int | None = None
    ) -> tuple[list[Fact], list[Fact]]:
        """Close `schema` (in place) under the schema rules, after the facts of `delta` were added.

        Returns the derived facts: schema facts that were new, and other facts (perhaps known ones). Raises
        SchemaGrowth, leaving `schema` half closed, when rules have derived `most` facts of one node that is splittable.
        """
        unread, vocabulary = self.unread(constants), constants.vocabulary
        splittable = {normal_node(node, constants) for node in self.splittable - self.large}
        grown: Counter[Node] = Counter()
        fresh = [fact for fact in delta if schema.add(fact)]
        found: list[Fact] = []
        others: set[Fact] = set()
        first = True
        while fresh or first:
            derived: set[Fact] = set()
            for rule in self.under(constants).schema_rules:
                for fact in self._derive(rule, schema, fresh, constants, first):
                    if fact in derived or fact in schema.facts:
                        continue
                    derived.add(fact)
                    for node in _nodes(fact[1], fact[2]):
                        grown[node] += 1
                        if most is not None and grown[node] > most and node in splittable:
                            raise SchemaGrowth(node)
            first = False
            fresh = []
            for fact in derived:
                if not vocabulary.has(fact[1], fact[2]) or _among(fact[1], fact[2], unread):
                    others.add(fact)
                elif schema.add(fact):
                    fresh.append(fact)
            found.extend(fresh)
        return found, sorted(others)

    def _derive(
        self, rule: Rule, schema: SchemaFacts, fresh: Sequence[Fact], constants: Constants, first: bool
    ) -> Iterable[Fact]:
        """Heads of the rule's matches that use a fresh fact; every match of a rule over lists, or without body."""
        body = [e for e in rule.body if isinstance(e, SchemaElement)]
        if any(isinstance(e, ListOf | MemberOf) for e in body) or not body or len(fresh) == len(schema.facts):
            bindings = matches(body, schema, constants, {}) if body or first else iter(())
        else:
            bindings = (
                found
                for i, atom in enumerate(body)
                if isinstance(atom, Atom)
                for fact in fresh
                if (start := matched(atom, fact, constants, {})) is not None
                for found in matches([*body[:i], *body[i + 1 :]], schema, constants, start)
            )
        for binding in bindings:
            plain = unroll(rule, binding[LENGTH]) if LENGTH in binding else rule
            for head in plain.heads:
                s, p, o = (filled(term, constants, binding) for term in head.terms)
                yield s, p, o

    def program(self, schema: SchemaFacts, constants: Constants) -> Program:
        """The program of the data rules over a closed schema. `constants`: ids are normalised."""
        present = set(schema.predicates)
        program = Program()
        for rule in self.under(constants)._data_rules:
            rule.instantiate(schema, present, constants, program)
        return program


_LISTS = {iri_token(BUILTIN_IRIS[number]): number for number in (FIRST, REST, NIL)}


class SchemaGrowth(Exception):  # noqa: N818 - not an error: the engine takes over
    """Closing the schema in memory costs too much: facts of `node` (ids normalised) are many."""

    def __init__(self, node: Node) -> None:
        super().__init__(f"many schema facts of {node}")
        self.node = node


def _nodes(p: int, o: int) -> tuple[Node, Node]:
    """The nodes, under whatever representatives, that a fact can be of, and what reads one of them reads it."""
    return (p, o), (p, ALL)


def _among(p: int, o: int, nodes: Collection[Node]) -> bool:
    """Whether one of the nodes has a fact (or all facts of a node) with this predicate and object."""
    return any(node in nodes for node in _nodes(p, o))


def normal_node(node: Node, constants: Constants) -> Node:
    """The node under pi."""
    p, o = (constants[iri_token(BUILTIN_IRIS[number])] if number >= 0 else number for number in node)
    return p, o
