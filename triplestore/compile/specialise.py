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

A constant of a rule that equals owl:sameAs is owl:sameAs: its facts are classes, not facts (`Specialiser.under`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from triplestore.compile.data_rule import DataRule
from triplestore.compile.dependency import ALL, Node, fact_node
from triplestore.compile.lists import FIRST, NIL, REST, unroll
from triplestore.compile.places import SAME_AS_TOKEN
from triplestore.compile.program import Program
from triplestore.compile.redundancy import without_redundant
from triplestore.compile.schema import (
    LENGTH,
    SCHEMA_CONDITION,
    Constants,
    Fact,
    SchemaFacts,
    atom_node,
    condition_of,
    filled,
    is_schema,
    is_schema_atom,
    matched,
    matches,
)
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError
from triplestore.model.expression import Call, Constant, Exists, Variable, walk
from triplestore.model.rule import Aggregate, Atom, Filter, ListOf, MemberOf, Rule, SchemaElement, Term, constants_of
from triplestore.model.terms import BUILTIN_IRIS, SAME_AS, iri_token


class Specialiser:
    """Rules for one equality mode; see the module's text.

    large: nodes of schema atoms, by the vocabulary's own ids, whose facts are too many to be matched here. evidence:
    the output of a rule is its head and then the triples of its atoms, with the members that expressions saw as tokens.

    Instances that derive `c sameAs c` of a constant are kept: it is how a constant comes to occur, and, where it is of
    constants that equal each other, whoever takes facts away has to see that the equality loses its support.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        equality: Equality,
        large: Collection[Node] = frozenset(),
        evidence: bool = False,
    ) -> None:
        self.equality, self.large = equality, frozenset(large)
        self._rules, self._evidence = tuple(rules), evidence
        self._names: frozenset[str] = frozenset()  # constants that owl:sameAs stands for in these rules
        self._renamed: dict[frozenset[str], Specialiser] = {}
        self.schema_rules: list[Rule] = []
        self._data_rules: list[DataRule] = []
        self._matched: set[Node] = {(FIRST, ALL), (REST, ALL)}  # nodes of schema atoms that are matched here
        self._joined: set[Node] = set()  # and of those that are data
        self.splittable: set[Node] = set()
        """Nodes of schema atoms that may be made `large` with effect: those of rules without lists."""
        rules = self._rules
        if self.large:
            rules = without_redundant(rules, lambda rule: not _bound_to_schema(rule) and self._is_large(rule))
        for rule in rules:
            compared = any(isinstance(e, Filter) and e.operator in ("=", "!=") for e in rule.body)
            atoms = [e for e in rule.body if isinstance(e, Atom)]
            nodes = {atom_node(a) for a in atoms if is_schema_atom(a)}
            joined = not _bound_to_schema(rule) and self._is_large(rule)
            self.splittable |= set() if _bound_to_schema(rule) else nodes
            (self._joined if joined else self._matched).update(nodes)
            schema_only = rule.monotone and not compared and all(is_schema_atom(a) for a in atoms)
            if rule.heads and schema_only and not joined:
                self.schema_rules.append(rule)
            else:
                heads: Sequence[Atom | None] = rule.heads or (None,)
                self._data_rules.extend(DataRule(rule, head, equality, joined, evidence) for head in heads)
        everything = (*self.schema_rules, *(d.rule for d in self._data_rules))
        self.constants = frozenset(token for rule in everything for token in constants_of(rule))
        """Tokens of all constants of the rules."""

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
        if names <= self._names:
            return self
        if names not in self._renamed:
            rules = [_renamed(rule, names) for rule in self._rules]
            for rule in rules:
                if any(isinstance(e, Aggregate) and SAME_AS_TOKEN in _predicates(e) for e in rule.body):
                    raise InputError(
                        f"rule {rule.name} aggregates over a property that equals owl:sameAs, which has no place in an "
                        "AGGREGATE: equal terms count once\ntake out that equality, or the rule",
                        rule.source,
                        rule.line,
                    )
            renamed = self._renamed[names] = Specialiser(rules, self.equality, self.large, self._evidence)
            renamed._names = names
        return self._renamed[names]

    def _is_large(self, rule: Rule) -> bool:
        """Whether a rule reads, or derives, schema facts of which there are many."""
        atoms = (*(e for e in rule.body if isinstance(e, Atom)), *rule.heads)
        return any(is_schema_atom(atom) and atom_node(atom) in self.large for atom in atoms)

    def unread(self, constants: Constants) -> frozenset[Node]:
        """Nodes (ids normalised) of the schema facts that rules read as data only: `schema` needs none of them, but
        those that speak of owl:sameAs itself."""
        here = self.under(constants)
        joined, matched = ({normal_node(n, constants) for n in nodes} for nodes in (here._joined, here._matched))
        return frozenset(joined - matched)

    def condition(self, constants: Constants) -> str:
        """Which facts (columns s, p, o) `schema` needs, as SQL."""
        unread = self.unread(constants)
        if not unread:
            return SCHEMA_CONDITION
        return f"({SCHEMA_CONDITION} AND (s = {SAME_AS} OR o = {SAME_AS} OR NOT {condition_of(unread)}))"

    def close(
        self, schema: SchemaFacts, delta: Iterable[Fact], constants: Constants, most: int | None = None
    ) -> tuple[list[Fact], list[Fact]]:
        """Close `schema` (in place) under the schema rules, after the facts of `delta` came.

        Returns the derived facts: schema facts that were new, and other facts (perhaps known ones). Raises
        SchemaGrowth, leaving `schema` half closed, when rules have derived `most` facts of one node that is splittable.
        """
        unread = self.unread(constants)
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
                    node = fact_node(fact[1], fact[2])
                    grown[node] += 1
                    if most is not None and grown[node] > most and node in splittable:
                        raise SchemaGrowth(node)
            first = False
            fresh = []
            for fact in derived:
                if not is_schema(fact[1], fact[2]) or fact_node(fact[1], fact[2]) in unread:
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


def _renamed(part: Any, names: Collection[str]) -> Any:
    """A part of a rule with owl:sameAs in place of the constants `names`; expressions, which tell equal terms apart,
    as they are."""
    if isinstance(part, str):
        return SAME_AS_TOKEN if part in names else part
    if isinstance(part, tuple):
        return tuple(_renamed(each, names) for each in part)
    if is_dataclass(part) and not isinstance(part, type | Variable | Constant | Call | Exists):
        return type(part)(**{field.name: _renamed(getattr(part, field.name), names) for field in fields(part)})
    return part


def _predicates(group: Aggregate) -> set[Term]:
    return {atom.p for atom in walk(group.body) if isinstance(atom, Atom)}


def _bound_to_schema(rule: Rule) -> bool:
    """Whether a rule's schema part is matched here whatever its size."""
    return not rule.monotone or any(isinstance(e, ListOf | MemberOf) for e in rule.body)


class SchemaGrowth(Exception):  # noqa: N818 - not an error: the engine takes over
    """Closing the schema in memory costs too much: facts of `node` (ids normalised) are many."""

    def __init__(self, node: Node) -> None:
        super().__init__(f"many schema facts of {node}")
        self.node = node


def normal_node(node: Node, constants: Constants) -> Node:
    """The node under pi."""
    p, o = (constants[iri_token(BUILTIN_IRIS[number])] if number >= 0 else number for number in node)
    return p, o
