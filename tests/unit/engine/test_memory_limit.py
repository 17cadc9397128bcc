"""Out of memory, or of room to spill: an error of its own, with what is to be done, and nothing lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import run
from tests.support.server import serving, students
from triplestore import Store
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.engine.select import make_engine
from triplestore.model.errors import MemoryLimitError, UsageError

HUNGRY = f"SELECT (SUM(?n) AS ?x) {{ ?a ?p ?b . ?c ?q ?d . ?e ?r ?f BIND({'7' * 60} AS ?n) }}"
"""Texts of all numbers that no DECIMAL holds, which cannot be spilled."""

MANY = "".join(f"<urn:s{number}> <urn:p{number % 7}> <urn:o{number % 97}> .\n" for number in range(300))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "many.nt").write_text(MANY)
    with Store.create(tmp_path / "kg", rules=[]) as made:
        made.load(tmp_path / "many.nt")
    return tmp_path / "kg"


def test_a_query_out_of_memory_says_so(store: Path) -> None:
    with Store.open(store, engine="duckdb", memory_limit="200MB") as opened:
        with pytest.raises(MemoryLimitError, match=r"out of memory .*MiB.*--memory-limit") as caught:
            len(opened.query(HUNGRY))
        assert "WITH" not in str(caught.value)
        with pytest.raises(MemoryLimitError, match="out of memory"):
            list(opened.query(HUNGRY, stream=True))
        assert len(opened.query("SELECT * { ?s ?p ?o } LIMIT 3")) == 3


def test_the_command_ends_with_7(store: Path) -> None:
    outcome = run("query", store, HUNGRY, "--engine", "duckdb", "--memory-limit", "200MB")
    assert outcome.code == 7
    assert outcome.err.startswith("triplake: out of memory (")
    assert "fault" not in outcome.err


def test_the_server_answers_503(store: Path) -> None:
    with serving(store, memory_limit="200MB") as client:
        answer = client.get("/sparql", params={"query": HUNGRY}, headers={"Accept": "application/json"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
        assert "out of memory" in json.loads(answer.text)["detail"]
        assert client.get("/sparql", params={"query": "ASK { ?s ?p ?o }"}).json()["boolean"]


def test_what_is_spilled_is_bounded() -> None:
    engine = DuckDBEngine(memory_limit="100MB", threads=1)
    try:
        engine.create("t", "SELECT 1 AS n")
        ((most, memory),) = engine.rows(
            "SELECT current_setting('max_temp_directory_size'), current_setting('memory_limit')"
        )
        assert most.endswith("iB")
        assert memory == "95.3 MiB"
        engine.rows("SET max_temp_directory_size = '20MB'")
        with pytest.raises(MemoryLimitError, match="spilled to disk"):
            engine.query("SELECT DISTINCT a.range AS x, b.range AS y FROM range(10000) a, range(3000) b")
    finally:
        engine.close()


def test_there_is_a_limit_by_default(tmp_path: Path) -> None:
    def bytes_of(engine: DuckDBEngine) -> float:
        ((size,),) = engine.rows("SELECT current_setting('memory_limit')")
        number, unit = size.split()
        return float(number) * {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]

    default, eighty = DuckDBEngine(), DuckDBEngine(memory_limit="80%")
    assert bytes_of(default) / bytes_of(eighty) == pytest.approx(0.5 / 0.8, rel=0.05)
    default.close()
    eighty.close()


def test_threads_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPLAKE_THREADS", "3")
    engine = DuckDBEngine()
    assert engine.rows("SELECT current_setting('threads')") == [(3,)]
    engine.close()
    for wrong in ("0", "many", "-1", "1025", "100000", "\u0663", 5_000 * "9"):
        monkeypatch.setenv("TRIPLAKE_THREADS", wrong)
        with pytest.raises(UsageError, match=f"TRIPLAKE_THREADS is a number of threads, 1 to 1,024, not '{wrong}'"):
            DuckDBEngine()


def test_a_memory_limit_that_is_no_size(tmp_path: Path) -> None:
    students(tmp_path / "kg").exists()
    with pytest.raises(UsageError, match="'a lot'"):
        Store.open(tmp_path / "kg", engine="duckdb", memory_limit="a lot")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("wrong", ["", "-1GB", "0GB", "0%", "-5%", "GB", "1e3MB", "2 GBs"])
def test_a_memory_limit_that_limits_nothing(wrong: str, engine: str) -> None:
    """DuckDB takes -1GB for 16 EiB."""
    with pytest.raises(UsageError, match="a memory limit is a size, as in 800MB or 2GB, or a share, as in 35%, not '"):
        make_engine(engine, memory_limit=wrong)


@pytest.mark.parametrize("right", ["300MB", "0.5GiB", "300 mb", "20%", "300000000 B"])
def test_memory_limits(right: str) -> None:
    make_engine("duckdb", memory_limit=right).close()
