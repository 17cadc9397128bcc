"""Texts that are long or deep: they are answered, or refused as beyond a limit; never do they end the process, and it
is never told as a fault of ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import match, query
from triplake.sparql.parser import parse_query
from triplake.sparql.update import parse_update
from triplestore import Store
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.expressions.vectorised import register
from triplestore.model.errors import LimitError, StoppedError, TriplakeError
from triplestore.model.expression import Call, Variable, walk
from triplestore.model.stopping import Stop, heeding
from triplestore.model.terms import XSD

SHAPES = {
    "sums": lambda n: f"SELECT ({'+'.join(['1'] * n)} AS ?x) {{ }}",
    "sums and differences": lambda n: f"SELECT (1{' + 1 - 1' * n} AS ?x) {{ }}",
    "products": lambda n: f"SELECT ({'*'.join(['1'] * n)} AS ?x) {{ }}",
    "any": lambda n: f"SELECT * {{ ?s ?p ?o FILTER({'||'.join(['?o = 1'] * n)}) }}",
    "all": lambda n: f"SELECT * {{ ?s ?p ?o FILTER({'&&'.join(['?o = 1'] * n)}) }}",
    "not": lambda n: f"SELECT ({'!' * n} true AS ?x) {{ }}",
    "minus": lambda n: f"SELECT ({'- ' * n} 1 AS ?x) {{ }}",
    "brackets": lambda n: f"SELECT ({'(' * n}1{')' * n} AS ?x) {{ }}",
    "functions": lambda n: f"SELECT ({'STR(' * n}1{')' * n} AS ?x) {{ }}",
    "groups in groups": lambda n: f"SELECT * {'{' * n} ?s ?p ?o {'}' * n}",
    "groups": lambda n: f"SELECT * {{ {'{ ?s ?p ?o } ' * n} }}",
    "unions": lambda n: f"SELECT * {{ {' UNION '.join(['{ ?s ?p ?o }'] * n)} }}",
    "triples": lambda n: f"SELECT * {{ {' . '.join(f'?s{i} ?p ?o' for i in range(n))} }}",
    "objects": lambda n: f"SELECT * {{ ?s ?p {', '.join(f'?o{i}' for i in range(n))} }}",
    "blank nodes": lambda n: f"SELECT * {{ ?s ?p {'[ ?p ' * n} 1 {']' * n} }}",
    "collections": lambda n: f"SELECT * {{ ?s ?p {'(' * n} 1 {')' * n} }}",
    "members": lambda n: f"SELECT * {{ ?s ?p ({' 1' * n}) }}",
    "optional in optional": lambda n: f"SELECT * {{ {'OPTIONAL { ?s ?p ?o ' * n} {'}' * n} }}",
    "exists in exists": lambda n: f"SELECT * {{ {'?s ?p ?o FILTER EXISTS { ' * n} {'}' * n} }}",
    "selects in selects": lambda n: f"SELECT * {'{ SELECT * ' * n} {{ ?s ?p ?o }} {'}' * n}",
    "sequences": lambda n: f"SELECT * {{ ?s {'/'.join(['<u:p>'] * n)} ?o }}",
    "alternatives": lambda n: f"SELECT * {{ ?s {'|'.join(['<u:p>'] * n)} ?o }}",
    "repetitions": lambda n: f"SELECT * {{ ?s {'(' * n}<u:p>{')*' * n} ?o }}",
    "expressions": lambda n: f"SELECT {' '.join(f'(1+{i} AS ?x{i})' for i in range(n))} {{ }}",
    "aggregates": lambda n: f"SELECT {' '.join(f'(COUNT(?s{i}) AS ?x{i})' for i in range(n))} {{ ?s ?p ?o }}",
    "groups by": lambda n: f"SELECT (1 AS ?x) {{ ?s ?p ?o }} GROUP BY {' '.join(f'(?o+{i})' for i in range(n))}",
    "having": lambda n: f"SELECT ?s {{ ?s ?p ?o }} GROUP BY ?s HAVING {' '.join(f'(?s!={i})' for i in range(n))}",
    "orders": lambda n: f"SELECT * {{ ?s ?p ?o }} ORDER BY {' '.join(f'(?o+{i})' for i in range(n))}",
    "unclosed quotes": lambda n: "SELECT (" + "\\'''x\n" * n,
    "unclosed brackets": lambda n: "SELECT " + "(" * n,
    "a name of dots": lambda n: "SELECT " + "a." * n,
}
UPDATES = {
    "where": lambda n: f"DELETE {{ ?s ?p ?o }} WHERE {'{' * n} ?s ?p ?o {'}' * n}",
    "templates": lambda n: f"INSERT {{ <u:a> <u:b> {'(' * n} 1 {')' * n} }} WHERE {{ }}",
    "data": lambda n: f"INSERT DATA {{ <u:a> <u:b> {'[ <u:p> ' * n} 1 {']' * n} }}",
    "unions": lambda n: f"DELETE {{ ?s ?p ?o }} WHERE {{ {' UNION '.join(['{ ?s ?p ?o }'] * n)} }}",
    "operations": lambda n: "; ".join(["INSERT DATA { <u:a> <u:b> 1 }"] * n),
}
SIZES = (10, 1_000, 12_000)


def refusal(work: Callable[[], object]) -> str:
    """What is said where something is refused; nothing where it is done."""
    try:
        work()
    except TriplakeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sampled(each=3)
def test_queries_are_parsed_or_refused(shape: str, size: int) -> None:
    refused = refusal(lambda: parse_query(SHAPES[shape](size)))
    assert len(refused) < 400
    assert "unreported" not in refused


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", UPDATES)
def test_updates_are_parsed_or_refused(shape: str, size: int) -> None:
    assert len(refusal(lambda: parse_update(UPDATES[shape](size)))) < 400


def test_a_limit_is_told_with_its_place() -> None:
    with pytest.raises(LimitError, match=r"line 2, column 108: more than 100 brackets are open here"):
        parse_query(f"SELECT\n({'(' * 200}1{')' * 200} AS ?x) {{ }}".replace("((", "       ((", 1))
    with pytest.raises(LimitError, match=r"line 1, column \d+: these are more than 500 patterns"):
        parse_query(SHAPES["unions"](12_000))


@pytest.mark.parametrize("shape", ["expressions", "aggregates", "groups by", "having", "orders"])
def test_select_expressions_and_keys_count_as_patterns(shape: str) -> None:
    parse_query(SHAPES[shape](490))
    with pytest.raises(LimitError, match=r"more than 500 patterns, expressions of SELECT and keys"):
        parse_query(SHAPES[shape](510))


def test_a_walk_through_a_long_expression_heeds_the_limit() -> None:
    """A million operands take seconds, a few times over."""
    over = Stop()
    over.stop("it is over")
    with heeding(over), pytest.raises(StoppedError, match="it is over"):
        list(walk(Call("CONCAT", (Variable("x"),) * 3)))


def test_a_chain_of_assignments_is_bounded() -> None:
    """What reads one variable over and over does not count, however many there are."""
    wide = " ".join(f"BIND(?x0 + 1 AS ?x{i + 1})" for i in range(400))
    long = " ".join(f"BIND(?x{i} + 1 AS ?x{i + 1})" for i in range(400))
    parse_query(f"SELECT * {{ {wide} }}")
    with pytest.raises(LimitError, match=r"line 1, column \d+: \?x101 ends a chain of more than 100 expressions"):
        parse_query(f"SELECT * {{ {long} }}")
    selected = " ".join(f"(?x{i} + 1 AS ?x{i + 1})" for i in range(400))
    with pytest.raises(LimitError, match=r"\?x101 ends a chain"):
        parse_query(f"SELECT {selected} {{ }}")


@pytest.mark.parametrize("what", ["&&", "||"])
def test_flat_chains_are_parsed_whole(what: str) -> None:
    parse_query(f"SELECT * {{ ?s ?p ?o FILTER({what.join(['?o = 1'] * 10_000)}) }}")


@pytest.mark.long
def test_the_process_survives(tmp_path: Path) -> None:
    """In a process of its own, whole, from the text to the answer or the error."""
    program = f"""
