"""`verify --deep`: files that are as they were written, and say something wrong."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rdflib import OWL, RDF, RDFS, Namespace

from tests.conftest import MakeStore
from tests.support.cli import run
from tests.support.histories import in_a_store
from tests.support.pages import small_pages
from triplestore import Store
from triplestore.storage.manifest import from_json, signed, to_json
from triplestore.storage.versions import Versions
from triplestore.write.deep import deep

E = Namespace("http://ex/")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with classes of equals and deletions."""
    path = tmp_path_factory.mktemp("deep") / "kg"
    with Store.create(path, ["owl2rl"], engine="duckdb") as store:
        store.update(
            add=[(E.A, RDFS.subClassOf, E.B), (E.a, OWL.sameAs, E.b), (E.b, OWL.sameAs, E.c)]
            + [(E[f"x{n}"], RDF.type, E.A) for n in range(20)]
        )
        store.update(delete=[(E.x3, RDF.type, E.A)], add=[(E.d, OWL.sameAs, E.e)])
    return path


@pytest.fixture
def kg(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "kg"))


def rewritten(
    kg: Path, table: str, change: Callable[[pa.Table], pa.Table], place: int = 0, part: str = "files"
) -> None:
    """Change a file of the newest version as who wrote it wrongly would have: sizes and checksums are right. part:
    "turned" is the file's in the second order."""
    versions = Versions(kg)
    manifest = Path(versions.path, versions.file(versions.version))
    said: dict[str, Any] = json.loads(manifest.read_text())
    file = said["tables"][table]["files" if part == "turned" else part][place]
    file = file["turned"] if part == "turned" else file
    before, file["path"] = versions.data / file["path"], f"{table}-wrong.parquet"
    path = versions.data / file["path"]
    pq.write_table(change(pq.read_table(before)), path)
    file |= {
        "bytes": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rows": pq.read_metadata(path).num_rows,
    }
    manifest.write_text(json.dumps(to_json(from_json(signed(said)))))


def one_more(table: pa.Table) -> pa.Table:
    """The class of the first triple is something it is not in."""
    row = {name: table[name][0].as_py() for name in table.column_names}
    row["o"] = row["s"]
    return pa.concat_tables([table, pa.Table.from_pylist([row], table.schema)])


def one_less(table: pa.Table) -> pa.Table:
    return table.slice(0, table.num_rows - 1)


def twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 1)])


def with_a_second_id(table: pa.Table) -> pa.Table:
    row = table.slice(table.num_rows - 1).to_pylist()[0]
    return pa.concat_tables([table, pa.Table.from_pylist([row | {"id": row["id"] + 1}], table.schema)])


def unknown(table: pa.Table) -> pa.Table:
    return table.set_column(
        table.column_names.index("s"), "s", pa.array([999_999, *table["s"].to_pylist()[1:]], pa.int64())
    )


def other_representative(table: pa.Table) -> pa.Table:
    """The largest of a class stands for it."""
    most = pc.max(table["term"])
    return table.set_column(
        table.column_names.index("representative"), "representative", pa.array([most.as_py()] * len(table))
    )


def faults(kg: Path) -> list[tuple[str, str]]:
    with Store.open(kg, engine="duckdb") as store:
        return [(fault.table, fault.what) for fault in deep(store)]


def test_nothing_is_wrong(kg: Path) -> None:
    assert faults(kg) == []
    with Store.open(kg, at=2) as store:
        assert deep(store) == []
        assert store.query("ASK { <http://ex/x3> a <http://ex/B> }").boolean
    done = run("verify", kg, "--deep")
    assert done.code == 0
    assert done.err.endswith("versions whole; the closure is what follows\n")


def test_a_closure_that_is_not_up_to_date(kg: Path, tmp_path: Path) -> None:
    (tmp_path / "more.nt").write_text("<http://ex/y> <http://ex/p> <http://ex/z> .\n")
    run("load", kg, tmp_path / "more.nt", "--no-materialise")
    done = run("verify", kg, "--deep")
    assert done.code == 0
    assert f"whole; the closure was not compared: `triplake materialise {kg}` brings it up to date\n" in done.err
    rewritten(kg, "asserted", twice)
    assert faults(kg) == [("asserted", "rows that are there twice")]


