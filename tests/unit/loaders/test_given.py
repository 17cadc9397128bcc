"""What is loaded besides files: documents of the web, graphs of rdflib, files that are open, texts."""

from __future__ import annotations

import atexit
import contextlib
import gzip
import io
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import IO, Any

import pytest
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.compare import isomorphic

from tests.conftest import MakeStore
from tests.support.cli import run
from triplake.loaders import pipes
from triplestore import Store
from triplestore.model.errors import InputError, UsageError

TURTLE = b"@prefix : <http://e/> . :a :p <b> . :a :q _:x . _:x :r 'text'@en ."
PAGES: dict[str, tuple[int, str | None, bytes]] = {
    "/a": (200, "text/turtle; charset=utf-8", TURTLE),
    "/a.ttl": (200, "application/octet-stream", TURTLE),
    "/a.ttl.gz": (200, "application/gzip", gzip.compress(TURTLE)),
    "/packed": (200, "text/turtle", gzip.compress(TURTLE)),
    "/caf%C3%A9%20%5B.ttl?q=%C3%BC": (200, "text/turtle", TURTLE),
    "/a.nt": (200, None, b"<http://e/a> <http://e/p> <http://e/b> ."),
    "/page": (200, "text/html", b"<!doctype html><html></html>"),
    "/bad": (200, "text/turtle", b"@prefix"),
    "/gone": (410, "text/plain", b""),
    "/moved": (302, "/a", b""),
    "/away": (302, "ftp://127.0.0.1/a.ttl", b""),
    "/round": (302, "/round", b""),
    "/short": (200, "text/turtle", TURTLE),
    "/large": (200, "text/turtle", TURTLE + b"#" * (2 << 20)),
    "/larger": (200, "text/turtle", TURTLE + b"#" * (2 << 20)),
}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """A web site with PAGES; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, media, body = PAGES.get(self.path, (404, "text/plain", b""))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", str(media))
            elif media is not None:
                self.send_header("Content-Type", media)
            if self.path != "/larger":  # whose length is known at its end
                self.send_header("Content-Length", str(len(body) + 9 * (self.path == "/short")))
            self.end_headers()
            with contextlib.suppress(OSError):  # who has read enough is gone
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scratch files are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_documents_of_the_web(make_store: MakeStore, site: str, scratch: Path) -> None:
    store = make_store(["none"])
    for path in ("/a", "/a.ttl", "/a.ttl.gz", "/packed", "/moved"):
        store.load(site + path)
    answer = list(store.query("SELECT DISTINCT ?b { <http://e/a> <http://e/p> ?b }"))
    assert [str(row.b) for row in answer] == [f"{site}/b"], "relative IRIs are of the place of the document"
    assert store.load(site + "/a.nt", f"{site}/a", base="http://e/").triples == 4
    store.load(site + "/a", graph_per_file=True)
    assert f"<{site}/a>" in [graph.name for graph in store.graphs()]
    assert [*scratch.glob("triplake-*.*")] == []


def test_iris_of_documents(make_store: MakeStore, site: str) -> None:
    """They are asked for as HTTP has them, and are the base as they are."""
    store = make_store(["none"])
    store.load(f"{site}/café%20%5B.ttl?q=ü")
    assert [str(row.b) for row in store.query("SELECT ?b { <http://e/a> <http://e/p> ?b }")] == [f"{site}/b"]
    store.load(f"{site}/café%20%5B.ttl?q=ü", graph_per_file=True)
    assert f"<{site}/café%20%5B.ttl?q=ü>" in [graph.name for graph in store.graphs()]
    for host in ("é" * 80, "[bad", "[é"):
        with pytest.raises(InputError, match="it cannot be fetched"):
            store.load(f"http://{host}/a.ttl")


def test_nothing_is_kept_of_what_was_read(make_store: MakeStore) -> None:
    store, before, spooled = make_store(["none"]), atexit._ncallbacks(), {*pipes._spooled}
    for number in range(3):
        store.load(data=f"<urn:a> <urn:b> {number} .", format="ttl")
    assert spooled == pipes._spooled
    assert atexit._ncallbacks() == before


def test_nothing_is_kept_of_what_cannot_be_read(
    make_store: MakeStore, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a stream that fails, of standard input beside a path that is wrong, nor of a table from there."""

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if size == 1 << 20:
                raise OSError("no more")
            return super().read(size)

    store, wrong, spooled = make_store(["none"]), Failing(b"<urn:a> <urn:b> <urn:c> ."), {*pipes._spooled}
    with pytest.raises(OSError, match="no more"):
        store.load(wrong, format="nt")
    for stdin in (b"<urn:a> <urn:b> <urn:c> .", b"id\n1\n"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        if stdin[:1] == b"<":
            with pytest.raises(InputError, match="no such file"):
                store.load("-", "none.nt", format="nt")
        else:
            store.load_table("-", template="<urn:{id}> <urn:b> {id}", format="csv")
    assert ([*scratch.glob("triplake-pipe-*")], pipes._spooled) == ([], spooled)


def test_what_has_no_iri_names_no_graph(make_store: MakeStore, scratch: Path) -> None:
    store = make_store(["none"])
    for given in ({"data": "<urn:a> <urn:b> 2 .", "format": "ttl"}, {}):
        with pytest.raises(UsageError, match="is not a file whose IRI could name a graph"):
            store.load(*([] if given else [Graph()]), graph_per_file=True, **given)  # type: ignore[arg-type]
    assert [*scratch.glob("triplake-*.*")] == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/none", "the server answered 404"),
        ("/gone", "the server answered 410"),
        ("/page", "its suffix does not tell the RDF syntax; this seems to be an HTML page"),
        ("/bad", "/bad:1:"),
        ("/away", "redirects to ftp://127.0.0.1/a.ttl, which is not on the web"),
        ("/round", "the server answered 302"),
        ("/short", "the server sent 66 of 75 bytes"),
        ("/large", "it is larger than 1 MiB: allow more"),
        ("/larger", "it is larger than 1 MiB: allow more"),
    ],
)
def test_what_cannot_be_had(tmp_path: Path, site: str, scratch: Path, path: str, message: str) -> None:
    outcome = run("load", tmp_path / "kg", site + path, "--max-download", "1")
    assert outcome.code == 3
    assert message in outcome.err
    assert site in outcome.err
    assert not (tmp_path / "kg").exists()
    assert [*scratch.glob("triplake-*.*")] == []


