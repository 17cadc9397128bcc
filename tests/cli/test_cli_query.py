"""`triplake query`, `export` and `check`, with right and with wrong input."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
from pathlib import Path
from xml.etree import ElementTree

import pyoxigraph
import pytest

from tests.support.cli import Outcome, done, refused, run
from tests.support.endpoint import Reply, endpoint
from tests.support.pets import CLOSURE, DOGS, said, stats
from triplestore.model.terms import OWL, RDF, XSD

pytestmark = pytest.mark.usefixtures("here")


class TestQuery:
    def test_explain(self, kg: Path) -> None:
        text = done("query", kg, DOGS, "--explain")
        assert text.startswith("-- algebra (select)\n")
        assert re.search(r"\n-- SQL\nWITH .*\n-- plan\n\w.*\(2 rows", text, re.DOTALL)
        found = json.loads(done("query", kg, DOGS, "--explain", "--format", "json"))
        assert (found["kind"], found["plan"]["rows"]) == ("select", 2)
        refused(2, "query", kg, DOGS, "--explain", "--format", "csv", says="as text or as json, not as csv")

    def test_table(self, kg: Path) -> None:
        assert done("query", kg, DOGS).splitlines() == [
            "?x",
            "-----",
            ":fido",
            ":rex",
            "(2 rows)",
        ]

    def test_formats_of_rows(self, kg: Path) -> None:
        def answer(form: str) -> str:
            return done("query", kg, "-f", "dogs.rq", "--format", form)

        assert answer("csv").splitlines() == ["x", "http://ex/fido", "http://ex/rex"]
        assert answer("tsv").splitlines() == ["?x", "<http://ex/fido>", "<http://ex/rex>"]
        found = json.loads(answer("json"))
        assert found["head"]["vars"] == ["x"]
        assert [row["x"] for row in found["results"]["bindings"]] == [
            {"type": "uri", "value": "http://ex/fido"},
            {"type": "uri", "value": "http://ex/rex"},
        ]
        uris = ElementTree.fromstring(answer("xml")).iter("{http://www.w3.org/2005/sparql-results#}uri")
        assert [uri.text for uri in uris] == ["http://ex/fido", "http://ex/rex"]

    def test_triples(self, kg: Path) -> None:
        ask = "CONSTRUCT { ?x <http://ex/is> ?c } WHERE { ?x a ?c FILTER (?c = <http://ex/Dog>) }"
        lines = {f"<http://ex/{x}> <http://ex/is> <http://ex/Dog> ." for x in ("fido", "rex")}
        assert set(done("query", kg, ask, "--format", "nt").splitlines()) == lines
        for text in (done("query", kg, ask), done("query", kg, ask, "--format", "ttl")):
            turtle = pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.TURTLE)
            assert {f"{quad.triple} ." for quad in turtle} == lines
        described = done("query", kg, "DESCRIBE <http://ex/Dog>", "--format", "nt")
        assert described == CLOSURE.splitlines(keepends=True)[0]
        refused(2, "query", kg, DOGS, "--format", "nt", says="nt holds triples: use it with CONSTRUCT or DESCRIBE")

    def test_ask_and_exit_code(self, kg: Path) -> None:
        yes, no = "ASK { <http://ex/fido> a <http://ex/Dog> }", "ASK { <http://ex/tom> a <http://ex/Dog> }"
        assert run("query", kg, yes, "--exit-code") == Outcome(0, "yes\n", "")
        assert run("query", kg, no) == Outcome(0, "no\n", "")
        assert run("query", kg, no, "--exit-code") == Outcome(1, "no\n", "")

    def test_same_as(self, kg: Path) -> None:
        rows = {
            form: done("query", kg, DOGS, "--format", "csv", "--same-as", form).split()
            for form in ("expand", "canonical")
        }
        assert rows["expand"] == ["x", "http://ex/fido", "http://ex/rex"]
        assert len(rows["canonical"]) == 2
        assert set(rows["canonical"]) < set(rows["expand"])

    def test_from_a_file_or_stdin(self, kg: Path) -> None:
        assert (
            done("query", kg, "-f", "-", stdin=DOGS.encode())
            == done("query", kg, "-f", "dogs.rq")
            == done("query", kg, DOGS)
        )
        refused(2, "query", kg, says="give the query as an argument, or a file of it with -f")
        refused(2, "query", kg, DOGS, "-f", "dogs.rq", says="and not both")
        refused(2, "query", kg, "dogs.rq", says=f"give it with -f, as in `triplake query {kg} -f dogs.rq`")
        refused(2, "query", kg, "-f", "nowhere.rq", says="nowhere.rq: No such file")

    def test_the_past(self, kg: Path) -> None:
        done("update", kg, "--delete", "pets.ttl")
        assert done("query", kg, DOGS, "--format", "csv").split() == ["x"]
        assert len(done("query", kg, DOGS, "--format", "csv", "--at", "2").split()) == 3
        assert stats("kg", "--at", "2")["asserted"] == 5
        assert said("--at", "2") == CLOSURE
        refused(2, "query", kg, DOGS, "--at", "9", says="kg has no version 9; it has 1 to 3")

    def test_bad_queries(self, kg: Path) -> None:
        refused(2, "query", kg, "SELEC ?x", says="not legal SPARQL: line 1, column")
        refused(2, "query", kg, "SELECT * { SERVICE <http://ex/> { ?s ?p ?o } }", says="<http://ex/> is refused")
        refused(2, "query", kg, "INSERT DATA { <http://ex/a> <http://ex/b> 1 }", says="SPARQL")

    def test_other_endpoints(self, kg: Path) -> None:
        with endpoint(lambda _: Reply(b"busy", 503)) as one:
            text = f"SELECT * {{ SERVICE <{one.address}> {{ ?s ?p ?o }} }}"
            refused(2, "query", kg, text, says="--allow-service")
            refused(2, "query", kg, text, "--allow-service", "elsewhere", says="'elsewhere' is not an address")
            refused(9, "query", kg, text, "--allow-service", one.address, says="answered with status 503: busy")
            silent = text.replace("SERVICE", "SERVICE SILENT")
            assert done("query", kg, silent, "--allow-service", one.address, "--format", "csv").split() == [
                "s,p,o",
                ",,",
            ]
            (kg.parent / "service.ru").write_text(
                f"INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <{one.address}> {{ ?s ?p ?o }} }}"
            )
            refused(2, "update", kg, "service.ru", says="--allow-service")
            refused(9, "update", kg, "service.ru", "--allow-service", one.address, says="status 503")
            assert len(one.queries) == 3


class TestExport:
    @pytest.mark.parametrize("suffix", ["nt", "ttl", "rdf", "owl", "jsonld", "nt.gz", "ttl.bz2", "rdf.zst"])
    @pytest.mark.sampled(each=2)
    def test_there_and_back(self, kg: Path, suffix: str) -> None:
        done("export", kg, "--what", "asserted", "-o", f"out.{suffix}")
        done("load", "again", f"out.{suffix}", "--rules", "none")
        assert said(store="again") == said("--what", "asserted")

    def test_what(self, kg: Path) -> None:
        asserted, inferred = said("--what", "asserted").splitlines(), said("--what", "inferred").splitlines()
        assert len(asserted) == 5
        assert not set(asserted) & set(inferred)
        assert sorted(asserted + inferred) == CLOSURE.splitlines()

    def test_canonical(self, kg: Path) -> None:
        lines = said("--same-as", "canonical").splitlines()
        (name,) = {line.split()[0] for line in lines} & {"<http://ex/rex>", "<http://ex/fido>"}
        assert lines == [
            line
            for line in CLOSURE.splitlines()
            if line.split()[0] in ("<http://ex/Dog>", "<http://ex/email>", name) and "sameAs" not in line
        ]

    def test_sorted_by_bytes(self, kg: Path) -> None:
        lines = done("export", kg, "--sorted").encode().splitlines()
        assert lines == sorted(lines)
        assert sorted(done("export", kg).encode().splitlines()) == lines
        done("export", kg, "--sorted", "-o", "out.nt")
        assert Path("out.nt").read_bytes().splitlines() == lines

    def test_what_the_output_is_stays(self, kg: Path) -> None:
        """A mode, a link, and a pipe; and files beside it are the user's."""
        Path("out.nt").touch(mode=0o600)
        Path("out.nt.part").write_text("mine")
        Path("link.nt").symlink_to("out.nt")
        done("export", kg, "-o", "link.nt")
        assert Path("link.nt").is_symlink()
        assert Path("out.nt").stat().st_mode & 0o777 == 0o600
        assert Path("out.nt.part").read_text() == "mine"
        whole = sorted(Path("out.nt").read_bytes().splitlines())
        before = os.umask(0o027)
        try:
            done("export", kg, "-o", "NEW.NT.GZ")
        finally:
            os.umask(before)
        assert Path("NEW.NT.GZ").stat().st_mode & 0o777 == 0o640
        assert sorted(gzip.decompress(Path("NEW.NT.GZ").read_bytes()).splitlines()) == whole
        os.mkfifo("pipe.nt")
        read: list[bytes] = []
        reader = threading.Thread(target=lambda: read.append(Path("pipe.nt").read_bytes()))
        reader.start()
        done("export", kg, "-o", "pipe.nt")
        reader.join(10)
        assert [sorted(text.splitlines()) for text in read] == [whole]
        assert Path("pipe.nt").is_fifo()

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full here")
    @pytest.mark.parametrize("suffix", ["nt", "nt.gz", "ttl"])
    def test_a_full_disk(self, kg: Path, suffix: str) -> None:
        Path(f"full.{suffix}").symlink_to("/dev/full")
        refused(6, "export", kg, "-o", f"full.{suffix}", says=f"full.{suffix}: No space left on device")

    def test_refusals(self, kg: Path) -> None:
        refused(2, "export", kg, "-o", "out.xyz", says="out.xyz: the suffix gives the format: use one of .nt, .ttl")
        refused(2, "export", kg, "-o", "out.ttl", "--sorted", says="--sorted orders N-Triples lines; give a .nt file")
        refused(2, "export", kg, "-o", "no/where.nt", says="no/where.nt: cannot be written")
        refused(2, "export", kg, "--what", "derived", says="'derived' is not one of 'asserted', 'inferred', 'all'")


