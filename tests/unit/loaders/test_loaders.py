"""Reading files: every syntax to the same tokens, places of errors, what is skipped, how blank nodes are named."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import re
import sys
from collections import Counter
from pathlib import Path

import pyoxigraph
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triplake.loaders import LoadReport, Progress, Source, Syntax, Triple, read_into, sources, triples_of
from triplake.loaders.ntriples import CLEAN
from triplake.loaders.tokens import Scope
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.errors import InputError, UsageError
from triplestore.model.terms import RDF, XSD, to_ntriples

A, P, B = "<http://e/a>", "<http://e/p>", "<http://e/b>"
INTEGER = f"^^<{XSD}integer>"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """A file with this content, packed as its suffix says."""
    data = text.encode() if isinstance(text, str) else text
    packers = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packers.get(path.suffix, lambda plain: plain)(data))
    return path


def read(engine: Engine, *paths: Path | Source, **options: object) -> tuple[Counter[Triple], LoadReport]:
    """The triples read from files, with how often each came, and the report."""
    found = [path if isinstance(path, Source) else sources([path])[0] for path in paths]
    report = read_into(engine, "token", found, **{"first_file": 1, **options})  # type: ignore[arg-type]
    rows = engine.query("SELECT s, p, o FROM token").to_pylist()
    engine.drop("token")
    assert report.triples == len(rows)
    return Counter((row["s"], row["p"], row["o"]) for row in rows), report


# One table of odd but right lines: what stands on the line, the triple it is (None: nothing).
RIGHT_LINES: dict[str, tuple[str, str, str] | None] = {
    f"{A} {P} {B} .": (A, P, B),
    f"{A}\t{P}\t{B}\t.": (A, P, B),
    f'{A}\t{P}\t"tab\there, space here ." .': (A, P, '"tab\there, space here ."'),
    f"{A} {P} {B}.": (A, P, B),
    f"{A}{P}{B}.": (A, P, B),
    f"   {A}   {P}  {B}  .   ": (A, P, B),
    f"{A} {P} {B} . # a comment": (A, P, B),
    f"{A} {P} {B} .# {A}": (A, P, B),
    "": None,
    "   \t ": None,
    "# only a comment": None,
    "  # only a comment": None,
    f"_:x {P} _:y .": ("_:f1_x", P, "_:f1_y"),
    f"_:x.y {P} _:y.": ("_:f1_x.y", P, "_:f1_y"),
    f"_:é {P} _:0 .": ("_:f1_é", P, "_:f1_0"),
    f"_:deadbeefdeadbeefdeadbeefdeadbeef {P} {B} .": ("_:f1_deadbeefdeadbeefdeadbeefdeadbeef", P, B),
    f'{A} {P} "" .': (A, P, '""'),
    f'{A} {P} "a . b" .': (A, P, '"a . b"'),
    f'{A} {P} "ends with dot ." .': (A, P, '"ends with dot ."'),
    f'{A} {P} "<x>" .': (A, P, '"<x>"'),
    f'{A} {P} "x <y" .': (A, P, '"x <y"'),
    f'{A} {P} "x _:y" .': (A, P, '"x _:y"'),
    f'{A} {P} "x _:y"@en .': (A, P, '"x _:y"@en'),
    f'{A} {P} "@en" .': (A, P, '"@en"'),
    f'{A} {P} "x"@en .': (A, P, '"x"@en'),
    f'{A} {P} "x"@en-US .': (A, P, '"x"@en-us'),
    f'{A} {P} "x"@DE-Latn-DE .': (A, P, '"x"@de-latn-de'),
    f'{A} {P} "x"@zh-Hans-x-y .': (A, P, '"x"@zh-hans-x-y'),
    f'{A} {P} "x"^^<{XSD}string> .': (A, P, '"x"'),
    f'{A} {P} "^^<{XSD}string>"^^<{XSD}string> .': (A, P, f'"^^<{XSD}string>"'),
    f'{A} {P} "01"{INTEGER} .': (A, P, f'"01"{INTEGER}'),
    f'{A} {P} "x y"^^<http://e/mine#wkt> .': (A, P, '"x y"^^<http://e/mine#wkt>'),
    f'{A} {P} "x"^^<http://e/g> .': (A, P, '"x"^^<http://e/g>'),
    f'{A} {P} "q\\"q\\\\n\\n\\t\\r" .': (A, P, '"q"q\\n\n\t\r"'),
    f'{A} {P} "\\u00e9\\U0001F600" .': (A, P, '"é😀"'),
    f'{A} {P} "é😀\ufffd\x01\x7f" .': (A, P, '"é😀\ufffd\x01\x7f"'),
    f"{A} {P} <http://e/\\u00e9> .": (A, P, "<http://e/é>"),
    f"{A} {P} <http://e/é/%C3%A9?q=1#f> .": (A, P, "<http://e/é/%C3%A9?q=1#f>"),
    f"{A} {P} <urn:isbn:1> .": (A, P, "<urn:isbn:1>"),
    f"{A} {P} <http://u@h:80/> .": (A, P, "<http://u@h:80/>"),
    f"{A} {P} <http://h:80> .": (A, P, "<http://h:80>"),
    f"{A} {P} <http://[::1]/> .": (A, P, "<http://[::1]/>"),
    f"{A} {P} <mailto:a@b.c> .": (A, P, "<mailto:a@b.c>"),
}

# Wrong lines, and the column where each goes wrong.
WRONG_LINES = {
    f"{A} {P} .": 27,
    f"{A} {P} {B}": None,
    f"{A} {P} {B} . {A}": None,
    f"{A} {P} <rel> .": 27,
    f"{A} {P} <http://e/%zz> .": 27,
    f"{A} {P} <http://e/a#b#c> .": 27,
    f"{A} {P} <http://e:p/> .": 27,
    f"{A} {P} <http://e/a b> .": 27,
    f'{A} {P} "x"@toolonglonglang .': 31,
    f'{A} {P} "x"^^<{RDF}langString> .': 32,
    f'{A} {P} "\\q" .': 28,
    f'{A} {P} "\\uD800" .': 28,
    f'{A} {P} "x .': None,
    f"{A} _:x {B} .": None,
    f'"x" {P} {B} .': 1,
    f"{A} {P} <<( {A} {P} {B} )>> .": None,
    f'{A} {P} "x"@en--ltr .': None,
    "nonsense": None,
}


def test_right_lines(engine: Engine, tmp_path: Path) -> None:
    """All at once, with either line end, in N-Triples and (with and without a graph's name) in N-Quads."""
    expected = Counter(triple for triple in RIGHT_LINES.values() if triple is not None)
    for end in ("\n", "\r\n"):
        path = write(tmp_path, "lines.nt", end.join(RIGHT_LINES))
        assert read(engine, path)[0] == expected
    path = write(tmp_path, "lines.nq", "\n".join(RIGHT_LINES))
    assert read(engine, path) == (expected, LoadReport(expected.total(), 0, None, 0, 1))


def test_graph_names_are_dropped_and_counted(engine: Engine, tmp_path: Path) -> None:
    objects = [
        A,
        "_:x",
        '"x"',
        '"x _:y"',
        '"x <y"@en',
        '"<y>"^^<http://e/d>',
        '"a\\nb"',
        '"t\tt"',
        f'"x"^^<{XSD}string>',
    ]
    names = ["", " <http://e/g>", " _:g", "\t<http://e/g>", "  <http://e/%20>"]
    path = write(tmp_path, "x.nq", "".join(f"{A} {P} {obj}{name} .\n" for obj in objects for name in names))
    found, report = read(engine, path)
    expected = [A, "_:f1_x", '"x"', '"x _:y"', '"x <y"@en', '"<y>"^^<http://e/d>', '"a\nb"', '"t\tt"', '"x"']
    assert found == Counter({(A, P, obj): 5 * expected.count(obj) for obj in expected})
    assert report.graphs_dropped == len(objects) * 4


@pytest.mark.parametrize("line", WRONG_LINES)
def test_wrong_line_stops(engine: Engine, tmp_path: Path, line: str) -> None:
    path = write(tmp_path, "wrong.nt", f"# one\n{A} {P} {B} .\n\n{line}\n{A} {P} {B} .\nnonsense too\n")
    with pytest.raises(InputError) as caught:
        read(engine, path)
    error = caught.value
    assert (error.file, error.line) == (str(path), 4)
    assert WRONG_LINES[line] in (None, error.column)
    assert error.reason
    assert not error.reason.startswith("Parser error")


def test_first_bad_file_in_order(engine: Engine, tmp_path: Path) -> None:
    good = write(tmp_path, "a.nt", f"{A} {P} {B} .\n" * 10)
    first = write(tmp_path, "b.nt", f"{A} {P} {B} .\n" * 3 + "wrong\n" + "worse\n")
    second = write(tmp_path, "c.nt", "wrong\n")
    with pytest.raises(InputError) as caught:
        read(engine, good, first, second)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(first), 4, 1)


