"""The oracle: the closure of facts under rules by brute force, to compare the library's answers with.

It shares no code with the library but the dataclasses of rules and their parser: facts are sets of token triples (see
`triplestore.model.terms`), every rule is matched against all facts in every round until nothing is new, and equality is
the congruence that table 4 of OWL 2 Profiles defines, worked out on the expanded facts. Slow, and plain to see.

NOT and AGGREGATE are read off a closure that is given, as Gelfond and Lifschitz (1988) define stable models: a closure
is right if it is the closure of its facts under the rules with their negation decided by itself. Stratified programs
have exactly one such closure, so no strata are needed here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from itertools import product

from tests.support import literal_values
from tests.support.oracle_expressions import ExpressionError, aggregate, evaluate, is_true, same_value
from triplestore.model.rule import (
    Aggregate,
    Atom,
    Bind,
    BodyElement,
    Filter,
    Holds,
    ListOf,
    MemberOf,
    Not,
    Rule,
    Span,
    SpanEnd,
    Term,
    Var,
)
from triplestore.model.terms import BUILTIN_IDS

Triple = tuple[str, str, str]
Violation = tuple[str, frozenset[Triple]]
Pair = tuple[str, str]
Binding = dict[str, str | int]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TYPE = f"<{RDF}type>"
FIRST, REST, NIL = f"<{RDF}first>", f"<{RDF}rest>", f"<{RDF}nil>"
XSD = "http://www.w3.org/2001/XMLSchema#"
EXACT = (
    "decimal|integer|nonNegativeInteger|nonPositiveInteger|positiveInteger|negativeInteger|long|int|short|byte|"
    "unsignedLong|unsignedInt|unsignedShort|unsignedByte"
)
SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"


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
    makes nothing equal and is no triple unless one of the two equals an IRI or a blank node. Two literals that are
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
    for token in (*met, *sorted(literals, key=str.encode)):
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

    typed = frozenset(
        (token, TYPE, f"<{datatype}>")
        for token in first.values()
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


class World:
    """The facts of one round, every triple filed under each of its patterns (None: anything), and their rdf lists.

    settled: what NOT and AGGREGATE read. alike: whether owl:sameAs makes terms one. typed: types of literals, which
    only atoms that ask for one by name see.
    """

    def __init__(
        self,
        triples: set[Triple],
        settled: World | None = None,
        alike: bool = True,
        typed: frozenset[Triple] = frozenset(),
    ) -> None:
        self.settled, self.alike = settled, alike
        self.filed: dict[tuple[str | None, ...], list[Triple]] = defaultdict(list)
        for s, p, o in triples:
            for pattern in product((s, None), (p, None), (o, None)):
                self.filed[pattern].append((s, p, o))
        for s, p, o in typed - triples:
            for subject in (s, None):
                self.filed[subject, p, o].append((s, p, o))
        self.numbers: dict[Decimal, set[str]] = defaultdict(set)
        for term in {term for triple in triples for term in triple}:
            if (number := exact(term)) is not None:
                self.numbers[number].add(term)
        heads = {s for s, _, _ in self.filed.get((None, FIRST, None), [])}
        self.lists = {(head, members) for head in heads for members in self.members(head, frozenset([head]))}

    def members(self, node: str, seen: frozenset[str]) -> Iterator[tuple[str, ...]]:
        """The members along every path of rdf:rest from a node to rdf:nil that visits no node (nor its equal) twice."""
        for _, _, member in self.filed.get((node, FIRST, None), []):
            for _, _, rest in self.filed.get((node, REST, None), []):
                if rest == NIL:
                    yield (member,)
                elif not any(rest == old or (rest, SAME_AS, old) in self.filed for old in seen):
                    yield from ((member, *more) for more in self.members(rest, seen | {rest}))

    def matches(self, rule: Rule) -> Iterator[tuple[list[Triple], frozenset[Triple]]]:
        """For each way to match the rule's body: its heads, and the triples that its atoms matched."""
        lengths = {len(members) for _, members in self.lists}
        for n in lengths if any(isinstance(element, ListOf) for element in rule.body) else [0]:
            heads = [plain for head in rule.heads for plain in spread(head, n)]
            body = [plain for element in rule.body for plain in spread(element, n)]
            body.sort(key=turn)
            for binding, used in (
                match for one in self.spellings(body) for match in self.solve(one, {}, frozenset(), n)
            ):
                yield [tuple(str(value(term, binding)) for term in head.terms) for head in heads], used

    def spellings(self, body: list[BodyElement]) -> Iterator[list[BodyElement]]:
        """The body with each number in its atoms spelled in every way that the facts spell it: 1, "01"^^xsd:byte .."""

        def ways(element: BodyElement) -> list[BodyElement]:
            if not isinstance(element, Atom):
                return [element]
            values = [exact(term) if isinstance(term, str) else None for term in element.terms]
            options = [[t] if v is None else self.numbers[v] for t, v in zip(element.terms, values, strict=True)]
            return [Atom(*terms) for terms in product(*options)]

        return map(list, product(*(ways(element) for element in body)))

    def solve(
        self, body: list[BodyElement], binding: Binding, used: frozenset[Triple], n: int
    ) -> Iterator[tuple[Binding, frozenset[Triple]]]:
        if not body:
            yield binding, used
            return
        element, rest = body[0], body[1:]
        if isinstance(element, Atom):
            pattern = tuple(value(term, binding) for term in element.terms)
            for triple in self.filed.get(pattern, []):
                if (bound := bind(element.terms, triple, binding)) is not None:
                    yield from self.solve(rest, bound, used | {triple}, n)
        elif isinstance(element, ListOf):
            names = [Var(f"{element.items.stem}{element.items.first + i}") for i in range(n)]
            for head, members in self.lists:
                if len(members) == n and (bound := bind((element.list, *names), (head, *members), binding)) is not None:
                    yield from self.solve(rest, bound, used, n)
        elif isinstance(element, MemberOf):
            terms = (element.list, element.item) + (() if element.position is None else (element.position,))
            for head, members in self.lists:
                for position, member in enumerate(members):
                    if (bound := bind(terms, (head, member, position)[: len(terms)], binding)) is not None:
                        yield from self.solve(rest, bound, used, n)
        elif isinstance(element, Aggregate):
            assert self.settled is not None
            terms = (*element.keys, *(result.variable for result in element.results))
            for row in self.settled.groups(element, n):
                if (bound := bind(terms, row, binding)) is not None:
                    yield from self.solve(rest, bound, used, n)
        elif isinstance(element, Not):
            assert self.settled is not None
            if not any(True for _ in self.settled.absent(element.body, binding, n)):
                yield from self.solve(rest, binding, used, n)
        elif isinstance(element, Bind):
            try:
                made = evaluate(element.expression, binding)
            except ExpressionError:
                return
            name = element.variable.name
            binding = {name: made} | binding
            if binding[name] == made or same_value(str(binding[name]), made):
                yield from self.solve(rest, binding, used, n)
        elif isinstance(element, Holds):
            if is_true(element.expression, binding):
                yield from self.solve(rest, binding, used, n)
        else:
            left, right = value(element.left, binding), value(element.right, binding)
            compare = {"=": left == right, "!=": left != right}
            if element.operator in ("<", ">"):
                compare = {"<": left < right, ">": left > right}
            if compare[element.operator]:
                yield from self.solve(rest, binding, used, n)

    def absent(self, body: Iterable[BodyElement], binding: Binding, n: int) -> Iterator[Binding]:
        """The matches of a NOT or AGGREGATE: a variable predicate is any but an owl:sameAs that makes terms one, by
        whatever name."""
        ordered = sorted(body, key=lambda element: not isinstance(element, Atom))
        variables = {e.p.name for e in ordered if isinstance(e, Atom) and isinstance(e.p, Var)}
        for found, _ in self.solve([p for e in ordered for p in spread(e, n)], dict(binding), frozenset(), n):
            if not (self.alike and self.names(SAME_AS) & {str(found[name]) for name in variables}):
                yield found

    def groups(self, element: Aggregate, n: int) -> Iterator[tuple[str, ...]]:
        """Keys and results of each group, for every name that equal terms have."""
        settled = World(set(), self, self.alike)  # its NOTs read the same facts
        settled.filed, settled.numbers, settled.lists = self.filed, self.numbers, self.lists
        names = {t.name for e in element.body if isinstance(e, Atom) for t in e.terms if isinstance(t, Var)}
        matches = {
            tuple(sorted((name, self.first(str(found[name]))) for name in names))
            for found in settled.absent(element.body, {}, n)
        }
        groups: dict[tuple[str, ...], list[Binding]] = defaultdict(list)
        for match in matches:
            binding = dict(match)
            for part in element.body:
                if isinstance(part, Bind):
                    binding[part.variable.name] = evaluate(part.expression, binding)
            groups[tuple(binding[key.name] for key in element.keys)].append(binding)
        for key, members in groups.items():
            try:
                results = [aggregate(r.function, r.argument, r.distinct, members) for r in element.results]
            except ExpressionError:
                continue
            yield from product(*(self.names(term) for term in (*key, *results)))

    def names(self, term: str) -> set[str]:
        """All terms that equal one."""
        return {term} | ({o for _, _, o in self.filed.get((term, SAME_AS, None), [])} if self.alike else set())

    def first(self, term: str) -> str:
        """The one of them that stands for all: built-in, IRI, blank node, by the text."""
        return min(self.names(term), key=lambda t: (t not in BUILTIN_IDS, '<_"'.index(t[0]), t))


