"""Rules come and go like facts: after every change of rules, axioms or facts the store equals one made anew."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib.namespace import OWL, RDF, RDFS, Namespace

from tests.conftest import MakeStore
from tests.support.cli import done, run
from tests.support.closure import MODES, PHASES
from tests.support.random_programs import _USER_RULES, Triple, facts
from tests.support.stores import as_terms
from triplake import rulesets
from triplestore import Store
from triplestore.model.errors import UsageError

E = Namespace("http://e/")
NAMES = [rule.name for rule in _USER_RULES]
Step = tuple[list[Triple], list[Triple], list[str]]


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[Triple], list[Step]]:
    """A built-in ruleset, data, and steps: facts that come and go, or names of rules that change sides."""
    start = draw(facts(odd=False))
    now, steps = set(start), []
    for _ in range(4):
        if draw(st.booleans()):
            steps.append(([], [], draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))))
            continue
        add = draw(facts(odd=False)) if draw(st.integers(0, 2)) == 0 else []
        going = draw(st.lists(st.sampled_from(sorted(now)), max_size=4)) if now else []
        delete = [t for t in going if t not in add]
        steps.append((add, delete, []))
        now = (now - set(delete)) | set(add)
    return draw(st.sampled_from(["owl2rl", "rdfs", "none"])), start, steps


def test_one_name_is_a_list_of_one(tmp_path: Path) -> None:
    """A text is no list of letters, wherever several names or files may be given."""
    (tmp_path / "one.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .\n", encoding="utf-8")
    with Store.create(tmp_path / "kg", rules="owl2rl") as store:
        assert [ruleset.name for ruleset in store.rulesets] == ["owl2rl"]
        store.change_rules(add="rdfs", remove="owl2rl")
        assert [ruleset.name for ruleset in store.rulesets] == ["rdfs"]
        store.update_files(add=str(tmp_path / "one.nt"))
        assert len(store.query("SELECT * { ?s ?p ?o }", "canonical", prefer="http://e/")) > 0
        store.update_files(delete=tmp_path / "one.nt")
        assert store.stats()["asserted"] == 0


def test_files_of_one_name(tmp_path: Path) -> None:
    """The file that is named is removed, not another of that name; rules are files by their paths, too."""
    files = [tmp_path / folder / "x.dlog" for folder in ("a", "b", "c")]
    for file in files:
        file.parent.mkdir()
        file.write_text(f"[?x, <http://e/{file.parent.name}>, ?y] :- [?x, <http://e/p>, ?y] .\n")
    with Store.create(tmp_path / "kg", rules=files[0]) as store:
        store.change_rules(add=files[1:])
        store.change_rules(remove=str(files[1]))
        left = [str(files[0]), str(files[2])]
        assert [ruleset.name for ruleset in store.rulesets] == left
        with pytest.raises(UsageError, match=r"has several rulesets 'x.dlog': say which, of .*a/x.dlog, .*c/x.dlog"):
            store.change_rules(remove="x.dlog")
        assert [ruleset.name for ruleset in store.rulesets] == left
        store.change_rules(remove=files[2])
        store.change_rules(remove="x.dlog")
        assert store.rulesets == ()


def state(store: Store) -> tuple[list[str], list[str], list[str], int]:
    lines = sorted(line for batch in store.lines() for line in batch)
    classes = sorted(repr(found) for found in store.equality_classes(1000, 1000))
    return lines, classes, sorted(repr(v) for v in store.check()), store.stats()["facts"]


def follow(history: tuple[str, list[Triple], list[Step]], equality: str, algorithm: str) -> int:
    """Apply a history; the number of changes of rules that were maintained."""
    ruleset, start, steps = history
    maintained = 0
    with tempfile.TemporaryDirectory() as folder:
        files = {rule.name: Path(folder, f"{rule.name}.dlog") for rule in _USER_RULES}
        for rule in _USER_RULES:
            files[rule.name].write_text(f"@rule {rule.name}\n{rulesets.datalog.render(rule)}\n", encoding="utf-8")
        with Store.create(Path(folder, "kg"), [ruleset], equality, engine="duckdb") as store:
            store.update(add=as_terms(start))
            there: set[str] = set()
            for add, delete, names in steps:
                if names:
                    come, go = ({*names} - there, {*names} & there)
                    last = store.change_rules(
                        [str(files[n]) for n in come], [str(files[n]) for n in go], maintain=algorithm
                    )
                    there ^= {*names}
                    assert last["algorithm"] != "rematerialise" or last["reason"]
                    maintained += last["algorithm"] != "rematerialise"
                    assert {Path(r.name).stem for r in store.rulesets} - {ruleset} == there
                else:
                    store.update(add=as_terms(add), delete=as_terms(delete), maintain=algorithm)
                got = state(store)
                with Store.open(store.path, engine="duckdb") as fresh:
                    assert state(fresh) == got, "what was written"
                    fresh.materialise()
                    assert state(fresh) == got, "equals materialisation"
    return maintained


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(history=histories(), algorithm=st.sampled_from(["auto", "dred", "fixpoint-update"]))
@pytest.mark.sampled(each=2)
def test_changes_of_rules_equal_materialisation(
    history: tuple[str, list[Triple], list[Step]], equality: str, algorithm: str
) -> None:
    follow(history, equality, algorithm)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(history=histories(), algorithm=st.sampled_from(["auto", "backward-forward", "dred", "fixpoint-update"]))
def test_changes_of_rules_equal_materialisation_often(
    history: tuple[str, list[Triple], list[Step]], equality: str, algorithm: str
) -> None:
    follow(history, equality, algorithm)


RULES = "@prefix : <http://e/> .\n@rule aunt\n[?x, :aunt, ?z] :- [?x, :parent, ?y], [?y, :sister, ?z] .\n"


@pytest.mark.long_on_spark
def test_only_what_the_rules_differ_in_is_touched(make_store: MakeStore, tmp_path: Path) -> None:
    file = tmp_path / "aunt.dlog"
    file.write_text(RULES)
    store = make_store()
    store.update(add=[(E.a, E.parent, E.b), (E.b, E.sister, E.c), (E.aunt, RDFS.range, E.Person)])
    before = set(store.triples())
    came = store.change_rules(add=[str(file)])
    assert (came["algorithm"], came["added"], came["deleted"]) == ("semi-naive", 2, 0)
    assert set(store.triples()) - before == {(E.a, E.aunt, E.c), (E.c, RDF.type, E.Person)}
    assert store.log()[-1]["operation"] == "rules"
    went = store.change_rules(remove=["aunt.dlog"])
    assert went["algorithm"] in ("dred", "fixpoint-update")
    assert (went["added"], went["deleted"]) == (0, 2)
    assert set(store.triples()) == before
    assert [r.name for r in store.rulesets] == ["owl2rl"]


@pytest.mark.long_on_spark
def test_equalities_of_rules_that_go(make_store: MakeStore, tmp_path: Path) -> None:
    """A rule that merged terms goes, and the class falls apart; a constant that was not known comes with one."""
    merging, naming = tmp_path / "same.dlog", tmp_path / "name.dlog"
    merging.write_text(
        "PREFIX : <http://e/>\nPREFIX owl: <http://www.w3.org/2002/07/owl#>\n@rule same\n"
        "[?x, owl:sameAs, ?y] :- [?x, :code, ?c], [?y, :code, ?c] .\n"
    )
    naming.write_text("PREFIX : <http://e/>\n@rule name\n[?x, a, :Coded] :- [?x, :code, :fresh] .\n")
    store = make_store()
    store.update(add=[(E.a, E.code, E.k), (E.b, E.code, E.k), (E.a, E.p, E.x)])
    came = store.change_rules(add=[str(merging), str(naming)])
    assert (came["algorithm"], came["merged"]) == ("semi-naive", 1)
    assert {(E.a, OWL.sameAs, E.b), (E.b, E.p, E.x)} <= set(store.triples())
    store.update(add=[(E.c, E.code, E.fresh)])
    assert (E.c, RDF.type, E.Coded) in set(store.triples())
    went = store.change_rules(remove=["same.dlog"])
    assert went["algorithm"] in ("dred", "fixpoint-update")
    assert went["split"] == 1
    assert store.stats()["classes"] == 0
    assert (E.b, E.p, E.x) not in set(store.triples())


def test_a_recompute_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("not.dlog").write_text("PREFIX : <http://e/>\n@rule odd\n[?x, a, :Odd] :- [?x, :p, ?y], NOT [?y, :p, ?x] .\n")
    Path("data.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    done("load", "kg", "data.nt", "--rules", "rdfs")
    Path("same.dlog").write_text(
        "PREFIX : <http://e/>\n@rule one\n[?x, owl:sameAs, ?y] :- [?x, :p, ?y], NOT [?y, :p, ?x] .\n"
    )
    assert "by semi-naive" in run("rules", "kg", "add", "not.dlog").err
    assert "by dred" in run("rules", "kg", "remove", "not.dlog").err
    why = "by rematerialise: a rule with a NOT or an aggregate adds to the schema"  # owl:sameAs a rdf:Property
    assert why in run("rules", "kg", "add", "same.dlog").err
    done("rules", "kg", "remove", "same.dlog")
    assert "by rematerialise: literals are to be matched another way" in run("rules", "kg", "add", "datatypes").err
    asked = run("rules", "kg", "add", "not.dlog", "--maintain", "rematerialise").err
    assert "by rematerialise\n" in asked
    assert run("rules", "kg", "add", "rdfs-plus", "--maintain", "magic").code == 2


@pytest.mark.parametrize("algorithm", ["auto", "dred", "backward-forward", "fixpoint-update"])
def test_of_two_rules_that_read_alike_once_their_constants_are_one_one_goes(tmp_path: Path, algorithm: str) -> None:
    """`:a = :b` and `:b = :c`, both if anything has a `:p`."""
    files = [tmp_path / f"{left}.dlog" for left in "ab"]
    for file, left, right in zip(files, "ab", "bc", strict=True):
        rule = f"PREFIX : <http://e/>\n[:{left}, owl:sameAs, :{right}] :- [?x, :p, ?y] .\n"
        file.write_text(rule, encoding="utf-8")
    with Store.create(tmp_path / "kg", ["none", *map(str, files)], "rewrite", engine="duckdb") as store:
        store.update(add=[(E.x, E.p, E.y), (E.c, E.q, E.c)])
        assert (E.a, OWL.sameAs, E.c) in set(store.triples())
        store.change_rules([], [files[1].name], maintain=algorithm)
        left = {(s, o) for s, p, o in store.triples() if p == OWL.sameAs and s != o}
        assert left == {(E.a, E.b), (E.b, E.a)}


@pytest.mark.long_on_spark(each=3)
@pytest.mark.parametrize("axiom", [False, True], ids=["rule", "axiom"])
@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize(
    "condition",
    [
        "[?x, ?p, ?y], NOT [?y, a, :C]",
        "[?x, ?p, ?y], AGGREGATE([?z, :p, ?w] ON BIND COUNT(*) AS ?n), FILTER(?n > 0)",
        '[?x, ?p, ?z], NOT [?y, a, :C], BIND(IRI(CONCAT(STR(?z), "")) AS ?y)',
    ],
    ids=["not", "aggregate", "bind"],
)
def test_equalities_of_conditions_go(
    make_store: MakeStore, tmp_path: Path, condition: str, equality: str, axiom: bool
) -> None:
    """The equalities that a rule with NOT or AGGREGATE derived go with it, and with the axiom that it read."""
    file = tmp_path / "own.dlog"
    body = f"[?p, rdfs:subPropertyOf, :q], {condition}"
    file.write_text(f"PREFIX : <http://e/>\n@rule own\n[?x, owl:sameAs, ?y] :- {body} .\n", encoding="utf-8")
    with make_store([str(file)], equality=equality) as store:
        below = (E.p, RDFS.subPropertyOf, E.q)
        store.update(add=[below, (E.a, E.p, E.b), (E.b, E.r, E.c)])
        assert (E.a, E.r, E.c) in set(store.triples()) or equality == "off"
        if axiom:
            store.update(delete=[below])
        else:
            store.change_rules(remove=[file.name])
        assert (E.a, E.r, E.c) not in set(store.triples())
        kept = set(store.triples())
        store.materialise()
        assert set(store.triples()) == kept


@pytest.mark.long_on_spark
def test_a_pair_at_fault_is_one_inconsistency(make_store: MakeStore, tmp_path: Path) -> None:
    """A body that says the same of ?x and ?y as of ?y and ?x matches each pair both ways."""
    (tmp_path / "own.dlog").write_text(
        "PREFIX e: <http://e/>\n@rule own\nfalse :- [?x, e:q, ?y], [?y, e:q, ?x], FILTER(?x != ?y) .\n",
        encoding="utf-8",
    )
    store = make_store(["owl2rl", str(tmp_path / "own.dlog")])

    def pairs(add: list[tuple[str, str, str]], delete: list[tuple[str, str, str]]) -> dict[str, int]:
        store.update(*([(E[s], E[p], E[o]) for s, p, o in some] for some in (add, delete)))
        found = store.violated()
        assert store.stats()["violations"] == sum(found.values()) == len(store.check())
        maintained = store.check()
        store.materialise()
        assert {(v.rule, frozenset(v.triples)) for v in store.check()} == {
            (v.rule, frozenset(v.triples)) for v in maintained
        }
        return found

    store.update(add=[(E.p, RDF.type, OWL.AsymmetricProperty)])
    assert pairs([("a", "p", "b"), ("b", "p", "a"), ("c", "p", "d")], []) == {"prp-asyp": 1}
    assert pairs([("d", "p", "c"), ("a", "q", "b"), ("b", "q", "a")], []) == {"prp-asyp": 2, "own": 1}
    assert pairs([("e", "p", "e")], [("a", "p", "b")]) == {"prp-asyp": 2, "own": 1}
    assert store.explain_violation("prp-asyp", 1).by == "prp-asyp"
