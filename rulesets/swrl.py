"""SWRL rules in RDF (W3C member submission SWRL, 21 May 2004, section 6) as rules of the rule language.

An `swrl:Imp` is a rule; of its atoms, `swrl:ClassAtom`, `swrl:IndividualPropertyAtom`, `swrl:DatavaluedPropertyAtom`,
`swrl:SameIndividualAtom` and `swrl:DifferentIndividualsAtom` become atoms, and a `swrl:BuiltinAtom` a FILTER or a BIND
(`rulesets.swrl_builtins`). An empty head says that the body cannot be. Individuals known to be different are so either
way round: a body with `swrl:DifferentIndividualsAtom` is two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Final, NoReturn

import pyoxigraph

from triplake.rulesets.safety import fault
from triplake.rulesets.swrl_builtins import Builtin, built_in
from triplestore.model.errors import InputError
from triplestore.model.expression import Call, Constant, Expression, Variable, walk
from triplestore.model.rule import Atom, Bind, BodyElement, Rule, Term, Var
from triplestore.model.terms import OWL, RDF, RDFS, iri_token, literal_token

SWRL: Final = "http://www.w3.org/2003/11/swrl#"
ENABLED: Final = "http://swrl.stanford.edu/ontologies/3.3/swrla.owl#isRuleEnabled"
"""The annotation by which Protégé's editor of SWRL switches a rule off: its value is false then."""
BASE: Final = "file:rules"
"""The base IRI of rules."""
FORMATS: Final = {
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".nt": pyoxigraph.RdfFormat.N_TRIPLES,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
    ".owl": pyoxigraph.RdfFormat.RDF_XML,
    ".xml": pyoxigraph.RdfFormat.RDF_XML,
    ".jsonld": pyoxigraph.RdfFormat.JSON_LD,
}
"""The suffixes of files of RDF, and how they are read."""

_TYPE: Final = iri_token(RDF + "type")
_PROPERTY_ATOMS: Final = {
    "IndividualPropertyAtom": "propertyPredicate",
    "DatavaluedPropertyAtom": "propertyPredicate",
    "SameIndividualAtom": iri_token(OWL + "sameAs"),
    "DifferentIndividualsAtom": iri_token(OWL + "differentFrom"),
}
_IMP: Final = re.compile(r"\bswrl:Imp\b|2003/11/swrl#Imp\b")


def parse(text: str, source: str, check: Callable[[Call], str] | None = None, plain: str = "") -> tuple[Rule, ...]:
    """The SWRL rules of a text in RDF, in its order, called by their IRIs or labels; other triples are passed over, and
    so are rules that are switched off (`ENABLED`).

    source: the file, whose suffix tells the format (`FORMATS`). check: see `rulesets.datalog.parse`. plain: the text as
    pyoxigraph takes it, if that is another.
    Raises InputError naming file, rule and atom for what is no rule, or has no counterpart in the rule language.
    """
    return tuple(rule for imp in _imps(text, source, check, plain) if imp.enabled for rule in imp.rules())


def disabled(text: str, source: str, plain: str = "") -> tuple[str, ...]:
    """The names of the SWRL rules of a text that are switched off; see `parse`."""
    return tuple(imp.name for imp in _imps(text, source, None, plain) if not imp.enabled)


def _imps(text: str, source: str, check: Callable[[Call], str] | None, plain: str) -> Iterator[_Imp]:
    """The rules of a text; see `parse`."""
    try:
        quads = list(pyoxigraph.parse(plain or text, FORMATS[Path(source).suffix.lower()], base_iri=BASE))
    except SyntaxError as error:
        reason = re.sub(r"^Parser error (?:at|between) line .*?: ", "", str(error.args[0]))
        raise InputError(reason, source, error.lineno, error.offset) from error
    graph: dict[str, dict[str, list[str]]] = {}
    for quad in quads:
        s, p, o = map(_token, (quad.subject, quad.predicate, quad.object))
        graph.setdefault(s, {}).setdefault(p, []).append(o)
    rules = [node for node, about in graph.items() if iri_token(SWRL + "Imp") in about.get(_TYPE, ())]
    if not rules:
        raise InputError("no rules in this file: an RDF file of rules has resources of type swrl:Imp", source)
    lines = [text.count("\n", 0, found.start()) + 1 for found in _IMP.finditer(text)]
    if len(lines) != len(rules):
        lines = [0] * len(rules)
    for node, line in zip(rules, lines, strict=True):
        yield _Imp(graph, node, source, line, check)


def _token(term: object) -> str:
    match term:
        case pyoxigraph.NamedNode():
            return iri_token(term.value)
        case pyoxigraph.BlankNode():
            return f"_:{term.value}"
        case pyoxigraph.Literal():
            return literal_token(term.value, term.datatype.value, language=term.language)
    return str(term)