def test_nobody_listens(tmp_path: Path) -> None:
    outcome = run("load", tmp_path / "kg", "http://127.0.0.1:9/a.ttl")
    assert outcome.code == 3
    assert "http://127.0.0.1:9/a.ttl: it cannot be fetched: " in outcome.err
    assert (
        "what is read are local files, s3:, gs:, az: and hdfs:, and by load http: and https:"
        in run("load", tmp_path / "kg", "ftp://e/x.nt").err
    )


def test_a_report(tmp_path: Path, site: str) -> None:
    bad = tmp_path / "bad.nt"
    bad.write_text("<urn:a> <urn:b> 1 .\n<urn:a> <urn:b> <urn:c> .\n")
    options = "--on-error", "skip", "--report", "json", "--rules", "none"
    outcome = run("load", tmp_path / "kg", bad, site + "/a", *options)
    assert outcome.code == 3
    report = json.loads(outcome.out)
    assert (report["version"], report["triples"], report["files"], report["skipped"]) == (2, 4, 2, 1)
    assert [(left["file"], left["line"], left["entries"]) for left in report["left_out"]] == [(str(bad), 1, 1)]
    assert Path(report["rejects"]).exists()
    assert report["asserted"] == report["facts"] == 4


def test_graphs(make_store: MakeStore, scratch: Path) -> None:
    store = make_store(["none"])
    graph = Graph()
    graph.parse(data=TURTLE, format="turtle", publicID="http://e/")
    graph.add((URIRef("http://e/a"), URIRef("http://e/p"), Literal('"\\\n\tü')))
    assert store.load(graph).triples == 4
    found = Graph()
    for triple in store.triples():
        found.add(triple)
    assert isomorphic(graph, found)
    dataset = Dataset()
    dataset.add((URIRef("http://e/a"), URIRef("http://e/p"), Literal(1)))
    dataset.graph(URIRef("http://e/g")).add((URIRef("http://e/a"), URIRef("http://e/p"), Literal(2)))
    assert store.load(dataset, graph="http://e/h").triples == 2
    sizes = {graph.name: graph.triples for graph in store.graphs()}
    assert sizes == {"<urn:x-triplake:default>": 4, "<http://e/g>": 1, "<http://e/h>": 1}
    assert [*scratch.glob("triplake-*.*")] == []


