"""The grammar of triple terms and reified triples (SPARQL 1.2), and what their patterns mean.

A pattern with variables in a triple term is one with a variable of its own in place of the term, and what holds of its
parts. In a template the variable gets its value from those within it, for each solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from triplake.sparql.algebra import Bgp, Extend, Filter, Node, Project, Term, Triple, in_scope, join
from triplake.sparql.cursor import Cursor
from triplake.sparql.paths import Path
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.terms import RDF
from triplestore.model.triple_terms import triple_token

REIFIES: Final = Constant(f"<{RDF}reifies>")
PARTS: Final = ("SUBJECT", "PREDICATE", "OBJECT")

Found = list[tuple[Term, Path, Term]]
"""The triples of a basic graph pattern so far."""


def constant_of(parts: tuple[Expression, ...]) -> Constant | None:
    """The triple term of three terms, if all are constants, and RDF has it."""
    s, p, o = parts
    if not (isinstance(s, Constant) and isinstance(p, Constant) and isinstance(o, Constant)):
        return None
    token = triple_token(s.token, p.token, o.token)
    return None if token is None else Constant(token)


def is_blank(term: Term) -> bool:
    """Whether a term of a pattern or template is a blank node."""
    return isinstance(term, Variable) and term.name.startswith("_:")


def _connected(pattern: Bgp) -> list[Node]:
    """The triples of a basic graph pattern, those apart that share no variable, as patterns."""
    groups: list[tuple[set[Term], list[Triple]]] = []
    for triple in pattern.triples:
        names: set[Term] = {term for term in triple if isinstance(term, Variable)}
        triples = [triple]
        for group in [group for group in groups if not group[0].isdisjoint(names)]:
            groups.remove(group)
            names, triples = names | group[0], group[1] + triples
        groups.append((names, triples))
    return [Bgp(tuple(triples)) for _, triples in groups]


def _taken_apart(pattern: Node, made: Sequence[tuple[Variable, Triple]]) -> Node:
    """A pattern with what holds of those of the triple terms that it has, their parts bound."""
    bound = set(in_scope(pattern))
    for variable, parts in made:
        if variable.name not in bound:
            continue
        pattern = Filter(pattern, Call("ISTRIPLE", (variable,)))
        for function, part in zip(PARTS, parts, strict=True):
            value = Call(function, (variable,))
            if isinstance(part, Variable) and part.name not in bound:
                pattern = Extend(pattern, part.name, value, bound=True)
                bound.add(part.name)
            else:
                pattern = Filter(pattern, Call("SAMETERM", (value, part)))
    return pattern


@dataclass(slots=True)
class TripleTerms:
    """Parses triple terms at a cursor. made: those with variables in the triples that are being read, the outer ones
    first. kept: those of templates."""

    at: Cursor
    made: list[tuple[Variable, Triple]] = field(default_factory=list)
    kept: list[tuple[Variable, Triple]] = field(default_factory=list)
    numbered: int = 0

    def term(self) -> Term:
        """``<<( s p o )>>``, behind its first mark."""
        place = len(self.made)
        s, p = self._resource(), self._predicate()
        o = self.term() if self.at.accept("<<(") else self._term()
        self.at.expect(")>>")
        return self._term_of((s, p, o), place)

    def datum(self) -> Constant:
        """The same of constants alone."""
        word = self.at.peek()
        found = self.term()
        if not isinstance(found, Constant):
            self.at.fail("expected a triple term without variables and blank nodes", word)
        return found

    def reified(self, found: Found) -> Term:
        """``<< s p o ~ r >>``, behind its first mark: the reifier, its triple added."""
        place = len(self.made)
        s = self.reified(found) if self.at.accept("<<") else self._resource()
        p = self._predicate()
        if self.at.accept("<<"):
            o = self.reified(found)
        else:
            o = self.term() if self.at.accept("<<(") else self._term()
        reifier = self.reifier() if self.at.accept("~") else self.at.fresh()
        self.at.expect(">>")
        found.append((reifier, REIFIES, self._term_of((s, p, o), place)))
        return reifier

    def reifier(self) -> Term:
        """What may follow ``~``: a name, or nothing."""
        if self.at.accept("["):
            self.at.expect("]")
            return self.at.fresh()
        word = self.at.peek()
        if word.kind == "variable" or word.kind == "name" or self.at.at_iri():
            return self.at.term() or self.at.fresh()
        return self.at.fresh()

    def annotated(self, triple: tuple[Term, Path, Term], found: Found, properties: Callable[[Term], None]) -> None:
        """The reifiers and annotations behind an object. properties: parses the property list of a subject."""
        reifier: Term | None = None
        while self.at.is_("~", "{|"):
            word, (s, p, o) = self.at.next(), triple
            if not isinstance(p, Variable | Constant):
                self.at.illegal("an annotation stands behind a triple of a plain predicate, not of a path", word.start)
            if word.text == "~" or reifier is None:
                reifier = self.reifier() if word.text == "~" else self.at.fresh()
                found.append((reifier, REIFIES, self._term_of((s, p, o), len(self.made))))
            if word.text == "{|":
                properties(reifier)
                self.at.expect("|}")
                reifier = None

    def matched(self, pattern: Node) -> Node:
        """A pattern with what holds of the triple terms that its variables stand for, evaluated by itself and then
        joined, as a sub-SELECT is: inside EXISTS, outer solutions may bind the variables within triple terms.

        Triples that nothing but a triple term connects with others are matched apart, and joined by its parts."""
        if not self.made:
            return pattern
        made, self.made = self.made, []
        apart = [_taken_apart(part, made) for part in (_connected(pattern) if isinstance(pattern, Bgp) else [pattern])]
        found = apart.pop(0)
        while apart:
            near = next((part for part in apart if not set(in_scope(part)).isdisjoint(in_scope(found))), apart[0])
            apart.remove(near)
            found = join(found, near)
        return Project(found, in_scope(found))

    def keep(self) -> None:
        """What was made is of a template."""
        self.kept += self.made
        self.made = []

    def renamed(self, triples: tuple[Triple, ...]) -> tuple[Triple, ...]:
        """Triples of a template, with variables for the blank nodes that are within its triple terms."""
        names = self._blanks
        return tuple((names.get(s, s), names.get(p, p), names.get(o, o)) for s, p, o in triples) if names else triples

    def filled(self, pattern: Node) -> Node:
        """A pattern whose solutions have the triple terms of a template, and the new blank nodes within them."""
        names = self._blanks
        for blank in names.values():
            assert isinstance(blank, Variable)
            pattern = Extend(pattern, blank.name, Call("BNODE", ()))
        for variable, parts in reversed(self.kept):
            pattern = Extend(pattern, variable.name, Call("TRIPLE", tuple(names.get(part, part) for part in parts)))
        self.kept = []
        return pattern

    @property
    def _blanks(self) -> dict[Term, Term]:
        blanks = dict.fromkeys(part for _, parts in self.kept for part in parts if is_blank(part))
        return {blank: Variable(f".blank{number}") for number, blank in enumerate(blanks)}

    def _term_of(self, parts: Triple, place: int) -> Term:
        constant = constant_of(parts)
        if constant is not None:
            return constant
        self.numbered += 1
        variable = Variable(f".term{self.numbered}")
        self.made.insert(place, (variable, parts))
        return variable

    def _resource(self) -> Term:
        found = self.term() if self.at.accept("<<(") else self._term()
        if isinstance(found, Constant) and found.token[0] == '"':
            self.at.fail("a literal cannot be the subject of a triple term")
        return found

    def _predicate(self) -> Term:
        return self.at.type_() or self.at.variable() or Constant(f"<{self.at.iri()}>")

    def _term(self) -> Term:
        if self.at.accept("["):
            self.at.expect("]")
            return self.at.fresh()
        found = self.at.term()
        if found is None:
            self.at.fail("expected a term")
        return found