@dataclass(slots=True)
class _Imp:
    """One rule, read off the graph (subject -> predicate -> objects)."""

    graph: dict[str, dict[str, list[str]]]
    node: str
    source: str
    line: int
    check: Callable[[Call], str] | None
    name: str = field(init=False)
    place: str = ""
    _names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        label = next((t[1 : t.rindex('"')] for t in self._all(self.node, RDFS + "label")), "")
        local = re.split(r"[#/:]", self.node[1:-1])[-1] if self.node[0] == "<" else ""
        self.name = re.sub(r"[\s#]+", "-", label or local) or f"{Path(self.source).stem}:{self.line}"

    @property
    def enabled(self) -> bool:
        """Whether no annotation switches the rule off."""
        values = (token[1 : token.rindex('"')] for token in self._all(self.node, ENABLED) if token[0] == '"')
        return not {"false", "0"}.intersection(value.strip() for value in values)

    def rules(self) -> Iterator[Rule]:
        """The rule, or one for each way round of what is different."""
        heads = tuple(self._head(atom) for atom in self._atoms("head"))
        elements: list[list[Atom]] = []  # the ways to write each atom
        builtins: list[tuple[str, Builtin]] = []
        for number, atom in enumerate(self._atoms("body"), 1):
            self.place = f"atom {number} of the body"
            kind = self._kind(atom)
            if kind == "BuiltinAtom":
                builtins.append((self.place, self._built_in(atom)))
                continue
            plain = self._plain(atom, kind)
            both = kind == "DifferentIndividualsAtom"
            elements.append([plain, Atom(plain.o, plain.p, plain.s)] if both else [plain])
        bound = {t.name for ways in elements for a in ways for t in a.terms if isinstance(t, Var)}
        conditions = tuple(self._ordered(builtins, bound))
        for body in product(*elements):
            rule = Rule(self.name, heads, (*body, *conditions), self.source, self.line)
            self.place = ""
            if reason := fault(rule):
                self._refuse(reason)
            yield rule

    def _ordered(self, builtins: list[tuple[str, Builtin]], bound: set[str]) -> Iterator[BodyElement]:
        """Conditions, each behind what gives its variables values: SWRL knows no order of atoms."""
        waiting = list(builtins)
        made = set[str]()
        while waiting:
            for item in waiting:
                self.place, builtin = item
                element = builtin.element(bound | made, made)
                if element is not None:
                    break
            else:
                self.place, builtin = waiting[0]
                self._refuse(f"nothing gives a value to what {builtin.name} reads")
            waiting.remove(item)
            for call in walk(element):
                if self.check and isinstance(call, Call) and (reason := self.check(call)):
                    self._refuse(reason)
            if isinstance(element, Bind):
                made.add(element.variable.name)
            yield element

    # -- atoms ----------------------------------------------------------------------------------------------------

    def _atoms(self, part: str) -> Iterator[str]:
        self.place = f"the {part}"
        yield from self._members(self._one(self.node, SWRL + part, f"swrl:{part}"))

    def _head(self, atom: str) -> Atom:
        self.place = "the head"
        kind = self._kind(atom)
        if kind == "BuiltinAtom":
            self._refuse("a built-in in the head derives nothing: put it into the body")
        return self._plain(atom, kind)

    def _plain(self, atom: str, kind: str) -> Atom:
        first = self._argument(atom, "argument1")
        if kind == "ClassAtom":
            return Atom(first, _TYPE, self._predicate(atom, "classPredicate", "class"))
        predicate = _PROPERTY_ATOMS.get(kind)
        if predicate is None:
            self._refuse(f"swrl:{kind} has no counterpart in the rule language")
        if predicate == "propertyPredicate":
            predicate = self._predicate(atom, predicate, "property")
        return Atom(first, predicate, self._argument(atom, "argument2"))

    def _built_in(self, atom: str) -> Builtin:
        iri = self._one(atom, SWRL + "builtin", "swrl:builtin")
        arguments = [self._value(node) for node in self._members(self._one(atom, SWRL + "arguments", "swrl:arguments"))]
        found = built_in(iri, arguments)
        if isinstance(found, str):
            self._refuse(found)
        return found

    def _kind(self, atom: str) -> str:
        kinds = [t[len(SWRL) + 1 : -1] for t in self._all(atom, RDF + "type") if t.startswith(f"<{SWRL}")]
        known = [kind for kind in kinds if kind.endswith("Atom")]
        if not known:
            self._refuse("an atom without a type of SWRL's, such as swrl:ClassAtom")
        return known[0]

    def _predicate(self, atom: str, name: str, what: str) -> str:
        found = self._one(atom, SWRL + name, f"swrl:{name}")
        if found[0] != "<":
            self._refuse(f"a {what} expression has no counterpart in the rule language: give the {what} a name")
        return found

    def _argument(self, atom: str, name: str) -> Term:
        value = self._value(self._one(atom, SWRL + name, f"swrl:{name}"))
        if isinstance(value, Variable):
            return Var(value.name)
        assert isinstance(value, Constant)
        if value.token[0] == "_":
            self._refuse("a blank node has no name that a rule could use: give the individual an IRI")
        return value.token

    def _value(self, node: str) -> Expression:
        """A variable or constant."""
        if node[0] == '"' or iri_token(SWRL + "Variable") not in self._all(node, RDF + "type"):
            return Constant(node)
        if node not in self._names:
            local = re.split(r"[#/:]", node.strip("<>"))[-1]
            stem = re.sub(r"^(?=[^\WA-Za-z_])|\W", "_", local) or "x"
            taken = self._names.values()
            self._names[node] = next(name for name in _numbered(stem) if name not in taken)
        return Variable(self._names[node])

    # -- the graph ------------------------------------------------------------------------------------------------

    def _all(self, node: str, predicate: str) -> list[str]:
        return self.graph.get(node, {}).get(iri_token(predicate), [])

    def _one(self, node: str, predicate: str, name: str) -> str:
        found = list(dict.fromkeys(self._all(node, predicate)))
        if len(found) != 1:
            self._refuse(f"{'no' if not found else 'more than one'} {name}")
        return found[0]

    def _members(self, node: str) -> Iterator[str]:
        seen = set[str]()
        while node != iri_token(RDF + "nil"):
            if node in seen:
                self._refuse("a list that runs in a circle")
            seen.add(node)
            yield self._one(node, RDF + "first", "rdf:first")
            node = self._one(node, RDF + "rest", "rdf:rest")

    def _refuse(self, reason: str) -> NoReturn:
        where = f"rule {self.name}{f', {self.place}' if self.place else ''}"
        raise InputError(f"{where}: {reason}", self.source, self.line or None)


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}_{number}"
        number += 1
