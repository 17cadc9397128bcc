"""Rules that make ever more terms are stopped, named, and leave the store as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Literal
from rdflib.namespace import Namespace

from tests.conftest import MakeStore
from tests.support.cli import run
from triplestore import Store
from triplestore.materialise.limits import Limits
from triplestore.model.errors import EndlessError, UsageError
from triplestore.write import transaction

E = Namespace("http://e/")
NEXT = "PREFIX : <http://e/>\n@rule next\n[?x, :n, ?z] :- [?x, :n, ?y], BIND(?y + 1 AS ?z){} .\n"


def rules(folder: Path, condition: str = "") -> str:
    file = folder / "next.dlog"
    file.write_text(NEXT.format(condition), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        pytest.param(Limits(rounds=5), "--max-rounds 50", id="rounds", marks=pytest.mark.long_on_spark),
        pytest.param(Limits(3), "--max-terms 30", id="terms", marks=pytest.mark.long_on_spark),
    ],
)
def test_an_endless_rule_is_stopped(make_store: MakeStore, tmp_path: Path, limits: Limits, said: str) -> None:
    store = make_store(["none", rules(tmp_path)], "off")
    store.limits = limits
    with pytest.raises(EndlessError, match=rf"rule next \(.*next.dlog:3\) makes ever more terms(.|\n)*{said}"):
        store.update(add=[(E.a, E.n, Literal(1))])
    assert list(store.triples()) == []
    store.update(add=[(E.a, E.m, Literal(1))])
    assert len(list(store.triples())) == 1


def test_rules_that_end_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rounds as are allowed; progress tells of them."""
    monkeypatch.setattr(transaction, "REPORTED", 10)
    lines: list[str] = []
    with Store.create(tmp_path / "kg", ["none", rules(tmp_path, ", FILTER(?y < 20)")], "off", engine="duckdb") as store:
        store.notify = lines.append
        store.limits = Limits(rounds=19)
        store.update(add=[(E.a, E.n, Literal(1))])
        assert len(list(store.triples())) == 20
    assert any(line.startswith("round 10 of materialisation") and "1 terms made" in line for line in lines)


def test_limits_are_positive() -> None:
    with pytest.raises(UsageError, match="max_rounds is a whole number, 1 or more"):
        Limits(rounds=0)


def test_the_command(tmp_path: Path) -> None:
    kg, data = tmp_path / "kg", tmp_path / "data.nt"
    data.write_text('<http://e/a> <http://e/n> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n', encoding="utf-8")
    done = run("load", str(kg), str(data), "--rules", "none", "--rules", rules(tmp_path), "--max-rounds", "7")
    assert done.code == 8
    assert "rule next" in done.err
    assert not kg.exists()


def test_rules_over_streams(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none", rules(tmp_path)], "off", engine="duckdb") as store:
        store.limits = Limits(rounds=5)
        with (
            store.stream([(1, (E.a, E.n, Literal(1)))], "SELECT * { ?s ?p ?o }", "5") as run,
            pytest.raises(EndlessError, match="--max-rounds 50"),
        ):
            list(run)
