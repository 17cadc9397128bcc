"""Two processes change one store: whoever comes second carries its change out again, on the newer version."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from rdflib import BNode, Literal, URIRef

from tests.support.cli import run
from tests.support.crash import start
from tests.support.seeds import long
from tests.support.writers import hold_before_publishing
from triplestore import Store
from triplestore.model.errors import ConflictError
from triplestore.model.report import UpdateReport
from triplestore.storage.manifest import FORMAT, signed

EX = "http://ex/"
Write = Callable[[Store, Path, str], object]


def triple(name: str) -> tuple[URIRef, URIRef, Literal]:
    return URIRef(f"{EX}{name}"), URIRef(f"{EX}p"), Literal(name)


def by_triples(store: Store, folder: Path, name: str) -> None:
    store.update(add=(t for t in [triple(name)]))


def by_request(store: Store, folder: Path, name: str) -> None:
    store.sparql_update(f'PREFIX : <{EX}> INSERT DATA {{ :{name} :p "{name}" . _:b :blank "{name}" }}')


def by_file(store: Store, folder: Path, name: str) -> None:
    file = folder / f"{name}.ttl"
    file.write_text(f'@prefix : <{EX}> . :{name} :p "{name}" . _:b :blank "{name}" .')
    store.update_files(add=file)


def by_patch(store: Store, folder: Path, name: str) -> None:
    file = folder / f"{name}.rdfp"
    file.write_text(f'A <{EX}{name}> <{EX}p> "{name}" .\n')
    store.update_files(file)


def by_rules(store: Store, folder: Path, name: str) -> None:
    store.change_rules(add="rdfs")
    by_triples(store, folder, name)


WRITES: list[Write] = [by_triples, by_request, by_file, by_patch, by_rules]


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.update(add=[triple("first")])
    return tmp_path / "kg"


def values(path: Path, predicate: str = "p") -> list[str]:
    with Store.open(path) as store:
        return sorted(str(o) for _, p, o in store.triples("asserted") if p == URIRef(EX + predicate))


PAIRS = [pair for pair in product(WRITES, WRITES) if pair != (by_rules, by_rules)]


@pytest.mark.parametrize(("write", "other"), [*PAIRS[::2], *map(long, PAIRS[1::2])])
@pytest.mark.sampled(each=4)
def test_both_are_there(kg: Path, tmp_path: Path, write: Write, other: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def first() -> None:
        monkeypatch.undo()
        with Store.open(kg) as quick:
            other(quick, tmp_path, "other")

    told: list[str] = []
    with Store.open(kg) as slow:
        slow.notify = told.append
        hold_before_publishing(monkeypatch, first)
        write(slow, tmp_path, "ours")
    assert values(kg) == ["first", "other", "ours"]
    assert [line for line in told if "another writer was first" in line]
    blanks = [w for w in (write, other) if w in (by_request, by_file)]
    assert len(values(kg, "blank")) == len(blanks)
    with Store.open(kg) as store:
        nodes = {s for s, p, _ in store.triples("asserted") if p == URIRef(EX + "blank")}
    assert len(nodes) == len(blanks), "a blank node of each"
    assert all(isinstance(node, BNode) for node in nodes)


@pytest.mark.parametrize("write", [Store.compact, Store.upgrade, lambda store: store.change_default_graph("separate")])
def test_what_changes_no_triple(
    kg: Path, tmp_path: Path, write: Callable[[Store], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def first() -> None:
        monkeypatch.undo()
        with Store.open(kg) as quick:
            by_triples(quick, tmp_path, "other")

    if write is Store.upgrade:
        mark = kg / "triplake.json"
        mark.write_text(json.dumps(signed({"format": FORMAT - 1})))
    with Store.open(kg) as slow:
        hold_before_publishing(monkeypatch, first)
        write(slow)
    assert values(kg) == ["first", "other"]


@pytest.mark.parametrize("write", [by_request, by_file])
def test_files_that_another_process_has_read_meanwhile(
    kg: Path, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the reading of ours and the beginning of the transaction: blank nodes are numbered again."""
    newest = type(Store.open(kg)._session).newest
    calls: list[int] = []

    def overtaken(session: object) -> None:
        calls.append(len(calls))
        if len(calls) == 2:
            with Store.open(kg) as quick:
                by_file(quick, tmp_path, "other")
        newest(session)  # type: ignore[arg-type]

    with Store.open(kg) as slow:
        monkeypatch.setattr(type(slow._session), "newest", overtaken)
        write(slow, tmp_path, "ours")
    monkeypatch.undo()
    assert values(kg) == ["first", "other", "ours"]
    with Store.open(kg) as store:
        assert len({s for s, p, _ in store.triples("asserted") if p == URIRef(EX + "blank")}) == 2


@pytest.mark.parametrize("batch", [1, 2, 9])
def test_each_of_several_requests_is_carried_out_once(kg: Path, tmp_path: Path, batch: int) -> None:
    """Also where another process reads files between them: their numbers are reserved then."""
    files = [tmp_path / f"{n}.ru" for n in range(4)]
    for n, file in enumerate(files):
        file.write_text(f'PREFIX : <{EX}> INSERT DATA {{ _:b :blank "{n}" }}')

    def each(report: UpdateReport) -> None:
        with Store.open(kg) as other:
            by_file(other, tmp_path, f"other{len(values(kg))}")

    with Store.open(kg) as store:
        reports = store.update_files(*files, batch=batch, each=each)
    others = len(values(kg)) - 1
    assert others == len(reports) == -(-4 // batch)
    assert sorted(values(kg, "blank"))[:4] == ["0", "1", "2", "3"]
    assert len(values(kg, "blank")) == 4 + others
    with Store.open(kg) as store:
        nodes = {s for s, p, _ in store.triples("asserted") if p == URIRef(EX + "blank")}
    assert len(nodes) == 4 + others


def test_no_retry_is_an_error(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def first() -> None:
        monkeypatch.undo()
        with Store.open(kg) as quick:
            quick.update(add=[triple("other")])

    with Store.open(kg) as slow:
        slow.retries = 0
        hold_before_publishing(monkeypatch, first)
        with pytest.raises(ConflictError, match="first"):
            slow.update(add=[triple("ours")])
    assert values(kg) == ["first", "other"]


def test_four_commands_at_once(kg: Path, tmp_path: Path) -> None:
    running = []
    for name in ("a", "b", "c", "d"):
        file = tmp_path / f"{name}.ttl"
        file.write_text(f'@prefix : <{EX}> . :{name} :p "{name}" . [] :blank "{name}" .')
        running.append(start("update", kg, "--add", file))
    for process in running:
        process.join(120)
        assert process.exitcode == 0
    assert values(kg) == ["a", "b", "c", "d", "first"]
    with Store.open(kg) as store:
        assert len({s for s, p, _ in store.triples("asserted") if p == URIRef(EX + "blank")}) == 4
    assert run("verify", kg).code == 0