@pytest.mark.parametrize(
    ("table", "change", "wrong"),
    [
        ("fact", one_more, {("fact", "closure: rows that should not be there")}),
        ("fact", one_less, {("fact", "closure: rows missing")}),
        ("fact", twice, {("fact", "rows that are there twice")}),
        ("fact", unknown, {("fact", "ids in s that no term has")}),
        ("asserted", one_less, {("fact", "closure: rows that should not be there")}),
        ("asserted", twice, {("asserted", "rows that are there twice")}),
        ("same_as", one_less, {("same_as", "closure: rows missing")}),
        (
            "same_as",
            other_representative,
            {("same_as", "closure: rows missing"), ("same_as", "closure: rows that should not be there")},
        ),
        ("term", one_less, {("fact", "ids in s that no term has")}),
        ("term", with_a_second_id, {("term", "terms that are there twice")}),
    ],
)
@pytest.mark.sampled(each=4)
def test_what_is_found(
    kg: Path, table: str, change: Callable[[pa.Table], pa.Table], wrong: set[tuple[str, str]]
) -> None:
    rewritten(kg, table, change)
    assert run("verify", kg).code == 0, "the checksums are right"
    found = faults(kg)
    assert wrong <= set(found)
    done = run("verify", kg, "--deep")
    assert done.code == 5
    assert all(f"{table}: {what}: " in done.out for table, what in found)
    assert "are as they were written, but what they say is wrong" in done.err
    told = json.loads(run("verify", kg, "--deep", "--json").out)
    assert [(fault["table"], fault["what"]) for fault in told["faults"]] == found


def test_materialise_mends_a_closure(kg: Path) -> None:
    rewritten(kg, "fact", one_more)
    assert "`triplake materialise" in run("verify", kg, "--deep").err
    run("materialise", kg)
    assert faults(kg) == []


def test_a_deletion_of_what_is_not_there(kg: Path) -> None:
    versions = Versions(kg)
    stored = versions.read().files_of("asserted")
    assert stored.tombstones, "small deletions are tombstones"
    rewritten(kg, "asserted", one_more, part="tombstones")
    assert any("where the version says" in what for _, what in faults(kg))


def test_graphs_and_inconsistencies(tmp_path: Path) -> None:
    kg = tmp_path / "kg"
    with Store.create(kg, ["owl2rl"], engine="duckdb") as store:
        store.update(
            add=[(E.a, E.p, E.b, E.g), (E.a, E.p, E.b), (E.b, E.p, E.c, E.g), (E.A, OWL.disjointWith, E.B)]
            + [(E[f"x{n}"], RDF.type, c) for n in range(3) for c in (E.A, E.B)]
        )
    assert faults(kg) == [], "the unnamed graph has no name"

    def other_graph(table: pa.Table) -> pa.Table:
        return table.set_column(0, "g", pa.array([-1, *[999_999] * (len(table) - 1)], pa.int64()))

    def other_rule(table: pa.Table) -> pa.Table:
        return table.set_column(0, "rule", pa.array(["cls-com"] * len(table)))

    missing, more = ("violation", "closure: rows missing"), ("violation", "closure: rows that should not be there")
    for table, change, wrong in (
        ("quad", other_graph, {("quad", "ids in g that no term has")}),
        ("violation", one_less, {missing}),
        ("violation", twice, {("violation", "rows that are there twice")}),
        ("violation", other_rule, {missing, more}),
    ):
        changed = Path(shutil.copytree(kg, tmp_path / f"{table} {change.__name__}"))
        rewritten(changed, table, change)
        assert set(faults(changed)) == wrong
    done = run("verify", changed, "--deep")
    assert "  cax-dw <http://ex/" in done.out
    run("materialise", changed)
    assert faults(changed) == []


@pytest.mark.parametrize("change", [one_less, one_more])
def test_the_second_order(tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    kg = tmp_path / "kg"
    with small_pages(8), Store.create(kg, ["owl2rl"], engine="duckdb") as store:
        store.update(add=[(E[f"x{n}"], RDF.type, E.A) for n in range(20)])
    assert faults(kg) == []
    rewritten(kg, "fact", change, place=-1, part="turned")
    ((table, what),) = faults(kg)
    assert table == "fact"
    assert re.fullmatch(r"closure: rows of \S+ (missing in|that are not in) \S+", what)
    assert "`triplake materialise" in run("verify", kg, "--deep").err
    run("materialise", kg)
    assert faults(kg) == []


@pytest.mark.long_on_spark
def test_after_an_update(make_store: MakeStore) -> None:
    store = make_store(["owl2rl"])
    store.update(add=[(E.a, OWL.sameAs, E.b), (E.a, E.p, E.c), (E.p, RDFS.domain, E.D)])
    store.update(delete=[(E.a, OWL.sameAs, E.b)])
    assert deep(store) == []
    assert store.query("ASK { <http://ex/a> a <http://ex/D> }").boolean


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_after_random_histories(tmp_path: Path, seed: int, equality: str) -> None:
    in_a_store(tmp_path, f"deep {seed}", (equality, "auto", False), 8)
    assert faults(tmp_path / f"kg deep {seed}") == []
