"""The datatypes of OWL 2 RL: literals one by one, and all together in the encoding."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support import literal_values
from triplestore.dictionary import encoding, literals
from triplestore.dictionary.datatypes import DATATYPES, KNOWN, Space, in_space, value_of
from triplestore.dictionary.fingerprints import Fingerprints
from triplestore.engine import Engine
from triplestore.engine.sql import count
from triplestore.materialise import datatypes as rules
from triplestore.model.tables import TERM, token_sql
from triplestore.model.terms import FIRST_LITERAL, RDF, XSD, builtin, literal_token
from triplestore.storage.manifest import Counters

_signs = st.sampled_from(["", "", "+", "-"])
_digits = st.text("0019", max_size=3)
_whole = st.one_of(
    st.builds("{}{}{}".format, _signs, _digits, st.sampled_from(["0", "1", "127", "128", "255", "256", "65535"])),
    st.integers(-(2**65), 2**65).map(str),
    st.sampled_from([2**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64, 70) for d in (-1, 0, 1)]).map(str),
)
_fractions = st.builds("{}{}.{}".format, _signs, _digits, _digits)
_floating = st.one_of(
    st.builds("{}{}.{}e{}".format, _signs, _digits, _digits, st.integers(-50, 50)),
    st.builds("{}{}E{}".format, _signs, st.sampled_from(["1", "16777217", "3.4028235677973366"]), _whole),
    st.floats().map(lambda x: repr(x).replace("inf", "INF").replace("nan", "NaN")),
    st.sampled_from(["0", "-0", "+0.0", "INF", "-INF", "+INF", "NaN", "inf", "1e400", "-1e400", "1e-400", "1e39"]),
    st.sampled_from([f"{digits}e{sign}{'9' * 25}" for digits in ("0", "-1") for sign in ("", "-")]),
)
_texts = st.text("ab:-_1 \t\né\x00\ufffe", max_size=5)
_zones = st.sampled_from(["", "Z", "+00:00", "-00:00", "+01:00", "-05:30", "+14:00", "+14:01", "+1:00"])
_days = st.sampled_from(
    ["2020-02-29", "2019-02-29", "2020-12-31", "0001-01-01", "2020-13-01", "1999-04-30", "99-01-01"]
)
_times = st.sampled_from(["00:00:00", "24:00:00", "23:59:60", "12:30:00.5", "12:30:00.50", "24:00:00.1", "1:00:00"])
_xml = st.sampled_from(
    [
        "",
        "a",
        "<b/>",
        "<b></b>",
        "<b x='1' y='2'/>",
        '<b y="2" x="1"></b>',
        "<b>",
        "a&amp;b",
        "a&b",
        "<!-- c -->",
        "</r><r>",
    ]
)
_scalars = st.sampled_from(
    ["0", "-0", "1", "1.0", "1e400", "9007199254740993", "true", "null", '"a"', r'"\u0061"', "nul", "01"]
)
_json = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda values: f"[{', '.join(values)}]"),
        st.lists(st.tuples(st.sampled_from(['"a"', '"b"', r'"\u0061"', r'"\ud800"']), inner), max_size=3).map(
            lambda members: "{" + ",".join(f"{name} :{value}" for name, value in members) + "}"
        ),
    ),
    max_leaves=4,
)
_forms = {
    **dict.fromkeys(literal_values.RANGES, st.one_of(_whole, _whole, _fractions)),
    XSD + "decimal": st.one_of(_whole, _fractions, _fractions),
    **dict.fromkeys((XSD + "double", XSD + "float"), st.one_of(_floating, _whole, _fractions)),
    **dict.fromkeys(literal_values.TEXTS, _texts),
    XSD + "language": st.sampled_from(["en", "EN", "en-GB", "abcdefghi", "1a", "", "a-b-1"]),
    RDF + "PlainLiteral": st.one_of(
        _texts, st.builds("{}@{}".format, _texts, st.sampled_from(["", "en", "EN", "a_b"]))
    ),
    XSD + "boolean": st.sampled_from(["true", "false", "1", "0", "True", "", " 1"]),
    XSD + "dateTime": st.builds("{}T{}{}".format, _days, _times, _zones),
    XSD + "dateTimeStamp": st.builds("{}T{}{}".format, _days, _times, _zones),
    XSD + "date": st.builds("{}{}".format, _days, _zones),
    XSD + "hexBinary": st.text("aAfF0g", max_size=4),
    XSD + "base64Binary": st.text("QAg= ", max_size=5),
    XSD + "anyURI": st.sampled_from(["http://e/", "a b", "", "\x00"]),
    RDF + "XMLLiteral": _xml,
    RDF + "JSON": _json,
    "http://e/own": _texts,
}
_spaced = st.sampled_from(["{}", "{}", "{}", "{}", "{}", " {}", "{}\n"])
typed = st.sampled_from(sorted(_forms)).flatmap(
    lambda datatype: st.builds(lambda f, t: literal_token(f.format(t), datatype), _spaced, _forms[datatype])
)
tagged = st.builds(lambda text, tag: literal_token(text, None, tag), _texts, st.sampled_from(["en", "EN", "de"]))
tokens = st.one_of(typed, typed, typed, typed, tagged)


def test_every_datatype_of_the_profile_is_known() -> None:
    assert set(literal_values.KNOWN) == set(KNOWN)
    assert set(literal_values.DATATYPES) | {RDF + "langString"} == set(DATATYPES)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.lists(tokens, min_size=2, max_size=6))
@example([literal_token(x, XSD + "float") for x in ("16777217", "16777216", "16777217.0000000001")])
@example([literal_token(x, XSD + "double") for x in ("0.0", "-0.0", "1e-400")])
@example([literal_token(x, XSD + "float") for x in ("0.0", f"1e-{'9' * 25}", f"0e{'9' * 25}")])
def test_values_are_those_of_pythons_own_types(literals_: list[str]) -> None:
    found = [value_of(token) for token in literals_]
    wanted = [literal_values.value(token) for token in literals_]
    assert [value is None for value in found] == [value is literal_values.ILL for value in wanted]
    for one, one_wanted in zip(found, wanted, strict=True):
        for other, other_wanted in zip(found, wanted, strict=True):
            if one and other:
                assert (one.canonical == other.canonical) == (one_wanted == other_wanted)
        if one and one.space is not Space.OTHER:
            canonical = value_of(one.canonical)
            assert canonical is not None, "a canonical token can be read"
            assert canonical.canonical == one.canonical, "a canonical token is its own"
            for datatype in literal_values.DATATYPES:
                assert in_space(one, datatype) == literal_values.within(one_wanted, datatype), datatype


def test_years_of_any_number_of_digits() -> None:
    """Python makes no integer of a text of more than 4,300 digits."""
    for year, after in (("-0001", "0000"), ("-10000", "-9999"), ("9" * 5000, "1" + "0" * 5000)):
        last, first = f"{year}-12-31T24:00:00Z", f"{after}-01-01T00:00:00+00:00"
        one, other = (value_of(literal_token(text, XSD + "dateTime")) for text in (last, first))
        assert one
        assert one == other
    assert value_of(literal_token(f"{'1' * 5000}-02-29", XSD + "date")) is None


@pytest.mark.parametrize(
    ("name", "start", "repeated", "legal"),
    [
        ("base64Binary", "", "AA", True),
        ("base64Binary", "", "A ", False),
        ("hexBinary", "", "ab", True),
        ("hexBinary", "a", "ab", False),
        ("token", "a", " b", True),
        ("language", "a", "-b", True),
    ],
)
def test_long_literals_are_read_in_little_memory(name: str, start: str, repeated: str, legal: bool) -> None:
    """An image of 16 MiB took 3 GB."""
    token = literal_token(start + repeated * 500_000, XSD + name)
    tracemalloc.start()
    value = value_of(token)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (value is not None) is legal
    assert peak < 12 << 20


def test_xml_is_read_in_time_that_its_length_bounds() -> None:
    """Elements nested so deep, or with so many namespaces around them, that each would look at all are compared as they
    are written; whether they are well-formed is known."""
    many = "".join(f" xmlns:n{i}='u{i}'" for i in range(4000))
    for start, end in (("<a>" * 20_000, "</a>" * 20_000), (f"<a{many}>" + "<b/>" * 40_000, "</a>")):
        texts = start + end, f"{start} {end}", start + end[4:]
        one, other, broken = (value_of(literal_token(text, RDF + "XMLLiteral")) for text in texts)
        assert one
        assert other
        assert one.canonical != other.canonical
        assert broken is None
    shallow = (value_of(literal_token(text * 20_000, RDF + "XMLLiteral")) for text in ("<b/>", "<b></b>"))
    assert len(set(shallow)) == 1


def numbered(engine: Engine, batches: list[list[str]], in_memory: bool) -> dict[str, dict[str, Any]]:
    """The rows of TERM of literals that came in batches, by token. in_memory: the first batch apart, what is known is
    known by its fingerprints."""
    encoding.builtin_terms(engine, "term")
    counters, known = Counters(), None
    for batch in batches:
        if known is None:
            rows = [("<http://e/s>", "<http://e/p>", token) for token in batch]
            engine.load("raw", pa.table({c: [row[i] for row in rows] for i, c in enumerate("spo")}))
            new, counters = encoding.encode(engine, "raw", counters)
        else:
            found = encoding.numbered(engine, (), batch, counters, known)
            new, counters = len(found.new), found.counters
            known.add(found.new)
            assert found.ids == encoding.numbered(engine, batch, (), counters, known).ids
        if new:
            engine.append("term", [f"SELECT {TERM.select} FROM new_term"])
        if in_memory and known is None:
            known = Fingerprints.read(engine)
        if known is not None:
            assert len(known) == count(engine, "term")
    found = engine.query(f"SELECT {token_sql()} AS token, t.* FROM term t WHERE id >= {FIRST_LITERAL}").to_pylist()
    assert counters.equal_valued == sum(row["value"] is not None for row in found)
    assert counters.ill_typed == sum(row["ill_typed"] for row in found)
    return {row["token"]: row for row in found}


def check_numbered(engine: Engine, batches: list[list[str]], in_memory: bool = False) -> None:
    found = numbered(engine, batches, in_memory)
    assert set(found) == {token for batch in batches for token in batch}
    first: dict[Any, int] = {}
    for token, row in sorted(found.items(), key=lambda item: item[1]["id"]):
        meaning = literal_values.value(token)
        assert row["ill_typed"] == (meaning is literal_values.ILL), token
        home = row["id"] if meaning is literal_values.ILL else first.setdefault(meaning, row["id"])
        assert (row["value"] if row["value"] is not None else row["id"]) == home, token
    asked = [token for batch in batches for token in batch]
    ids = literals.equal_to(engine, asked)
    assert ids == {token: found[token]["value"] or found[token]["id"] for token in asked}
    selects = rules.types_sql(engine.dialect, range(len(DATATYPES)), {n: [d] for n, d in enumerate(DATATYPES)})
    types = defaultdict(set)
    for fact in engine.query(selects).to_pylist():
        types[fact["s"]].add(DATATYPES[fact["o"]])
    for token, row in found.items():
        value = value_of(token)
        known = value is not None and value.space is not Space.OTHER and row["value"] is None
        assert types[row["id"]] == ({d for d in DATATYPES if in_space(value, d)} if known and value else set()), token


@pytest.mark.parametrize("how", ["one by one", "by SQL", "in memory"])
@settings(max_examples=6, deadline=None, derandomize=True)
@given(batches=st.lists(st.lists(tokens, max_size=12), min_size=1, max_size=3))
def test_the_dictionary_knows_the_values(embedded: Engine, batches: list[list[str]], how: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if how == "by SQL":
            patch.setattr("triplestore.model.thresholds.Sizes.objects", 0)
        check_numbered(embedded, batches, in_memory=how == "in memory")


@pytest.mark.long
@pytest.mark.spark
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(batches=st.lists(st.lists(tokens, min_size=60, max_size=80), min_size=2, max_size=2))
def test_the_dictionary_knows_the_values_on_spark(spark_engine: Engine, batches: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("triplestore.model.thresholds.Sizes.objects", 0)
        check_numbered(spark_engine, batches)


def test_datatypes_have_ids() -> None:
    assert len({builtin(name) for name in DATATYPES}) == len(DATATYPES)
