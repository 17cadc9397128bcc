"""Named graphs on the command line: loaded, listed, explained, exported, dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import done, refused, run
from triplestore.storage.manifest import FORMAT

DATA = """@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:g1 { :a owl:sameAs :b . :p a owl:FunctionalProperty }
:g2 { :b owl:sameAs :c . :a a :C . :a :p :x }
:g3 { :c :p :y . :c a :D . :a a :C }
:C owl:disjointWith :D .
"""


@pytest.fixture(autouse=True)
def kg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of three graphs, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    Path("w.trig").write_text(DATA)
    assert run("load", "kg", "w.trig", "--quiet").code == 0


def listed(*more: str) -> dict[str | None, int]:
    found = json.loads(done("graphs", "kg", "--json", *more))
    return {graph["graph"]: graph["triples"] for graph in found["graphs"]}


def test_list() -> None:
    assert listed() == {None: 1, "http://e/g1": 2, "http://e/g2": 3, "http://e/g3": 3}
    text = done("graphs", "kg")
    assert "1  the unnamed graph" in text
    assert "2  :g1" in text
    assert "the union of all graphs" in text


def test_what_each_alone_supports() -> None:
    found = json.loads(done("graphs", "kg", "--json", "--alone"))["graphs"]
    alone = {graph["graph"]: (graph["alone"], graph["classes_split"]) for graph in found if graph["graph"]}
    assert alone == {"http://e/g1": (2, 2), "http://e/g2": (2, 2), "http://e/g3": (2, 1)}
    assert listed() == {None: 1, "http://e/g1": 2, "http://e/g2": 3, "http://e/g3": 3}


def test_what_a_graph_supports_that_a_blank_node_names() -> None:
    Path("b.trig").write_text("_:g { <http://e/x> <http://e/p> <http://e/y> }")
    done("load", "kg", "b.trig")
    found = json.loads(done("graphs", "kg", "--json", "--alone"))["graphs"]
    assert {graph["graph"]: graph["alone"] for graph in found if graph["graph"]}["_:f2_g"] == 1


def test_drop() -> None:
    dry = done("update", "kg", "--drop-graph", "http://e/g2", "--dry-run")
    assert "would split <http://e/a> = <http://e/b> = <http://e/c> into" in dry
    assert listed()["http://e/g2"] == 3
    done("update", "kg", "--drop-graph", "http://e/g2", "--drop-graph", "http://e/g1")
    assert listed() == {None: 1, "http://e/g3": 3}
    assert json.loads(done("stats", "kg", "--json"))["classes"] == 0
    refused(2, "update", "kg", "--drop-graph", "http://e/g2", says="there is no graph <http://e/g2>")
    assert listed() == {None: 1, "http://e/g3": 3}


def test_a_triple_in_two_graphs_stays_until_both_are_dropped() -> None:
    asked = ("query", "kg", "ASK { :a a :C }", "--exit-code", "--quiet")
    done("update", "kg", "--drop-graph", "http://e/g2")
    assert run(*asked).code == 0
    done("update", "kg", "--drop-graph", "http://e/g3")
    assert run(*asked).code == 1


def test_explanations_name_graphs() -> None:
    proof = done("explain", "kg", ":a", "a", ":D")
    assert ":b owl:sameAs :c   [asserted in :g2]" in proof
    assert ":c a :D   [asserted in :g3]" in proof
    steps = json.loads(done("explain", "kg", ":a", "a", ":C", "--format", "json"))["steps"]
    assert steps[-1]["graphs"] == ["<http://e/g2>", "<http://e/g3>"]
    assert "asserted in :g1" in done("why-same", "kg", ":a", ":c")
    checked = run("check", "kg")
    assert ":C owl:disjointWith :D .   [asserted in the unnamed graph]" in checked.out
    assert ":a a :C .   [asserted in :g2, :g3]" in checked.out
    found = json.loads(run("check", "kg", "--json").out)
    assert [None] in found[0]["graphs"]


def test_export_and_back() -> None:
    done("export", "kg", "--what", "asserted", "-o", "out.trig")
    done("export", "kg", "--what", "asserted", "-o", "out.nq")
    for file in ("out.trig", "out.nq"):
        done("load", f"{file}.kg", file)
        assert json.loads(done("graphs", f"{file}.kg", "--json"))["graphs"] == [
            {"graph": name, "triples": count} for name, count in listed().items()
        ]
    assert done("export", "kg", "--graph", "http://e/g1").count("\n") == 2
    assert done("export", "kg", "--graph", "default").count("\n") == 1
    refused(2, "export", "kg", "--graph", "http://e/none", says="there is no graph <http://e/none>")
    canonical = ["--same-as", "canonical"]
    for more in (["--what", "inferred"], ["--virtual"], ["--sorted"], canonical, [*canonical, "--prefer", "http://e/"]):
        refused(2, "export", "kg", "--graph", "default", *more, says="a graph has what was asserted in it")
    refused(2, "export", "kg", "-o", "out.nq", "--same-as", "canonical", says="leave --same-as")


def test_load_into_graphs() -> None:
    Path("one.nt").write_text("<http://e/a> <http://e/q> <http://e/b> .\n")
    Path("two.ttl").write_text("<http://e/a> <http://e/q> <http://e/c> .\n")
    done("load", "files", "one.nt", "two.ttl", "--graph-per-file", "--rules", "none")
    found = json.loads(done("graphs", "files", "--json"))["graphs"]
    assert [graph["triples"] for graph in found] == [0, 1, 1]
    assert found[1]["graph"].endswith("/one.nt")
    done("load", "kg", "one.nt", "--graph", "http://e/g9")
    assert listed()["http://e/g9"] == 1
    refused(2, "load", "kg", "one.nt", "--graph", "http://e/g9", "--graph-per-file", says="not both")
    refused(2, "load", "kg", "one.nt", "--graph", "no iri", says="no iri")


def test_the_default_graph_is_changed() -> None:
    everything = done("export", "kg", "--sorted")
    assert "separate" in run("graphs", "kg", "--default-graph", "separate").err
    assert "the unnamed graph, with what follows" in done("graphs", "kg")
    assert done("export", "kg", "--what", "asserted").count("\n") == 1
    for said, more in (
        (True, ["-o", "x.jsonld"]),
        (True, ["-o", "x.ttl.gz"]),
        (True, []),
        (False, ["-o", "x.TRIG.gz"]),
        (False, ["-o", "x.ttl", "--graph", "default"]),
        (False, ["--what", "inferred"]),
    ):
        assert ("named graphs are left out" in run("export", "kg", *more).err) == said
    refused(2, "load", "kg", "w.trig", "--default-graph", "union", says="triplake graphs kg --default-graph union")
    done("graphs", "kg", "--default-graph", "union")
    again = run("export", "kg", "--sorted")
    assert again.out == everything
    assert "left out" not in again.err
    refused(2, "graphs", "kg", "--default-graph", "union", "--alone", says="leave --alone")


def test_upgrade() -> None:
    assert "already of the newest format" in run("upgrade", "kg").err
    mark = Path("kg/triplake.json")
    mark.write_text(json.dumps({"format": 5}))
    assert "now of the newest format, version 3" in run("upgrade", "kg").err
    assert json.loads(mark.read_text())["format"] == FORMAT
    assert listed() == {None: 1, "http://e/g1": 2, "http://e/g2": 3, "http://e/g3": 3}


def test_a_patch_of_quads() -> None:
    """In order: what is deleted without a graph's name is deleted from the graph that it has just been added to."""
    Path("p.rdfp").write_text(
        "TX .\nA <http://e/n> <http://e/q> 1 <http://e/g1> .\nA <http://e/n> <http://e/q> 2 <http://e/g1> .\n"
        "D <http://e/n> <http://e/q> 1 .\nD <http://e/a> <http://e/p> <http://e/x> .\nTC .\n"
    )
    done("update", "kg", "p.rdfp")
    assert listed() == {None: 1, "http://e/g1": 3, "http://e/g2": 2, "http://e/g3": 3}


def test_the_log_tells_of_graphs() -> None:
    """A graph that loses a triple which another asserts changes nothing else."""
    Path("move.ru").write_text("PREFIX : <http://e/> DELETE DATA { GRAPH :g3 { :a a :C } }")
    done("update", "kg", "move.ru")
    change = json.loads(done("log", "kg", "--facts", "--json"))
    assert change["changes"]["quads"] == {"added": 0, "removed": 1}
    assert change["triples"]["quads"]["removed"] == [
        "<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> <http://e/g3> ."
    ]
    assert change["changes"]["asserted"] == {"added": 0, "removed": 0}
    assert "# in named graphs: 8 added, 0 removed" in done("log", "kg", "2", "--facts")


def test_copies_have_the_graphs() -> None:
    done("copy", "kg", "copied")
    done("compact", "copied")
    found = json.loads(done("graphs", "copied", "--json"))["graphs"]
    assert [(graph["graph"], graph["triples"]) for graph in found] == list(listed().items())
