"""Reading files: every syntax to the same tokens, places of errors, how blank nodes are named, what files there are."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import os
import sys
import tracemalloc
from collections import Counter
from importlib import import_module
from pathlib import Path

import pyoxigraph
import pytest
import zstandard

from tests.support.loading import INTEGER, A, B, P, read, write
from triplake.loaders import LoadReport, Progress, Source, Syntax, Triple, pipes, quads_of, sources
from triplake.loaders import read as reading
from triplake.loaders.compression import opened
from triplestore.engine import Engine
from triplestore.model.errors import InputError, StorageError, UsageError
from triplestore.model.terms import RDF, XSD, to_ntriples


def test_files_that_are_no_plain_lines(engine: Engine, tmp_path: Path) -> None:
    """Mixed line ends, a NUL, a very long line, a byte order mark; next to a plain file."""
    plain = write(tmp_path, "plain.nt", f"_:x {P} {A} .\n")
    mixed = write(tmp_path, "mixed.nt", f'{A} {P} "1" .\r\n{A} {P} "2" .\n{A} {P} "3" .\r{A} {P} "4" .')
    nul = write(tmp_path, "nul.nt", f'{A} {P} "5\x00" .\n')
    long = write(tmp_path, "long.nt", f'{A} {P} "{"6" * 16_000_000}" .\n')
    mark = write(tmp_path, "mark.nt", f'\ufeff{A} {P} "7" .\n')
    found, _ = read(engine, mixed, plain, nul, long, mark)
    literals = {*"1234", "5\x00", "6" * 16_000_000, "7"}
    assert found == Counter({("_:f2_x", P, A): 1} | {(A, P, f'"{text}"'): 1 for text in literals})


TURTLE = "@prefix e: <http://e/> . e:a e:p e:b , 1 , 'x'@EN-gb , [ e:p _:l ] , ( _:l ) ."
SAME = {
    "x.ttl": TURTLE,
    "x.n3": TURTLE,
    "x.trig": f"@prefix e: <http://e/> . e:g {{ {TURTLE.split(' . ', 1)[1]} }}",
    "x.nt": f"""{A} {P} {B} .\n{A} {P} "1"{INTEGER} .\n{A} {P} "x"@EN-gb .\n{A} {P} _:n .\n_:n {P} _:l .\n{A} {P} _:c .
_:c <{RDF}first> _:l .\n_:c <{RDF}rest> <{RDF}nil> .\n""",
    "x.rdf": f"""<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/"><rdf:Description rdf:about="http://e/a">