class TestCheck:
    def test_consistent(self, kg: Path) -> None:
        assert run("check", kg) == Outcome(0, "consistent\n", "")
        assert run("check", kg, "--json") == Outcome(0, "[]\n", "")

    def test_inconsistent(self, kg: Path) -> None:
        loaded = run("load", kg, "cat.ttl")
        assert loaded.code == 0
        assert f"warning: 1 inconsistency (cax-dw 1): `triplake check {kg}` lists them\n" in loaded.err
        outcome = run("check", kg)
        assert outcome.code == 1
        assert outcome.out.splitlines() == [
            "@prefix : <http://ex/> .",
            "",
            "cax-dw: 1 inconsistency",
            "    1. :Cat owl:disjointWith :Dog .",
            "       :rex a :Cat .",
            "       :rex a :Dog .",
            "1 inconsistency",
        ]
        outcome = run("check", kg, "--json")
        assert outcome.code == 1
        (violation,) = json.loads(outcome.out)
        assert violation["rule"] == "cax-dw"
        assert ["<http://ex/Cat>", f"<{OWL}disjointWith>", "<http://ex/Dog>"] in violation["triples"]
        assert stats()["violations"] == 1
        assert run("check", kg, "--at", "2").code == 0

    def test_terms_are_as_n_triples_writes_them(self, kg: Path) -> None:
        """A line each, whatever is in a literal; rdflib's n3 has another form for some."""
        (kg.parent / "two.ttl").write_text(
            '<urn:p> a <http://www.w3.org/2002/07/owl#FunctionalProperty> . <urn:a> <urn:p> "a\\nb", "c" .'
        )
        (kg.parent / "not.nt").write_text('<urn:a> <urn:q> "a\\nb" .\n')
        outcome = run("entails", kg, kg.parent / "not.nt", "--json")
        assert json.loads(outcome.out)["missing"] == ['<urn:a> <urn:q> "a\\nb"']
        assert run("load", kg, kg.parent / "two.ttl").code == 0
        (violation,) = json.loads(run("check", kg, "--json").out)
        assert violation["triples"] == violation["terms"] == [['"a\\nb"', f"<{OWL}sameAs>", '"c"']]
        assert [hit["text"] for hit in json.loads(done("search", kg, "b", "--json"))] == ['"a\\nb"']
        (kg.parent / "shapes.ttl").write_text(
            "@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:s> sh:targetNode <urn:a> ; a sh:NodeShape ;"
            r' sh:property [ sh:path <urn:p> ; sh:maxLength 1 ; sh:message "a\nb" ] .'
        )
        (result,) = json.loads(run("validate", kg, kg.parent / "shapes.ttl", "--format", "json").out)["results"]
        assert (result["value"], result["messages"]) == ('"a\\nb"', ['"a\\nb"'])
        (kg.parent / "equal.ttl").write_text(f'<urn:i> <{OWL}sameAs> "a\\nb" .')
        assert run("load", kg, kg.parent / "equal.ttl").code == 0
        largest = json.loads(done("stats", kg, "--same-as", "--json"))["largest"]
        assert any('"a\\nb"' in one["members"] for one in largest)

    def test_many_are_counted_and_some_shown(self, kg: Path) -> None:
        lines = [f":x{i} a :Dog , :Cat ." for i in range(12)]
        Path("many.ttl").write_text(f"@prefix : <http://ex/> . {' '.join(lines)}", encoding="utf-8")
        done("load", kg, "cat.ttl", "many.ttl")
        for options, shown in (((), 10), (("--limit", "3"), 3), (("--limit", "0"), 13)):
            text = run("check", kg, *options).out
            assert len(re.findall(r"^ +\d+\. ", text, re.MULTILINE)) == shown
            assert ("more (--limit 0 lists all)" in text) == (shown < 13)
            assert "cax-dw: 13 inconsistencies\n" in text
        assert len(json.loads(run("check", kg, "--json").out)) == 13
        assert len(json.loads(run("check", kg, "--json", "--limit", "2").out)) == 2

    def test_terms_are_named_as_people_know_them(self, kg: Path) -> None:
        """Not by the terms that represent them, with what made them one; others as they are."""
        Path("merged.ttl").write_text(
            f"@prefix : <http://ex/> . @prefix owl: <{OWL}> .\n"
            ":x owl:differentFrom :y . :a owl:sameAs :x , :y . :C owl:disjointWith :D . :z a :C , :D ."
        )
        done("load", kg, "merged.ttl")
        text = run("check", kg).out
        assert (
            "    1. :x owl:differentFrom :y .\n       :x owl:sameAs :y .\n"
            "       because :a owl:sameAs :x .\n       because :a owl:sameAs :y .\n"
        ) in text
        assert "    1. :C owl:disjointWith :D .\n       :z a :C .\n       :z a :D .\n" in text
        apart, same = (v for v in json.loads(run("check", kg, "--json").out) if v["rule"] in ("eq-diff1", "cax-dw"))
        assert "terms" not in apart
        assert same["terms"][1] == ["<http://ex/x>", f"<{OWL}sameAs>", "<http://ex/y>"]
        assert [triple[2] for triple in same["because"]] == ["<http://ex/x>", "<http://ex/y>"]

    def test_what_makes_literals_equal_is_named(self, kg: Path) -> None:
        Path("two.ttl").write_text(
            f"@prefix : <http://ex/> . @prefix owl: <{OWL}> .\n"
            ":age a owl:FunctionalProperty . :rex :age 3, 4 . :tom :age :old, 5 . :tom owl:sameAs 'Tom' , 'Thomas' .",
            encoding="utf-8",
        )
        done("load", kg, "two.ttl")
        text = run("check", kg).out
        assert '    1. "3"^^xsd:integer owl:sameAs "4"^^xsd:integer .\n       because :age a owl:Fun' in text
        assert '       because :rex :age "4"^^xsd:integer .\n       by prp-fp\n' in text
        named = {(v["rule"], *v["by"]) for v in json.loads(run("check", kg, "--json").out)}
        assert named == {("eq-diff1", "prp-fp"), ("eq-diff1", "asserted")}
        assert "prp-fp" in done("explain", kg, "--violation", "eq-diff1:1")
        Path("repair.rdfp").write_text(
            f'TX .\nD <http://ex/rex> <http://ex/age> "4"^^<{XSD}integer> .\nD <http://ex/tom> <http://ex/age> '
            f'<http://ex/old> .\nD <http://ex/tom> <{OWL}sameAs> "Tom" .\nTC .\n'
        )
        done("update", kg, "repair.rdfp")
        assert run("check", kg).code == 0

    def test_they_vanish_when_repaired(self, kg: Path) -> None:
        done("load", kg, "cat.ttl")
        Path("repair.rdfp").write_text("TX .\nD <http://ex/rex> <" + RDF + "type> <http://ex/Cat> .\nTC .\n")
        outcome = run("update", kg, "repair.rdfp")
        assert outcome.code == 0
        assert "warning" not in outcome.err
        assert run("check", kg) == Outcome(0, "consistent\n", "")


