"""Faulty files, every fault in every syntax and compression: all are named at once, or left out, each exactly."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from tests.support.cli import contents, done, run
from tests.support.loading import A, P, read
from triplake.loaders import Source, Syntax, sources
from triplestore import Store
from triplestore.engine import Engine
from triplestore.engine.sql import count
from triplestore.model.dataset import Quad
from triplestore.model.errors import EngineError, FaultyFilesError, InputError, UsageError

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}
LINES = (Syntax.NTRIPLES, Syntax.NQUADS)
SUFFIX = {
    Syntax.NTRIPLES: ".nt",
    Syntax.NQUADS: ".nq",
    Syntax.TURTLE: ".ttl",
    Syntax.TRIG: ".trig",
    Syntax.RDFXML: ".rdf",
    Syntax.JSONLD: ".jsonld",
}


def text_of(syntax: Syntax, name: str) -> bytes:
    """A right document of three triples, whose objects are "NAME 1", "NAME 2" and "NAME 3"; each on a line."""
    match syntax:
        case Syntax.RDFXML:
            lines = [f"<x:p>{name} {n}</x:p>" for n in (1, 2, 3)]
            about = '<rdf:Description rdf:about="http://e/a">'
            lines[0] = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="http://e/">{about}{lines[0]}'
            lines[2] += "</rdf:Description></rdf:RDF>"
        case Syntax.JSONLD:
            lines = [f'"{name} 1",', f'"{name} 2",', f'"{name} 3"]}}']
            lines[0] = f'{{"@id": "http://e/a", "http://e/p": [{lines[0]}'
        case _:
            lines = [f'{A} {P} "{name} {n}" .' for n in (1, 2, 3)]
    return "\n".join(lines).encode() + b"\n"


def quads_of(name: str, *numbers: int) -> Counter[Quad]:
    return Counter((A, P, f'"{name} {n}"') for n in numbers)


@dataclass(frozen=True)
class Fault:
    """A way to spoil a file: its text before packing, its bytes after; what is said; and of files of lines, which of
    the three triples are read where faults are left out, how many entries are not, and on which line the first is."""

    says: str
    text: Callable[[bytes], bytes] = bytes
    packed: Callable[[bytes], bytes] = bytes
    read: tuple[int, ...] = ()
    entries: int = 1
    line: int | None = 1
    only: Callable[[Syntax, str], bool] = lambda syntax, suffix: True


def second_line(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    def spoil(text: bytes) -> bytes:
        first, second, third, _ = text.split(b"\n")
        return b"\n".join((first, change(second), third, b""))

    return spoil


def is_packed(syntax: Syntax, suffix: str) -> bool:
    return suffix != ""


def is_plain(syntax: Syntax, suffix: str) -> bool:
    return suffix == ""


def is_no_xml(syntax: Syntax, suffix: str) -> bool:
    return syntax is not Syntax.RDFXML


FAULTS = {
    "wrong": Fault("", second_line(lambda line: b"} oops"), read=(1, 3), line=2),
    "cut-short": Fault("", lambda text: text[:-8], read=(1, 2), line=3),
    "not-utf8": Fault("save the file as UTF-8", second_line(lambda x: x.replace(b" 2", b"\xe9")), read=(1, 3), line=2),
    "html": Fault("an HTML page", lambda text: b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n", entries=2),
    "utf16": Fault("UTF-16", lambda text: text.decode().encode("utf-16"), entries=4, only=is_no_xml),
    "zip": Fault("ZIP archive", lambda text: b"PK\x03\x04" + bytes(40)),
    "pdf": Fault("a PDF document", lambda text: b"%PDF-1.7\n"),
    "gzip": Fault("give its name the suffix .gz", packed=gzip.compress, entries=-1, only=is_plain),
    "not-packed": Fault("not compressed, or damaged", packed=lambda data: b"<http://e/a>\n", line=None, only=is_packed),
    "empty-archive": Fault("the compressed file is empty", packed=lambda data: b"", line=None, only=is_packed),
    "other-archive": Fault(
        r"seems to be a \.\w+ file",
        packed=lambda data: bz2.compress(b"x") if data[:1] != b"B" else gzip.compress(b"x"),
        line=None,
        only=is_packed,
    ),
    "cut-archive": Fault("damaged", line=None, packed=lambda data: data[:-9], only=is_packed),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A faulty file."""

    name: str
    syntax: Syntax
    fault: Fault
    data: bytes

    @property
    def by_line(self) -> bool:
        return self.syntax in LINES

    @property
    def read(self) -> tuple[int, ...]:
        """Which of the three triples are read of a file of lines where faults are left out."""
        return tuple(range(1, self.unpacked + 1)) if self.name.startswith("cut-archive") else self.fault.read

    @property
    def line(self) -> int | None:
        """On which line its first fault is."""
        return self.unpacked + 1 if self.name.startswith("cut-archive") and self.unpacked else self.fault.line

    @property
    def unpacked(self) -> int:
        """The whole lines that can be unpacked."""
        unpackers = {".gz": zlib.decompressobj(31), ".bz2": bz2.BZ2Decompressor()}
        zstd = zstandard.ZstdDecompressor().decompressobj()
        return unpackers.get(Path(self.name).suffix, zstd).decompress(self.data).count(b"\n")