<e:p rdf:resource="http://e/b"/><e:p rdf:datatype="{XSD}integer">1</e:p><e:p xml:lang="EN-gb">x</e:p>
<e:p><rdf:Description><e:p rdf:nodeID="l"/></rdf:Description></e:p>
<e:p rdf:parseType="Collection"><rdf:Description rdf:nodeID="l"/></e:p></rdf:Description></rdf:RDF>""",
    "x.jsonld": """{"@context": {"e": "http://e/"}, "@id": "e:a", "e:p": [{"@id": "e:b"}, 1,
{"@value": "x", "@language": "EN-gb"}, {"e:p": {"@id": "_:l"}}, {"@list": [{"@id": "_:l"}]}]}""",
}


def canonical(triples: Counter[Triple]) -> pyoxigraph.Dataset:
    text = "".join(f"{' '.join(map(to_ntriples, triple))} .\n" for triple in triples)
    graph = pyoxigraph.Dataset(pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_TRIPLES))
    graph.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return graph


@pytest.mark.parametrize("packing", ["", ".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("name", SAME)
def test_every_syntax_means_the_same(engine: Engine, tmp_path: Path, name: str, packing: str) -> None:
    if engine.name == "spark" and packing and name != "x.nt":
        pytest.skip("only lines are read by the engine itself: the other syntaxes are tried on one engine")
    expected = canonical(Counter(quads_of(sources([write(tmp_path, "x.nt", SAME["x.nt"])])[0], None)))
    path = write(tmp_path, name + packing, SAME[name])
    found, report = read(engine, path)
    assert canonical(Counter({(s, p, o): count for (s, p, o, *_), count in found.items()})) == expected
    assert found.total() == 8
    assert report.named == (8 if name == "x.trig" else 0)


def test_blank_nodes_are_scoped_and_numbered(engine: Engine, tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "1.nt", f"_:l {P} _:m .\n"),
        write(tmp_path, "2.nt", f'_:l {P} "esc\\n" .\n'),
        write(tmp_path, "3.ttl", f"_:l {P} [ {P} [] ] . [] {P} 2 ."),
        write(tmp_path, "4.nq", f"_:l {P} _:l _:l .\n"),
    ]
    for _ in range(2):
        found, _ = read(engine, *paths, first_file=41)
        assert set(found) == {
            ("_:f41_l", P, "_:f41_m"),
            ("_:f42_l", P, '"esc\n"'),
            ("_:f43g1", P, "_:f43g2"),
            ("_:f43_l", P, "_:f43g1"),
            ("_:f43g3", P, f'"2"{INTEGER}'),
            ("_:f44_l", P, "_:f44_l", "_:f44_l"),
        }
    assert quads_of(sources([paths[0]])[0], None) == [("_:l", P, "_:m")]
    assert quads_of(sources([paths[3]])[0], 7) == [("_:f7_l", P, "_:f7_l", "_:f7_l")]


def test_duplicates_and_files_without_triples(engine: Engine, tmp_path: Path) -> None:
    nothing = [
        write(tmp_path, name, text) for name, text in {"a.nt": "", "b.nt": "\n# x\n", "c.ttl": "", "d.nq": ""}.items()
    ]
    assert read(engine, *nothing) == (Counter(), LoadReport(0, 0, None, 0, 4))
    twice = write(tmp_path, "e.nt", f"{A} {P} {B} .\n" * 2)
    assert read(engine, *nothing, twice)[0] == Counter({(A, P, B): 2})


@pytest.mark.parametrize(
    ("name", "text", "line", "column"),
    [
        ("x.ttl", f"{A} {P} {B} .\n{A} {P} \n  é .", 3, 3),
        ("x.ttl", f"{A} {P} e:b .", 1, 27),
        ("x.n3", f"{{ {A} {P} {B} }} => {{ {A} {P} {A} }} .", 1, None),
        ("x.trig", f"{A} {{ {A} {P} {B} \n}} {{", 2, None),
        ("x.rdf", f"<rdf:RDF\n  xmlns:rdf='{RDF}'>\n<a></b></rdf:RDF>", 3, None),
        ("x.rdf", f"<rdf:RDF xmlns:rdf='{RDF}'>\n <rdf:li/></rdf:RDF>", 2, 2),
        ("x.jsonld", '{"@id":', 1, 8),
        ("x.jsonld", '{"@context": "http://e/remote", "a": 1}', None, None),
        ("x.ttl", f"<<( {A} {P} {B} )>> {P} {A} .", 1, 1),
    ],
)
def test_wrong_document(
    engine: Engine, tmp_path: Path, name: str, text: str, line: int | None, column: int | None
) -> None:
    """Stop: the place. Skip: nothing of the file is read, all of the others is."""
    wrong = write(tmp_path, name, text)
    right = write(tmp_path, "right.ttl", f"{A} {P} {B} .")
    with pytest.raises(InputError) as caught:
        read(engine, right, wrong)
    assert (caught.value.file, caught.value.line) == (str(wrong), line)
    assert column in (None, caught.value.column)
    rejects = tmp_path / "rejects"
    found, report = read(engine, wrong, right, on_error="skip", rejects=rejects)
    assert found == Counter({(A, P, B): 1})
    assert (report.skipped, report.rejects_path, report.files) == (1, rejects, 2)
    place = f"{wrong}:{line}" if line else str(wrong)
    assert rejects.read_text().startswith(f"# {place}: ")


def test_documents_longer_than_a_batch(engine: Engine, tmp_path: Path) -> None:
    lines = [f"{A} {P} {n} ." for n in range(100_001)]
    path = write(tmp_path, "long.ttl", "\n".join(lines))
    assert read(engine, path)[0].total() == 100_001
    with pytest.raises(InputError):
        read(engine, write(tmp_path, "late.ttl", "\n".join([*lines, "late"])))
    engine.create("token", "SELECT 1 AS s")  # Nothing of the name was left behind.
    engine.drop("token")


@pytest.mark.parametrize("suffix", ["nt", "nq", "ttl"])
def test_triples_are_handed_over_some_characters_at_a_time(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    handed = []
    strings = reading.strings
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.batch", 5_000)
    monkeypatch.setattr(reading, "strings", lambda values: handed.append(strings(values)) or handed[-1])
    path = write(tmp_path, f"x.{suffix}", "".join(f'{A} {P} "{n:0300}\\n" .\n' for n in range(100)))
    assert read(engine, path)[0] == Counter({(A, P, f'"{n:0300}\n"'): 1 for n in range(100)})
    assert 5 < len(handed) < 300
    assert max(column.nbytes for column in handed) < 10_000


def test_base_of_documents(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path, "a b.ttl", "<> <#p> <c> .")
    here = path.as_uri()
    assert set(read(engine, path)[0]) == {(f"<{here}>", f"<{here}#p>", f"<{tmp_path.as_uri()}/c>")}
    based = Source(str(path), Syntax.TURTLE, "named", "http://e/x/y")
    assert set(read(engine, based)[0]) == {("<http://e/x/y>", "<http://e/x/y#p>", "<http://e/x/c>")}


def test_bases_are_absolute_iris(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "x.ttl", "<> <#p> <c> .")
    for base in ("x", "http://e/a b", "http://e/<"):
        with pytest.raises(UsageError, match=f"^the base {base} is not an absolute IRI"):
            read(engine, Source(str(path), Syntax.TURTLE, "named", base))
    monkeypatch.setattr(import_module("triplake.loaders.sources"), "matching", lambda url: [url])
    (found,) = sources(["s3://lake/a b%.ttl"])
    assert (found.path, found.base_iri) == ("s3://lake/a b%.ttl", "s3://lake/a%20b%25.ttl")


def test_damaged_and_unreadable_files(engine: Engine, tmp_path: Path) -> None:
    text = "".join(f'{A} {P} "{n}" .\n' for n in range(5000))
    for name in ("x.nt.gz", "x.nt.bz2", "x.nt.zst", "x.ttl.gz", "x.ttl.bz2", "x.ttl.zst"):
        path = write(tmp_path, name, text)
        path.write_bytes(path.read_bytes()[:-3000] if path.stat().st_size > 6000 else path.read_bytes()[:200])
        with pytest.raises(InputError, match=r"damaged|unpack") as caught:
            read(engine, path)
        assert caught.value.file == str(path)
    for name in ("y.nt.gz", "y.ttl.zst"):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(InputError, match=r"damaged|unpack"):
            read(engine, path)


def test_zstd_that_unpacks_to_much_takes_little_memory(tmp_path: Path) -> None:
    packer, blank = zstandard.ZstdCompressor().compressobj(), b" " * (1 << 20)
    path = tmp_path / "x.nt.zst"
    path.write_bytes(b"".join([*(packer.compress(blank) for _ in range(256)), packer.flush()]))
    tracemalloc.start()
    try:
        with opened(str(path), "x") as file:
            assert sum(map(len, iter(lambda: file.read(1 << 20), b""))) == 256 << 20
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_no_room_to_unpack(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_error: str) -> None:
    """It is told as such, not as a fault of the file."""
    path = write(tmp_path, "x.nt.gz", f"{A} {P} {B} .\n")

    def full(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StorageError, match=r"unpacked-.*No space left on device; nothing was committed"):
            read(engine, path, on_error=on_error)


def test_several_frames(engine: Engine, tmp_path: Path) -> None:
    """Compressed files appended to one another are one file."""
    for suffix, pack in {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}.items():
        path = tmp_path / f"x.nt{suffix}"
        path.write_bytes(b"".join(pack(f"{A} {P} {n}".encode() + end) for n, end in ((A, b" .\n"), (B, b" .\n"))))
        assert read(engine, path)[0] == Counter({(A, P, A): 1, (A, P, B): 1})


def test_progress(engine: Engine, tmp_path: Path) -> None:
    told: list[Progress] = []
    read(engine, write(tmp_path, "a.nt", f"{A} {P} {B} .\n"), write(tmp_path, "b.ttl", ""), progress=told.append)
    assert [(step.stage, Path(step.file).name, step.done_triples) for step in told] == [
        ("parse", "a.nt", 0),
        ("parsed", "a.nt", 1),
        ("parse", "b.ttl", 1),
        ("parsed", "b.ttl", 1),
    ]
    assert all(step.seconds >= 0 for step in told)


def test_folders_globs_and_odd_names(engine: Engine, tmp_path: Path) -> None:
    for name in ("b.nt", "a.ttl", "deep/er/c.nq.gz", "x[1].nt", "it's.nt", "p=q/d.nt", "é😀 *.nt", ".hidden.nt"):
        write(tmp_path, name, f"{A} {P} <http://e/{abs(hash(name))}> .\n")
    write(tmp_path, "readme.txt", "not RDF")
    found = sources([tmp_path])
    names = [str(Path(source.path).relative_to(tmp_path)) for source in found]
    assert names == ["b.nt", "it's.nt", "x[1].nt", "é😀 *.nt", "p=q/d.nt", "deep/er/c.nq.gz", "a.ttl"]
    assert read(engine, *found)[0].total() == 7
    assert [source.path for source in sources([str(tmp_path / "*.nt")])] == [
        str(tmp_path / name) for name in ("b.nt", "it's.nt", "x[1].nt", "é😀 *.nt")
    ]
    assert [source.path for source in sources([tmp_path / "x[1].nt"])] == [str(tmp_path / "x[1].nt")]
    assert [Path(source.path).name for source in sources([tmp_path], "turtle")] == ["a.ttl"]


def test_a_file_is_read_once(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is named: `**` matches a folder, and each file in it."""
    for name in ("folder/a.ttl", "folder/deep/b.nt"):
        write(tmp_path, name, f"_:x {P} {A} .")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    monkeypatch.chdir(tmp_path)
    for paths in (["folder/**"], ["folder/**/*"], ["folder", "folder/deep", tmp_path / "folder/a.ttl", "link/a.ttl"]):
        assert read(engine, *sources(paths))[0].total() == 2, paths