def test_search(tmp_path: Path) -> None:
    (tmp_path / "d.ttl").write_text(
        "@prefix : <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':r rdfs:label "Rembrandt"@nl . :d rdfs:label "Albrecht Dürer" ; :note "not Rembrandt" .\n'
    )
    kg = tmp_path / "kg"
    done("load", kg, tmp_path / "d.ttl")
    assert done("search", kg, "rembr*").splitlines() == [
        ':r  rdfs:label  "Rembrandt"@nl',
        ':d  :note  "not Rembrandt"',
    ]
    assert done("search", kg, "durer", "--json").startswith('[\n  {\n    "term": "<http://ex/d>"')
    assert done("search", kg, "rembrandt", "--property", ":note", "--prefix", "=http://ex/").startswith(":d  ")
    assert done("search", kg, "rembrandt", "--lang", "nl").count("\n") == 1
    limited = run("search", kg, "rembrandt", "albrecht", "--limit", "1")
    assert limited.out.count("\n") == 1
    assert "--limit 0 lists all" in limited.err
    assert run("search", kg, "nothing").code == 1
    for words, message in (("a~", "'~' in 'a~' means nothing"), ("(", "needs a word"), ('"a', "quotation mark")):
        outcome = run("search", kg, words)
        assert outcome.code == 2
        assert message in outcome.err
    assert "takes a tag" in run("search", kg, "a", "--lang", 'n"l').err
