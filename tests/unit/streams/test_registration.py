"""Queries with windows as C-SPARQL and RSP-QL write them."""

from __future__ import annotations

import pytest

from triplestore.model.errors import UsageError
from triplestore.streams.registration import StreamQuery
from triplestore.streams.times import Window, duration, time_of

C_SPARQL = """PREFIX : <http://ex/> # FROM STREAM <no> [RANGE 1m]
REGISTER QUERY warm AS
SELECT ?x FROM STREAM <http://ex/s> [RANGE 5m STEP 1m] FROM <http://ex/static>
WHERE { ?x a :Warm ; :note "FROM STREAM <no> [RANGE 1m]" FILTER(?x != <http://ex/WINDOW>) }"""

RSP_QL = """PREFIX : <http://ex/>
REGISTER ISTREAM <http://ex/out> AS SELECT ?x
FROM NAMED WINDOW :w ON <http://ex/s> [RANGE PT5M STEP PT1M]
WHERE { WINDOW :w { ?x a :Warm } }"""


def test_c_sparql() -> None:
    query = StreamQuery.of(C_SPARQL)
    assert (query.name, query.operator, query.background) == ("warm", "rstream", ("http://ex/static",))
    assert query.windows == (("http://ex/s", Window(300_000, 60_000)),)
    assert query.text.count("FROM STREAM <no>") == 2, "what strings and comments say stays"
    assert "REGISTER" not in query.text
    assert "<http://ex/WINDOW>" in query.text


def test_rsp_ql() -> None:
    query = StreamQuery.of(RSP_QL)
    assert (query.name, query.operator) == ("http://ex/out", "istream")
    assert query.windows == (("http://ex/s", Window(300_000, 60_000)),)
    assert " ".join(query.text.split()) == "PREFIX : <http://ex/> SELECT ?x WHERE { { ?x a :Warm } }"


def test_window_beside_the_text() -> None:
    query = StreamQuery.of("SELECT * { ?s ?p ?o }", "10s")
    assert (query.windows, query.text) == ((("", Window(10_000, 10_000)),), "SELECT * { ?s ?p ?o }")


def test_names_that_are_like_keywords() -> None:
    """Variables and prefixed names that end as a clause begins are left alone."""
    pattern = "{ ?from <http://ex/p> ?x . ?x ex:from <http://ex/a> ; ex:a-from <http://ex/b> . ?register ?window ex:w }"
    query = StreamQuery.of("SELECT * FROM STREAM <s> [RANGE 5] FROM ex:static " + pattern)
    assert query.text == "SELECT *   " + pattern
    assert query.background == ("ex:static",)


def test_computed_every() -> None:
    text = "REGISTER QUERY q COMPUTED EVERY PT1M AS ASK FROM STREAM <s> [RANGE 5m STEP 1m] { ?s ?p ?o }"
    assert StreamQuery.of(text).name == "q"
    with pytest.raises(UsageError, match="COMPUTED EVERY 2m"):
        StreamQuery.of(text.replace("PT1M", "2m"))


def test_two_windows() -> None:
    query = StreamQuery.of("ASK FROM STREAM <a> [RANGE 5] FROM STREAM <b> [RANGE 9 TUMBLING] { ?s ?p ?o }")
    assert query.windows == (("a", Window(5, 5)), ("b", Window(9, 9)))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("SELECT * { ?s ?p ?o }", {}, "no window"),
        (C_SPARQL, {"width": "5m"}, "leave out --range"),
        ("SELECT * FROM STREAM <s> [RANGE TRIPLES 5] {}", {}, "is no duration|is no window"),
        ("SELECT * FROM STREAM <s> [5m] {}", {}, "is no window"),
        ("SELECT * FROM STREAM <s> [RANGE 0] {}", {}, "is no duration"),
        (RSP_QL.replace("{ WINDOW :w", "{ WINDOW :v"), {}, "no window :v"),
        (RSP_QL + " FROM NAMED WINDOW :w ON <http://ex/t> [RANGE 5m]", {}, "two windows are called :w"),
        (C_SPARQL.replace("FROM <http", "FROM NAMED <http"), {}, "FROM NAMED"),
        ("SELECT * { ?s ?p ?o }", {"width": "5m", "operator": "xstream"}, "no operator"),
    ],
)
def test_faults(text: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        StreamQuery.of(text, **options)


def test_durations_and_times() -> None:
    given = ["7", "500ms", "10s", "1.5s", "5m", "1h", "2d", "PT5M", "P1DT1S", "PT0.5S", "1.001s"]
    wanted = [7, 500, 10_000, 1_500, 300_000, 3_600_000, 172_800_000, 300_000, 86_401_000, 500, 1_001]
    assert [duration(text) for text in given] == wanted
    assert duration(str(2**53 + 1)) == 2**53 + 1
    for text in ("", "0", "-5", "5 weeks", "PT", "1.0001s", "9" * 30):
        with pytest.raises(UsageError, match="is no duration"):
            duration(text)
    assert time_of("2024-05-01T12:00:00Z") == time_of("2024-05-01T14:00:00+02:00") == 1_714_564_800_000
    assert time_of("2024-05-01T12:00:00") == 1_714_564_800_000
    assert (time_of("-5"), time_of("0012")) == (-5, 12)
    for text in ("x", "", "2024-13-01T00:00:00Z", "9" * 30):
        with pytest.raises(ValueError, match=r"."):
            time_of(text)


@pytest.mark.parametrize("window", [Window(5, 1), Window(5, 5), Window(7, 3), Window(2, 5), Window(1, 1)])
def test_a_triple_is_in_the_windows_of_its_time(window: Window) -> None:
    for time in range(-20, 20):
        steps = [now for now in range(-60, 60) if now % window.step == 0]
        inside = [now for now in steps if now - window.width < time <= now]
        enters, leaves = window.enters(time), window.leaves(time)
        assert inside == [now for now in steps if enters <= now < leaves]
