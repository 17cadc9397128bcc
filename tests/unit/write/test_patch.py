"""RDF Patch, and plain files of triples to add or delete."""

from __future__ import annotations

import bz2
import gzip
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from triplake.loaders import Change, quads_of, read_patch, sources
from triplestore.model.dataset import Quad
from triplestore.model.errors import InputError
from triplestore.model.prefixes import Prefix
from triplestore.model.terms import RDF, XSD
from triplestore.write.update_files import read_changes, update_files

A, P, B, G = "<http://e/a>", "<http://e/p>", "<http://e/b>", "<http://e/g>"
ROW = f"{A} {P} {B}"
TRIPLE = (A, P, B)


def patch(folder: Path, text: str | bytes, name: str = "x.rdfp") -> list[Change]:
    """The changes of a patch file with this text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_patch(path)


def changes_of(folder: Path, text: str | bytes, name: str = "x.rdfp") -> list[Change]:
    """The same, without prefixes."""
    return [replace(change, prefixes=()) for change in patch(folder, text, name)]


@pytest.mark.parametrize("name", ["x.rdfp", "X.RDFP", "x.rdfp.gz", "X.RDFP.GZ", "x.y.Patch.Gz"])
def test_suffixes_in_any_case(tmp_path: Path, name: str) -> None:
    text = f"A {ROW} .".encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.lower().endswith(".gz") else text)
    assert read_changes(str(tmp_path / name), 1) == changes_of(tmp_path, text)
    assert str(tmp_path / name) in update_files([str(tmp_path)])


def test_the_example_of_the_specification(tmp_path: Path) -> None:
    text = """H id <uuid:0686c69d-8f89-4496-acb5-744f0157a8db> .
H prev <uuid:3ee0eca0-6d5f-4b4d-85db-f69ab1167eb1> .
TX .
PA "rdf" "http://www.w3.org/1999/02/22-rdf-syntax-ns#" .
PA "owl" "http://www.w3.org/2002/07/owl#" .
A <http://example/SubClass> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Class> .
A <http://example/SubClass> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://example/SUPER_CLASS> .
A <http://example/SubClass> <http://www.w3.org/2000/01/rdf-schema#label> "SubClass" .
TC .
"""
    subject, rdfs = "<http://example/SubClass>", "http://www.w3.org/2000/01/rdf-schema#"
    added = [
        (subject, f"<{RDF}type>", "<http://www.w3.org/2002/07/owl#Class>"),
        (subject, f"<{rdfs}subClassOf>", "<http://example/SUPER_CLASS>"),
        (subject, f"<{rdfs}label>", '"SubClass"'),
    ]
    expected = Change([(True, added)])
    assert changes_of(tmp_path, text) == [expected]
    assert changes_of(tmp_path, gzip.compress(text.encode()), "x.rdfp.gz") == [expected]
    assert changes_of(tmp_path, bz2.compress(text.encode()), "x.rdfp.bz2") == [expected]
    assert changes_of(tmp_path, zstandard.compress(text.encode()), "x.rdfp.zst") == [expected]


def test_prefixes(tmp_path: Path) -> None:
    """Those of a transaction that is aborted are not those of any; rows outside are of the next one."""
    text = f"""PA e: <http://e/> .