def test_wrong_lines_are_skipped_and_listed(engine: Engine, tmp_path: Path) -> None:
    wrong = list(WRONG_LINES)
    lines = [*RIGHT_LINES, *wrong]
    random.Random(7).shuffle(lines)
    path = write(tmp_path, "mixed.nt", "\n".join(lines) + "\n")
    rejects = tmp_path / "rejects.txt"
    found, report = read(engine, path, on_error="skip", rejects=rejects)
    assert found == Counter(triple for triple in RIGHT_LINES.values() if triple is not None)
    assert (report.skipped, report.rejects_path) == (len(wrong), rejects)
    listed = rejects.read_text().splitlines()
    assert listed[1::2] == [line for line in lines if line in WRONG_LINES]
    numbers = [number for number, line in enumerate(lines, 1) if line in WRONG_LINES]
    assert [int(re.match(rf"# {re.escape(str(path))}:(\d+): .", text)[1]) for text in listed[::2]] == numbers


def test_many_wrong_lines(engine: Engine, tmp_path: Path) -> None:
    text = "".join(f'{A} {P} "{n}" .\n' if n % 3 else f"wrong {n}\n" for n in range(30_000))
    path = write(tmp_path, "many.nt.gz", text)
    found, report = read(engine, path, on_error="skip", rejects=tmp_path / "rejects.txt")
    assert found == Counter({(A, P, f'"{n}"'): 1 for n in range(30_000) if n % 3})
    assert report.skipped == 10_000
    assert (tmp_path / "rejects.txt").read_text().count("\nwrong ") == 10_000


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'%s "\xff" .\n', id="one byte"),
        pytest.param(b'%s "\xed\xa0\x80" .\n', id="surrogate"),
        pytest.param(b'%s "\xe2\x82" .\n', id="cut short"),
    ],
)
def test_bad_utf8(engine: Engine, tmp_path: Path, content: bytes) -> None:
    good = f"{A} {P} {B} .\n".encode()
    path = write(tmp_path, "bad.nt", good * 4 + content.replace(b"%s", f"{A} {P}".encode()) + good)
    with pytest.raises(InputError, match="UTF-8") as caught:
        read(engine, path)
    assert (caught.value.file, caught.value.line) == (str(path), 5)
    rejects = tmp_path / "rejects"
    found, report = read(engine, path, path, on_error="skip", rejects=rejects)
    assert (found, report.skipped) == (Counter({(A, P, B): 10}), 2)
    assert rejects.read_bytes().splitlines()[1::2] == [content.replace(b"%s", f"{A} {P}".encode()).rstrip(b"\n")] * 2


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


