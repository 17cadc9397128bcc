"""What is most likely not meant in rules: names that occur nowhere else, variables like others, recursion that makes
terms."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import networkx as nx

from triplestore.model.expression import Constant, Variable, variables_of, walk
from triplestore.model.rule import Aggregate, Atom, Bind, Holds, Rule, Term, Var, constants_of
from triplestore.model.terms import BUILTIN_IRIS, RDF

_ALIKE: Final = 0.8
"""How alike two names are, of 1, where one may be a slip for the other (Ratcliff and Obershelp)."""

_TYPE: Final = f"<{RDF}type>"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something of a rule that is most likely not meant. kind: `unknown`, `variable`, `endless`, or what those who run
    rules find: `never`."""

    rule: str
    source: str
    line: int
    kind: str
    message: str


Word = tuple[bool, str]
"""A name as rules use it: whether it is a class, and its token. Slips are looked for among names of one kind."""


def doubts(rules: Sequence[Rule], others: Sequence[Rule], words: Collection[Word] | None) -> list[Doubt]:
    """What is most likely not meant in `rules`. others: further rules that run with them. words: the properties and
    classes of the data; None: they are not known, and a name is doubted only where it is like one that is."""
    derived = {word for rule in (*rules, *others) for atom in rule.heads for word in _words(atom)}
    own = Counter(word for rule in rules for word in {*_body_words(rule)})
    spoken = {(kind, token) for rule in others for token in constants_of(rule) for kind in (False, True)}
    known = derived | {*(words or ())} | spoken
    found = []
    endless = _endless(rules)
    for rule in rules:
        for word in dict.fromkeys(_body_words(rule)):
            kind, name = word
            if word in known or name[1:-1] in BUILTIN_IRIS:
                continue
            often = {other for other in own if other != word and own[other] > own[word]}
            near = _near(name, {token for k, token in known | often if k == kind})
            if words is not None or near:
                where = "in the data, nor in the head of a rule" if words is not None else "in the head of a rule"
                hint = f"; did you mean {near}?" if near else ""
                found.append(_doubt(rule, "unknown", f"{name} is nowhere {where}{hint}"))
        for name, like in _slips(rule):
            found.append(_doubt(rule, "variable", f"?{name} occurs once: did you mean ?{like}?"))
        if rule in endless:
            made = ", ".join(f"?{name}" for name in sorted(_made(rule)))
            found.append(
                _doubt(
                    rule,
                    "endless",
                    f"it makes {made} of what it derives, so it may make terms without end: let a FILTER bound it",
                )
            )
    return found


def _doubt(rule: Rule, kind: str, message: str) -> Doubt:
    return Doubt(rule.name, rule.source, rule.line, kind, message)


def _words(atom: Atom) -> Iterator[Word]:
    """The property of an atom, or the class where it is rdf:type."""
    if atom.p == _TYPE:
        if isinstance(atom.o, str):
            yield True, atom.o
    elif isinstance(atom.p, str):
        yield False, atom.p


def _body_words(rule: Rule) -> Iterator[Word]:
    for part in walk(rule.body):
        if isinstance(part, Atom):
            yield from _words(part)


def _near(name: str, known: Collection[str]) -> str | None:
    """The name that is most like one, in the same namespace first."""
    alike = difflib.get_close_matches(_local(name), {_local(n) for n in known}, 1, _ALIKE)
    if not alike:
        return None
    return max((n for n in known if _local(n) == alike[0]), key=lambda n: (_space(n) == _space(name), n))


def _local(name: str) -> str:
    return re.split(r"[#/:]", name.strip("<>"))[-1].lower()


def _space(name: str) -> str:
    return name[: len(name) - len(_local(name)) - 1]


def _slips(rule: Rule) -> Iterator[tuple[str, str]]:
    """Variables that occur once, and others of the rule that they are like."""
    counts = Counter(_variables(rule))
    for name, count in counts.items():
        if count == 1 and len(name) > 2:
            others = [other for other in counts if other != name and not _numbered(name, other)]
            if alike := difflib.get_close_matches(name, others, 1, _ALIKE):
                yield name, alike[0]


def _numbered(name: str, other: str) -> bool:
    """Whether two names differ by their numbers alone, as ?part1 and ?part2 do."""
    return re.sub(r"[0-9]+$", "", name) == re.sub(r"[0-9]+$", "", other)


def _variables(rule: Rule) -> Iterator[str]:
    """The names of the variables of a rule, each as often as it occurs."""
    for part in walk((rule.heads, rule.body)):
        if isinstance(part, Variable | Var):
            yield part.name


def _made(rule: Rule) -> set[str]:
    """The variables of a rule's heads that stand for terms which it makes."""
    made: set[str] = set()
    for element in rule.body:
        if isinstance(element, Bind) and not isinstance(element.expression, Constant | Variable):
            made.add(element.variable.name)
        elif isinstance(element, Aggregate):
            made.update(result.variable.name for result in element.results)
    return made & {term.name for atom in rule.heads for term in atom.terms if isinstance(term, Var)}


def _endless(rules: Sequence[Rule]) -> set[Rule]:
    """The rules that make terms of what they derive, by themselves or by way of others. A head is read by the atoms
    that can match it."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(rules)))
    read = [[part for part in walk(rule.body) if isinstance(part, Atom)] for rule in rules]
    for i, rule in enumerate(rules):
        for j, atoms in enumerate(read):
            if any(_matches(head, atom) for head in rule.heads for atom in atoms):
                graph.add_edge(i, j)
    found: set[Rule] = set()
    for component in nx.strongly_connected_components(graph):
        if len(component) > 1 or any(graph.has_edge(i, i) for i in component):
            found.update(rules[i] for i in component if _made(rules[i]) and not _bounded(rules[i]))
    return found


def _bounded(rule: Rule) -> bool:
    """Whether a FILTER of a rule reads what its terms are made of, or the terms."""
    read = {name for element in rule.body if isinstance(element, Holds) for name in variables_of(element.expression)}
    made = _made(rule)
    return any(
        isinstance(element, Bind)
        and element.variable.name in made
        and not read.isdisjoint({element.variable.name, *variables_of(element.expression)})
        for element in rule.body
    )


def _matches(head: Atom, atom: Atom) -> bool:
    return all(_meets(a, b) for a, b in zip(head.terms, atom.terms, strict=True))


def _meets(a: Term, b: Term) -> bool:
    return not (isinstance(a, str) and isinstance(b, str)) or a == b