def turn(element: BodyElement) -> int:
    """When an element is solved: what binds variables before what reads them."""
    match element:
        case Aggregate():
            return 1
        case Bind():
            return 2
        case Filter() | Holds() | Not():
            return 3
    return 0


def spread(element: BodyElement, n: int) -> list[BodyElement]:
    """The element for lists of n members: an atom with spans is n atoms; `?un` is the variable numbered n."""
    if isinstance(element, Not | Aggregate | Bind | Holds):
        return [element]
    terms = {part.name: getattr(element, part.name) for part in fields(element)}
    terms = {name: Var(f"{term.stem}{n}") if isinstance(term, SpanEnd) else term for name, term in terms.items()}
    spans = {name: term for name, term in terms.items() if isinstance(term, Span)}
    if isinstance(element, ListOf) or not spans:
        return [type(element)(**terms)]
    return [
        Atom(**terms | {name: Var(f"{span.stem}{span.first + i}") for name, span in spans.items()}) for i in range(n)
    ]


def exact(term: str) -> Decimal | None:
    """The value of a literal of xsd:decimal or a type derived from it; None of anything else."""
    match = re.fullmatch(rf'"([+-]?(?:\d+\.?\d*|\.\d+))"\^\^<{XSD}(?:{EXACT})>', term)
    return Decimal(match[1]) if match else None


def value(term: Term, binding: Binding) -> str | int | None:
    """A constant itself, a variable's value, or None where it has none yet."""
    return term if isinstance(term, str) else binding.get(term.name)


def bind(terms: Iterable[Term], values: Iterable[str | int], binding: Binding) -> Binding | None:
    """The binding with the variables among the terms bound to the values, or None where they clash."""
    bound = dict(binding)
    for term, given in zip(terms, values, strict=True):
        if isinstance(term, str):
            if term != given:
                return None
        elif bound.setdefault(term.name, given) != given:
            return None
    return bound