@pytest.mark.parametrize(
    ("paths", "format", "kind", "message"),
    [
        (["none.nt"], None, InputError, "no such file"),
        (["none*.nt"], None, InputError, "no file matches"),
        (["x.txt"], None, UsageError, "--format"),
        (["x.gz"], None, UsageError, "--format"),
        (["x.txt"], "cobol", UsageError, "unknown format 'cobol'"),
        (["empty"], None, InputError, "holds no file"),
        (["-"], None, UsageError, "--format"),
        (["http://e/x.nt"], None, UsageError, "download"),
    ],
)
def test_nothing_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str], format: str | None, kind: type, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.txt", "x.gz"):
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(kind, match=message):
        sources(paths, format)


def test_format_wins_over_suffix(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path, "data.txt.gz", f"{A} {P} 1 .")
    assert set(read(engine, *sources([path], "ttl"))[0]) == {(A, P, f'"1"{INTEGER}')}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, zstandard.compress])
def test_standard_input(engine: Engine, monkeypatch: pytest.MonkeyPatch, pack: type) -> None:
    for format, text in {"nt": f"{A} {P} {B} .\n", "ttl": f"{A} {P} {B} ."}.items():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(text.encode()))))
        found = sources(["-"], format)
        assert read(engine, *found)[0] == Counter({(A, P, B): 1})
        pipes.remove(found[0].path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"<> <p> <o> .")))
    found = sources(["-"], "ttl")
    with pytest.raises(InputError, match=r"^<stdin>:1:1: No scheme found") as caught:
        read(engine, *found)
    assert caught.value.exit_code == 3
    pipes.remove(found[0].path)


def test_a_list_is_no_path() -> None:
    with pytest.raises(UsageError, match=r"\['a.nt'\] is not a path: give each file"):
        sources([["a.nt"]])  # type: ignore[list-item]