def test_the_place_of_a_file(make_store: MakeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same from every folder."""
    store, file = make_store(["none"]), tmp_path / "a" / "x.ttl"
    for folder in ("a", "b/c"):
        (tmp_path / folder).mkdir(parents=True)
    file.write_text("<> <urn:p> <#y> .")
    for folder, path in (("a", "x.ttl"), ("a", "../a/x.ttl"), ("b/c", "../../a/x.ttl"), ("b", "./../a/./x.ttl")):
        monkeypatch.chdir(tmp_path / folder)
        store.load(path)
        store.load(path, graph_per_file=True)
    assert {str(s) for s, _, _ in store.triples("asserted")} == {file.as_uri()}
    assert {graph.name for graph in store.graphs()} == {"<urn:x-triplake:default>", f"<{file.as_uri()}>"}


def test_a_tilde_means_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of stores, files of lines, and tables: a shell has replaced those that do."""
    (tmp_path / "home" / "kg").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("~").mkdir()
    Path("~a.nt").write_text("<x:a> <x:p> <x:b> .\n")
    Path("~/a.csv").write_text("id\n1\n")
    with Store.create("~/kg", ["none"], engine="duckdb") as store:
        store.load("~a.nt")
        store.load_table("~/a.csv", template="<x:{id}> <x:p> {id}")
        store.compact()
    with Store.open("~/kg", engine="duckdb", verify=True) as store:
        store.load(data="<x:c> <x:p> <x:b> .", format="nt")
        assert len([*store.triples("asserted")]) == 3
    assert Path("~/kg/data").is_dir()


def test_open_files_and_texts(tmp_path: Path, scratch: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_bytes(TURTLE)
    packed = tmp_path / "a.ttl.gz"
    packed.write_bytes(gzip.compress(TURTLE))
    with Store.create(tmp_path / "kg", ["none"]) as store:
        streams: list[IO[Any]] = [file.open("rb"), file.open(encoding="utf-8"), packed.open("rb")]
        for stream in streams:
            with stream:
                assert store.load(stream, base="http://e/").triples == 3
        assert store.load(io.StringIO("<urn:a> <urn:b> <urn:ü> ."), format="nt").triples == 1
        assert store.load(data="<urn:a> <urn:b> 2 .", format="ttl").triples == 1
        assert store.load(data=b"<urn:a> <urn:b> 3 .", format="ttl").triples == 1
        version = store.version
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"data": "x"}, "a text has no suffix to tell its syntax"),
            ({"data": "x", "format": "x"}, "unknown format 'x'"),
        ]
        for options, message in wrong:
            with pytest.raises(UsageError, match=message):
                store.load(**options)
        with pytest.raises(UsageError, match="<file> has no suffix"):
            store.load(io.BytesIO(b""))
        with pytest.raises(UsageError, match="3 is not a path"):
            store.load(3)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="half of a surrogate pair"):
            store.load(data="<a:\ud800>", format="nt")
        with pytest.raises(UsageError, match="half of a surrogate pair"):
            store.load(io.StringIO("<a:\ud800>"), format="nt")
        with pytest.raises(UsageError, match="half of a surrogate pair"):
            store.load_table([{"id": "\ud800"}], template="<x:{id}> a <x:y>")
        with pytest.raises(InputError, match="<data>:1:"):
            store.load(data="x x x", format="nt")
        assert store.version == version
    assert [*scratch.glob("triplake-*.*")] == []