def cases(compressions: list[str]) -> list[Case]:
    found = []
    for syntax in Syntax:
        for suffix in compressions:
            for kind, fault in FAULTS.items():
                if fault.only(syntax, suffix):
                    name = f"{kind}{SUFFIX[syntax]}{suffix}"
                    data = fault.packed(PACKERS[suffix](fault.text(text_of(syntax, name))))
                    found.append(Case(name, syntax, fault, data))
    return found


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def faulty(engine: Engine) -> tuple[list[Case], list[Source]]:
    """Faulty files of every kind, and right ones with and without a byte order mark: the cases, and all sources."""
    found = cases(list(PACKERS) if engine.name == "duckdb" else [""])
    for case in found:
        Path(case.name).write_bytes(case.data)
    right = []
    for syntax in Syntax:
        for suffix, pack in PACKERS.items():
            for name, mark in (("right", b""), ("marked", b"\xef\xbb\xbf")):
                right.append(f"{name}{SUFFIX[syntax]}{suffix}")
                Path(right[-1]).write_bytes(pack(mark + text_of(syntax, right[-1])))
    return found, sources([*right, *(case.name for case in found)])


@pytest.mark.long_on_spark
def test_all_faulty_files_are_named_at_once(engine: Engine, faulty: tuple[list[Case], list[Source]]) -> None:
    found, files = faulty
    with pytest.raises(FaultyFilesError) as caught:
        read(engine, *files)
    faults = {fault.file: fault for fault in caught.value.faults}
    assert sorted(faults) == sorted(case.name for case in found)
    for case in found:
        assert_says(case, faults[case.name].reason)
    with pytest.raises(EngineError):
        count(engine, "token")


def test_faulty_files_are_left_out_exactly(
    engine: Engine, faulty: tuple[list[Case], list[Source]], tmp_path: Path
) -> None:
    found, files = faulty
    quads, report = read(engine, *files, on_error="skip", rejects=tmp_path / "rejects")
    expected = sum((quads_of(s.name, 1, 2, 3) for s in files if s.name.startswith(("right", "marked"))), Counter())
    expected += sum((quads_of(case.name, *case.read) for case in found if case.by_line), Counter())
    assert quads == expected
    left = {one.file: one for one in report.left_out}
    assert sorted(left) == sorted(case.name for case in found)
    for case in found:
        one = left[case.name]
        assert_says(case, one.reason)
        if not case.by_line:
            assert one.entries == 1
        else:
            assert one.line == case.line, one
            assert case.fault.entries in (one.entries, -1), one
    assert report.skipped == sum(one.entries for one in report.left_out)


def assert_says(case: Case, reason: str) -> None:
    assert re.search(case.fault.says, reason), (case.name, reason)


def test_a_load_names_all_faulty_files_and_leaves_the_store_as_it_was(folder: Path) -> None:
    Path("right.nt").write_bytes(text_of(Syntax.NTRIPLES, "right"))
    Path("wrong.nt").write_text("one\ntwo\nthree\n")
    Path("wrong.ttl").write_text("<urn:a> <urn:b> .")
    Path("really.ttl").write_bytes(text_of(Syntax.RDFXML, "x"))
    done("load", "kg", "right.nt", "--rules", "none")
    before = contents(folder)
    outcome = run("load", "kg", "wrong.nt", "right.nt", "wrong.ttl", "really.ttl", "-q")
    assert outcome.code == 3
    assert outcome.err.splitlines() == [
        "triplake: 3 files cannot be read, and nothing was committed:",
        "  wrong.nt:1:1: The subject of a triple must be an IRI or a blank node (and 2 more of this file)",
        "  wrong.ttl:1:17: . is not a valid RDF object",
        "  really.ttl:1:1: this seems to be RDF/XML: name it .rdf, or say --format rdfxml",
    ]
    assert contents(folder) == before
    assert run("load", "new", "wrong.nt", "wrong.ttl").code == 3
    assert not Path("new").exists()


