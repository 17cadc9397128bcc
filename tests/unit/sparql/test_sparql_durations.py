"""Durations and the arithmetic of times: expected values from XPath and XQuery Functions 3.1, most its examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rdflib import Literal, URIRef
from rdflib.namespace import XSD as XSD_

from tests.support.sparql import make_graph
from triplake.sparql import query
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.terms import XSD, lexical_of

PREFIX = f"PREFIX xsd: <{XSD}> PREFIX : <http://e/> "
CHUNK = 25
SHORT = {"dtd": "dayTimeDuration", "ymd": "yearMonthDuration", "dur": "duration", "dt": "dateTime"}


def written(expression: str) -> str:
    """An expression in which dtd"PT1S" is short for a typed literal."""
    for short, name in (*SHORT.items(), ("date", "date"), ("time", "time")):
        expression = re.sub(rf'\b{short}("[^"]*")', rf"\1^^xsd:{name}", expression)
    return expression


CASES: dict[str, str | None] = {
    # comparison: section 8.2
    'dur"P1Y" = dur"P12M"': "true",
    'dur"PT24H" = dtd"P1D"': "true",
    'ymd"P0Y" = dtd"P0D"': "true",
    'ymd"P1Y" = dtd"P365D"': "false",
    'dur"P1Y" != dur"P1Y1D"': "true",
    'dur"-PT0S" = dur"P0M"': "true",
    'dur"PT1.50S" = dur"PT1.5S"': "true",
    'dur"PT1.123456789012345678901S" = dur"PT1.1234567890123456789012S"': "false",
    'dur"PT0099H" = dtd"P4DT3H"': "true",
    f'dur"P{"0" * 5_000}1D" = dtd"PT24H"': "true",
    f'dtd"PT0.{"0" * 5_000}1S" > dtd"PT0.{"0" * 5_000}01S"': "true",
    f'dur"P1Y{"0" * 5_000}" = dur"P1Y"': None,
    'dur"P1Y" = "P1Y"': "false",
    'dur"P" = dur"P1Y"': None,
    'dtd"P1Y" = dur"P1Y"': None,
    'dtd"P3DT10H" > dtd"P3DT9H59M59.9S"': "true",
    'dtd"-PT0.5S" < dtd"-PT0.25S"': "true",
    'dtd"-P1D" < dtd"PT0S"': "true",
    'dtd"PT60M" >= dtd"PT1H"': "true",
    'ymd"P11M" < ymd"P1Y"': "true",
    'ymd"-P1Y" < ymd"-P11M"': "true",
    'dur"P1Y" < dur"P2Y"': None,
    'dtd"P1D" < ymd"P1Y"': None,
    'dtd"P1D" IN (dtd"PT24H", dtd"P2D")': "true",
    'time"10:00:00Z" = time"11:00:00+01:00"': "true",
    'time"10:00:00.5Z" < time"10:00:00.51Z"': "true",
    'time"24:00:00Z" = time"00:00:00Z"': "true",
    'time"10:00:00" < time"11:00:00Z"': None,
    'time"10:00:00" = date"2020-01-01"': "false",
    # arithmetic of durations: section 8.4
    'ymd"P2Y11M" + ymd"P3Y3M"': "P6Y2M",
    'ymd"P2Y11M" - ymd"P3Y3M"': "-P4M",
    'ymd"P2Y11M" * 2.3': "P6Y9M",
    'ymd"P2Y11M" / 1.5': "P1Y11M",
    'ymd"P3Y4M" / ymd"-P1Y4M"': "-2.5",
    'dtd"P2DT12H5M" + dtd"P5DT12H"': "P8DT5M",
    'dtd"P2DT12H" - dtd"P1DT10H30M"': "P1DT1H30M",
    'dtd"PT2H10M" * 2.1': "PT4H33M",
    '2.1 * dtd"PT2H10M"': "PT4H33M",
    'dtd"P1DT2H30M10.5S" / 1.5': "PT17H40M7S",
    'dtd"P2DT53M11S" / dtd"P1DT10H"': "1.437834967320261437",
    'dtd"PT1S" * 0.1e0': "PT0.1S",
    'dtd"PT10S" / 3': "PT3.333333333333333333S",
    'dtd"PT10S" / 0': None,
    'dtd"PT10S" / dtd"PT0S"': None,
    'dtd"PT10S" / (1e0/0)': "PT0S",
    'dtd"PT10S" * (1e0/0)': None,
    'dtd"PT10S" / (0e0/0)': None,
    'dtd"PT10S" + ymd"P1Y"': None,
    'dur"PT10S" + dur"PT10S"': None,
    'dtd"PT10S" + 1': None,
    '-dtd"PT1.5S"': "-PT1.5S",
    '-dur"-P1Y2M3DT4H5M6.7S"': "P1Y2M3DT4H5M6.7S",
    '-(dtd"PT1S" + dtd"PT1S") * 3': "-PT6S",
    'dtd"PT0.123456789012345678901S" + dtd"PT1S"': "PT1.123456789012345678901S",
    'dtd"PT1S" * 100000000000000000001': "P1157407407407407DT9H46M41S",
    'dtd"PT1S" * 100000000000000000000000': None,
    'dtd"PT1H" / dtd"PT1M" + 1': "61",
    # times: section 9.7
    'dt"2000-10-30T06:12:00-05:00" - dt"1999-11-28T09:00:00Z"': "P337DT2H12M",
    'date"2000-10-30" - date"1999-11-28"': "P337D",
    'date"2000-10-15-05:00" - date"2000-10-10+02:00"': "P5DT7H",
    'time"11:12:00Z" - time"04:00:00-05:00"': "PT2H12M",
    'time"24:00:00" - time"23:59:59"': "-PT23H59M59S",
    'dt"2000-10-30T11:12:00" + ymd"P1Y2M"': "2001-12-30T11:12:00",
    'dt"2000-10-30T11:12:00" + dtd"P3DT1H15M"': "2000-11-02T12:27:00",
    'dtd"P3DT1H15M" + dt"2000-10-30T11:12:00"': "2000-11-02T12:27:00",
    'dt"2000-10-30T11:12:00" - ymd"P1Y2M"': "1999-08-30T11:12:00",
    'dt"2000-10-30T11:12:00" - dtd"P3DT1H15M"': "2000-10-27T09:57:00",
    'dt"2020-01-31T00:00:00Z" + ymd"P1M"': "2020-02-29T00:00:00Z",
    'dt"2000-01-12T12:13:14Z" + dur"P1Y3M5DT7H10M3.3S"': "2001-04-17T19:23:17.3Z",
    'dt"2020-12-31T24:00:00Z" + dtd"PT0S"': "2021-01-01T00:00:00Z",
    'dt"10000-01-01T00:00:00Z" - dtd"PT0.000000001S"': "9999-12-31T23:59:59.999999999Z",
    'dt"0001-01-01T00:00:00Z" - dtd"P1D"': "0000-12-31T00:00:00Z",
    'dt"-0001-01-01T00:00:00Z" - ymd"P1Y"': "-0002-01-01T00:00:00Z",
    'date"2000-10-30" + ymd"P1Y2M"': "2001-12-30",
    'date"2004-10-30Z" + dtd"P2DT2H30M0S"': "2004-11-01Z",
    'date"2000-10-30" - dtd"P3DT1H15M"': "2000-10-26",
    'time"11:12:00" + dtd"P3DT1H15M"': "12:27:00",
    'time"23:12:00+03:00" + dtd"P1DT3H15M"': "02:27:00+03:00",
    'time"08:20:00-05:00" - dtd"P23DT10H10M"': "22:10:00-05:00",
    'time"08:20:00" + ymd"P1Y"': None,
    'dt"2000-10-30T11:12:00" + dt"2000-10-30T11:12:00"': None,
    'dt"2000-10-30T11:12:00" - date"2000-10-30"': None,
    'dtd"PT1S" - dt"2000-10-30T11:12:00"': None,
    'dt"2000-10-30T11:12:00" + 1': None,
    # what comes out is a value
    'dt"2020-01-02T00:00:00Z" - dt"2020-01-01T00:00:00Z" = dtd"PT24H"': "true",
    'dt"2020-01-01T00:00:00Z" + dtd"P1D" > dt"2020-01-01T12:00:00Z"': "true",
    'dt"2020-01-01T00:00:00Z" + dtd"P1D" = dt"2020-01-02T00:00:00Z"': "true",
    'YEAR(dt"2020-12-31T00:00:00Z" + dtd"P1D")': "2021",
    'DATATYPE(dt"2020-12-31T00:00:00Z" - dt"2020-12-31T00:00:00Z")': f"{XSD}dayTimeDuration",
    'STR(dtd"PT1S" + dtd"PT1S")': "PT2S",
    'xsd:string(-ymd"P1Y")': "-P1Y",
    'isNumeric(dtd"PT4S" / dtd"PT2S")': "true",
    'isNumeric(dtd"PT4S" / 2)': "false",
    'BOUND(?none) || dtd"PT1S"': None,
    'IF(dtd"PT1S" < dtd"PT2S", dtd"PT1S" * 2, 1)': "PT2S",
    'COALESCE(dtd"PT1S" + 1, ymd"P1Y" + ymd"P1M")': "P1Y1M",
    'STRDT("PT1H", xsd:dayTimeDuration) = dtd"PT60M"': "true",
    'STRDT("10:00:00Z", xsd:time) < time"10:00:01Z"': "true",
    'TIMEZONE(dt"2020-01-01T00:00:00-05:00") = dtd"-PT300M"': "true",
    # casts: section 19.1
    'xsd:dayTimeDuration(" PT36H ")': "PT36H",
    'xsd:dayTimeDuration("P1Y")': None,
    'xsd:dayTimeDuration("PT1S|")': None,
    "xsd:duration(1)": None,
    "xsd:duration(:a)": None,
    'xsd:duration("P1Y"^^:duration)': None,
    '-"P1Y"^^:duration': None,
    'xsd:dayTimeDuration(dur"P1Y2DT26H")': "P3DT2H",
    'xsd:yearMonthDuration(dur"P14M2D")': "P1Y2M",
    'xsd:dayTimeDuration(ymd"P1Y")': "PT0S",
    'xsd:yearMonthDuration(dtd"P1D")': "P0M",
    'xsd:duration(ymd"P14M")': "P1Y2M",
    'xsd:duration("P1Y") = ymd"P12M"': "true",
    'xsd:time("10:11:12.5Z")': "10:11:12.5Z",
    'xsd:time("25:00:00")': None,
    'dtd"PT3H" / dtd"PT2H" * dtd"PT2H"': "PT3H",
    'dtd"PT2H" * (dtd"PT3H" / dtd"PT2H")': "PT3H",
    'dtd"PT3H" / (dtd"PT3H" / dtd"PT2H")': "PT2H",
    'xsd:time(dt"2020-01-01T10:11:12.50+01:00")': "10:11:12.5+01:00",
    'xsd:time(date"2020-01-01")': None,
    'xsd:time(dt"2020-01-01T24:00:00")': "00:00:00",
    'xsd:dateTimeStamp("2020-01-01T10:11:12Z") < dt"2020-01-01T10:11:13Z"': "true",
    'xsd:dateTimeStamp(dt"2020-01-01T10:11:12")': None,
    'xsd:dayTimeDuration("PT1H") + xsd:dayTimeDuration("PT1H")': "PT2H",
}
"""Expression -> the lexical form of its value, None for an error."""


@pytest.mark.long_on_spark
@pytest.mark.parametrize("stored", [False, True])
def test_expressions(engine: Engine, stored: bool) -> None:
    """Each over constants, or over the same terms in the dictionary, in one query."""
    literals: dict[str, str] = {}

    def variable(match: re.Match[str]) -> str:
        return literals.setdefault(f'"{match[1]}"^^<{XSD}{match[2]}>', f"?v{len(literals)}")

    expressions = [written(expression) for expression in CASES]
    if stored:
        expressions = [re.sub(r'"([^"]*)"\^\^xsd:(\w+)', variable, expression) for expression in expressions]
    facts = [(f"<http://e/{name[1:]}>", "<http://e/p>", literal) for literal, name in literals.items()]
    got = []
    for start in range(0, len(expressions), CHUNK):
        chunk = expressions[start : start + CHUNK]
        used = sorted({name for expression in chunk for name in re.findall(r"\?v\d+", expression)})
        pattern = " . ".join(f":{name[1:]} :p {name}" for name in used)
        selected = " ".join(f"({expression} AS ?e{place})" for place, expression in enumerate(chunk))
        (row,) = query(make_graph(engine, facts), f"{PREFIX} SELECT {selected} {{ {pattern} }}").tokens()
        got += [None if token is None else lexical_of(token) for token in row]
    assert dict(zip(CASES, got, strict=True)) == CASES


DAYS = ["-P1D", "-PT0.5S", "PT0S", "PT0.25S", "PT1H", "PT61M", "P1D"]
MONTHS = ["-P1Y", "P0M", "P11M", "P1Y", "P13M"]
TIMES = ["00:00:00Z", "00:00:00.1234567Z", "10:00:00Z", "23:00:00+01:00", "23:59:59.9Z"]
"""Each in its order, which no two share."""

QUERIES: dict[str, list[tuple[str, ...]]] = {
    "SELECT ?o { ?s :d ?o } ORDER BY ?o": [(text,) for text in DAYS],
    "SELECT ?o { ?s :m ?o } ORDER BY DESC(?o)": [(text,) for text in MONTHS[::-1]],
    "SELECT ?o { ?s :t ?o } ORDER BY ?o": [(text,) for text in TIMES],
    "SELECT (MIN(?o) AS ?x) (MAX(?o) AS ?y) { ?s :d ?o }": [("-P1D", "P1D")],
    "SELECT (SUM(?o) AS ?x) { ?s :d ?o }": [("PT2H59.75S",)],
    "SELECT (AVG(?o) AS ?x) { ?s :d ?o FILTER(?o > 'PT1M'^^xsd:dayTimeDuration) }": [("PT8H40M20S",)],
    "SELECT (SUM(?o) AS ?x) (AVG(?o) AS ?y) { ?s :m ?o }": [("P2Y", "P5M")],
    "SELECT (SUM(?o) AS ?x) { ?s :m|:d ?o }": [("",)],
    "SELECT (SUM(?o) AS ?x) { ?s :n|:d ?o }": [("",)],
    "SELECT (SUM(?o - ?u) AS ?x) { ?s :a ?u ; :b ?o }": [("P2DT1H",)],
    "SELECT (COUNT(*) AS ?n) { ?s :d ?o, ?x FILTER(?o < ?x) }": [("21",)],
    "SELECT (COUNT(*) AS ?n) { ?s :t ?o, ?x FILTER(?o < ?x) }": [("10",)],
    "SELECT ?o { ?s :d ?o FILTER(?o = 'PT60M'^^xsd:duration) }": [("PT1H",)],
    "SELECT ?o { ?s :d ?o FILTER(?o * 2 = 'PT2H'^^xsd:duration) }": [("PT1H",)],
}


@pytest.mark.long_on_spark
def test_stored_durations(engine: Engine) -> None:
    """Order and aggregates."""
    named = {"d": ("dayTimeDuration", DAYS), "m": ("yearMonthDuration", MONTHS), "t": ("time", TIMES)}
    facts = [
        ("<http://e/a>", f"<http://e/{name}>", f'"{text}"^^<{XSD}{datatype}>')
        for name, (datatype, texts) in named.items()
        for text in texts
    ]
    facts.append(("<http://e/a>", "<http://e/n>", f'"1"^^<{XSD}integer>'))
    for place, (start, end) in enumerate([("2020-01-01T00:00:00Z", "2020-01-02T00:30:00Z")] * 2):
        facts.append((f"<http://e/{place}>", "<http://e/a>", f'"{start}"^^<{XSD}dateTime>'))
        facts.append((f"<http://e/{place}>", "<http://e/b>", f'"{end}"^^<{XSD}dateTime>'))
    graph = make_graph(engine, facts)
    for text, expected in QUERIES.items():
        got = [tuple(lexical_of(t) if t else "" for t in row) for row in query(graph, PREFIX + text).tokens()]
        assert got == expected, text


def test_rules(tmp_path: Path) -> None:
    """Rules compute with times and durations, compare them, and add them up."""
    file = tmp_path / "rules.rules"
    file.write_text(
        """PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        [?x, :took, ?d] :- [?x, :from, ?a], [?x, :to, ?b], BIND(?b - ?a AS ?d) .
        [?x, a, :Long] :- [?x, :took, ?d], FILTER(?d * 2 > "PT4H"^^xsd:dayTimeDuration) .
        [?x, :due, ?t] :- [?x, :to, ?b], BIND(?b + "P1M"^^xsd:yearMonthDuration - "PT1S"^^xsd:dayTimeDuration AS ?t) .
        [?k, :total, ?n] :- AGGREGATE([?x, :took, ?d], [?x, :kind, ?k] ON ?k BIND SUM(?d) AS ?n) .
        """
    )
    e = "http://e/"

    def time(text: str) -> Literal:
        return Literal(text, datatype=XSD_.dateTime, normalize=False)

    facts = [("a", "09:00:00Z", "12:30:00Z"), ("b", "09:00:00Z", "10:00:00.5Z")]
    with Store.create(tmp_path / "kg", [str(file)], engine="duckdb") as store:
        store.update(
            add=[
                (URIRef(e + name), URIRef(e + place), time(f"2020-01-31T{clock}"))
                for name, *clocks in facts
                for place, clock in zip(("from", "to"), clocks, strict=True)
            ]
            + [(URIRef(e + name), URIRef(e + "kind"), URIRef(e + "all")) for name, *_ in facts]
        )
        asked = "PREFIX : <http://e/> SELECT ?s ?p ?o { ?s ?p ?o FILTER(?p NOT IN (:from, :to, :kind)) }"
        found = {(str(s)[9:], str(o)) for s, _, o in store.query(asked) if str(s).startswith(e)}
    assert found == {
        ("a", "PT3H30M"),
        ("b", "PT1H0.5S"),
        ("a", "http://e/Long"),
        ("a", "2020-02-29T12:29:59Z"),
        ("b", "2020-02-29T09:59:59.5Z"),
        ("all", "PT4H30M0.5S"),
    }