from tests.unit.sparql.test_sparql_limits import SHAPES, UPDATES
from triplestore import Store
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.expressions.vectorised import register
from triplestore.model.errors import EngineError, TriplakeError
with Store.create({str(tmp_path / "kg")!r}, rules=[], engine="duckdb", memory_limit="1GB") as store:
    store.sparql_update("INSERT DATA {{ <u:a> <u:p> <u:b> }}")
    for ask, shapes in ((lambda t: len(store.query(t)), SHAPES), (store.sparql_update, UPDATES)):
        for name, shape in shapes.items():
            for size in (10, 12_000):
                if name in ("operations", "sums and differences") and size > 10:
                    continue
                try:
                    ask(shape(size))
                except EngineError:
                    raise
                except TriplakeError:
                    pass
                print(name, size, flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.stdout[-80:], done.stderr[-2_000:])


LONG = {
    "a sum": (
        f"SELECT ({'+'.join(['1'] * 10_000)} AS ?x) {{ }}",
        ['"10000"^^<http://www.w3.org/2001/XMLSchema#integer>'],
    ),
    "differences": (
        f"SELECT (5{' - 1' * 10_000} AS ?x) {{ }}",
        ['"-9995"^^<http://www.w3.org/2001/XMLSchema#integer>'],
    ),
    "a product": (f"SELECT (2{' * 1' * 10_000} AS ?x) {{ }}", ['"2"^^<http://www.w3.org/2001/XMLSchema#integer>']),
    "any": (f"SELECT ?x {{ VALUES ?x {{ 1 2 }} FILTER({'||'.join(f'?x = {n}' for n in range(2, 3_000))}) }}", ["2"]),
    "all": (f"SELECT ?x {{ VALUES ?x {{ 1 2 }} FILTER({'&&'.join(f'?x != {n}' for n in range(2, 3_000))}) }}", ["1"]),
}


