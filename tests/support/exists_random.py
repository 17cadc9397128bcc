"""Random queries about EXISTS: what stands in its pattern reads what is outside, wherever it is read there."""

from __future__ import annotations

from random import Random

from tests.support.sparql_random import IRIS, LITERALS, NAMES, PREDICATES, NestedWriter, Vocabulary


def random_exists_query(rng: Random) -> str:
    """A query with EXISTS in FILTER, BIND, the condition of an OPTIONAL, HAVING or an aggregate, whose pattern has
    inline data, sub-SELECTs, aggregates, OPTIONAL and EXISTS."""
    return ExistsWriter(rng, Vocabulary(IRIS, PREDICATES, LITERALS, LITERALS)).select()


class ExistsWriter(NestedWriter):
    """Writes them. No BIND of an outer variable and no MINUS inside: what substitution does to these is disputed."""

    def exists(self, depth: int) -> str:
        return f"{self.rng.choice(['', 'NOT '])}EXISTS {{ {self.inside(depth)} }}"

    def inside(self, depth: int) -> str:
        if depth == 0:
            return self.rng.choice([self.bgp(), f"VALUES ?{self.name()} {self.column()}"])
        parts = [self.part(depth - 1) for _ in range(self.rng.randint(1, 2))]
        return " ".join(parts if self.one_in(2) else [self.bgp(), *parts])

    def part(self, depth: int) -> str:
        one, two = self.rng.sample(NAMES, 2)
        match self.rng.randrange(10):
            case 0 | 1:
                return f"VALUES ?{self.name()} {self.column()}"
            case 2:
                return f"VALUES (?x ?y) {{ {self.row()} {self.row()} }}"
            case 3:
                return f"FILTER {self.exists(depth)}"
            case 4:
                return f"{{ SELECT {self.rng.choice(['', 'DISTINCT '])}?{one} ?{two} {{ {self.inside(depth)} }} }}"
            case 5:
                self.fresh += 1
                having = self.rng.choice(["", "HAVING (COUNT(*) > 1)"])
                return f"{{ SELECT (COUNT(?{one}) AS ?c{self.fresh}) {{ {self.bgp()} }} {having} }}"
            case 6:
                return f"{{ SELECT ?{one} {{ {self.bgp()} }} GROUP BY ?{one} HAVING (COUNT(?{two}) > 1) }}"
            case 7:
                return f"OPTIONAL {{ {self.inside(depth)} }}"
            case 8:
                return f"FILTER({self.test(1)})"
        return f"{{ {self.inside(depth)} }} UNION {{ {self.bgp()} }}"

    def select(self) -> str:
        names = " ".join(f"?{name}" for name in self.rng.sample(NAMES, self.rng.randint(1, 3)))
        key, test = self.name(), self.exists(2)
        body = f"{self.bgp()} {self.element(1) if self.one_in(2) else ''}"
        match self.rng.randrange(8):
            case 0:
                return f"SELECT {names} ({test} AS ?e) {{ {body} }}"
            case 1:
                return f"SELECT ?{key} (SUM(IF({test}, 1, 0)) AS ?n) {{ {body} }} GROUP BY ?{key}"
            case 2:
                return f"SELECT {names} {{ {body} OPTIONAL {{ {self.bgp()} FILTER {test} }} }}"
            case 3:
                return f"SELECT {names} {{ {body} BIND({test} AS ?e) FILTER(?e || {self.test(1)}) }}"
            case 4:
                return f"SELECT ?{key} (COUNT(*) AS ?n) {{ {body} }} GROUP BY ?{key} HAVING ({test})"
        return f"SELECT {self.rng.choice(['', 'DISTINCT '])}{names} {{ {body} FILTER {test} }}"