def test_faults_beyond_the_first_are_counted_as_far_as_needed(engine: Engine) -> None:
    Path("x.nt").write_text("oops\n" * 1000)
    with pytest.raises(InputError, match=r"^x.nt:1:1: .* \(and at least 99 more of this file\)$"):
        read(engine, *sources(["x.nt"]))


UNKNOWN = {
    "x.foo": (text_of(Syntax.RDFXML, "x"), "this seems to be RDF/XML: name it .rdf, or say --format rdfxml"),
    "x.txt": (text_of(Syntax.NTRIPLES, "x"), "this seems to be N-Triples: name it .nt, or say --format nt"),
    "x.dat": (b"<a:a> <a:b> <a:c> <a:g> .", "this seems to be N-Quads: name it .nq, or say --format nq"),
    "x.turtle": (b"# x\nPREFIX : <http://e/>\n:a :b :c .", "this seems to be Turtle: name it .ttl"),
    "x.graphs": (b"@prefix : <http://e/> .\n:g { :a :b :c }", "this seems to be TriG: name it .trig"),
    "x.json": (text_of(Syntax.JSONLD, "x"), "this seems to be JSON: name it .jsonld, or say --format jsonld"),
    "x.rq": (b"PREFIX : <http://e/> SELECT * { ?s ?p ?o }", "a SPARQL query, not data: see `triplake query`"),
    "x.ru": (b"insert data { <a:a> <a:b> <a:c> }", "a SPARQL update, not data: see `triplake update`"),
    "x.tar": (bytes(257) + b"ustar" + bytes(250), "this seems to be a tar archive: unpack it first"),
    "x.db": (b"SQLite format 3\0", "an SQLite database, which is not read"),
    "x.bin": (b"\1\2\0\3", "no text, but binary data"),
    "x.nt.xz": (lzma.compress(b"x"), "this seems to be xz, which is not read: unpack it first (`xz -d`)"),
    "x.md": (b"# Read me\n", "use .nt .nq .ttl .n3 .trig .rdf .owl .xml .jsonld, with .gz .bz2 .zst on top"),
}


def test_files_of_unknown_suffixes_are_named_with_what_they_seem_to_be() -> None:
    for name, (data, _) in UNKNOWN.items():
        Path(name).write_bytes(data)
    with pytest.raises(UsageError, match=f"^{len(UNKNOWN)} files cannot be read:") as caught:
        sources(list(UNKNOWN))
    for name, (_, says) in UNKNOWN.items():
        assert re.search(rf"\n  {name}: its suffix does not tell .*; .*{re.escape(says)}", str(caught.value)), name
    with pytest.raises(FaultyFilesError) as several:
        sources(["nowhere.nt", "x.foo", "*.zzz"])
    assert [fault.file for fault in several.value.faults] == ["nowhere.nt", "*.zzz", "x.foo"]


def test_skip_leaves_out_files_of_unknown_suffixes() -> None:
    Path("x.md").write_text("# Read me\n")
    Path("right.nt").write_bytes(text_of(Syntax.NTRIPLES, "right"))
    outcome = run("load", "kg", "x.md", "right.nt", "--on-error", "skip", "--rules", "none")
    assert (outcome.code, "warning: x.md: its suffix does not tell the RDF syntax" in outcome.err) == (3, True)
    assert Path("kg.rejects").read_text().startswith("# x.md: its suffix does not tell the RDF syntax")
    with Store.open("kg") as store:
        assert store.stats().asserted == 3
    assert run("load", "kg", "nowhere.nt", "right.nt", "--on-error", "skip").code == 3


def test_a_store_in_a_folder_is_passed_over(folder: Path) -> None:
    Path("right.nt").write_bytes(text_of(Syntax.NTRIPLES, "right"))
    done("load", "kg", "right.nt", "--rules", "none")
    outcome = run("load", "kg", folder)
    assert [line for line in outcome.err.splitlines() if line.startswith("not read")] == [
        f"not read: {folder / 'kg'} (it is a store)"
    ]
