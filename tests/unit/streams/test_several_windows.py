"""Queries of several named windows: each is seen by itself, with the background."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Final

import pytest

from tests.support.random_programs import Triple
from tests.support.seeds import seeds
from tests.support.streams import Case, closure_of, random_case, store_of
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.errors import UsageError
from triplestore.streams.times import Window

PARTS: Final = """
SELECT ?part ?s ?p ?o
FROM NAMED WINDOW :short ON <s> [RANGE {short} STEP {step}] FROM NAMED WINDOW :long ON <s> [RANGE {long} STEP {slow}]
WHERE {{
  {{ ?s ?p ?o BIND("none" AS ?part) }} UNION
  {{ WINDOW :short {{ ?s ?p ?o }} BIND("short" AS ?part) }} UNION
  {{ WINDOW :long {{ ?s ?p ?o }} BIND("long" AS ?part) }}
}}"""


def check(case: Case, store: Store, seed: int) -> None:
    rng = random.Random(seed)
    step = rng.choice((1, 2))
    windows = {"short": Window(rng.choice((2, 3)), step), "long": Window(rng.choice((5, 8)), step * rng.choice((1, 2)))}
    (short, long) = windows.values()
    query = PARTS.format(short=short.width, step=step, long=long.width, slow=long.step)
    times = 0
    with store.stream(io.BytesIO(case.text), query) as run:
        for answer in run:
            times += 1
            for name in ("none", *windows):
                found = [row[1:] for row in answer.rows if row[0] == f'"{name}"']
                content = set[Triple]()
                if name in windows:
                    now = answer.time // windows[name].step * windows[name].step
                    content = {t for time, t in case.stream if now - windows[name].width < time <= now}
                assert len(found) == len(set(found))
                assert set(found) == closure_of(case.rules, case.equality, case.background, content), (
                    name,
                    answer.time,
                )
    assert times


@pytest.mark.parametrize("seed", seeds(range(6), 1))
def test_each_is_by_itself(tmp_path: Path, seed: int) -> None:
    case = random_case(seed)
    with store_of(case, tmp_path / "kg", engine="duckdb") as store:
        check(case, store, seed)


@pytest.mark.long_on_spark
def test_new_and_gone(tmp_path: Path, engine: Engine) -> None:
    """Who was there in the last ten, and is not in the last two; what is outside of the windows sees the background."""
    query = """PREFIX : <http://ex/> SELECT ?x ?name FROM NAMED WINDOW :now ON <s> [RANGE 2 STEP 2]
        FROM NAMED WINDOW <http://ex/before> ON <s> [RANGE 10 STEP 2]
        WHERE { ?x :name ?name . WINDOW <http://ex/before> { ?x a :Agent }
                FILTER NOT EXISTS { WINDOW :now { ?x a :Agent } } } ORDER BY ?x"""
    text = "".join(
        f"{time} <http://ex/{who}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Person> .\n"
        for time, who in ((1, "ann"), (2, "bob"), (3, "bob"), (5, "cleo"), (6, "ann"), (7, "cleo"))
    )
    spark = getattr(engine, "spark", None)
    with Store.create(tmp_path / "kg", ["rdfs-plus"], engine=engine.name, spark=spark) as store:
        store.sparql_update(
            "PREFIX : <http://ex/> INSERT DATA { :Person <http://www.w3.org/2000/01/rdf-schema#subClassOf> :Agent . "
            ":ann :name 'Ann' . :bob :name 'Bob' . :cleo :name 'Cleo' }"
        )
        with store.stream(io.BytesIO(text.encode()), query) as run:
            found = {answer.time: [row[1] for row in answer.rows] for answer in run}
    assert {time: names for time, names in found.items() if time <= 8} == {
        2: [],
        4: ['"Ann"'],
        6: ['"Bob"'],
        8: ['"Ann"', '"Bob"'],
    }


def test_one_named_window_is_no_default_graph(tmp_path: Path, engine: Engine) -> None:
    """What is outside of it sees the background alone."""
    query = (
        "SELECT ?x FROM NAMED WINDOW :w ON <s> [RANGE 2] { ?x <http://ex/p> ?y . WINDOW :w { ?y <http://ex/p> ?z } }"
    )
    text = b"1 <http://ex/a> <http://ex/p> <http://ex/b> .\n1 <http://ex/b> <http://ex/p> <http://ex/c> .\n"
    spark = getattr(engine, "spark", None)
    with Store.create(tmp_path / "kg", ["none"], engine=engine.name, spark=spark) as store:
        with store.stream(io.BytesIO(text), query) as run:
            assert [answer.rows for answer in run] == [[]]
        store.sparql_update("INSERT DATA { <http://ex/back> <http://ex/p> <http://ex/b> }")
        with store.stream(io.BytesIO(text), query) as run:
            assert [answer.rows for answer in run] == [[("<http://ex/back>",)]]
        inside = query.replace("?x <http://ex/p> ?y . WINDOW :w {", "WINDOW :w { ?x <http://ex/p> ?y .")
        with store.stream(io.BytesIO(text), inside) as run:
            assert [sorted(answer.rows) for answer in run] == [[("<http://ex/a>",), ("<http://ex/back>",)]]


def test_other_endpoints_stay_refused(tmp_path: Path) -> None:
    query = (
        "SELECT ?x FROM NAMED WINDOW :v ON <s> [RANGE 2] FROM NAMED WINDOW :w ON <s> [RANGE 4] "
        "{ WINDOW :v { ?x ?y ?z } SERVICE <urn:x-triplake:window:7> { ?x ?y ?z } }"
    )
    text = b"1 <http://ex/a> <http://ex/p> <http://ex/b> .\n"
    with (
        Store.create(tmp_path / "kg", ["none"]) as store,
        store.stream(io.BytesIO(text), query) as run,
        pytest.raises(UsageError, match="SERVICE <urn:x-triplake:window:7> is refused"),
    ):
        list(run)
