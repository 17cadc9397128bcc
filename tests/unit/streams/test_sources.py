"""What streams come from, with what is wrong with them, and what answers are written as."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
from rdflib import RDF, RDFS, BNode, Namespace

from tests import ROOT
from tests.support.cli import run
from tests.support.crash import kill_after
from triplestore import Store
from triplestore.model.errors import InputError, UsageError
from triplestore.streams.posted import Posted
from triplestore.streams.source import FIRST, Chunk, chunks

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


@pytest.mark.long
def test_sources_give_the_same(kg: Path, tmp_path: Path) -> None:
    text = lines(9)
    (tmp_path / "s.txt").write_text(text)
    (tmp_path / "s.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "1.txt").write_text(lines(4))
    (tmp_path / "folder" / "2.txt.gz").write_bytes(gzip.compress(lines(5, 5).encode()))
    (tmp_path / "folder" / ".hidden").write_text("no stream")
    objects = [{"time": i, "s": f"<{E}r{i}>", "p": f"<{RDF.type}>", "o": f"<{E.HotRoom}>"} for i in range(1, 10)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, objects)))
    whole = [{"time": i, "triple": f"<{E}r{i}> <{RDF.type}> <{E.HotRoom}>"} for i in range(1, 10)]
    (tmp_path / "whole.jsonl").write_text("\r\n".join(map(json.dumps, whole)))
    tuples = [(i, (E[f"r{i}"], RDF.type, E.HotRoom)) for i in range(1, 10)]
    wanted = [(i, min(i, 5)) for i in range(1, 10)]
    sources = [io.BytesIO(text.encode()), tmp_path / "s.txt", tmp_path / "s.txt.gz", tmp_path / "folder"]
    for source in (*sources, tmp_path / "s.jsonl", tmp_path / "whole.jsonl", tuples, iter(tuples)):
        assert read(kg, source)[0] == wanted, source


@pytest.mark.parametrize(
    "bad",
    [
        b"5\n",
        b"x <a:b> <a:b> <a:b> .\n",
        b"5 <a:b> x .\n",
        b"5_0 <a:b> <a:b> <a:b> .\n",
        b"5 <a:b> <a:b> \xff .\n",
        b"5 <a:b> <a:b> <a:b> .\r<a:b> <a:b> <a:c> .\n",
        b'{"time": 5}\n',
        b"{]\n",
        b'{"time": 9999999999999999999, "triple": "<a:b> <a:b> <a:b>"}\n',
        b'{"time": 9223372036854775807, "triple": "<a:b> <a:b> <a:b>"}\n',
        b'{"time": ' + b"[" * 100_000 + b"\n",
        b'{"time": 5, "triple": "<a:b> <a:b> <a:b> .\\n<a:b> <a:b> <a:c> ."}\n',
    ],
)
@pytest.mark.sampled(each=2)
def test_malformed_lines(kg: Path, bad: bytes) -> None:
    """Left out and counted; or the stream ends there."""
    text = lines(4).encode() + bad + b"\n# a comment\n" + lines(3, 5).encode()
    found, stats = read(kg, io.BytesIO(text))
    assert found == [(i, min(i, 5)) for i in range(1, 8)]
    assert stats.malformed == 1  # type: ignore[attr-defined]
    with pytest.raises(InputError):
        read(kg, io.BytesIO(text), on_error="stop")


def test_many_malformed_lines_take_little(kg: Path) -> None:
    """They are counted; of a few it is kept what is wrong. Nor is what clients post kept as more than its bytes."""
    (chunk,) = chunks(io.BytesIO(b"x\n" * 50_000))
    assert (chunk.bad.count, len(chunk.bad.first)) == (50_000, FIRST)
    _, stats = read(kg, io.BytesIO(b"5 <a:b> x .\n" * 3_000))
    assert (stats.malformed, len(stats.bad)) == (3_000, FIRST)  # type: ignore[attr-defined]
    body, posted = b"".join(b"%d <a:b> <a:b> <a:b> .\n" % time for time in range(50_000)), Posted()
    tracemalloc.start()
    try:
        assert posted.put(body, "the body") == 50_000
        assert tracemalloc.get_traced_memory()[0] < len(body)
    finally:
        tracemalloc.stop()
    assert sum(len(chunk.times) for chunk in islice(posted.chunks(), 1)) == 50_000


def test_a_replay_keeps_its_pace(kg: Path) -> None:
    """Each window comes at its time, not all of a piece at the end of it."""
    with Store.open(kg, engine="duckdb") as store, store.stream(io.BytesIO(lines(4).encode()), ASK, pace=4) as run:
        began = time.perf_counter()
        found = [(answer.time, time.perf_counter() - began) for answer in run]
    assert [now for now, _ in found] == [1, 2, 3, 4]
    assert all(seconds >= (now - 1) / 4 for now, seconds in found)
    assert all(later - before > 0.05 for (_, before), (_, later) in pairwise(found))


def test_blank_nodes_of_templates(kg: Path) -> None:
    """Those of one solution are the same in each answer, those of two never: answers may be a stream again."""
    text = f"CONSTRUCT {{ _:a <{E}of> ?x ; <{E}has> _:b }} FROM STREAM <s> [RANGE 2 STEP 1] {{ ?x a <{E}Room> }}"
    source = "".join(LINE.format(time, number) for time, number in ((1, 5), (2, 1), (2, 5), (3, 9), (4, 9)))
    with Store.open(kg, engine="duckdb") as store:
        with store.stream(io.BytesIO(source.encode()), text) as run:
            found = [{(row[2], row[0]) for row in answer.rows if row[1] == f"<{E}of>"} for answer in run]
        with store.stream(io.BytesIO(source.encode()), text, operator="istream") as run:
            new = [len(answer.rows) for answer in run]
    assert [len(answer) for answer in found] == [1, 2, 3, 1]
    nodes = set().union(*found)
    assert len(nodes) == len({node for _, node in nodes}) == 3
    assert new == [2, 2, 2, 0]


def test_a_clock_that_jumps(kg: Path) -> None:
    """Forward: the windows of the gap are answered until they are empty, once. Back: that is late."""
    text = lines(2) + LINE.format(10**12, 3) + LINE.format(1, 4) + LINE.format(10**12 + 1, 5)
    found, stats = read(kg, io.BytesIO(text.encode()))
    assert found == [(1, 1), (2, 2), (3, 2), (4, 2), (5, 2), (6, 1), (7, 0), (10**12, 1), (10**12 + 1, 2)]
    assert stats.late == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("subject", [f"<{E}r1>", "_:r1", f" <{E}r1>"])
def test_a_is_a_class_of_whatever(kg: Path, subject: str) -> None:
    assert read(kg, io.BytesIO(f"1 {subject} a <{E}HotRoom> .\n".encode()))[0] == [(1, 1)]


def test_empty_streams(kg: Path) -> None:
    assert read(kg, io.BytesIO(b""))[0] == read(kg, io.BytesIO(b"\n# nothing\n"))[0] == read(kg, [])[0] == []


def test_duplicates_are_one_and_renewed(kg: Path) -> None:
    text = LINE.format(1, 1) * 3 + LINE.format(4, 1) + LINE.format(9, 2)
    assert read(kg, io.BytesIO(text.encode()))[0] == [(i, 1) for i in range(1, 10)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.txt", "no file"),
        (7, "not a source"),
        ([(1, 2)], "not a timed triple"),
        ([(2**63, ())], "no"),
        (io.StringIO("1 <a:b> <a:b> <a:b> ."), "as text"),
    ],
)
def test_wrong_sources(kg: Path, source: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(kg, source)


def test_several_streams_and_queries(kg: Path) -> None:
    """Each stream has its window, and blank nodes of its own; queries of the same windows share a closure."""
    text = (
        "SELECT ?x FROM STREAM <a> [RANGE 2 STEP 1] FROM STREAM <b> [RANGE 5 STEP 1] { ?x a <http://example.org/Room> }"
    )
    other = "REGISTER QUERY b AS SELECT ?x FROM STREAM <b> [RANGE 1 STEP 1] { ?x a <http://example.org/Room> }"
    a = [(i, (BNode(f"r{i}"), RDF.type, E.HotRoom)) for i in range(1, 9)]
    b = list(a)
    with Store.open(kg, engine="duckdb") as store:
        with store.stream({"a": a, "b": b}, [text, other]) as run:
            found = [(answer.query, answer.time, len(answer.rows)) for answer in run]
        with pytest.raises(UsageError, match="say where each comes from"):
            store.stream({"a": a}, [text, other])
        with pytest.raises(UsageError, match="no query reads a stream a: they read one without a name"):
            store.stream({"a": a, "b": b}, "SELECT ?x { ?x a ?y }", width="2", step="1")
    assert sorted(found) == sorted(
        [("", i, min(i, 2) + min(i, 5)) for i in range(1, 9)] + [("b", i, 1) for i in range(1, 9)]
    )


def test_a_slow_reader_holds_the_source_up(kg: Path) -> None:
    """Nothing is read before it is needed."""
    given = 0

    def source() -> Iterator[object]:
        nonlocal given
        for i in range(1, 1000):
            given = i
            yield i, (E[f"r{i}"], RDF.type, E.HotRoom)

    with Store.open(kg, engine="duckdb") as store, store.stream(source(), ASK) as run:
        for answer in run:
            assert given <= answer.time + 2
            if answer.time == 20:
                break


def test_a_folder_that_is_watched(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    found: list[Chunk] = []
    reader = chunks(tmp_path / "s", follow=True)
    thread = threading.Thread(target=lambda: found.extend(next(reader) for _ in range(2)), daemon=True)
    thread.start()
    for name in ("1.txt", "2.txt"):
        (tmp_path / "s" / f".{name}").write_text(lines(3))
        os.replace(tmp_path / "s" / f".{name}", tmp_path / "s" / name)
        time.sleep(0.3)
    thread.join(10)
    assert [chunk.times for chunk in found] == [[1, 2, 3]] * 2


def test_command(kg: Path, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(lines(3) + "bad\n")
    (tmp_path / "q.rq").write_text(ASK)
    found = run("stream", str(kg), "--query", str(tmp_path / "q.rq"), "--from", str(tmp_path / "s.txt"), "--plot")
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert [(row["time"], len(row["rows"])) for row in rows] == [(1, 1), (2, 2), (3, 3)]
    assert rows[0]["rows"] == [{"x": "<http://example.org/r1>"}]
    assert "1 lines could not be read" in found.err
    assert "triples in the window" in found.err
    table = run("stream", str(kg), "--ask", ASK, "--from", str(tmp_path / "s.txt"), "--format", "csv", "-q")
    assert table.out.splitlines()[:2] == ["time,x", "1,<http://example.org/r1>"]
    text = "CONSTRUCT { ?x a <http://example.org/Seen> } FROM STREAM <s> [RANGE 1] { ?x a <http://example.org/Room> }"
    made = run("stream", str(kg), "--ask", text, "--from", str(tmp_path / "s.txt"), "--format", "nt", "-q")
    assert made.out.splitlines()[0] == f"1 <http://example.org/r1> <{RDF.type}> <http://example.org/Seen> ."


def test_the_page(tmp_path: Path) -> None:
    """The example of docs/streams.md gives answers, as commands and as a program."""
    page = (ROOT / "docs/streams.md").read_text(encoding="utf-8")
    commands = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/triplake").write_text(f'#!/bin/sh\nexec {sys.executable} -m triplestore.cli "$@"\n')
    (tmp_path / "bin/triplake").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        ["bash", "-ec", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    rows = [json.loads(line)["rows"] for line in found.stdout.splitlines()]
    assert [len(row) for row in rows] == [2, 2, 2, 2, 2, 1, 1, 1, 0, 0]
    program = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) == 11


def test_demo() -> None:
    shown = run("demo", "--stream")
    assert shown.code == 0, shown.err
    times = re.findall(r"^  (12:\d\d)  (.*)$", shown.out, re.MULTILINE)
    assert len(times) > 10
    assert any("floor2" in text for _, text in times)


@pytest.mark.long
def test_killed_at_random(kg: Path, tmp_path: Path) -> None:
    killed(kg, tmp_path, 2, 2)


@pytest.mark.long
def test_killed_at_random_often(kg: Path, tmp_path: Path) -> None:
    killed(kg, tmp_path, 200, 60)


def killed(kg: Path, tmp_path: Path, times: int, each: int) -> None:
    """Each window is in the file of answers once, whenever the run was killed."""
    (tmp_path / "s").mkdir()
    for part in range(10):
        (tmp_path / "s" / f"{part:02}.txt").write_text(lines(each, each * part + 1))
    kinds, ask = ["rstream", "istream"], f"{ASK} ORDER BY ?x"
    whole: dict[str, str] = {}
    for kind in kinds:
        common = ["stream", str(kg), "--ask", ask, "--from", str(tmp_path / "s"), "-q", "--operator", kind]
        whole[kind] = run(*common).out
    left, number = times, 0
    while left > 0:
        kind, number = kinds[number % 2], number + 1
        output, state = tmp_path / f"out{number}", tmp_path / f"state{number}"
        command = ["stream", kg, "--ask", ask, "--operator", kind, "--from", tmp_path / "s"]
        command += ["-o", output, "--checkpoint", state]
        while kill_after(0.3 + (left % 7) / 4 if left > 0 else 600, command, tmp_path) is None:
            left -= 1
        assert output.read_text() == whole[kind]


def test_files_of_answers(kg: Path, tmp_path: Path) -> None:
    """Nothing is left of a file that no checkpoint knows; one that lacks answers is not filled up."""
    (tmp_path / "s.txt").write_text(lines(3))
    output = tmp_path / "out"
    command = ["stream", str(kg), "--ask", ASK, "--from", str(tmp_path / "s.txt"), "-q", "-o", str(output)]
    taken_up = [*command, "--checkpoint", str(tmp_path / "c")]
    output.write_text("left by another run\n" * 100)
    assert run(*taken_up).code == 0
    whole = output.read_text()
    assert [json.loads(line)["time"] for line in whole.splitlines()] == [1, 2, 3]
    output.write_text(whole[:-5])
    short = run(*taken_up)
    assert (short.code, output.read_text()) == (2, whole[:-5])
    assert f"{output} has {len(whole) - 5} bytes of answers, and by the checkpoint {len(whole)}" in short.err
    output.unlink()
    assert run(*taken_up).code == 2
    assert not output.exists()
    assert run(*command[:-1], os.devnull).code == 0
    (tmp_path / "c" / "stream.json").write_text("{")
    assert "is not a checkpoint" in run(*taken_up).err
    assert run(*command).code == 0
    assert output.read_text() == whole


def test_a_folder_that_changes_between_runs(kg: Path, tmp_path: Path) -> None:
    """Files that are read and no longer needed may go, and new ones may have any names."""
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "b.txt").write_text(lines(3))
    (folder / "c.txt").write_text(lines(9, 4))
    assert read(kg, folder, checkpoint=tmp_path / "c")[0] == [(i, min(i, 5)) for i in range(1, 13)]
    (folder / "b.txt").unlink()
    (folder / "a.txt").write_text(lines(3, 13))
    found, stats = read(kg, folder, checkpoint=tmp_path / "c")
    assert found == [(i, 5) for i in range(13, 16)]
    assert stats.late == 0  # type: ignore[attr-defined]


def test_checkpoints_are_of_their_queries(kg: Path, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(lines(3))
    with Store.open(kg, engine="duckdb") as store:
        with store.stream(tmp_path / "s.txt", ASK, checkpoint=tmp_path / "c") as run:
            assert len(list(run)) == 3
        with pytest.raises(UsageError, match="of other queries"):
            store.stream(tmp_path / "s.txt", ASK.replace("5", "6"), checkpoint=tmp_path / "c")
        with pytest.raises(UsageError, match="files or folders"):
            store.stream(io.BytesIO(b""), ASK, checkpoint=tmp_path / "c")
