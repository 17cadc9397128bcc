"""Reading N-Triples and N-Quads by their lines: what is right, what is wrong and where, any text."""

from __future__ import annotations

import gzip
import os
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.loading import INTEGER, A, B, P, read, write
from triplake.loaders import LoadReport, Source, Syntax, Triple, sources
from triplake.loaders import lines as loaders_lines
from triplake.loaders.lines import batches_of_lines
from triplake.loaders.ntriples import CLEAN
from triplake.loaders.tokens import Scope
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.dataset import Quad
from triplestore.model.errors import InputError
from triplestore.model.terms import RDF, XSD, to_ntriples

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
    'VERSION "1.2"': None,
    '\tVERSION"1.2-basic" # as told': None,
    'VERSION "\\u0031\\"" ': None,
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
    f"{A} {P} <<( {A} {P} {B} )>> .": (A, P, f"({A} {P} {B})"),
    f'{A} {P} "x"@EN-gb--ltr .': (A, P, '"x"@en-gb--ltr'),
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
    f"{A} {P} <<( {A} {P} ) .": None,
    f"<<( {A} {P} {B} )>> {P} {B} .": None,
    f'{A} {P} "x"@en--up .': 35,
    "nonsense": None,
    'VERSION "1.2" .': 1,
    "VERSION '1.2'": 1,
    'version "1.2"': 1,
    'VERSION "\\q"': 1,
    f'VERSION "1.2" {A} {P} {B} .': 1,
}


def test_right_lines(engine: Engine, tmp_path: Path) -> None:
    """All at once, with either line end, in N-Triples and (with and without a graph's name) in N-Quads."""
    expected = Counter(triple for triple in RIGHT_LINES.values() if triple is not None)
    for end in ("\n", "\r\n"):
        path = write(tmp_path, "lines.nt", end.join(RIGHT_LINES))
        assert read(engine, path)[0] == expected
    path = write(tmp_path, "lines.nq", "\n".join(RIGHT_LINES))
    assert read(engine, path) == (expected, LoadReport(expected.total(), 0, None, 0, 1))


def test_graphs_are_read(engine: Engine, tmp_path: Path) -> None:
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
    graphs = [(), ("<http://e/g>",), ("_:f1_g",), ("<http://e/g>",), ("<http://e/%20>",)]
    assert found == Counter((A, P, obj, *graph) for obj in expected for graph in graphs)
    assert report.named == len(objects) * 4


def test_graphs_of_files(engine: Engine, tmp_path: Path) -> None:
    """What is in no named graph goes into the graph of its file, if it has one, by whichever way it is read."""
    lines = f'{A} {P} {B} .\n{A} {P} "esc\\n" .\n'
    found = [
        *(replace(sources([write(tmp_path, f"{n}.nt", lines)])[0], graph=f"<http://e/g{n}>") for n in (1, 2)),
        *sources([write(tmp_path, "3.nt", lines)]),
        replace(sources([write(tmp_path, "4.nq", f"{lines}{A} {P} {B} _:g .\n")])[0], graph="<http://e/g4>"),
        replace(sources([write(tmp_path, "5.trig", f"{A} {P} 1 . {B} {{ {A} {P} 2 }}")])[0], graph="<http://e/g5>"),
        replace(sources([write(tmp_path, "6.ttl", f"{A} {P} 1 .")])[0], graph="<http://e/g6>"),
    ]
    both = [(A, P, B), (A, P, '"esc\n"')]
    assert read(engine, *found)[0] == Counter(
        [
            *((*triple, f"<http://e/g{n}>") for n in (1, 2, 4) for triple in both),
            *both,
            (A, P, B, "_:f4_g"),
            *((A, P, f'"{n}"{INTEGER}', graph) for n, graph in ((1, "<http://e/g5>"), (2, B), (1, "<http://e/g6>"))),
        ]
    )