def test_lines_over_the_limit(tmp_path: Path) -> None:
    """DuckDB and the strict parser alike read no line over 16 MiB: a message, not a crash."""
    text = f'{A} {P} {B} .\n{A} {P} "{"6" * 17_000_000}" .\n'
    engine = DuckDBEngine()
    for name in ("long.nt", "long.ttl"):
        with pytest.raises(InputError, match="16 MiB"):
            read(engine, write(tmp_path, name, text))
    engine.close()


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
    expected = canonical(Counter(triples_of(sources([write(tmp_path, "x.nt", SAME["x.nt"])])[0], None)))
    path = write(tmp_path, name + packing, SAME[name])
    found, report = read(engine, path)
    assert canonical(found) == expected
    assert found.total() == 8
    assert report.graphs_dropped == (8 if name == "x.trig" else 0)


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
            ("_:f44_l", P, "_:f44_l"),
        }
    assert triples_of(sources([paths[0]])[0], None) == [("_:l", P, "_:m")]
    assert triples_of(sources([paths[3]])[0], 7) == [("_:f7_l", P, "_:f7_l")]


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
        ("x.rdf", "<rdf:RDF\n  xmlns:rdf='x'>\n<a></b></rdf:RDF>", 3, None),
        ("x.rdf", f"<rdf:RDF xmlns:rdf='{RDF}'>\n <rdf:li/></rdf:RDF>", 2, 2),
        ("x.jsonld", '{"@id":', 1, 8),
        ("x.jsonld", '{"@context": "http://e/remote", "a": 1}', None, None),
        ("x.ttl", f"<< {A} {P} {B} >> {P} {A} .", 1, 1),
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


def test_more_odd_lines_than_a_batch(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path, "odd.nt", "".join(f'{A} {P} "{n}\\n" .\n' for n in range(150_000)))
    found, _ = read(engine, path)
    assert found == Counter({(A, P, f'"{n}\n"'): 1 for n in range(150_000)})


def test_base_of_documents(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path, "a b.ttl", "<> <#p> <c> .")
    here = path.as_uri()
    assert set(read(engine, path)[0]) == {(f"<{here}>", f"<{here}#p>", f"<{tmp_path.as_uri()}/c>")}
    based = Source(str(path), Syntax.TURTLE, "named", "http://e/x/y")
    assert set(read(engine, based)[0]) == {("<http://e/x/y>", "<http://e/x/y#p>", "<http://e/x/c>")}


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


