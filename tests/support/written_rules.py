"""Random rules and facts, from a seed: bodies of atoms, BIND, FILTER, NOT and AGGREGATE, with expressions within each
other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.support.random_programs import CLASSES, PROPERTIES, SAME, THINGS, TYPE, Triple, ex
from triplake.rulesets import datalog
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule
from triplestore.model.terms import RDFS, XSD

_MOST = 6
"""Parts of an expression."""


@dataclass
class Writer:
    """Writes rules. Variables are given by name; those that atoms bind are x, y, z, u and w."""

    dice: Random
    _results: int = 0
    _parts: int = field(default=0, init=False)

    def rules(self) -> tuple[Rule, ...]:
        """One to three rules. Those that are refused as they are written, unsafe ones, are written again."""
        found: list[Rule] = []
        for number in range(self.dice.choice([1, 2, 2, 3])):
            while True:
                try:
                    found += datalog.parse(f"PREFIX : <http://e/>\n@rule r{number} {self.rule()}", "written")
                    break
                except InputError:
                    continue
        return tuple(found)

    def rule(self) -> str:
        """A rule, as text."""
        dice, body, bound = self.dice, list[str](), set[str]()
        for _ in range(dice.choice([0, 0, 0, 1, 1, 2])):
            text, names = self._aggregate()
            body.append(text)
            bound |= names
        matched = set[str]()
        for _ in range(dice.choice([0, 1, 1, 2] if body else [1, 1, 2, 2])):
            atom = self._atom("xyz")
            body.append(atom)
            matched |= _named(atom)
        bound |= matched
        for _ in range(dice.choice([0, 0, 1, 1, 2])):
            name = dice.choice([*sorted(bound), "b1", "b2", "b1", "b2"])
            body.append(f"BIND({dice.choice([self._number, self._text, self._made])(sorted(bound))} AS ?{name})")
            bound.add(name)
        if dice.random() < 0.3:
            body.append(f"FILTER({self._test(sorted(bound))})")
        for _ in range(dice.choice([0, 0, 1, 1, 2])):
            body.append(f"NOT ({', '.join(self._group([*sorted(matched)[:2], 'w'], sorted(bound)))})")
        return f"{self._head(sorted(bound))} :- {', '.join(body)} ."

    def _head(self, bound: Sequence[str]) -> str:
        def variable() -> str:
            return f"?{self.dice.choice(bound)}" if bound else ":a"

        made = f"[{variable()}, :h{self.dice.randrange(3)}, {variable()}]"
        others = [
            "false",
            f"[{variable()}, a, :C{self.dice.randrange(3)}]",
            f"[{variable()}, owl:sameAs, {variable()}]",
            f"[{variable()}, :p{self.dice.randrange(3)}, {variable()}]",
            f"{made}, [{variable()}, :h1, :a]",
        ]
        return self.dice.choice([made, made, made, made, *others])

    def _atom(self, names: Sequence[str]) -> str:
        def variable() -> str:
            return f"?{self.dice.choice(names)}" if self.dice.random() < 0.8 else self.dice.choice([":a", ":b", ":c"])

        predicate = self.dice.choice("ppppnnhhasv")
        if predicate == "v":
            return f"[{variable()}, ?{self.dice.choice(names)}, {variable()}]"
        if predicate == "a":
            return f"[{variable()}, a, :C{self.dice.randrange(3)}]"
        if predicate == "s":
            return f"[{variable()}, owl:sameAs, {variable()}]"
        if predicate == "n":
            return f"[{variable()}, :n, {self.dice.choice([variable(), variable(), '1', '2'])}]"
        return f"[{variable()}, :{predicate}{self.dice.randrange(3)}, {variable()}]"

    def _group(self, names: Sequence[str], seen: Sequence[str]) -> list[str]:
        """The body of a NOT or AGGREGATE. seen: further variables of its conditions."""
        parts = [self._atom(names) for _ in range(self.dice.choice([1, 1, 2]))]
        if self.dice.random() < 0.4:
            parts.append(f"FILTER({self._test(sorted(_named(*parts) | {*seen}))})")
        return parts

    def _aggregate(self) -> tuple[str, set[str]]:
        """An AGGREGATE, and the variables that it binds."""
        dice, used = self.dice, list[str]()
        while not used:
            parts = self._group("xyu", [])
            used = sorted(_named(*parts))
        if dice.random() < 0.25:
            parts.append(f"NOT {self._atom(used)}")
        self._results += 1
        keys, result = dice.sample(used, dice.randint(0, min(2, len(used)))), f"k{self._results}"
        function = dice.choice(
            [
                "COUNT(*)",
                f"COUNT(?{dice.choice(used)})",
                f"COUNT(DISTINCT ?{dice.choice(used)})",
                f"COUNT(DISTINCT {self._text(used)})",
                f"SUM({self._number(used)})",
                f"SUM(DISTINCT {self._number(used)})",
                f"MIN({self._number(used)})",
                f"MAX(?{dice.choice(used)})",
                f"AVG(?{dice.choice(used)})",
            ]
        )
        listed = " ".join(f"?{key}" for key in keys)
        return f"AGGREGATE({', '.join(parts)} ON {listed} BIND {function} AS ?{result})", {*keys, result}

    # -- expressions ------------------------------------------------------------------------------------------------

    def _full(self) -> bool:
        """Whether an expression has parts enough; begins the next one then."""
        self._parts += 1
        if self._parts > _MOST:
            self._parts = 0
            return True
        return False

    def _variable(self, names: Sequence[str], otherwise: str) -> str:
        return f"?{self.dice.choice(names)}" if names else otherwise

    def _number(self, names: Sequence[str]) -> str:
        kind = "v" if self._full() else self.dice.choice("vvvclioo")
        if kind == "v":
            return self._variable(names, str(self.dice.randint(0, 3)))
        if kind == "c":
            return str(self.dice.randint(-2, 5))
        if kind == "l":
            return f"STRLEN(STR({self._term(names)}))"
        if kind == "i":
            return f"IF({self._test(names)}, {self._number(names)}, {self._number(names)})"
        return f"({self._number(names)} {self.dice.choice('+-*')} {self._number(names)})"

    def _text(self, names: Sequence[str]) -> str:
        kind = "v" if self._full() else self.dice.choice("vvstc")
        if kind == "c":
            return f"CONCAT({self._text(names)}, {self._text(names)})"
        if kind == "s":
            return f"STR({self._term(names)})"
        return (
            f"STR({self._variable(names, ':b')})" if kind == "v" else self.dice.choice(['"v"', '"x"', '"http://e/a"'])
        )

    def _term(self, names: Sequence[str]) -> str:
        kind = "v" if self._full() else self.dice.choice("vvvvctn")
        if kind == "v":
            return self._variable(names, ":a")
        if kind == "c":
            return self.dice.choice([":a", ":b", '"v"', '"x"', "1"])
        return self._text(names) if kind == "t" else f"COALESCE({self._number(names)}, {self._text(names)}, :c)"

    def _made(self, names: Sequence[str]) -> str:
        return f'IRI(CONCAT("http://e/", {self._text(names)}))' if self.dice.random() < 0.3 else self._term(names)

    def _test(self, names: Sequence[str]) -> str:
        kind = "n" if self._full() else self.dice.choice("aonnttkksem")
        if kind in "ao":
            return f"({self._test(names)} {'&&' if kind == 'a' else '||'} {self._test(names)})"
        if kind == "m":
            return f"(!{self._test(names)})"
        if kind == "k":
            return f"{self.dice.choice(['ISIRI', 'ISLITERAL'])}({self._term(names)})"
        if kind == "s":
            return f"STRSTARTS({self._text(names)}, {self._text(names)})"
        if kind == "e":
            return f"sameTerm({self._term(names)}, {self._term(names)})"
        if kind == "t":
            return f"({self._term(names)} {self.dice.choice(['=', '!='])} {self._term(names)})"
        return f"({self._number(names)} {self.dice.choice(['=', '!=', '<', '>=', '>'])} {self._number(names)})"


def _named(*texts: str) -> set[str]:
    return {name for name in "xyzuw" if any(f"?{name}" in text for text in texts)}


def written_facts(dice: Random) -> list[Triple]:
    """Facts for such rules."""
    things, found = [*THINGS[:4], THINGS[-1]], set[Triple]()
    for _ in range(dice.randint(3, 9)):
        found.add((dice.choice(things), dice.choice(PROPERTIES[:3]), dice.choice([*things, *things, '"v"', '"x"@en'])))
    for _ in range(dice.randint(1, 4)):
        found.add((dice.choice(things), ex("n"), f'"{dice.randrange(4)}"^^<{XSD}integer>'))
    for _ in range(dice.randint(0, 3)):
        found.add((dice.choice(things), TYPE, dice.choice(CLASSES[:3])))
    for _ in range(dice.choice([0, 1, 1, 2])):
        found.add((dice.choice(things), SAME, dice.choice(things)))
    if dice.random() < 0.2:
        found.add((CLASSES[0], f"<{RDFS}subClassOf>", CLASSES[1]))
    if dice.random() < 0.15:
        found.add((dice.choice(PROPERTIES[:3]), SAME, dice.choice(PROPERTIES[:3])))
    return sorted(found)
