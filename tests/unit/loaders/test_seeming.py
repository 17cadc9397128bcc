"""Files that are not what they seem, as a new user meets them: one clear message each."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
import time
from pathlib import Path

import pytest
import zstandard

from tests.support.cli import done, run
from triplake.loaders import Syntax
from triplake.loaders.seeming import seeming
from triplestore import Store
from triplestore.model.errors import InputError

TRIPLE = "<http://e/a> <http://e/p> <http://e/b> .\n"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFXML = f'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="http://e/a"/></rdf:RDF>'
HTML = "<!DOCTYPE html>\n<html><head><title>Not found</title></head></html>"
OWLXML = (
    '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://e/o">'
    '<Prefix name="rdf" IRI="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></Ontology>'
)
CATALOG = (
    '<?xml version="1.0"?>\n<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog"><uri name="x"/></catalog>'
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


SEEMING = [
    pytest.param("x.ttl", HTML.encode(), "1:1: this seems to be an HTML page", id="html-ttl"),
    pytest.param("x.nt", HTML.encode(), "1:1: this seems to be an HTML page", id="html-nt"),
    pytest.param("x.nt", lzma.compress(TRIPLE.encode()), r"this seems to be xz, .* \(`xz -d`\)", id="xz-nt"),
    pytest.param("x.ttl", lzma.compress(TRIPLE.encode()), "this seems to be xz", id="xz-ttl"),
    pytest.param("x.rdf", HTML.encode(), "1:1: this seems to be an HTML page", id="html-rdf"),
    pytest.param("x.ttl", RDFXML.encode(), "1:1: this seems to be RDF/XML: name it .rdf", id="rdfxml-ttl"),
    pytest.param("x.nt", RDFXML.encode(), "1:1: this seems to be RDF/XML: name it .rdf", id="rdfxml-nt"),
    pytest.param("x.jsonld", RDFXML.encode(), "1:1: this seems to be RDF/XML", id="rdfxml-jsonld"),
    pytest.param("x.rdf", TRIPLE.encode(), "1:1: this seems to be N-Triples: name it .nt", id="nt-rdf"),
    pytest.param("x.owl", b"@prefix : <http://e/> .\n:a :b :c .", "1:1: this seems to be Turtle", id="ttl-owl"),
    pytest.param("x.rdf", b'{"@id": "urn:x"}', "1:1: this seems to be JSON", id="json-rdf"),
    pytest.param("x.ttl", b'{\n  "@id": "urn:x"}', "1:1: this seems to be JSON", id="json-ttl"),
    pytest.param("x.jsonld", TRIPLE.encode(), "1:1: this seems to be N-Triples", id="nt-jsonld"),
    pytest.param("x.owl", OWLXML.encode(), "1:1: this seems to be OWL/XML", id="owlxml"),
    pytest.param("x.ttl", OWLXML.encode(), "1:1: this seems to be OWL/XML", id="owlxml-ttl"),
    pytest.param("x.owl", b"Prefix(:=<http://e/>)\nOntology(<http://e/>)", "functional syntax", id="functional"),
    pytest.param("x.ttl", b"format-version: 1.2\n\n[Term]\nid: A:1\n", "1:1: this seems to be OBO", id="obo"),
    pytest.param("x.xml", CATALOG.encode(), "1:1: this seems to be XML, but no RDF/XML .*<catalog>", id="catalog"),
    pytest.param("x.ttl", b"PK\x03\x04aaaa", "1:1: this seems to be a ZIP archive", id="zip"),
    pytest.param(
        "x.ttl", gzip.compress(TRIPLE.encode(), mtime=0), "compressed: give its name the suffix .gz", id="gzip"
    ),
    pytest.param("x.nt", gzip.compress(TRIPLE.encode(), mtime=0), "compressed: give .* suffix .gz", id="gzip-nt"),
    pytest.param("x.ttl", TRIPLE.encode("utf-16"), "1:1: this seems to be UTF-16", id="utf16-ttl"),
    pytest.param("x.nt", TRIPLE.encode("utf-16"), "1:1: this seems to be UTF-16", id="utf16-nt"),
]


@pytest.mark.parametrize(("name", "data", "says"), SEEMING)
@pytest.mark.sampled(each=3)
def test_what_a_file_seems_to_be(folder: Path, name: str, data: bytes, says: str) -> None:
    (folder / name).write_bytes(data)
    with Store.create("kg") as store, pytest.raises(InputError, match=f"^{name}:.*{says}"):
        store.load(name)


@pytest.mark.parametrize("syntax", list(Syntax), ids=str)
def test_a_right_file_seems_nothing_else(syntax: Syntax) -> None:
    """What a file is by its name is never told to be something else for what it is."""
    right = {
        Syntax.NTRIPLES: [TRIPLE, "# <html>\n" + TRIPLE],
        Syntax.NQUADS: [TRIPLE, TRIPLE.replace(" .", " <http://e/g> .")],
        Syntax.TURTLE: [TRIPLE, "@prefix html: <http://e/> .\n<x> a html:y .", "BASE <http://e/>\n<html> <a> <b> ."],
        Syntax.TRIG: ["{ <a:a> <a:b> <a:c> }", "<urn:g> { <urn:a> <urn:b> 1 }", TRIPLE],
        Syntax.RDFXML: [RDFXML, f'<!-- x --><e:a xmlns:e="http://e/" xmlns:rdf="{RDF}"/>'],
        Syntax.JSONLD: ['{"@id": "urn:x"}', "[]"],
    }
    for text in right[syntax]:
        assert seeming(text.encode(), syntax.value) is None, text


@pytest.mark.parametrize("piece", ["#", "# ", " ", "\n", "prefix ", "prefix :<a:>", "base<a:>", "<!--", "<!DOCTYPE["])
def test_any_begin_is_looked_at_in_little_time(piece: str) -> None:
    for end in ("", "\n:a :b", "\nSELECT * {}"):
        began = time.monotonic()
        seeming((piece * 4096)[:4096].encode() + end.encode(), "Turtle")
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("name", ["x.nt", "x.nq", "x.ttl", "x.trig", "x.rdf", "x.jsonld"])
def test_a_byte_order_mark_is_taken(folder: Path, name: str) -> None:
    text = {"x.rdf": RDFXML, "x.jsonld": '{"@id": "http://e/a", "http://e/p": 1}'}.get(name, TRIPLE)
    text = text.replace('about="http://e/a"/>', 'about="http://e/a"><rdf:value>1</rdf:value></rdf:Description>')
    (folder / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    with Store.create("kg", ["none"]) as store:
        assert store.load(name).triples == 1


def test_file_urls_are_paths(folder: Path) -> None:
    path = folder / "with space.nt"
    path.write_text(TRIPLE)
    with Store.create("kg", ["none"]) as store:
        assert store.load(path.as_uri()).triples == 1
    outcome = run("load", "kg", "ftp://e/x.nt")
    assert (outcome.code, "by load http: and https:; download it" in outcome.err) == (2, True)


def test_relative_iris_are_told(folder: Path) -> None:
    (folder / "x.ttl").write_text("<#a> <http://e/p> <b> .")
    assert "x.ttl has IRIs that begin with file:" in run("load", "kg", "x.ttl", "--rules", "none").err
    outcome = run("load", "based", "x.ttl", "--rules", "none", "--base", "http://e/doc")
    assert (outcome.code, "file:" in outcome.err) == (0, False)
    assert done("export", "based") == "<http://e/doc#a> <http://e/p> <http://e/b> .\n"
    assert run("load", "based", "x.ttl", "--base", "doc").code == 2
    (folder / "x.ttl").write_text("@base <http://e/> . <#a> <http://e/p> <b> .")
    assert "file:" not in run("load", "other", "x.ttl").err


def test_relative_iris_of_updates(folder: Path) -> None:
    (folder / "x.ttl").write_text("<#a> <http://e/p> <b> .")
    (folder / "x.ru").write_text("INSERT DATA { <#c> <http://e/p> <b> }")
    done("init", "kg", "--rules", "none")
    assert "x.ttl has IRIs that begin with file:" in run("update", "kg", "--add", "x.ttl").err
    assert "x.ttl has IRIs that begin with file:" in run("update", "kg", "--delete", "x.ttl").err
    outcome = run("update", "kg", "x.ru", "--add", "x.ttl", "--base", "http://e/doc")
    assert (outcome.code, "file:" in outcome.err) == (0, False)
    triples = [f"<http://e/doc#{name}> <http://e/p> <http://e/b> ." for name in "ac"]
    assert done("export", "kg", "--sorted").splitlines() == triples
    assert run("update", "kg", "--add", "x.ttl", "--base", "doc").code == 2


def test_stats_of_a_closure_that_is_not_up_to_date(folder: Path) -> None:
    (folder / "x.nt").write_text(TRIPLE)
    done("load", "kg", "x.nt", "--no-materialise")
    assert "run `triplake materialise kg`" in run("stats", "kg").err
    done("materialise", "kg")
    assert "materialise" not in run("stats", "kg").err


def test_axiomatic_triples_of_rdf_alone(folder: Path) -> None:
    for name, rules in (("rdf", ["rdf", "rdf-axiomatic"]), ("rdfs", ["rdfs", "rdfs-axiomatic"])):
        done("init", name, "--rules", name, "--axiomatic")
        with Store.open(name) as store:
            assert [r.name for r in store.rulesets] == rules
        (folder / "x.nt").write_text(TRIPLE)
        done("load", name, "x.nt", "--axiomatic")
        done("load", name, "x.nt", "--axiomatic", "--rules", name)
    done("init", "plain", "--rules", "rdf")
    assert run("load", "plain", "x.nt", "--axiomatic").code == 2


def test_a_folder_says_what_it_does_not_read(folder: Path) -> None:
    (folder / "data").mkdir()
    for name, text in {
        "a.nt": TRIPLE,
        "read.me": "x",
        "b.csv": "x",
        "catalog-v001.xml": CATALOG,
        "c.xml": RDFXML,
    }.items():
        (folder / "data" / name).write_text(text)
    outcome = run("load", "kg", "data", "--rules", "none")
    assert outcome.code == 0
    told = [line for line in outcome.err.splitlines() if line.startswith("not read: ")]
    assert told == [
        "not read: data/b.csv (its suffix does not tell the RDF syntax)",
        "not read: data/catalog-v001.xml (it is not RDF/XML: its first element is <catalog>)",
        "not read: data/read.me (its suffix does not tell the RDF syntax)",
    ]


def test_skip_says_what_it_left_out(folder: Path) -> None:
    (folder / "good.nt").write_text(TRIPLE)
    (folder / "bad.nt").write_text(TRIPLE.replace("/a", "/c") + "one\ntwo\n")
    (folder / "bad.ttl").write_text("<urn:a> <urn:b> .")
    outcome = run("load", "kg", "good.nt", "bad.nt", "bad.ttl", "--on-error", "skip", "--rules", "none")
    assert outcome.code == 3
    assert "bad.nt:2: " in outcome.err
    assert "(and 1 more of this file)" in outcome.err
    assert "bad.ttl:1: " in outcome.err
    assert "(the whole file was left out)" in outcome.err
    assert "3 faulty entries were left out in 2 files: see kg.rejects" in outcome.err
    assert "version 2, 2 asserted" in outcome.err
    again = ("load", "other", "bad.nt", "bad.ttl", "--on-error", "skip", "--rules", "none")
    assert [run(*again, "--max-errors", str(n)).code for n in (2, 3)] == [3, 0]
    assert run("load", "kg", "good.nt", "--on-error", "skip").code == 0
    assert run("load", "kg", "good.nt", "--max-errors", "1").code == 2


@pytest.mark.parametrize("suffix", [".gz", ".zst", pytest.param(".bz2", marks=pytest.mark.long)])
def test_skip_goes_past_a_damaged_file(folder: Path, suffix: str) -> None:
    """What can be unpacked is loaded, the rest is told; other files are read."""
    pack = {".gz": lambda d: gzip.compress(d, mtime=0), ".bz2": bz2.compress, ".zst": zstandard.compress}[suffix]
    data = pack(
        "".join(f"<http://e/{i * 7919}> <http://e/p> <http://e/{i * 104729}> .\n" for i in range(80_000)).encode()
    )
    (folder / f"cut.nt{suffix}").write_bytes(data[: len(data) * 9 // 10])
    (folder / f"empty.nt{suffix}").write_bytes(b"no such thing")
    (folder / f"cut.ttl{suffix}").write_bytes(pack(TRIPLE.encode())[:-9])
    (folder / "good.nt").write_text(TRIPLE)
    files = ["good.nt", f"cut.nt{suffix}", f"empty.nt{suffix}", f"cut.ttl{suffix}"]
    assert run("load", "kg", *files, "--rules", "none").code == 3
    outcome = run("load", "kg", *files, "--rules", "none", "--on-error", "skip")
    assert outcome.code == 3
    rejects = Path("kg.rejects").read_text()
    assert rejects.count("\n") == 3
    assert f"cut.nt{suffix}:" in rejects
    assert f"# empty.nt{suffix}: " in rejects
    assert f"# cut.ttl{suffix}: " in rejects
    with Store.open("kg") as store:
        assert 40_000 < store.stats()["asserted"] < 80_000


def test_a_named_pipe_is_read_or_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplake.loaders.pipes.PATIENCE", 0.2)
    os.mkfifo(folder / "pipe.nt")
    outcome = run("load", "kg", "pipe.nt", "--rules", "none")
    assert (outcome.code, "nobody has written to this pipe" in outcome.err) == (3, True)
    monkeypatch.setattr("triplake.loaders.pipes.PATIENCE", 30)
    writer = threading.Thread(target=lambda: (folder / "pipe.nt").write_text(TRIPLE))
    writer.start()
    assert "1 asserted" in run("load", "kg", "pipe.nt", "--rules", "none").err
    writer.join()
    outcome = run("load", "kg", "/dev/zero", "--format", "nt")
    assert (outcome.code, "neither a file nor a folder nor a pipe" in outcome.err) == (3, True)


def test_load_refuses_a_name_with_a_nul(folder: Path) -> None:
    (folder / "in").mkdir()
    done("init", "kg")
    Path("u.ru").write_text("LOAD <a.nt%00.ttl>")
    outcome = run("update", "kg", "u.ru", "--load-folder", "in")
    assert (outcome.code, "no file's name holds a NUL" in outcome.err) == (2, True), outcome
