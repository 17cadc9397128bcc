"""Queries with windows as C-SPARQL and RSP-QL write them."""

from __future__ import annotations

import pytest

from triplake.sparql.parser import parse_query
from triplestore.model.errors import UsageError
from triplestore.streams.registration import StreamQuery, by_stream, check_functions, stream_called, streams_of
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
    assert query.parts == ("urn:x-triplake:window:0",)
    rest = "PREFIX : <http://ex/> SELECT ?x WHERE { SERVICE <urn:x-triplake:window:0> { ?x a :Warm } }"
    assert " ".join(query.text.split()) == rest
    simple = query.simplified(parse_query(query.text))
    assert (simple.parts, " ".join(simple.text.split())) == (
        ("",),
        "PREFIX : <http://ex/> SELECT ?x WHERE { { ?x a :Warm } }",
    )


@pytest.mark.parametrize("more", ["?x :p ?y", "?x :p* ?y", "GRAPH ?g { }", "FILTER EXISTS { ?x :p ?y }"])
def test_a_named_window_is_no_default_graph(more: str) -> None:
    query = StreamQuery.of(RSP_QL.replace("a :Warm }", f"a :Warm }} {more}"))
    assert query.simplified(parse_query(query.text)) is query


NAMES = """PREFIX ex: <http://ex/> BASE <http://ex/deep/> PREFIX : <../>
REGISTER QUERY {} AS SELECT * FROM STREAM {} [RANGE 5] FROM NAMED WINDOW {} ON <s> [RANGE 5]
WHERE {{ WINDOW {} {{ ?s ?p ?o }} }}"""


@pytest.mark.parametrize("name", ["<http://ex/w>", ":w", "ex:w", "<../w>", "<http://ex/\\u0077>", "known:w"])
@pytest.mark.parametrize("other", ["<http://ex/w>", "ex:w"])
def test_names_are_iris(name: str, other: str) -> None:
    """However they are written, in each place where they stand."""
    query = StreamQuery.of(NAMES.format(name, name, name, other), prefixes={"known": "http://ex/"})
    assert (query.name, query.parts) == ("http://ex/w", ("", "urn:x-triplake:window:1"))
    assert [stream for stream, _ in query.windows] == ["http://ex/w", "http://ex/deep/s"]
    assert "SERVICE <urn:x-triplake:window:1>" in query.text
    again = f"FROM NAMED WINDOW {name} ON <s> [RANGE 5] FROM NAMED WINDOW {other} ON <s> [RANGE 5]"
    with pytest.raises(UsageError, match="two windows are called"):
        StreamQuery.of(
            f"PREFIX ex: <http://ex/> BASE <http://ex/deep/> PREFIX : <../> ASK {again} {{ }}",
            prefixes={"known": "http://ex/"},
        )


def test_names_that_nothing_declares() -> None:
    """They stand for themselves."""
    query = StreamQuery.of(
        "SELECT * FROM STREAM s-1.x [RANGE 5] FROM STREAM <s> [RANGE 5] FROM STREAM no:s [RANGE 5] { ?s ?p ?o }"
    )
    assert streams_of([query]) == ["s-1.x", "s", "no:s"]


def test_a_prefix_declared_behind_the_name() -> None:
    query = StreamQuery.of("REGISTER QUERY ex:q AS PREFIX ex: <http://ex/> ASK FROM STREAM ex:s [RANGE 5] {}")
    assert (query.name, streams_of([query])) == ("http://ex/q", ["http://ex/s"])


def test_sources_by_the_names_of_streams() -> None:
    text = "PREFIX ex: <http://ex/> BASE <http://ex/> ASK FROM STREAM ex:a [RANGE 5] FROM STREAM <b> [RANGE 5] {}"
    query = StreamQuery.of(text)
    wanted = {"http://ex/a": 1, "http://ex/b": 2}
    for a, b in (("http://ex/a", "http://ex/b"), ("ex:a", "b"), ("<http://ex/a>", "<b>")):
        assert by_stream({a: 1, b: 2}, [query]) == wanted
    for wrong, message in (
        ({"c": 1}, "no query reads a stream c: they read http://ex/a, http://ex/b"),
        ({"ex:a": 1, "http://ex/a": 2}, "two sources"),
    ):
        with pytest.raises(UsageError, match=message):
            by_stream(wrong, [query])
    other = StreamQuery.of(text.replace("ex: <http://ex/>", "ex: <http://other/>"))
    assert stream_called("ex:a", [query, other]) is None, "two streams are written so"