TX .
PA a: <http://a/> .
TA .
PD "old" .
TX .
A {ROW} .
PA "b" "http://b/" .
TC .
"""
    (change,) = patch(tmp_path, text)
    assert change.prefixes == tuple(Prefix(*p, "x.rdfp") for p in (("e", "http://e/"), ("old", ""), ("b", "http://b/")))


@pytest.mark.parametrize(
    ("rows", "changes"),
    [
        (f"A {ROW} .", [[(True, [TRIPLE])]]),
        (f"D {ROW} .", [[(False, [TRIPLE])]]),
        (f"A {ROW} .\nD {ROW} .", [[(True, [TRIPLE]), (False, [TRIPLE])]]),
        (f"D {ROW} .\nD {ROW} {G} .\nA {ROW} .", [[(False, [TRIPLE, (*TRIPLE, G)]), (True, [TRIPLE])]]),
        (f"TX .\nA {ROW} .\nTC .\nTX .\nD {ROW} .\nTC .", [[(True, [TRIPLE])], [(False, [TRIPLE])]]),
        (f"TX .\nA {ROW} .\nTA .\nTX .\nD {ROW} .\nTC .", [[(False, [TRIPLE])]]),
        ("TX .\nTC .", []),
        ("", []),
        (f"A {ROW} .\nTX .\nD {ROW} .\nTC .\nA {A} {P} {A} .", [[(True, [TRIPLE, (A, P, A)])], [(False, [TRIPLE])]]),
        (f"\ufeff# note\n\n \tA\t{ROW}.# done\r\n", [[(True, [TRIPLE])]]),
    ],
)
def test_transactions(tmp_path: Path, rows: str, changes: list[list[tuple[bool, list[Quad]]]]) -> None:
    assert patch(tmp_path, rows) == [Change(operations) for operations in changes]


@pytest.mark.parametrize(
    ("term", "token"),
    [
        ("_:b1", "_:b1"),
        ("<_:f1_b:1>", None),
        ("<_:f1_b1>", "_:f1_b1"),
        ("_:f3g1", "_:f3g1"),
        ("_:deadbeefdeadbeefdeadbeefdeadbeef", "_:deadbeefdeadbeefdeadbeefdeadbeef"),
        ("_:a.b", "_:a.b"),
        ('"a \\"b\\" . # \\u00e9"', '"a "b" . # é"'),
        ('"x"@EN-gb', '"x"@en-gb'),
        (f'"x"^^<{XSD}string>', '"x"'),
        ('"01"^^xsd:integer', f'"01"^^<{XSD}integer>'),
        ("<http://e/\\u00e9>", "<http://e/é>"),
        ("e:b", B),
        ("e:b.c", "<http://e/b.c>"),
        ("e:", "<http://e/>"),
        (":x", "<urn:x>"),
        ("-1", f'"-1"^^<{XSD}integer>'),
        ("1.50", f'"1.50"^^<{XSD}decimal>'),
        ("1e0", f'"1e0"^^<{XSD}double>'),
        ("true", f'"true"^^<{XSD}boolean>'),
    ],
)
def test_terms(tmp_path: Path, term: str, token: str | None) -> None:
    prefixes = f'PA "e" "http://e/" .\nPA xsd: <{XSD}> .\nPA : "urn:" .\n'
    for end in (" .", ".", f" {G} .", " _:g ."):
        if end == "." and token is not None and (term[0] in "-1t_:" or ":" in term):
            end = " ."  # a dot at once would belong to the number, the label or the name
        text = f"{prefixes}A {A} e:p {term}{end}\n"
        if token is None:
            with pytest.raises(InputError):
                patch(tmp_path, text)
        else:
            graph = {G: (G,), "_:g": ("_:g",)}.get(end[1:-2], ())
            [change] = changes_of(tmp_path, text)
            assert change.operations == [(True, [(A, P, token, *graph)])]


@pytest.mark.parametrize("around", ["{}", "<<( <x:s> <x:p> {} )>>"])
@pytest.mark.parametrize("repeated", ["a", "\\n", ") "])
def test_long_literals_are_read_in_little_memory(tmp_path: Path, around: str, repeated: str) -> None:
    literal = around.format(f'"{repeated * 300_000}"')
    text = f"A {A} {P} {literal} {G} .".encode()
    tracemalloc.start()
    [change] = changes_of(tmp_path, text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(change.operations[0][1][0][2]) > 300_000
    assert peak < 16 << 20


@pytest.mark.parametrize(
    ("rows", "line", "column", "message"),
    [
        (f"A {ROW}", 1, 41, "dot"),
        (f"A {ROW} . A {ROW} .", 1, 44, "one row a line"),
        (f"B {ROW} .", 1, 1, "unknown row 'B'"),
        (f"{ROW} .", 1, 1, "unknown row"),
        (f"A {A} {P} .", 1, 1, "takes a triple or a quad, not 2"),
        (f"A {ROW} {G} {G} .", 1, 1, "not 5"),
        (f'# x\nA "s" {P} {B} .', 2, 3, "subject"),
        (f"A {A} _:p {B} .", 1, 16, "predicate"),
        (f"A {A}   {P} <rel> .", 1, 31, "scheme"),
        (f'A {A} {P} "\\q" .', 1, 29, "escape"),
        (f"A {A} {P} e:x .", 1, 29, "unknown prefix `e:`"),
        (f'PA "e" "http://e/" .\nPD "e" .\nA {A} {P} e:x .', 3, 29, "unknown prefix"),
        (f"A {A} {P} word .", 1, 29, "'word'"),
        (f"A {A} {P} ' .", 1, 29, "expected an IRI"),
        ("PA e .", 1, 1, "takes a prefix and an IRI"),
        ("TX now .", 1, 1, "takes no terms"),
        ("TX .\nTX .", 2, 1, "begun on line 1"),
        ("TC .", 1, 1, "without TX"),
        (f"\nTX .\nA {ROW} .", 2, 1, "not ended"),
        (" .", 1, 1, "without a row"),
        (f"A {A} {P} <<( {ROW} .", 1, None, "expected an IRI"),
        (b'A <a:a> <a:a> "\xff" .', 1, 16, "UTF-8"),
        (f'A {A} {P} "\\q" .\nnonsense', 1, 29, "escape"),
    ],
)
def test_errors(tmp_path: Path, rows: str | bytes, line: int, column: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        patch(tmp_path, rows)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "x.rdfp"), line)
    assert column in (None, caught.value.column)


def test_plain_files(tmp_path: Path) -> None:
    for name, text in {"x.nt": f"_:x {P} {B} .\n", "x.ttl": f"_:x {P} {B} .", "x.nq": f"_:x {P} {B} {G} ."}.items():
        path = tmp_path / name
        path.write_text(text)
        source = sources([path])[0]
        graph = (G,) if source.path.endswith(("nq", "trig")) else ()
        assert quads_of(source, None) == [("_:x", P, B, *graph)]
        assert quads_of(source, 12) == [("_:f12_x", P, B, *graph)]
        path.write_text(f"{text}\n{text[:-6]}\n")
        with pytest.raises(InputError) as caught:
            quads_of(source, None)
        assert (caught.value.file, caught.value.line) == (str(path), 3 if name == "x.nt" else 2)