@pytest.mark.parametrize("case", [test_right_lines, test_graphs_are_read, test_graphs_of_files])
def test_executors_of_a_cluster_cut_the_lines(
    spark: Any, case: Callable[[Engine, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triplestore.engine.spark import SparkEngine
    from triplestore.engine.spark import input as spark_input

    monkeypatch.setattr(spark_input, "is_local", lambda master: False)
    engine = SparkEngine(spark)
    case(engine, tmp_path)
    engine.close()


@pytest.mark.long_on_spark(but=5)
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


@pytest.mark.parametrize("at", [-8, -4], ids=["checksum", "length"])
def test_a_wrong_checksum(engine: Engine, tmp_path: Path, at: int) -> None:
    """Any line may be wrong: none is read."""
    path, right = write(tmp_path, "x.nt.gz", f"{A} {P} 1 .\n"), write(tmp_path, "y.nt.gz", f"{A} {P} {B} .\n")
    packed = bytearray(gzip.compress(f"{A} {P} {A} .\n".encode()))
    packed[at] ^= 1
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"x\.nt\.gz: the compressed file is damaged .*: fetch or compress it again"):
        read(engine, path, right)
    found, report = read(engine, path, right, on_error="skip")
    assert found == Counter([(A, P, B)])
    assert [(left.file, left.entries) for left in report.left_out] == [(str(path), 1)]


def test_odd_gzip(engine: Engine, tmp_path: Path) -> None:
    """Flags of the header, several members, and zeros behind them."""
    plain = gzip.compress(f"{A} {P} {B} .\n".encode(), mtime=0)
    head, rest = plain[:10], plain[10:]

    def flagged(flag: int, field: bytes) -> bytes:
        return head[:3] + bytes([flag]) + head[4:] + field + rest

    checksum = zlib.crc32(flagged(2, b"")[:10]).to_bytes(4, "little")[:2]
    kinds = [flagged(1, b""), flagged(2, checksum), flagged(16, b"comment\0"), flagged(8, b"name\0")]
    kinds += [flagged(4, b"\2\0ab"), plain + bytes(512), plain + plain]
    paths = [tmp_path / f"{number}.nt.gz" for number in range(len(kinds))]
    for path, data in zip(paths, kinds, strict=True):
        path.write_bytes(data)
    assert read(engine, *paths)[0] == Counter({(A, P, B): len(kinds) + 1})


def test_names_of_files_may_be_any_bytes(engine: Engine, tmp_path: Path) -> None:
    names = [b"\xff.nt", b"\xff.nq", b"\xff.nt.gz", b"\xff.ttl"]
    paths = [write(tmp_path, os.fsdecode(name), f"{A} {P} {B} .\n") for name in names]
    assert read(engine, *paths, write(tmp_path, "x.nt", f"{A} {P} {A} .\n"))[0] == {(A, P, B): 4, (A, P, A): 1}
    wrong = write(tmp_path, os.fsdecode(b"\xfe.nt"), "oops\n")
    found, report = read(engine, paths[0], wrong, on_error="skip", rejects=tmp_path / "rejects")
    assert (found, report.skipped) == ({(A, P, B): 1}, 1)
    assert b"\xfe.nt:1: " in (tmp_path / "rejects").read_bytes()


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


def test_lines_over_the_limit(tmp_path: Path) -> None:
    """DuckDB and the strict parser alike read no line over 16 MiB: a message, not a crash."""
    text = f'{A} {P} {B} .\n{A} {P} "{"6" * 17_000_000}" .\n'
    engine = DuckDBEngine()
    for name in ("long.nt", "long.ttl"):
        with pytest.raises(InputError, match="16 MiB"):
            read(engine, write(tmp_path, name, text))
    engine.close()


def test_lines_are_read_some_bytes_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a piece ends within a line or its end; of a line that is too long the begin is kept."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.batch", 50)
    monkeypatch.setattr(loaders_lines, "LONGEST", 8)
    dice = random.Random(3)
    for _ in range(300):
        text = "".join(dice.choices(["a", "bc", "\r", "\n", "\r\n", "d" * 9], k=dice.randrange(60))).encode()
        path = write(tmp_path, "x.nt", text)
        batches = list(batches_of_lines(Source(str(path), Syntax.NTRIPLES, "x")))
        found = [line for _, lines in batches for line in lines]
        wanted = re.split(rb"\r\n|\n|\r", text)
        wanted = wanted if wanted[-1] else wanted[:-1]
        assert [line[:8] for line in found] == [line[:8] for line in wanted]
        assert all(len(line) <= 16 for line in found)
        assert all(sum(map(len, lines[:-1])) <= 50 for _, lines in batches)
        places = [first for first, _ in batches]
        assert places == [1 + sum(len(lines) for _, lines in batches[:n]) for n in range(len(batches))]


@pytest.mark.long_on_spark
def test_more_odd_lines_than_a_batch(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path, "odd.nt", "".join(f'{A} {P} "{n}\\n" .\n' for n in range(150_000)))
    found, _ = read(engine, path)
    assert found == Counter({(A, P, f'"{n}\n"'): 1 for n in range(150_000)})


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
    assert Counter(Scope(1, anonymous=False).quads(quads)) == expected


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
    expected: Counter[Quad] = Counter()
    wrong = 0
    for line in re.split(r"\r\n|\n|\r", text):
        scope = Scope(1, anonymous=False)
        try:
            expected.update(list(scope.quads(pyoxigraph.parse(line.encode(), format))))
        except SyntaxError:
            wrong += 1
    found, report = read(engine, Source(str(path), syntax, "random"), on_error="skip")
    assert found == expected
    assert report.skipped == wrong


PYTHON_CLEAN = re.sub(r"\\x\{([0-9A-F]{2,4})\}", lambda code: chr(int(code[1], 16)), CLEAN[Syntax.NQUADS])


@given(st.from_regex(PYTHON_CLEAN, fullmatch=True))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_clean_lines_are_right(line: str) -> None:
    """Whatever the expression of the fast path accepts, the strict parser accepts."""
    assert len(list(pyoxigraph.parse(line.encode(), pyoxigraph.RdfFormat.N_QUADS))) == 1