def test_window_beside_the_text() -> None:
    query = StreamQuery.of("SELECT * { ?s ?p ?o }", "10s")
    assert (query.windows, query.text) == ((("", Window(10_000, 10_000)),), "SELECT * { ?s ?p ?o }")


def test_names_that_are_like_keywords() -> None:
    """Variables and prefixed names that end as a clause begins are left alone."""
    pattern = "{ ?from <http://ex/p> ?x . ?x ex:from <http://ex/a> ; ex:a-from <http://ex/b> . ?register ?window ex:w }"
    query = StreamQuery.of("SELECT * FROM STREAM <s> [RANGE 5] FROM ex:static " + pattern)
    assert query.text == "SELECT *   " + pattern
    assert query.background == ("ex:static",)


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> SELECT ?s (f:timestamp(?s, ?p, ?o) AS ?t) { ?s ?p ?o }",
        "SELECT ?s { ?s ?p ?o FILTER(<http://larkc.eu/csparql/sparql/jena/ext#timestamp>(?s, ?p, ?o) > 5) }",
        "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> SELECT ?s FROM NAMED WINDOW <w> ON <s> [RANGE 5] "
        "{ ?s ?p ?o WINDOW <w> { ?s ?p ?o BIND(f:timestamp(?s, ?p, ?o) AS ?t) } }",
    ],
)
def test_a_function_that_does_not_exist(text: str) -> None:
    query = StreamQuery.of(text, None if "WINDOW" in text else "5")
    with pytest.raises(
        UsageError, match=r"ext#timestamp>, but there is no such function. Windows do not keep the times"
    ):
        check_functions(parse_query(query.text))
    check_functions(parse_query("SELECT (<http://www.w3.org/2001/XMLSchema#integer>('1') AS ?x) {}"))


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
        ("SELECT * FROM STREAM <s> [RANGE TRIPLES 5] {}", {}, "is not a duration|is not a window"),
        ("SELECT * FROM STREAM <s> [5m] {}", {}, "is not a window"),
        ("SELECT * FROM STREAM <s> [RANGE 0] {}", {}, "is not a duration"),
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
        with pytest.raises(UsageError, match="is not a duration"):
            duration(text)
    assert time_of("2024-05-01T12:00:00Z") == time_of("2024-05-01T14:00:00+02:00") == 1_714_564_800_000
    assert time_of("2024-05-01T12:00:00") == 1_714_564_800_000
    assert (time_of("-5"), time_of("0012")) == (-5, 12)
    assert time_of("2024-05-01T24:00:00Z") == time_of("2024-05-02T00:00:00.000Z")
    assert time_of("2024-12-31T23:59:60Z") == time_of("2025-01-01T00:59:60.0+01:00") == time_of("2025-01-01T00:00:00Z")
    for fraction, more in (("0", 0), ("5", 500), ("1230", 123), ("1234", 124), ("0000001", 1), ("9999999", 1000)):
        assert time_of(f"2024-05-01T12:00:00.{fraction}Z") - time_of("2024-05-01T12:00:00Z") == more
    assert time_of("1960-01-01T00:00:00.9999Z") == time_of("1960-01-01T00:00:01Z")
    assert [time_of(text) for text in ("12.5", "-12.5", "12.", "+7.0")] == [13, -12, 12, 7]
    wrong = ("2024-05-01T24:00:01Z", "2024-05-01T24:00:00.1Z", "2024-12-31T22:59:60Z", "1_0", "1e3", "2024-02-30")
    for text in ("x", "", "2024-13-01T00:00:00Z", "9" * 30, *wrong):
        with pytest.raises(ValueError, match=r"."):
            time_of(text)


@pytest.mark.parametrize("window", [Window(5, 1), Window(5, 5), Window(7, 3), Window(2, 5), Window(1, 1)])
def test_a_triple_is_in_the_windows_of_its_time(window: Window) -> None:
    for time in range(-20, 20):
        steps = [now for now in range(-60, 60) if now % window.step == 0]
        inside = [now for now in steps if now - window.width < time <= now]
        enters, leaves = window.enters(time), window.leaves(time)
        assert inside == [now for now in steps if enters <= now < leaves]