@pytest.mark.parametrize(("text", "answer"), LONG.values(), ids=LONG.keys())
def test_flat_chains_are_answered(tmp_path: Path, text: str, answer: list[str]) -> None:
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        found = [row[0].n3() for row in store.query(text)]
    assert found in (answer, [f'"{one}"^^<http://www.w3.org/2001/XMLSchema#integer>' for one in answer])


MIXED = {
    "any of all": (" || ".join(f"(?x < {i} && ?x > {i})" for i in range(5_000)) + " || ?x = 2", ["2"]),
    "all of any": (" && ".join(f"(?x != {i} || ?y = {i})" for i in range(5_000)), []),
    "a sum": ("?x" + " + ?x" * 10_000 + " = 20002", ["2"]),
    "a mixed chain": ("?x" + " + ?x - 1 * ?x" * 5_000 + " = 2", ["2"]),
    "a concatenation": (f"STRLEN(CONCAT({', '.join(['STR(?x)'] * 10_000)})) = 10000", ["1", "2"]),
    "alternatives": (f"COALESCE({', '.join(['?y'] * 10_000)}, ?x) = 1", ["1"]),
    "members": (f"?x IN ({', '.join(f'?x + {i}' for i in range(1, 5_000))}, 2)", ["2"]),
}


@pytest.mark.parametrize(("condition", "answer"), MIXED.values(), ids=MIXED.keys())
@pytest.mark.sampled(each=9)
def test_ten_thousand_operands(tmp_path: Path, condition: str, answer: list[str]) -> None:
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        found = store.query(f"SELECT ?x {{ VALUES ?x {{ 1 2 }} FILTER({condition}) }}")
        assert [str(row[0]) for row in found] == answer


def test_an_expression_beyond_the_engine_is_a_limit(tmp_path: Path) -> None:
    many = ", ".join(f"REPLACE(?o, '{i}', ?s)" for i in range(5_000))
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store, pytest.raises(LimitError):
        store.query(f"SELECT (COALESCE({many}) AS ?x) {{ ?s ?p ?o }}")


