"""Functions of Python in SQL take any text: engines call them for rows that CASE leaves out."""

from __future__ import annotations

import random
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack

import pyarrow as pa
import pytest

from triplestore.expressions import vectorised
from triplestore.expressions.vectorised import VECTORISED, on_distinct
from triplestore.model.errors import StoppedError
from triplestore.model.stopping import Stop, heeding

TEXTS = (
    *("", "a", " ", "-", "+", "~", "_", "1", "0.1", "1 2", "1 b", "1e400", "1E99999999", "-1E-99999999", "INF", "NaN"),
    *("*", "/", "sum", "ROUND", "double", "md5", "sha9", "q", "i", "(", "[", "\\", "\\1", "$1", "$9", "é", "\ud7ff"),
    *("http://[::1", "http://[x", "/a", "2000-13-45T24:00:00Z", "99999-02-30T24:00:00", "2026-02-28T24:00:00"),
)


@pytest.mark.parametrize("name", sorted(VECTORISED.keys() - {"tl_too_long"}))  # which is to fail
def test_any_text_has_an_answer(name: str) -> None:
    arity, function = VECTORISED[name]
    dice = random.Random(name)
    rows = [[dice.choice(TEXTS) + dice.choice(("", "", dice.choice(TEXTS))) for _ in range(arity)] for _ in range(300)]
    found = function(*(pa.array(column, pa.string()) for column in zip(*rows, strict=True)))
    assert len(found) == len(rows)


def test_what_is_outside_the_domain_is_null() -> None:
    whole = on_distinct(lambda text: str(1 // int(text)))
    assert whole(pa.array(["1", "x", "0", None])).to_pylist() == ["1", None, None, None]
    for operator, left in (("sum", ""), ("+", "x"), ("ABS", "INF"), ("double", "a"), ("*", "1E99999999")):
        columns = (pa.array([text]) for text in (operator, left, "1"))
        assert VECTORISED["tl_exact"][1](*columns).to_pylist() == [None]


def test_long_texts_are_pythons_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes four bytes for each character of a text with a rare one."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.batch", 1 << 20)
    texts = pa.array([None, *(f"{number}{'a' * 100_000}\U0001f600" for number in range(99))])
    names = pa.chunked_array([["a"] * 30, ["b"] * 70])
    tracemalloc.start()
    found = on_distinct(lambda text, name: f"{text[:3]}{name}{len(text)}")(texts, names)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.to_pylist() == [
        None if text is None else f"{text[:3]}{name}{len(text)}"
        for text, name in zip(texts.to_pylist(), names.to_pylist(), strict=True)
    ]
    assert peak < 15 << 20


def test_a_function_ends_when_all_are_stopped_for_whom_it_may_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in a thread of the engine's, for one of those who waited before it began."""
    monkeypatch.setattr(vectorised, "_LOOK", 0.0)
    texts = pa.array([str(number) for number in range(1_000)])
    ended: list[BaseException | None] = []

    def run(at: int, then: Callable[[], object]) -> BaseException | None:
        """What ends the function in another thread, if that does something at a row."""

        def work() -> None:
            try:
                on_distinct(lambda text: then() and None if text == str(at) else text)(texts)
                ended.append(None)
            except StoppedError as error:
                ended.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return ended.pop()

    one, other, later = Stop(), Stop(), Stop()
    assert run(500, lambda: one.stop("nobody heeds it")) is None
    one = Stop()
    with heeding(one), heeding(other):
        assert run(500, lambda: one.stop("enough")) is None
        assert str(run(500, lambda: other.stop("enough"))) == "enough"
        with heeding(later):  # began before the function does
            assert run(500, lambda: None) is None
    with heeding(one), ExitStack() as stack:
        assert run(500, lambda: stack.enter_context(heeding(later))) is not None
