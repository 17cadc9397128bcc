"""Intersections of three classes and more, whose members get their types one after the other."""

from __future__ import annotations

import pytest

from tests.support.closure import MODES, agree
from tests.support.random_programs import SAME, TYPE, Triple, lists, rules_of
from triplestore.engine import Engine
from triplestore.model.terms import OWL, RDFS
from triplestore.model.thresholds import SIZES


def c(number: int) -> str:
    return f"<http://e/C{number}>"


def facts() -> list[Triple]:
    """:C9 is what is in :C0, :C1, :C2 and :C3; :C8, that has a member twice, what is in :C0, :C4 and :C5, which are
    one. :a has all at once, :b by and by, :d and its equal :e together, :f lacks one."""
    sub, name = f"<{RDFS}subClassOf>", "<http://e/{}>".format
    found = [(c(9), f"<{OWL}intersectionOf>", "_:i0"), *lists("i", [c(n) for n in range(4)])]
    found += [(c(8), f"<{OWL}intersectionOf>", "_:j0"), *lists("j", [c(0), c(4), c(0), c(5)]), (c(4), SAME, c(5))]
    found += [(c(10), sub, c(1)), (c(11), sub, c(10)), (c(12), sub, c(11)), (c(9), sub, c(4))]
    found += [(name("a"), TYPE, c(n)) for n in range(4)]
    found += [(name("b"), TYPE, c(n)) for n in (0, 2, 3, 12)]
    found += [(name("d"), TYPE, c(0)), (name("d"), TYPE, c(1)), (name("e"), TYPE, c(2)), (name("e"), TYPE, c(3))]
    found += [(name("f"), TYPE, c(n)) for n in (0, 1, 2)]
    found += [(name("g"), f"<{OWL}differentFrom>", name("f")), (name("d"), SAME, name("e"))]
    return sorted(found)


@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("many", [0, SIZES.small])
@pytest.mark.sampled(each=2)
def test_what_is_in_all_is_in_the_intersection(embedded: Engine, equality: str, many: int) -> None:
    agree(embedded, facts(), rules_of(("owl2rl",)), equality, many)
    found = embedded.query(
        "SELECT count(*) AS n FROM fact f JOIN term p ON p.id = f.p JOIN term o ON o.id = f.o "
        f"WHERE p.lexical = '{TYPE[1:-1]}' AND o.lexical = '{c(9)[1:-1]}'"
    )
    assert found.column(0)[0].as_py() == {"rewrite": 3, "axioms": 4, "off": 2}[equality]