def test_a_thousand_arguments(tmp_path: Path) -> None:
    arguments = ", ".join(["STR(?s)"] * 1_000)
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        store.sparql_update("INSERT DATA { <http://e/> <http://e/> <http://e/> }")
        ((found,),) = store.query(f"SELECT (CONCAT({arguments}) AS ?x) {{ ?s ?p ?o }}")
        assert str(found) == "http://e/" * 1_000


@pytest.mark.parametrize("step", ["<u:p>?", "<u:p>*"])
def test_optional_steps_nested_in_a_repetition(tmp_path: Path, step: str) -> None:
    """The statement was twice as long with each level: a query of 400 characters filled the memory."""
    path = step
    for _ in range(90):
        path = f"({path}/{step})"
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        store.sparql_update("INSERT DATA { <u:a> <u:p> <u:b> . <u:b> <u:p> <u:c> GRAPH <u:g> { <u:c> <u:p> <u:d> } }")
        assert {str(row[0]) for row in store.query(f"SELECT * {{ <u:a> {path}+ ?y }}")} == {"u:a", "u:b", "u:c", "u:d"}
        found = store.query(f"SELECT * {{ GRAPH ?g {{ ?x {path}+ <u:d> }} }}")
        assert {str(row.x) for row in found} == {"u:c", "u:d"}


@pytest.mark.parametrize("pattern", ["(a{1,900}){1,900}", "a{1001}"], ids=["large", "many"])
def test_a_pattern_beyond_the_engine_is_refused(tmp_path: Path, pattern: str) -> None:
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        for call in (f"REGEX('a', '{pattern}')", f"REPLACE('a', '{pattern}', 'b')"):
            with pytest.raises(LimitError, match=r"the regular expression .{,90} is too large \(.{,90}\): write a"):
                store.query(f"SELECT (COALESCE({call}, 1) AS ?x) {{ }}")


