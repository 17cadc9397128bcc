"""The oracle: the closure of facts under rules by brute force, to compare the library's answers with.

It shares no code with the library but the dataclasses of rules and their parser: facts are sets of token triples (see
`triplestore.model.terms`), every rule is matched against all facts in every round until nothing is new, and equality is
the congruence that table 4 of OWL 2 Profiles defines, worked out on the expanded facts. Slow, and plain to see.

NOT and AGGREGATE are read off a closure that is given, as Gelfond and Lifschitz (1988) define stable models: a closure
is right if it is the closure of its facts under the rules with their negation decided by itself. Stratified programs
have exactly one such closure, so no strata are needed here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import product

from tests.support import literal_values
from tests.support.oracle_world import RDF, SAME_AS, Triple, World
from triplestore.model.rule import BodyElement, Rule, Term
from triplestore.model.terms import spelling

Violation = tuple[str, frozenset[Triple]]
Pair = tuple[str, str]

TYPE = f"<{RDF}type>"


@dataclass(frozen=True)
class Closure:
    """`triples`: the expanded closure. `violations`: (rule name, the triples that its body matched)."""

    triples: frozenset[Triple]
    violations: frozenset[Violation]

    @property
    def violated(self) -> set[str]:
        """The names of the rules that are violated."""
        return {name for name, _ in self.violations}


def closure(
    facts: Iterable[Triple], rules: Iterable[Rule], equality: str = "rewrite", complete: Iterable[Triple] = ()
) -> Closure:
    """The expanded closure of the facts. `equality`: "rewrite" or "axioms" (the same answer) or "off".

    Unless off, owl:sameAs is a congruence over all terms, literals too, and reflexive for every term that occurs: rules
    may match `x sameAs x`, but it is returned only where x equals something else, where it was asserted, and where
    owl:sameAs itself equals another term: that relates every term to itself then, too. An equality of two literals
    makes nothing equal and is not a triple unless one of the two equals an IRI or a blank node. Two literals that are
    equal although their values, which are known, are not is a violation of eq-diff1. A number in an atom of a body
    matches every exact number of its value. Generalised triples (literal subjects, odd predicates) are returned: see
    `rdf_only`.

    complete: what NOT and AGGREGATE read. They see equal terms once: a variable that stands for several names is one
    match, and results are for all of them.
    """
    known = set(complete)
    settled = World(known | identities(known, equality) | reflexive(known, equality), alike=equality != "off")
    return _closure(set(facts), list(rules), equality, frozenset(), settled)


def closure_by_value(
    facts: Iterable[Triple], rules: Iterable[Rule], equality: str = "rewrite", met: Iterable[str] = ()
) -> Closure:
    """As `closure`, with the datatype rules of OWL 2 RL (table 8).

    Literals of one value stand for each other (dt-eq) and are different from those of another (dt-diff, which is seen
    only by eq-diff1); each has the types that its value is in (dt-type2), for atoms that ask for one of them by name,
    and as facts where it equals another term. A value comes back in the forms
    in which it was asserted of this subject and predicate (or equals of them), otherwise in the form that was met
    first: the first in `met`, or in byte order. An ill-typed literal in a fact, and a literal with a type that its
    value is not in, is a violation of dt-not-type.
    """
    facts, rules = set(facts), list(rules)
    constants = {t for r in rules for e in (*r.heads, *r.body) for t in _terms(e) if isinstance(t, str)}
    literals = {t for triple in facts for t in triple if is_literal(t)} | {t for t in constants if is_literal(t)}
    first: dict[Hashable, str] = {}
    for token in (*met, *sorted(literals, key=spelling)):
        if is_literal(token):
            meaning = literal_values.value(token)
            first.setdefault(token if meaning is literal_values.ILL else meaning, token)

    def home(term: Term) -> Term:
        if not isinstance(term, str) or not is_literal(term):
            return term
        meaning = literal_values.value(term)
        return first[term if meaning is literal_values.ILL else meaning]

    def homes(element: BodyElement) -> BodyElement:
        return type(element)(**{part.name: home(getattr(element, part.name)) for part in fields(element)})

    occurring = {t for triple in facts for t in triple} | {t for r in rules for e in r.heads for t in _terms(e)}
    typed = frozenset(
        (token, TYPE, f"<{datatype}>")
        for token in {str(home(term)) for term in occurring if isinstance(term, str) and is_literal(term)}
        for datatype in literal_values.DATATYPES
        if _has_value(token) and literal_values.within(literal_values.value(token), datatype)
    )
    given = {(s, p, str(home(o))) for s, p, o in facts}
    plain = [replace(r, heads=tuple(map(homes, r.heads)), body=tuple(map(homes, r.body))) for r in rules]
    found = _closure(given, plain, equality, typed)
    violations = set(found.violations)
    for s, p, o in found.triples | given:
        if is_literal(o) and literal_values.value(o) is literal_values.ILL:
            violations.add(("dt-not-type", frozenset([(s, p, o)])))
        if is_literal(s) and p == TYPE and o.strip("<>") in literal_values.DATATYPES:
            meaning = literal_values.value(s)
            if meaning is literal_values.ILL or (_has_value(s) and not literal_values.within(meaning, o.strip("<>"))):
                violations.add(("dt-not-type", frozenset([(s, p, o)])))
    equals: dict[str, set[str]] = defaultdict(set)
    for s, p, o in found.triples if equality != "off" else ():
        if p == SAME_AS:
            equals[s].add(o)
    forms: dict[Triple, set[str]] = defaultdict(set)
    for s, p, o in facts:
        for same in product(equals[s] | {s}, equals[p] | {p}):
            forms[(*same, str(home(o)))].add(o)
    triples = {(s, p, form) for s, p, o in found.triples for form in (is_literal(o) and forms.get((s, p, o))) or {o}}
    return Closure(frozenset(triples), frozenset(violations))


def _has_value(token: str) -> bool:
    """Whether it is known which value a literal has."""
    meaning = literal_values.value(token)
    return meaning is not literal_values.ILL and meaning[0] is not None


def _terms(element: BodyElement) -> Iterator[Term]:
    return (getattr(element, part.name) for part in fields(element))


def _closure(
    facts: set[Triple], rules: list[Rule], equality: str, typed: frozenset[Triple], settled: World | None = None
) -> Closure:
    violations: set[Violation] = set()
    apart: set[Pair] = set()
    known = congruent(facts, apart) if equality != "off" else facts
    known |= identities(known | facts, equality)
    itself: set[Triple] = set()  # what rules say of constants that may occur nowhere else
    while True:
        said = congruent(itself | {t for t in known if t[1] == SAME_AS}, set(apart)) if itself else set()
        world = World(known | said | reflexive(known | said, equality), settled, typed=typed)
        derived, before = set(known), (set(itself), set(apart))
        for rule in rules:
            for heads, used in world.matches(rule):
                if not rule.heads:
                    violations.add((rule.name, used))
                for head in heads:
                    alone = equality != "off" and head[1] == SAME_AS and head[0] == head[2]
                    (itself if alone else derived).add(head)
        if equality != "off":
            equal = {s for s, p, o in congruent(derived, apart) if p == SAME_AS and s != o}
            derived = congruent(derived | {triple for triple in typed if triple[0] in equal}, apart)
            derived |= identities(derived | facts, equality)
        if derived == known and (itself, apart) == before:
            return Closure(frozenset(known), frozenset(violations | unequal(known, apart, equality)))
        known = derived


def unequal(triples: Iterable[Triple], apart: Iterable[Pair], equality: str) -> set[Violation]:
    """The equalities of literals whose values are known and different. Those of literals that are apart have no say in
    what holds, but are symmetric and transitive as any."""
    if equality == "off":
        return set()
    pairs = {(s, o) for s, p, o in triples if p == SAME_AS and is_literal(s) and is_literal(o)}
    together: dict[str, set[str]] = {}
    for s, o in apart:
        joined = together.get(s, {s}) | together.get(o, {o})
        together.update(dict.fromkeys(joined, joined))
    pairs |= {(s, o) for s, joined in together.items() for o in joined}
    return {
        ("eq-diff1", frozenset([(s, SAME_AS, o)]))
        for s, o in pairs
        if _has_value(s) and _has_value(o) and literal_values.value(s) != literal_values.value(o)
    }


def reflexive(triples: Iterable[Triple], equality: str) -> set[Triple]:
    """That every term that occurs is the same as itself (eq-ref), owl:sameAs too: these are triples that mention it."""
    if equality == "off":
        return set()
    return {(term, SAME_AS, term) for triple in triples for term in (*triple, SAME_AS)}


def identities(triples: Iterable[Triple], equality: str) -> set[Triple]:
    """Where owl:sameAs equals another term (eq-rep-p): that both of them relate every term to itself."""
    names = {o for s, p, o in triples if s == p == SAME_AS} if equality != "off" else set()
    return {(term, name, term) for triple in triples for term in triple for name in names} if len(names) > 1 else set()


def is_literal(*terms: str) -> bool:
    return any(term.startswith('"') for term in terms)


def rdf_only(triples: Iterable[Triple]) -> set[Triple]:
    """The triples that RDF allows: no literal as subject, only IRIs as predicates."""
    return {(s, p, o) for s, p, o in triples if not is_literal(s) and p.startswith("<")}


def congruent(triples: set[Triple], apart: set[Pair]) -> set[Triple]:
    """The triples with equals put for equals everywhere.

    apart: literals that equal each other and, as far as is known, no IRI or blank node. Triples that say so are taken
    out and put there: they make nothing equal, until one of the two equals an IRI or a blank node.
    """
    while True:
        equals: dict[str, set[str]] = defaultdict(set)
        for s, p, o in triples:
            if p == SAME_AS and s != o and not (is_literal(s) and is_literal(o)):
                together = {s, o} | equals[s] | equals[o]
                equals.update(dict.fromkeys(together, together))
        united = {pair for pair in apart if equals.get(pair[0]) or equals.get(pair[1])}
        apart -= united
        triples = triples | {(s, SAME_AS, o) for s, o in united}
        # One triple of each set of equals: a class of k terms makes k³ of one, and each of these would make them again.
        first = {tuple(min(equals.get(term) or {term}) for term in triple) for triple in triples}
        replaced = {new for triple in first for new in product(*(equals.get(term) or {term} for term in triple))}
        replaced |= {(a, SAME_AS, b) for together in equals.values() for a in together for b in together}
        names = equals.get(SAME_AS) or {SAME_AS}
        for s, p, o in list(replaced):
            if p in names and s != o and is_literal(s) and is_literal(o) and not (equals.get(s) or equals.get(o)):
                replaced.remove((s, p, o))
                apart.add((s, o))
        if replaced == triples:
            return triples
        triples = replaced