# Files named and found


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
        Path(found[0].path).unlink()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"<> <p> <o> .")))
    found = sources(["-"], "ttl")
    with pytest.raises(InputError, match=r"^<stdin>:1:1: No scheme found") as caught:
        read(engine, *found)
    assert caught.value.exit_code == 3
    Path(found[0].path).unlink()


# Properties

LEXICAL = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SAFE = st.text("abzAZ019-._~!$&'()*+,;=:@/?éΩ漢", max_size=8)
IRIS = st.builds("<http://h/{}>".format, SAFE) | st.builds("<urn:x{}>".format, SAFE)
BLANKS = st.builds("_:{}".format, st.text("abcz019_é", min_size=1, max_size=5))
LITERALS = (
    st.builds('"{}"'.format, LEXICAL)
    | st.builds('"{}"@{}'.format, LEXICAL, st.sampled_from(["en", "de-at", "zh-hans", "x-y"]))
    | st.builds('"{}"^^{}'.format, LEXICAL, IRIS)
)
TRIPLES = st.lists(st.tuples(IRIS | BLANKS, IRIS, IRIS | BLANKS | LITERALS), max_size=40)
RANDOM = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def scoped(token: str) -> str:
    return "_:f1_" + token[2:] if token.startswith("_:") else token


@pytest.mark.long_on_spark
@RANDOM
@given(triples=TRIPLES, end=st.sampled_from([".\n", " .\n", "\t. \r\n", " . # x\n"]), gap=st.sampled_from(" \t"))
def test_round_trip(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, triples: list[Triple], end: str, gap: str
) -> None:
    """Random triples, written as N-Triples by us, are read as they were; pyoxigraph, alone, reads the same."""
    if gap == "\t" and end == ".\n":
        end = " .\n"
    text = "".join(f"{gap.join(map(to_ntriples, triple))} {end}" for triple in triples)
    path = write(tmp_path_factory.mktemp("random"), "random.nt", text)
    expected = Counter((scoped(s), p, scoped(o)) for s, p, o in triples)
    assert read(engine, path)[0] == expected
    quads = pyoxigraph.parse(text.encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    assert Counter(Scope(1, anonymous=False).triples(quads)) == expected


@pytest.mark.long_on_spark
@RANDOM
@given(
    pieces=st.lists(
        st.sampled_from([A, P, "_:b", "_:b.c", '"x"', '"é y"@en', "@EN", "^^", "<http://e/a#b#>", "<a:%41>", " ", "\t"])
        | st.sampled_from(
            [" .", ".", "\n", "\r", "\r\n", "#", '"', "\\n", "\\u0041", f'"1"{INTEGER}', f"<{RDF}langString>"]
        )
        | st.sampled_from(
            [f"{A} {P} {B} .\n", f"_:b {P} _:b .\r\n", f'{A} {P} "a\\"b" . # c\n', f"{A} {P} {B} {A} .\n"]
        ),
        max_size=60,
    ),
    syntax=st.sampled_from([Syntax.NTRIPLES, Syntax.NQUADS]),
)
def test_any_text_is_read_as_the_strict_parser_reads_it(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, pieces: list[str], syntax: Syntax
) -> None:
    """Skipping bad lines of any text gives, line by line, what pyoxigraph gives for each line alone."""
    text = "".join(pieces)
    path = write(tmp_path_factory.mktemp("random"), "random.txt", text)
    format = pyoxigraph.RdfFormat.N_TRIPLES if syntax is Syntax.NTRIPLES else pyoxigraph.RdfFormat.N_QUADS
    expected: Counter[Triple] = Counter()
    wrong = named = 0
    for line in re.split(r"\r\n|\n|\r", text):
        scope = Scope(1, anonymous=False)
        try:
            expected.update(list(scope.triples(pyoxigraph.parse(line.encode(), format))))
            named += scope.named_graphs
        except SyntaxError:
            wrong += 1
    found, report = read(engine, Source(str(path), syntax, "random"), on_error="skip")
    assert found == expected
    assert (report.skipped, report.graphs_dropped) == (wrong, named)


PYTHON_CLEAN = re.sub(r"\\x\{([0-9A-F]{2,4})\}", lambda code: chr(int(code[1], 16)), CLEAN[Syntax.NQUADS])


@given(st.from_regex(PYTHON_CLEAN, fullmatch=True))
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_clean_lines_are_right(line: str) -> None:
    """Whatever the expression of the fast path accepts, the strict parser accepts."""
    assert len(list(pyoxigraph.parse(line.encode(), pyoxigraph.RdfFormat.N_QUADS))) == 1


def test_a_list_is_no_path() -> None:
    with pytest.raises(UsageError, match=r"\['a.nt'\] is no path: give each file"):
        sources([["a.nt"]])  # type: ignore[list-item]
