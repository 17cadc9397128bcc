"""`triplake load`, with right and with wrong input."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from tests.support.cli import done, refused, run
from tests.support.pets import CLOSURE, DOGS, FILES, PETS, said, stats

pytestmark = pytest.mark.usefixtures("here")


class TestLoad:
    def test_makes_the_store_and_materialises(self) -> None:
        done("load", "kg", "pets.ttl")
        found = stats()
        assert (found["version"], found["asserted"], found["classes"], found["expanded"]) == (2, 5, 1, 60)
        assert said() == CLOSURE

    def test_more_of_it(self, kg: Path) -> None:
        done("load", kg, "more.nt", "pets.ttl")
        found = stats()
        assert (found["version"], found["asserted"]) == (3, 6)

    def test_folders_globs_and_packed_files(self) -> None:
        Path("in/deeper").mkdir(parents=True)
        lines = [f"<http://ex/s{i}> <http://ex/p> <http://ex/o> .\n".encode() for i in range(5)]
        Path("in/0.nt").write_bytes(lines[0])
        Path("in/deeper/1.nt.gz").write_bytes(gzip.compress(lines[1]))
        Path("in/2.ttl.bz2").write_bytes(bz2.compress(lines[2]))
        Path("x3.nt").write_bytes(lines[3])
        Path("x4.nt").write_bytes(lines[4])
        done("load", "kg", "in", "x*.nt", "--rules", "none")
        assert said() == "".join(sorted(line.decode() for line in lines))

    def test_stdin(self) -> None:
        done("load", "kg", "-", "--format", "ttl", stdin=PETS.encode())
        done("load", "packed", "-", "--format", "turtle", stdin=gzip.compress(PETS.encode()))
        assert said() == said(store="packed") == CLOSURE
        refused(2, "load", "kg", "-", says=r"'-' \(standard input\) has no suffix .* add --format", stdin=b"")
        refused(3, "load", "kg", "-", "--format", "nt", says="<stdin>:2:29: ", stdin=FILES["bad.nt"].encode())

    def test_format(self) -> None:
        refused(
            2,
            "load",
            "kg",
            "plain",
            says="plain: its suffix does not tell the RDF syntax.*N-Triples: name it .nt",
        )
        refused(2, "load", "kg", "plain", "--format", "frob", says="unknown format 'frob': use one of ntriples, nt")
        done("load", "kg", "plain", "--format", "nt")
        assert stats()["asserted"] == 1

    def test_graphs_are_kept(self) -> None:
        done("load", "kg", "named.nq")
        assert said("--what", "asserted") == FILES["plain"]
        assert stats()["named_graphs"] == 1

    @pytest.mark.parametrize(("file", "place"), [("bad.nt", "2:29"), ("bad.ttl", "3:7")])
    def test_bad_input(self, kg: Path, file: str, place: str) -> None:
        refused(3, "load", "new", "pets.ttl", file, says=f"^triplake: {file}:{place}: .*literal|object")
        assert not Path("new").exists()
        assert f"{file}:{place}: " in refused(3, "load", kg, "more.nt", file, says=place).err
        assert stats()["version"] == 2
        assert said() == CLOSURE

    def test_what_is_not_there(self, kg: Path) -> None:
        for store in ("kg", "new"):
            refused(3, "load", store, "nowhere.nt", says="nowhere.nt: there is no such file or folder")
            refused(3, "load", store, "*.zzz", says=r"\*\.zzz: no file matches the pattern")
        assert not Path("new").exists()

    def test_on_error_skip(self, kg: Path) -> None:
        outcome = run("load", kg, "bad.nt", "more.nt", "--on-error", "skip")
        assert outcome.code == 3
        assert "1 faulty entry was left out: see " in outcome.err
        assert stats()["asserted"] == 7
        rejects = Path("kg.rejects").read_text()
        assert "bad.nt:2" in rejects
        assert "<http://ex/a> <http://ex/p> oops .\n" in rejects
        done("load", "new", "bad.nt", "--on-error", "skip", "--rejects", "left-out.txt", "--max-errors", "1")
        assert Path("left-out.txt").exists()
        assert not Path("new.rejects").exists()
        done("load", "clean", "more.nt", "--on-error", "skip")
        assert not Path("clean.rejects").exists()

    def test_a_rejects_file_that_cannot_be(self) -> None:
        """It is refused before anything is read or written, by whatever name it is given."""
        Path("bad.nt").write_text("oops .\n")
        Path("link").symlink_to("bad.nt")
        Path("folder").mkdir()
        for name, says in {
            "bad.nt": "is one of the files to load",
            "link": "is one of the files to load",
            "folder": "is a folder",
            "none/x": "there is no folder none",
        }.items():
            outcome = run("load", "kg", "bad.nt", "--on-error", "skip", "--rejects", name)
            assert (outcome.code, says in outcome.err) == (2, True), outcome
        assert Path("bad.nt").read_text() == "oops .\n"
        assert not Path("kg").exists()

    def test_the_settings_of_a_store_stay(self, kg: Path) -> None:
        done("load", kg, "more.nt", "--rules", "owl2rl", "--equality", "rewrite")
        refused(
            2,
            "load",
            kg,
            "more.nt",
            "--rules",
            "rdfs",
            says="kg has the rules owl2rl; change them with `triplake rules",
        )
        refused(2, "load", kg, "more.nt", "--equality", "off", says="made with equality rewrite")
        done("load", "new", "pets.ttl", "--rules", "rdfs")
        assert stats("new")["ruleset"] == ["rdfs"]

    def test_no_materialise(self) -> None:
        done("load", "kg", "pets.ttl", "--no-materialise")
        assert stats()["materialised"] is False
        assert len(said("--what", "asserted").splitlines()) == 5
        for command in (
            ["query", "kg", DOGS],
            ["export", "kg"],
            ["check", "kg"],
            ["export", "kg", "--what", "inferred"],
        ):
            refused(2, *command, says="not up to date .*run `triplake materialise kg` first")
        done("materialise", "kg")
        assert stats()["materialised"] is True
        assert said() == CLOSURE

    def test_an_update_brings_the_closure_up_to_date_too(self) -> None:
        done("load", "kg", "pets.ttl", "--no-materialise")
        done("update", "kg", "--add", "more.nt")
        assert stats()["materialised"] is True
        assert CLOSURE.splitlines() == [line for line in said().splitlines() if "tom" not in line]