def test_a_pattern_that_is_no_expression_is_an_error(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        for call in (f"REGEX('a', '{'(' * 5_000}')", f"REPLACE('a', '{'(' * 5_000}', 'b')"):
            ((found,),) = store.query(f"SELECT (COALESCE({call}, 1) AS ?x) {{ }}")
            assert str(found) == "1"


@pytest.mark.parametrize("pattern", ["a" * 80_001, r"\\p{L}" * 2_000_000], ids=["letters", "categories"])
def test_a_pattern_that_is_too_long_is_refused_at_once(tmp_path: Path, pattern: str) -> None:
    """Nothing heeds a limit of time while a pattern is read."""
    started = process_time()
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        computed = f"SELECT (REGEX('a', ?p) AS ?x) {{ VALUES ?p {{ '{pattern[:200_000]}' }} }}"
        for text in (f"SELECT (REGEX('a', '{pattern}') AS ?x) {{ }}", computed):
            with pytest.raises(LimitError, match=r"80,000 is the limit"):
                store.query(text)
    assert process_time() - started < 10


def test_brackets_that_stay_open_are_read_once(tmp_path: Path) -> None:
    """With flag x, 16,000 of them held the process for 15 s."""
    started = process_time()
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        ((found,),) = store.query(f"SELECT (REGEX('a', '{'[' * 60_000}', 'x') AS ?x) {{ }}")
        assert found is None
    assert process_time() - started < 5


def test_the_same_duration_is_read_once_for_a_sum(tmp_path: Path) -> None:
    """A sum is one call, which no limit stops: of a million durations it took a minute."""
    values = f"VALUES ?d {{ 'PT1.5S'^^<{XSD}dayTimeDuration> '-PT1S'^^<{XSD}dayTimeDuration> }}"
    values += " VALUES ?n { 100000000000000000000.5 1 }"
    numbers = " ".join(map(str, range(1_000)))
    many = f"{values} VALUES ?a {{ {numbers} }} VALUES ?b {{ {numbers[:289]} }}"
    started = process_time()
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        ((total, mean, number),) = store.query(f"SELECT (SUM(?d) AS ?s) (AVG(?d) AS ?m) (SUM(?n) AS ?t) {{ {many} }}")
    assert [str(total), str(mean), str(number)] == ["P1DT3H46M40S", "PT0.25S", "20000000000000000000300000"]
    assert process_time() - started < 10


def test_numbers_that_are_too_long_are_not_summed(tmp_path: Path) -> None:
    """A number of a million digits held the process for 17 s."""
    digits = "9" * 1_000_000
    started = process_time()
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        with pytest.raises(LimitError, match="10,000 digits"):
            store.query(f"SELECT (SUM(?x) AS ?all) {{ VALUES ?x {{ {digits} 1 }} }}")
        ((some,),) = store.query(f"SELECT (SUM(?y) AS ?some) {{ VALUES ?y {{ {digits[:9_000]} 1 }} }}").tokens()
    assert some == f'"1{"0" * 9_000}"^^<{XSD}integer>'
    assert process_time() - started < 10


@pytest.mark.parametrize("number", [str(2**63), "9" * 30, "9" * 5_000, "0" * 5_000 + "3"], ids=len)
def test_any_number_of_solutions(tmp_path: Path, number: str) -> None:
    found = "SELECT ?o { ?s ?p ?o }"
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        store.sparql_update("INSERT DATA { <u:s> <u:p> 1, 2, 3, 4 }")
        some = 3 if number[0] == "0" else 4
        assert len(store.query(f"{found} LIMIT {number}")) == some
        assert len(store.query(f"{found} OFFSET {number}")) == 4 - some
        assert len(store.query(f"{found} ORDER BY ?o LIMIT {number} OFFSET 1")) == 3
        assert len(store.query(f"{found} LIMIT 2 OFFSET {number}")) == 4 - some
        assert len(store.query(f"SELECT * {{ {{ {found} LIMIT {number} }} ?x ?y ?o }}")) == some


@pytest.mark.parametrize(
    ("term", "answer"), [("abc", None), ("1_0", None), ("+10", "70"), ("-0", "60"), (" 10 ", "70")]
)
def test_long_sums_of_texts_that_may_be_no_numbers(tmp_path: Path, term: str, answer: str | None) -> None:
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        ((found,),) = store.query(f"SELECT ('{term}'^^<{XSD}integer>{' + 1' * 60} AS ?x) {{ }}")
        assert (found and str(found)) == answer


def test_the_algebra_of_long_queries_is_not_kept() -> None:
    short, long = (f"SELECT * {{ VALUES ?x {{ {'1 ' * times} }} }}" for times in (10, 10_000))
    assert parse_query(short) is parse_query(short)
    assert parse_query(long) == parse_query(long)
    assert parse_query(long) is not parse_query(long)


@pytest.mark.parametrize("pattern", ["(a", "a{,2}", "a++", r"\\p{Zz}"])
def test_a_pattern_that_is_none_is_an_error_of_the_expression(tmp_path: Path, pattern: str) -> None:
    condition = f"!BOUND(?z) || REGEX(?x, '{pattern}')"
    text = f"SELECT ?x (REPLACE(?x, '{pattern}', 'b') AS ?y) {{ VALUES ?x {{ 'a' }} FILTER({condition}) }}"
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        assert [row[1] for row in store.query(text)] == [None]


def test_aggregates_of_long_expressions_are_evaluated_once(tmp_path: Path) -> None:
    """Each of these sums took ten times as long as the one before, where the engine copied columns into aggregates."""
    data = tmp_path / "numbers.nt"
    data.write_text("".join(f'<u:{n}> <u:p> "{n}"^^<{XSD}integer> .\n' for n in range(3_000)))
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        store.load(data)
        started = process_time()
        ((total,),) = store.query(f"SELECT (SUM({' + ?o' * 8}) AS ?x) {{ ?s <u:p> ?o }}")
        assert int(total) == 8 * sum(range(3_000))
        assert process_time() - started < 10


def test_many_rows_that_bind_nothing(tmp_path: Path) -> None:
    """Each was a SELECT of its own, as each graph of FROM NAMED was: an engine planned a hundred thousand of them for
    minutes, and heeds no limit meanwhile."""
    graphs = " ".join(f"FROM NAMED <u:g{n}>" for n in range(300))
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        store.sparql_update("INSERT DATA { GRAPH <u:g7> { <u:s> <u:p> 1, 2 } GRAPH <u:h> { <u:s> <u:p> 3 } }")
        count = f"SELECT (COUNT(*) AS ?n) {{ VALUES () {{ {'()' * 3_000} }} GRAPH <u:g7> {{ ?s ?p ?o }} }}"
        assert [int(row.n) for row in store.query(count)] == [6_000]
        assert (
            len(store.query(f"SELECT * {{ VALUES () {{ {'()' * 30} }} {{}} UNION {{ VALUES () {{ () () }} }} }}")) == 90
        )
        named = f"SELECT ?g ?o {graphs} {{ GRAPH ?g {{ ?s ?p ?o }} GRAPH ?g {{ ?s ?p ?o }} }}"
        assert {(str(row.g), int(row.o)) for row in store.query(named)} == {("u:g7", 1), ("u:g7", 2)}
        assert [store.explain_query(text).sql.count("SELECT") < 30 for text in (count, named)] == [True, True]


def tables(engine: DuckDBEngine) -> set[str]:
    return {name for (name,) in engine.rows("SELECT table_name FROM duckdb_tables()")}


@pytest.mark.parametrize(
    "start", ["<u:a> <u:p>+ ?o", f"VALUES ?o {{ {' '.join(map(str, range(1_001)))} }}"], ids=["path", "data"]
)
def test_a_query_that_is_refused_leaves_no_tables(start: str) -> None:
    """Pairs of a path, and inline data, stayed in memory as long as the store was open."""
    engine = DuckDBEngine(threads=1)
    graph = make_graph(engine, [("<u:a>", "<u:p>", "<u:b>")])
    before = tables(engine)
    with pytest.raises(LimitError):
        query(graph, f"SELECT * {{ {start} FILTER(REGEX(STR(?o), 'a{{1001}}')) }}")
    assert tables(engine) == before
    engine.close()


def test_a_pattern_of_a_long_term_leaves_no_tables(embedded: DuckDBEngine) -> None:
    graph = make_graph(embedded, [("<u:a>", "<u:p>", "<u:b>")])
    before = tables(embedded)
    assert list(match(graph, [None, None, f'"{"x" * 20_000}"']).tokens()) == []
    assert tables(embedded) == before


def test_a_reader_tells_why_a_query_fails() -> None:
    """Its transaction is at an end then: dropping the pairs of the path was what failed."""
    engine = DuckDBEngine(threads=1)
    graph = make_graph(engine, [("<u:a>", "<u:p>", "<u:b>")])
    register(engine)
    reader = engine.reader()
    reader.begin()
    rows = f"VALUES () {{ {'()' * 20_000} }}"
    with pytest.raises(LimitError, match="a solution occurs more than"):
        query(replace(graph, engine=reader), f"SELECT * {{ <u:a> <u:p>+ ?o {rows} {rows} }}")
    reader.close()
    engine.close()


def test_the_terms_of_a_query_are_written_once(tmp_path: Path) -> None:
    """Each was in the statement once for each variable that a filter reads, or an update: gigabytes for some kilobytes
    of text and a hundred variables."""
    names = [f"?v{n}" for n in range(20)]
    row = " ".join(f"'{n}{'x' * 5_000}'" for n in range(20))
    condition = " && ".join(f"STR({name}) < 'a'" for name in names)
    text = f"SELECT * {{ VALUES ({' '.join(names)}) {{ ({row}) }} FILTER({condition}) }}"
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        assert len(store.query(text)) == 1
        assert len(store.explain_query(text).sql) < 500_000
