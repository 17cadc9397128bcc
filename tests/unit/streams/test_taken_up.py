"""Where streams are taken up, and what of their answers is written by then."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.support.cli import run
from triplestore import Store
from triplestore.cli import main
from triplestore.model.errors import InputError
from triplestore.streams.checkpoint import Checkpoint
from triplestore.streams.source import chunks

ASK = "SELECT ?x FROM STREAM <s> [RANGE 5 STEP 1] { ?x ?p ?o }"


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    Store.create(tmp_path / "kg", ["none"]).close()
    return tmp_path / "kg"


def lines(count: int, start: int = 1) -> str:
    return "".join(f"{i} <http://ex/r{i}> <http://ex/p> <http://ex/o> .\n" for i in range(start, start + count))


def test_answers_are_written_before_they_are_on_record(
    kg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on standard output: who is killed after that has lost none."""
    (tmp_path / "s.txt").write_text(lines(3))
    written, save, output = list[int](), Checkpoint.save, tmp_path / "out"

    def saved(checkpoint: Checkpoint, *given: Any, **options: Any) -> None:
        written.append(output.read_text().count("\n"))
        save(checkpoint, *given, **options)

    monkeypatch.setattr(Checkpoint, "save", saved)
    command = ["stream", str(kg), "--ask", ASK, "--from", str(tmp_path / "s.txt"), "-q", "--checkpoint"]
    for more in ([], ["-o", str(output)]):
        with output.open("w") as file, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", file)
            with pytest.raises(SystemExit, match="0"):
                main([*command, str(tmp_path / f"c{len(more)}"), *more])
    assert written == [1, 2, 3] * 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_answers_into_a_pipe(kg: Path, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(lines(3))
    os.mkfifo(tmp_path / "pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    command = ["stream", str(kg), "--ask", ASK, "--from", str(tmp_path / "s.txt"), "-q"]
    assert run(*command, "-o", str(tmp_path / "pipe"), "--checkpoint", str(tmp_path / "c")).code == 0
    reader.join(10)
    assert [json.loads(line)["time"] for line in found[0].splitlines()] == [1, 2, 3]


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zst"])
def test_reading_goes_on_at_a_byte(tmp_path: Path, suffix: str) -> None:
    text, skip = lines(9).encode(), len(lines(4))
    packed = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}
    path = tmp_path / f"s.txt{suffix}"
    path.write_bytes(packed[suffix](text))
    assert [chunk.times for chunk in chunks(path, skip=skip)] == [[5, 6, 7, 8, 9]]
    assert [chunk.times for chunk in chunks(path, skip=len(text))] == []
    with pytest.raises(InputError, match=f"{len(text) + 1} bytes of it were read, and it has fewer now"):
        list(chunks(path, skip=len(text) + 1))


def test_a_file_that_is_followed_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text(lines(3))
    reader = chunks(path, follow=True)
    assert next(reader).times == [1, 2, 3]
    path.write_text(lines(1, 4))
    with pytest.raises(InputError, match="it was cut off, or is another"):
        next(reader)


def test_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(lines(3), encoding="utf-8-sig")
    assert [chunk.times for chunk in chunks(tmp_path / "s.txt")] == [[1, 2, 3]]


def test_the_store_may_change_between_two_runs(tmp_path: Path) -> None:
    """The windows from then on are answered by the version at hand; one that is asked for (`at`) stays. What is new or
    gone is so against the answer before, by the version before where that is kept."""
    e = "http://ex/"
    axiom = f"{{ <{e}Hot> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{e}Alarm> }}"
    line = "{0} <http://ex/r{0}> a <http://ex/Hot> .\n"
    ask = "SELECT ?x FROM STREAM <s> [RANGE 3 STEP 1] { ?x a <http://ex/Alarm> } ORDER BY ?x"

    def names(answers: list[tuple[str | None, ...]]) -> str:
        return "".join(str(row[0])[-2] for row in answers)

    for case, wanted in (
        ("rstream", {3: "123", 4: "234", 5: "345"}),
        ("istream", {3: "123", 4: "4", 5: "5"}),
        ("dstream", {3: "", 4: "1", 5: "2"}),
        ("istream vacuumed", {3: "3", 4: "4", 5: "5"}),
        ("istream at", {3: "", 4: "", 5: ""}),
    ):
        operator, *special = case.split()
        source, state = tmp_path / f"{case}.txt", tmp_path / f"state {case}"
        source.write_text("".join(map(line.format, range(1, 5))))
        with Store.create(tmp_path / f"kg {case}", "rdfs", engine="duckdb") as store:
            store.sparql_update(f"INSERT DATA {{ <{e}a> <{e}b> <{e}c> }}")
            with store.stream(source, ask, operator=operator, checkpoint=state) as run:
                first = {}
                for answer in run:
                    first[answer.time] = names(answer.rows)
                    if answer.time == 3:  # which is not on record then: it may not have been dealt with
                        break
            version = store.version
            store.sparql_update(f"INSERT DATA {axiom}")
            if special == ["vacuumed"]:
                store.vacuum(keep=1)
        source.write_text("".join(map(line.format, range(1, 6))))
        with (
            Store.open(tmp_path / f"kg {case}", engine="duckdb", at=version if special == ["at"] else None) as store,
            store.stream(source, ask, operator=operator, checkpoint=state) as run,
        ):
            found = {answer.time: names(answer.rows) for answer in run}
            notes = run.stats.notes
        assert set(first.values()) == {""}
        assert found == wanted, case
        assert bool(notes) == (special == ["vacuumed"])
        assert not list(state.glob(".*")), "no draft is left"
