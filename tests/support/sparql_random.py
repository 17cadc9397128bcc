"""Random graphs with equality classes, and random queries of the supported algebra, from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.support.sparql import SAME, Triple
from triplestore.model.terms import XSD

IRIS = [f"<http://e/{name}>" for name in "abcdefgh"]
BLANKS = ["_:m", "_:n"]
PREDICATES = ["<http://e/p>", "<http://e/q>", "<http://e/r>"]
LITERALS = [
    f'"1"^^<{XSD}integer>',
    f'"1.0"^^<{XSD}decimal>',
    f'"2.5"^^<{XSD}decimal>',
    f'"1e0"^^<{XSD}double>',
    f'"-3"^^<{XSD}double>',
    f'"NaN"^^<{XSD}double>',
    '"a"',
    '"b"',
    '"1"',
    '"a"@en',
    '"a"@fr',
    f'"true"^^<{XSD}boolean>',
    f'"false"^^<{XSD}boolean>',
    f'"x"^^<{XSD}integer>',
    '"a"^^<http://e/type>',
    f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>',
    f'"2020-01-01T01:00:00+02:00"^^<{XSD}dateTime>',
    f'"2021-01-01"^^<{XSD}date>',
]
NAMES = ["x", "y", "z", "w"]


def random_graph(rng: Random) -> tuple[list[Triple], list[list[str]], list[Triple]]:
    """(facts, classes of equal terms, asserted)."""
    subjects = [*IRIS, *BLANKS]
    pool = rng.sample(subjects, rng.randint(3, 9))
    predicates = PREDICATES if rng.random() < 0.8 else [*PREDICATES, *pool[:1]]
    literals = rng.sample(LITERALS, rng.randint(2, 8))
    facts = []
    for _ in range(rng.randint(2, 14)):
        o = rng.choice(pool) if rng.random() < 0.5 else rng.choice(literals)
        p = rng.choice([p for p in predicates if p[0] == "<"])
        facts.append((rng.choice(pool), p, o))
    classes: list[list[str]] = []
    left = [*pool, *PREDICATES] if rng.random() < 0.2 else list(pool)
    rng.shuffle(left)
    for _ in range(rng.randint(0, 3)):
        size = rng.randint(2, 4)
        if len(left) >= size:
            classes.append([left.pop() for _ in range(size)])
    asserted = [(t, SAME, t) for t in rng.sample(subjects, 2) if rng.random() < 0.4]
    return facts, classes, asserted


@dataclass(frozen=True)
class Vocabulary:
    """The terms that queries speak of. literals: in expressions; matched: those that patterns ask for."""

    iris: Sequence[str]
    predicates: Sequence[str]
    literals: Sequence[str]
    matched: Sequence[str]


def random_query(rng: Random) -> str:
    """A query whose answer is a well-defined bag."""
    return Writer(rng, Vocabulary(IRIS, PREDICATES, LITERALS, LITERALS)).select()


class Writer:
    """Writes patterns and queries."""

    def __init__(self, rng: Random, vocabulary: Vocabulary) -> None:
        self.rng, self.vocabulary = rng, vocabulary
        self.fresh = 0

    def one_in(self, n: int) -> bool:
        return self.rng.randrange(n) == 0

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def constant(self) -> str:
        return self.rng.choice([*self.vocabulary.iris, *self.vocabulary.literals])

    def node(self, literal: bool) -> str:
        if self.rng.random() < 0.75:
            return f"?{self.name()}"
        if self.one_in(5):
            return "[]"
        return self.rng.choice([*self.vocabulary.iris, *self.vocabulary.matched * literal])

    def triple(self) -> str:
        named = self.vocabulary.predicates
        p = self.rng.choice([*named * 3, SAME, SAME, f"?{self.name()}", f"?{self.name()}", f"^{named[0]}"])
        if self.one_in(12):
            p = f"{named[0]}/{named[1]}"
        s, o = self.node(False), self.node(True)
        if p == SAME and s == o and s[0] == "<":  # holds of any term at all, in the graph or not
            o = "?x"
        return f"{s} {p} {o} ."

    def value(self, depth: int) -> str:
        if depth == 0 or self.one_in(3):
            return f"?{self.name()}" if self.rng.random() < 0.7 else self.constant()
        a, b = self.value(depth - 1), self.value(depth - 1)
        return self.rng.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} * {b})",
                f"({a} / {b})",
                f"(-{a})" if a[0] == "?" else f"STR({a})",
                f"STR({a})",
                f"LANG({a})",
                f"DATATYPE({a})",
                f"IF({self.test(depth - 1)}, {a}, {b})",
                f"COALESCE({a}, {b})",
                f"STRLEN(STR({a}))",
                f"UCASE({a})",
                f"CONCAT({a}, {b})",
                f"SUBSTR({a}, 1, 1)",
                f"ABS({a})",
                f"FLOOR({a})",
                f"<{XSD}integer>({a})",
                f"<{XSD}string>({a})" if a[:9] != '"NaN"^^<h' else f"STR({a})",
                f"({self.test(depth - 1)})",
                f"YEAR({a})",
            ]
        )

    def test(self, depth: int) -> str:
        a, b = self.value(depth), self.value(depth)
        if depth and self.one_in(2):
            one, two = self.test(depth - 1), self.test(depth - 1)
            return self.rng.choice([f"({one} && {two})", f"({one} || {two})", f"!({one})"])
        return self.rng.choice(
            [
                f"{a} = {b}",
                f"?{self.name()} = {self.constant()}",
                f"?{self.name()} != {self.constant()}",
                f"{a} != {b}",
                f"{a} < {b}",
                f"{a} >= {b}",
                f"BOUND(?{self.name()})",
                f"isIRI({a})",
                f"isBLANK({a})",
                f"isLITERAL({a})",
                f"isNUMERIC({a})",
                f"sameTerm({a}, {b})",
                f"{a} IN ({b}, {self.constant()})",
                f"{a} NOT IN ({b}, {self.constant()})",
                f"CONTAINS({a}, {b})",
                f'REGEX({a}, "^a", "i")',
                f'langMatches(LANG({a}), "*")',
                a,
            ]
        )

    def bgp(self) -> str:
        return " ".join(self.triple() for _ in range(self.rng.randint(1, 3)))

    def group(self, depth: int) -> str:
        parts = [self.bgp()] if not self.one_in(8) else []
        for _ in range(self.rng.randint(0, 2)):
            kind = self.rng.randrange(9)
            if kind <= 1:
                filter_ = f"FILTER({self.test(1)})" if self.one_in(2) else ""
                parts.append(f"OPTIONAL {{ {self.bgp()} {filter_} }}")
            elif kind == 2 and depth:
                parts.append(f"{{ {self.group(depth - 1)} }} UNION {{ {self.group(depth - 1)} }}")
            elif kind == 3:
                self.fresh += 1
                parts.append(f"BIND({self.value(2)} AS ?b{self.fresh})")
                if self.one_in(2):
                    parts.append(f"FILTER(?b{self.fresh} = {self.value(1)} || {self.test(1)})")
                elif self.one_in(2):
                    parts.append(f"OPTIONAL {{ ?o{self.fresh} {self.vocabulary.predicates[1]} ?b{self.fresh} }}")
            elif kind == 4:
                parts.append(f"VALUES (?x ?y) {{ {self.row()} {self.row()} {self.row()} }}")
            elif kind == 5:
                parts.append(f"MINUS {{ {self.bgp()} }}")
            elif kind == 6:
                parts.append(f"FILTER {self.rng.choice(['', 'NOT '])}EXISTS {{ {self.bgp()} }}")
            elif kind == 7 and depth:
                names = self.rng.sample(NAMES, 2)
                distinct = self.rng.choice(["", "DISTINCT "])
                parts.append(f"{{ SELECT {distinct}?{names[0]} ?{names[1]} {{ {self.group(depth - 1)} }} }}")
            else:
                parts.append(f"FILTER({self.test(2)})")
        return " ".join(parts)

    def row(self) -> str:
        return f"({' '.join('UNDEF' if self.one_in(4) else self.constant() for _ in range(2))})"

    def select(self) -> str:
        body = self.group(2)
        if self.one_in(3):
            key, other = self.rng.sample(NAMES, 2)
            functions = [
                f"COUNT(?{other})",
                "COUNT(*)",
                f"COUNT(DISTINCT ?{other})",
                f"SUM(?{other})",
                f"AVG(?{other})",
            ]
            functions.append(f"SUM(DISTINCT ?{other})")
            first, second = self.rng.sample(functions, 2)
            if self.one_in(2):
                return f"SELECT ({first} AS ?n) ({second} AS ?m) {{ {body} }}"
            having = "HAVING (COUNT(*) > 1)" if self.one_in(3) else ""
            return f"SELECT ?{key} ({first} AS ?n) ({second} AS ?m) {{ {body} }} GROUP BY ?{key} {having}"
        if self.one_in(3):
            return f"SELECT * {{ {body} }}"
        names = self.rng.sample(NAMES, self.rng.randint(1, 3))
        distinct = self.rng.choice(["", "", "DISTINCT "])
        return f"SELECT {distinct}{' '.join(f'?{name}' for name in names)} {{ {body} }}"


def random_path_query(rng: Random) -> str:
    """As `random_query`, half of the patterns repeated paths; EXISTS, MINUS and sub-SELECTs nested around them."""
    return PathWriter(rng, Vocabulary(IRIS, PREDICATES, LITERALS, LITERALS)).select()


def everywhere() -> list[Triple]:
    """Facts that have every term of path queries in the graph, at the ends of a fact."""
    ends = [*IRIS, *PREDICATES, SAME, "<http://e/all>"]
    return [(end, "<http://e/all>", LITERALS[n % len(LITERALS)]) for n, end in enumerate(ends)] + [
        (IRIS[n % len(IRIS)], "<http://e/all>", literal) for n, literal in enumerate(LITERALS)
    ]


class PathWriter(Writer):
    """Writes queries with repeated paths.

    Left out is where engines differ, and the answers are held to the standard one by one: alternatives outside of
    repetitions (which are sets), MINUS inside of EXISTS (is a substituted variable shared?), and terms that are not in
    the graph (does such a one lead to itself?): see `everywhere`.
    """

    def step(self, depth: int) -> str:
        """A path without alternatives."""
        kind = self.rng.randrange(6)
        if depth and kind == 0:
            return f"({self.step(depth - 1)}/{self.step(depth - 1)})"
        if kind == 1:
            return f"^{self.rng.choice(PREDICATES)}"
        if kind == 2:
            return f"!({self.rng.choice(PREDICATES)}|^{self.rng.choice(PREDICATES)})"
        return self.rng.choice([*PREDICATES, *PREDICATES, SAME])

    def triple(self) -> str:
        if self.one_in(2):
            return super().triple()
        inner = self.step(1) if self.rng.random() < 0.6 else f"{self.step(0)}|{self.step(1)}"
        return f"{self.node(False)} ({inner}){self.rng.choice('*+?')} {self.node(True)} ."

    def group(self, depth: int) -> str:
        found = super().group(depth)
        kind = self.rng.randrange(5)
        if kind == 0:
            found += f" FILTER {self.rng.choice(['', 'NOT '])}EXISTS {{ {self.bgp()} OPTIONAL {{ {self.bgp()} }} }}"
        elif kind == 1:
            found += f" MINUS {{ {self.bgp()} FILTER EXISTS {{ {self.bgp()} }} }}"
        elif kind == 2 and depth:
            found += f" {{ SELECT DISTINCT ?x ?z {{ {self.bgp()} FILTER NOT EXISTS {{ {self.bgp()} }} }} }}"
        return found


def random_bound_path_query(rng: Random) -> str:
    """A query with a repeated path of which something else binds an end, in any of the ways there are."""
    return BoundPathWriter(rng, Vocabulary(IRIS, PREDICATES, LITERALS, LITERALS)).select()


class BoundPathWriter(PathWriter):
    """Writes paths between variables, next to what binds them: triples, VALUES, BIND, FILTER, sub-SELECTs, other paths;
    on either side, in groups, UNION, OPTIONAL, MINUS and EXISTS, as parts of sequences and of other repetitions."""

    def step(self, depth: int) -> str:
        if depth and self.one_in(4):
            return f"({self.step(depth - 1)}/({self.step(0)}){self.rng.choice('*+?')})"
        return super().step(depth)

    def path(self) -> str:
        s, o = (f"?{self.name()}" for _ in range(2))
        repeated = f"({self.step(2)}){self.rng.choice('*++?')}"
        step = self.rng.choice([*PREDICATES, f"^{PREDICATES[0]}"])
        around = self.rng.choice(("{}", "{}", "{}", f"{step}/{{}}", f"{{}}/{step}", "^({})"))
        if "!" in repeated and around[0] == "^":  # which RDFLib cannot turn round
            around = "{}"
        return f"{s} {around.format(repeated)} {o} ."

    def binder(self, depth: int) -> str:
        """What binds an end of a path, maybe."""
        name, iri = self.name(), self.rng.choice(self.vocabulary.iris)
        self.fresh += 1
        match self.rng.randrange(10):
            case 0:
                return f"VALUES ?{name} {{ {iri} {self.constant()} }}"
            case 1:
                return f"VALUES (?x ?y) {{ {self.row()} {self.row()} }}"
            case 2:
                return f"{{ BIND({iri} AS ?{name}) }}"
            case 3:
                return f"{{ BIND(IRI(CONCAT(STR({iri}), '')) AS ?{name}) }}"
            case 4:
                return f"{{ ?b{self.fresh} {self.rng.choice(PREDICATES)} ?c . BIND(?b{self.fresh} AS ?{name}) }}"
            case 5:
                return f"FILTER(?{name} = {iri})"
            case 6:
                return f"FILTER(?{name} IN ({iri}, {self.rng.choice(self.vocabulary.iris)}))"
            case 7 if depth:
                return f"{{ SELECT DISTINCT ?{name} {{ {self.bgp()} }} }}"
            case 8:
                return f"FILTER EXISTS {{ {self.triple()} {self.rng.choice(['', self.triple()])} }}"
        return self.triple()

    def bound(self, depth: int) -> str:
        """A path and what binds its ends, in some order."""
        parts = [self.path(), *(self.binder(depth) for _ in range(self.rng.randint(1, 2)))]
        if self.one_in(4):
            parts.append(self.path())
        self.rng.shuffle(parts)
        return " ".join(parts)

    def group(self, depth: int) -> str:
        inner = self.path() if depth == 0 or self.one_in(2) else self.bound(depth - 1)
        more = self.rng.choice(["", "", f"{self.path()}", f"FILTER({self.test(1)})"])
        match self.rng.randrange(10):
            case 0:
                return f"{self.binder(depth)} OPTIONAL {{ {inner} {more} }}"
            case 1:
                return f"{self.triple()} {self.binder(depth)} MINUS {{ {inner} {more} }}"
            case 2:
                exists = f"FILTER {self.rng.choice(['', 'NOT '])}EXISTS {{ {self.path()} {self.triple()} {more} }}"
                return f"{self.triple()} {self.binder(depth)} {exists}"
            case 3:
                return f"{self.binder(depth)} {{ {inner} {more} }} UNION {{ {self.bound(0)} }}"
            case 4:
                names = " ".join(f"?{name}" for name in self.rng.sample(NAMES, 2))
                return f"{{ SELECT DISTINCT {names} {{ {inner} {more} }} }} {self.binder(depth)}"
            case 5:
                key = self.name()
                return f"{self.binder(depth)} {{ SELECT ?{key} (COUNT(*) AS ?c) {{ {inner} }} GROUP BY ?{key} }}"
            case 6:
                return f"{self.binder(depth)} {{ {inner} OPTIONAL {{ {self.path()} }} }}"
        return self.bound(depth)


def random_grouped_query(rng: Random) -> str:
    """A query about aggregates: grouped by terms and expressions, HAVING, in sub-SELECTs, over OPTIONAL and VALUES, and
    of properties that equal each other."""
    return GroupWriter(rng, Vocabulary(IRIS, PREDICATES, LITERALS, LITERALS)).select()


class GroupWriter(Writer):
    """Writes queries with aggregates. SUM and AVG stand alone in no condition: an error there is one of the group."""

    def aggregate(self, name: str) -> str:
        distinct = self.rng.choice(["", "", "DISTINCT "])
        return self.rng.choice(
            [
                *(f"COUNT({distinct}?{name})", "COUNT(*)", f"SUM({distinct}?{name})", f"AVG(?{name})"),
                *(f"MIN(STR(?{name}))", f"MAX(STRLEN(STR(?{name})))"),
            ]
        )

    def pattern(self) -> str:
        """A group of the kinds that aggregates are often over."""
        p, q = self.rng.sample(self.vocabulary.predicates, 2)
        return self.rng.choice(
            [
                self.group(1),
                self.bgp(),
                f"{self.bgp()} OPTIONAL {{ {self.bgp()} }}",
                f"{self.bgp()} OPTIONAL {{ {self.bgp()} FILTER({self.test(1)}) }}",
                f"?x ?y ?z . ?y {SAME} ?w",
                f"?x ?y ?z . ?w {SAME} ?y . {self.bgp()}",
                f"?y {SAME} {p} . ?x ?y ?z OPTIONAL {{ ?z {q} ?w }}",
                f"VALUES (?x ?y) {{ {self.row()} {self.row()} }} {self.bgp()}",
                f"{self.bgp()} {self.counted()}",
                f"{self.bgp()} BIND({self.value(1)} AS ?b)",
            ]
        )

    def counted(self) -> str:
        """A sub-SELECT with an aggregate."""
        key, other = self.rng.sample(NAMES, 2)
        having = self.rng.choice(["", "HAVING (COUNT(*) > 1)"])
        return (
            f"{{ SELECT ?{key} (COUNT(?{other}) AS ?c) {{ {self.bgp()} OPTIONAL {{ {self.bgp()} }} }} "
            f"GROUP BY ?{key} {having} }} {self.rng.choice(['', 'FILTER(?c > 0)'])}"
        )

    def having(self, key: str, name: str) -> str:
        return self.rng.choice(
            [
                *("", "", "HAVING (COUNT(*) > 1)", f"HAVING (COUNT(DISTINCT ?{name}) = 1)"),
                f"HAVING (COUNT(?{name}) < COUNT(*) || ?{key} = {self.constant()})",
                f"HAVING (BOUND(?{key}) && COUNT(*) <= 4)",
                f"HAVING (COUNT(?{name}) >= 1) (!isBLANK(?{key}))",
            ]
        )

    def select(self) -> str:
        key, second, name = self.rng.sample(NAMES, 3)
        body, found = self.pattern(), f"({self.aggregate(name)} AS ?n) ({self.aggregate(second)} AS ?m)"
        kind = self.rng.randrange(5)
        if kind == 0:
            return f"SELECT {found} {{ {body} }}"
        if kind == 1:
            return f"SELECT ?{key} ?{second} {found} {{ {body} }} GROUP BY ?{key} ?{second} {self.having(key, name)}"
        if kind == 2:
            return f"SELECT ?k {found} {{ {body} }} GROUP BY (COALESCE({self.value(1)}) AS ?k) {self.having('k', name)}"
        return f"SELECT ?{key} {found} {{ {body} }} GROUP BY ?{key} {self.having(key, name)}"


def random_typed_query(rng: Random) -> str:
    """A query that computes with what it has computed and counted before: types are known from the expressions."""
    return TypedWriter(rng, Vocabulary(IRIS, PREDICATES, LITERALS, LITERALS)).select()


class TypedWriter(GroupWriter):
    """Writes chains of BINDs, aggregates over them, and conditions and orders about both, merged by OPTIONAL, UNION and
    VALUES with terms of other types."""

    def whole(self, names: Sequence[str]) -> str:
        """An expression that is mostly a whole number, a truth or a string."""
        a, b = (self.rng.choice([*(f"?{name}" for name in names), "2", "-1"]) for _ in range(2))
        return self.rng.choice(
            [
                *(f"({a} + {b})", f"({a} * {b})", f"({a} - 99999999999999999999)", f"({a} / {b})", f"ABS({a})"),
                *(f"STRLEN(STR({a}))", f"STR({a})", f"({a} < {b})", f"IF({a} > 1, {b}, '03'^^<{XSD}integer>)"),
                *(f"COALESCE({a}, {b})", f"CONCAT(STR({a}), 'x')", f"FLOOR({a})", f"<{XSD}double>({a})", f"(-{a})"),
                *(f"SUBSTR(STR({a}), 1, 2)", f"({a} = {b})", f"YEAR({a})", f"<{XSD}integer>({a})"),
            ]
        )

    def select(self) -> str:
        key, other = self.rng.sample(NAMES, 2)
        inner = f"SELECT ?{key} ({self.aggregate(other)} AS ?n) {{ {self.bgp()} }} GROUP BY ?{key}"
        names, parts = ["n"], [f"{{ {inner} }}"]
        for number in range(self.rng.randint(1, 4)):
            parts.append(f"BIND({self.whole(names)} AS ?m{number})")
            names.append(f"m{number}")
        last = names[-1]
        mixed = f"{{ {self.bgp()} BIND({self.value(1)} AS ?{last}) }}"
        body = " ".join(parts)
        match self.rng.randrange(6):
            case 0:
                body = f"{{ {body} }} UNION {mixed}"
            case 1:
                body = f"{{ {body} }} OPTIONAL {mixed}"
            case 2:
                body = f"{self.bgp()} OPTIONAL {{ {body} }} FILTER(!BOUND(?{last}) || {self.whole(names)} != 1)"
            case 3:
                body = f"{body} FILTER({self.whole(names)} >= {self.whole(names)})"
            case 4:
                body = f"{{ {body} }} VALUES ?{last} {{ 1 2 '2' {self.constant()} }}"
        if self.one_in(3):
            results = f"({self.aggregate(last)} AS ?r) (MIN(?{last}) AS ?s) (SUM(?{last}) AS ?t)"
            return f"SELECT ?{key} {results} {{ {body} }} GROUP BY ?{key} HAVING({self.rng.choice(['?r', '?s'])} >= 1)"
        shown = " ".join(f"?{name}" for name in (key, *names))
        return f"SELECT {shown} ({self.whole(names)} AS ?last) {{ {body} }} ORDER BY {self.whole(names)}"


def random_nested_query(rng: Random) -> str:
    """A query about scopes: OPTIONAL, MINUS, UNION, EXISTS and sub-SELECTs in each other, BIND, VALUES and FILTER that
    speak of variables within and without."""
    return NestedWriter(rng, Vocabulary(IRIS, PREDICATES, LITERALS, LITERALS)).select()


class NestedWriter(GroupWriter):
    """Writes groups within groups. In EXISTS stand basic graph patterns, OPTIONAL and FILTER only: what substitution
    does to BIND, VALUES and MINUS is disputed."""

    def within(self, depth: int) -> str:
        """A few of the elements of a group, in any order."""
        parts = [self.element(depth) for _ in range(self.rng.randint(1, 3))]
        return " ".join(parts if self.one_in(4) else [self.bgp(), *parts])

    def bound_here(self, depth: int) -> str:
        self.fresh += 1
        return f"BIND({self.value(1)} AS ?b{self.fresh}) {self.element(depth) if depth else ''}"

    def element(self, depth: int) -> str:
        kind = self.rng.randrange(12)
        if depth == 0 or kind == 0:
            return self.rng.choice([self.bgp(), f"FILTER({self.test(1)})", f"VALUES ?{self.name()} {self.column()}"])
        inner = self.within(depth - 1)
        match kind:
            case 1 | 2 | 3:
                return f"OPTIONAL {{ {inner} {self.rng.choice(['', f'FILTER({self.test(1)})'])} }}"
            case 4:
                return f"OPTIONAL {{ {self.bgp()} }} FILTER(!BOUND(?{self.name()}) || {self.test(1)})"
            case 5:
                return f"MINUS {{ {inner} }}"
            case 6:
                return f"{{ {inner} }} UNION {{ {self.within(depth - 1)} }} UNION {{ {self.bgp()} }}"
            case 7:
                return f"{{ {inner} FILTER({self.test(1)}) }}"
            case 8:
                return self.bound_here(depth - 1)
            case 9:
                more = self.rng.choice(["", f"FILTER({self.test(1)})", f"OPTIONAL {{ {self.bgp()} }}"])
                more += self.rng.choice(["", f"FILTER {self.rng.choice(['', 'NOT '])}EXISTS {{ {self.bgp()} }}"])
                return f"FILTER {self.rng.choice(['', 'NOT '])}EXISTS {{ {self.bgp()} {more} }}"
            case 10:
                names = " ".join(f"?{name}" for name in self.rng.sample(NAMES, 2))
                return f"{{ SELECT {self.rng.choice(['', 'DISTINCT '])}{names} {{ {inner} }} }}"
        return self.counted()

    def column(self) -> str:
        return f"{{ {' '.join('UNDEF' if self.one_in(5) else self.constant() for _ in range(3))} }}"

    def pattern(self) -> str:
        return self.within(2)

    def select(self) -> str:
        if self.one_in(4):
            return super().select()
        names = " ".join(f"?{name}" for name in self.rng.sample(NAMES, 3))
        last = self.rng.choice(["", "", f"VALUES ?{self.name()} {self.column()}"])
        return f"SELECT {self.rng.choice(['', 'DISTINCT '])}{names} {{ {self.within(3)} }} {last}"
