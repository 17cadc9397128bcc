"""Lines of streams: malformed and late ones, and the forms that are read alike."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from rdflib import RDF, RDFS, Namespace

from triplestore import Store
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.errors import InputError
from triplestore.streams.source import chunks
from triplestore.streams.tokens import tokens_of

E = Namespace("http://example.org/")
ASK = "SELECT ?x FROM STREAM <s> [RANGE 5 STEP 1] { ?x a <http://example.org/Room> }"
LINE = "{} <http://example.org/r{}> a <http://example.org/HotRoom> .\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store for which a hot room is a room."""
    path = tmp_path_factory.mktemp("rooms") / "kg"
    with Store.create(path, "rdfs-plus", engine="duckdb") as store:
        store.update(add=[(E.HotRoom, RDFS.subClassOf, E.Room)])
    return path


@pytest.fixture
def kg(made: Path, tmp_path: Path) -> Path:
    """The store, the test's own."""
    return Path(shutil.copytree(made, tmp_path / "kg"))


def lines(count: int, start: int = 1) -> str:
    return "".join(LINE.format(i, i) for i in range(start, start + count))


def read(kg: Path, source: object, **options: object) -> tuple[list[tuple[int, int]], object]:
    with Store.open(kg, engine="duckdb") as store, store.stream(source, ASK, **options) as run:  # type: ignore[arg-type]
        return [(answer.time, len(answer.rows)) for answer in run], run.stats


def read_lines(kg: Path, text: str, **options: object) -> tuple[list[tuple[int, int]], object]:
    return read(kg, io.BytesIO(text.encode()), **options)


@pytest.mark.parametrize("many", [0, 3_000])
@pytest.mark.parametrize(
    "bad", [f"90 <{E}a> <{E}b> .\n", f"90 <{E}a> <{E}b> <{E}c> <{E}d> .\n", "90 #\n", "90\n", "9O x .\n"]
)
def test_a_malformed_line_has_no_time(kg: Path, bad: str, many: int) -> None:
    """What comes after it is not late; it is reported by its line, and ends the run after the windows before it."""
    text = LINE.format(1, 1) + LINE.format(2, 2) * (1 + many) + "# a comment\n\n" + bad + LINE.format(3, 3)
    found, stats = read_lines(kg, text)
    assert found == [(1, 1), (2, 2), (3, 3)]
    assert (stats.late, stats.malformed, stats.triples) == (0, 1, 3 + many)  # type: ignore[attr-defined]
    assert str(stats.bad[0]).startswith(f"the stream:{5 + many}")  # type: ignore[attr-defined]
    with Store.open(kg, engine="duckdb") as store, store.stream(io.BytesIO(text.encode()), ASK, on_error="stop") as run:
        answers = iter(run)
        assert next(answers).time == 1
        with pytest.raises(InputError, match=f"the stream:{5 + many}"):
            next(answers)


def test_malformed_triples_are_reported_in_order(kg: Path, tmp_path: Path) -> None:
    """By the file, and the line in it, also when a run is taken up: with those that have no time."""
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "a.txt").write_text(lines(2) + "x\n3 <a:b> .\n" + LINE.format(3, 3))
    (folder / "b.txt").write_text("4 <a:b> .\ny\n" + lines(2, 4))
    _, stats = read(kg, folder)
    places = [(Path(str(error.file)).name, error.line) for error in stats.bad]  # type: ignore[attr-defined]
    assert places == [("a.txt", 3), ("a.txt", 4), ("b.txt", 1), ("b.txt", 2)]
    source = tmp_path / "s.txt"
    source.write_text(lines(20))
    read(kg, source, checkpoint=tmp_path / "c")
    source.write_text(lines(20) + "21 <a:b> .\n" + LINE.format(22, 22))
    found, stats = read(kg, source, checkpoint=tmp_path / "c")
    assert found == [(21, 4), (22, 4)]
    assert str(stats.bad[0]).startswith(f"{source}:21")  # type: ignore[attr-defined]


def test_a_late_triple_is_in_the_windows_that_are_open(kg: Path) -> None:
    """At 4 the windows up to 3 are complete: what comes then of time 1 is in those of 4 and 5, what has left is not."""
    text = lines(4) + LINE.format(1, 9) + LINE.format(-1, 8) + LINE.format(5, 5) + LINE.format(6, 6)
    found, stats = read_lines(kg, text)
    assert found == [(1, 1), (2, 2), (3, 3), (4, 5), (5, 6), (6, 5)]
    assert stats.late == 2  # type: ignore[attr-defined]
    found, stats = read_lines(kg, text, lateness="2")
    assert found == [(1, 1), (2, 4), (3, 5), (4, 5), (5, 6), (6, 5)]
    assert stats.late == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("time", ["1", "0.5", "1970-01-01T00:00:00.0005Z", "1970-01-01T00:00:00.001Z"])
@pytest.mark.parametrize("between", ["{0}\t{1}\ta\t{2}\t.", " {0}  {1} a  {2} .", "{0}\t{1} a {2}."])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_forms_of_lines(time: str, between: str, end: str) -> None:
    line = between.format(time, f"<{E}x>", f"<{E}HotRoom>") + end
    (chunk,) = chunks(io.BytesIO(line.encode()))
    table, bad = tokens_of(DuckDBEngine(), chunk.lines, 0)
    assert (chunk.times, chunk.bad.count, bad) == ([1], 0, {})
    assert table.select(["s", "p", "o"]).to_pylist() == [{"s": f"<{E}x>", "p": f"<{RDF.type}>", "o": f"<{E}HotRoom>"}]


def test_times_in_json(kg: Path) -> None:
    triple = f"<{E}r> <{RDF.type}> <{E.HotRoom}>"
    times = [1, 1.5, "3", "1970-01-01T00:00:00.004Z", 4.0000001]
    text = "".join(
        json.dumps({"time": time, "triple": triple.replace("r>", f"r{n}>", 1)}) + "\n" for n, time in enumerate(times)
    )
    assert [time for time, _ in read_lines(kg, text)[0]] == [1, 2, 3, 4, 5]
