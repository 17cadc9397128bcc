"""From rules to programs: the whole way, and the passes that do not depend on the data's schema.

    rules       model.rule       what files of rules and queries say
      |         PASSES           below: rules to drafts, once for all versions of the schema
    drafts                       each divided into a schema part and a data part
      |         specialise       closes the schema; each match of a schema part is a rule instance
      |         data_rule        what an instance is: its body read in each way (unify), its terms in slots (slots)
    program     program, plan    shapes, and rows of their parameters; canonical, so that equal joins share a shape
      |         strata           an order for the instances with NOT or AGGREGATE
      |         symmetry         the shapes that relate all members of a group to each other
    statements  join, sql        one for each shape, on any engine; `maintain.join` runs shapes over sorted keys

Backwards, from a fact to the rule instances that may derive it, goes `backward`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final

from triplestore.compile.dependency import Node
from triplestore.compile.inline import Made, inline
from triplestore.compile.redundancy import without_redundant
from triplestore.compile.schema import atom_node, is_schema_atom
from triplestore.compile.unify import SAME_AS_TOKEN
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError
from triplestore.model.expression import Call, Constant, Exists, Variable, walk
from triplestore.model.rule import (
    Aggregate,
    Atom,
    Filter,
    ListOf,
    MemberOf,
    Rule,
    SchemaElement,
    compares,
    positions_of,
)


@dataclass(frozen=True, slots=True)
class Options:
    """How rules are compiled.

    large: nodes of schema atoms, by the vocabulary's own ids, whose facts are too many to be matched in memory. names:
    constants that equal owl:sameAs. evidence: the output of a rule is its head and then the triples of its atoms, with
    the members that expressions saw as tokens, and the keys and results of its aggregates.
    """

    equality: Equality
    large: frozenset[Node] = frozenset()
    names: frozenset[str] = frozenset()
    evidence: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule on its way through the passes.

    made: the expressions of the head variables that nothing else binds (`inlined`). joined: its schema atoms are joined
    as data. schema, data: the parts of its body that are matched in memory, and the atoms that are joined by the
    engine (`divided`).
    """

    rule: Rule
    made: Made = field(default_factory=dict)
    joined: bool = False
    schema: tuple[SchemaElement, ...] = ()
    data: tuple[Atom, ...] = ()

    @property
    def closes_schema(self) -> bool:
        """Whether it derives facts from schema facts alone, so that the schema is closed under it in memory."""
        return bool(self.rule.heads) and not self.joined and self.schema == self.rule.body


Drafts = tuple[Draft, ...]


def renamed(drafts: Drafts, options: Options) -> Drafts:
    """Have a constant that equals owl:sameAs read owl:sameAs: its facts are classes, not facts. Expressions, which tell
    equal terms apart, stay as they are. Raises InputError for a rule that makes no sense so."""
    if not options.names:
        return drafts
    found = tuple(replace(draft, rule=_renamed(draft.rule, options.names)) for draft in drafts)
    for rule in (draft.rule for draft in found):
        groups = [element for element in rule.body if isinstance(element, Aggregate)]
        if any(SAME_AS_TOKEN in {atom.p for atom in walk(g.body) if isinstance(atom, Atom)} for g in groups):
            raise InputError(
                f"rule {rule.name} aggregates over a property that equals owl:sameAs, which has no place in an "
                "AGGREGATE: equal terms count once\ntake out that equality, or the rule",
                rule.source,
                rule.line,
            )
    return found


def _renamed(part: Any, names: Collection[str]) -> Any:
    if isinstance(part, str):
        return SAME_AS_TOKEN if part in names else part
    if isinstance(part, tuple):
        return tuple(_renamed(each, names) for each in part)
    if is_dataclass(part) and not isinstance(part, type | Variable | Constant | Call | Exists):
        return type(part)(**{field.name: _renamed(getattr(part, field.name), names) for field in fields(part)})
    return part


def joined(drafts: Drafts, options: Options) -> Drafts:
    """Mark the rules that read, or derive, schema facts of which there are many, so that the engine joins them."""

    def is_large(rule: Rule) -> bool:
        atoms = (*(e for e in rule.body if isinstance(e, Atom)), *rule.heads)
        return any(is_schema_atom(atom) and atom_node(atom) in options.large for atom in atoms)

    return tuple(replace(draft, joined=may_join(draft.rule) and is_large(draft.rule)) for draft in drafts)


def may_join(rule: Rule) -> bool:
    """Whether the schema atoms of a rule can be joined as data: not with lists, NOT or AGGREGATE."""
    return rule.monotone and not any(isinstance(e, ListOf | MemberOf) for e in rule.body)


def irredundant(drafts: Drafts, options: Options) -> Drafts:
    """Leave out joined rules that others make superfluous: they would derive the same many times."""
    if not options.large:
        return drafts
    candidates = {id(draft.rule) for draft in drafts if draft.joined}
    kept = {id(rule) for rule in without_redundant([d.rule for d in drafts], lambda rule: id(rule) in candidates)}
    return tuple(draft for draft in drafts if id(draft.rule) in kept)


def inlined(drafts: Drafts, options: Options) -> Drafts:
    """Put BINDs in place, so that expressions read nothing but what atoms, lists and aggregates bind."""
    found = [(draft, inline(draft.rule)) for draft in drafts]
    return tuple(replace(draft, rule=plain.rule, made=plain.made) for draft, plain in found)


def divided(drafts: Drafts, options: Options) -> Drafts:
    """Tell the schema part of each body from its data part."""
    found = []
    for draft in drafts:
        body = draft.rule.body
        positions = positions_of(body)
        schema = tuple(
            e
            for e in body
            if isinstance(e, ListOf | MemberOf)
            or (isinstance(e, Atom) and is_schema_atom(e) and not draft.joined)
            or (isinstance(e, Filter) and compares(e, positions))
        )
        data = tuple(e for e in body if isinstance(e, Atom) and e not in schema)
        found.append(replace(draft, schema=schema, data=data))
    return tuple(found)


PASSES: Final[tuple[Callable[[Drafts, Options], Drafts], ...]] = (renamed, joined, irredundant, inlined, divided)
"""The passes, in the order in which they run."""


def drafts_of(rules: Collection[Rule], options: Options) -> Drafts:
    """Rules as they are specialised. Raises InputError."""
    drafts = tuple(Draft(rule) for rule in rules)
    for run in PASSES:
        drafts = run(drafts, options)
    return drafts
