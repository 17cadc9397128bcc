"""Unification of the ends of equalities, and the ways to read a body."""

from __future__ import annotations

import pytest

from triplestore.compile.unify import Unifier, parted, readings


@pytest.mark.parametrize(
    ("equalities", "stored", "found"),
    [
        ([], False, [()]),
        ([False, True], False, [(False, True)]),
        ([False, True], True, [(False, False), (False, True)]),
        ([None, None], False, [(False, False), (False, True), (True, False), (True, True)]),
    ],
)
def test_readings(equalities: list[bool | None], stored: bool, found: list[tuple[bool, ...]]) -> None:
    assert list(readings(equalities, stored)) == found


def test_parted() -> None:
    assert parted("abc", (False, True, False)) == (["a", "c"], ["b"])


def unifier() -> Unifier[str | int]:
    return Unifier(lambda term: isinstance(term, str))


def test_a_variable_stands_for_what_it_meets() -> None:
    now = unifier()
    assert now.unify("x", "y")
    assert now.unify("z", "x")
    assert now.unify(1, "y")
    assert [now(term) for term in ("x", "y", "z", 1, "w")] == [1, 1, 1, 1, "w"]
    assert now.unify("z", 1)


def test_two_constants_are_left_to_be_compared() -> None:
    now = unifier()
    assert now.unify("x", 1)
    assert not now.unify("x", 2)
    assert now("x") == 1


def test_terms_stand_for_others_outside() -> None:
    now: Unifier[str | int] = Unifier(lambda term: isinstance(term, str), lambda term: {"x": 1, 2: 1}.get(term, term))
    assert now.unify("x", 2)
    assert now.replaced == {}
    assert now.unify("y", "x")
    assert now("y") == 1
