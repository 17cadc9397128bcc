"""Updates that are carried out together leave what they leave one by one, and each has its own outcome."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, RDFS, Literal, URIRef

from tests.support.closure import expected
from tests.support.histories import Step, history
from tests.support.random_programs import Triple, rules_of
from tests.support.seeds import seeds
from tests.support.stores import as_terms, rule_names, tokens
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.errors import ConflictError, InputError, PublishedError, StorageError, UsageError
from triplestore.model.report import UpdateReport
from triplestore.storage.folder import Folder
from triplestore.write import queue as module
from triplestore.write.queue import UpdateQueue, Waiting

E = "http://example.org/"
X, Y, C, D = (URIRef(E + name) for name in "xyCD")


def made(path: Path, engine: str = "duckdb", rules: str | list[str] = "owl2rl", spark: Any = None) -> Store:
    return Store.create(path, rules, engine=engine, spark=spark)


def held(store: Store, queue: UpdateQueue) -> threading.Event:
    """Let a queue wait until the event is set: what is submitted meanwhile is carried out together."""
    begun, free = threading.Event(), threading.Event()

    def hold() -> None:
        with store._turns.turn():
            begun.set()
            free.wait(60)

    threading.Thread(target=hold).start()
    begun.wait(60)
    queue.submit(add=[(X, RDF.type, D)])
    while queue._waiting:
        pass
    return free


def steps_of(seed: int) -> list[Step]:
    """Updates that often undo each other: each comes again later, or its reverse does."""
    rng = random.Random(seed)
    plain = [step for step in history(rng, 12) if not step.rules]
    again = [Step(step.delete, step.add) for step in rng.sample(plain, min(4, len(plain)))]
    mixed = [*plain[:1]]
    for step in (*plain[1:], *again):
        mixed.insert(rng.randint(1, len(mixed)), step)
    return mixed


def after(steps: list[Step]) -> set[Triple]:
    asserted: set[Triple] = set()
    for step in steps:
        asserted = (asserted - set(step.delete)) | set(step.add)
    return asserted


@pytest.mark.parametrize("seed", seeds(range(15), 1))
def test_together_as_one_by_one(tmp_path: Path, seed: int) -> None:
    steps, rng = steps_of(seed), random.Random(seed)
    equality = rng.choice(["rewrite", "rewrite", "axioms", "off"])
    with Store.create(tmp_path / "kg", "owl2rl", equality, engine="duckdb") as store, store.updates() as queue:
        place = 0
        while place < len(steps):
            many = rng.choice((1, 2, 5))
            free = held(store, queue)
            done = [queue.submit(as_terms(s.add), as_terms(s.delete)) for s in steps[place : place + many]]
            free.set()
            reports = [future.result(60) for future in done]
            assert {report.transactions for report in reports} == {len(done)}
            place += many
            wanted = {*after(steps[:place]), *tokens_of([(X, RDF.type, D)])}
            assert tokens(store, "asserted") == wanted
        closure, violated = expected(sorted(wanted), rules_of(("owl2rl",)), equality, True)
        assert tokens(store) == closure
        assert bool(store.check()) == bool(violated)


def tokens_of(triples: list[tuple[URIRef, URIRef, URIRef]]) -> set[Triple]:
    return {(f"<{s}>", f"<{p}>", f"<{o}>") for s, p, o in triples}


@pytest.mark.long_on_spark
def test_each_has_its_own_outcome(tmp_path: Path, engine: Engine) -> None:
    """A request that cannot be read, and one that is refused when it is carried out."""
    session = getattr(engine, "spark", None)
    with made(tmp_path / "kg", engine.name, "rdfs", session) as store, store.updates() as queue:
        store.update(add=[(C, RDFS.subClassOf, D)])
        free = held(store, queue)
        futures = [
            queue.submit(add=[(Y, RDF.type, C)]),
            queue.sparql_update("INSERT DATA { <s> <p>"),
            queue.sparql_update("CREATE GRAPH <http://example.org/g>"),
            queue.sparql_update("CREATE GRAPH <http://example.org/g>"),
            queue.sparql_update("INSERT { ?x <http://example.org/seen> true } WHERE { ?x a <http://example.org/D> }"),
            queue.sparql_update("LOAD <file:///etc/passwd>"),
            queue.submit(add=[(Y, RDF.type, Literal("no class"))], delete=[(Y, RDF.type, C)]),
        ]
        free.set()
        kinds = [type(future.exception(120)) for future in futures]
        none = type(None)
        assert kinds == [none, InputError, none, UsageError, none, UsageError, none]
        assert store.graphs() is not None
        seen = URIRef(E + "seen")
        assert {s for s, p, _ in store.triples("asserted") if p == seen} == {X, Y}
        assert (Y, RDF.type, D) not in set(store.triples())


def test_what_reverses_is_no_work(tmp_path: Path) -> None:
    with made(tmp_path / "kg") as store, store.updates() as queue:
        store.update(add=[(C, RDFS.subClassOf, D)])
        free = held(store, queue)
        for _ in range(50):
            queue.submit(add=[(Y, RDF.type, C)])
            last = queue.submit(delete=[(Y, RDF.type, C)])
        free.set()
        report = last.result(60)
        assert (report.transactions, report.algorithm, report.derived) == (100, "none", 0)


def test_a_future_may_be_cancelled(tmp_path: Path) -> None:
    with made(tmp_path / "kg") as store, store.updates() as queue:
        free = held(store, queue)
        first, second = queue.submit(add=[(X, RDF.type, C)]), queue.submit(add=[(Y, RDF.type, C)])
        assert first.cancel()
        free.set()
        assert second.result(60).transactions == 1
        with pytest.raises(CancelledError):
            first.result()
        assert {s for s, _, o in store.triples("asserted") if o == C} == {Y}


def test_a_callback_brings_more_to_a_full_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called by the thread that would make room."""
    monkeypatch.setattr(module, "WAITING", 2)
    brought: list[Future[UpdateReport]] = []
    with made(tmp_path / "kg", rules="none") as store, store.updates() as queue:
        free = held(store, queue)
        first = queue.submit(add=[(X, RDF.type, C)])
        first.add_done_callback(lambda _: brought.extend(queue.submit(add=[(Y, RDF.type, C)]) for _ in range(5)))
        queue.submit(add=[(X, RDF.type, D)])
        free.set()
        assert first.result(60).transactions
        while len(brought) < 5:
            pass
        assert all(future.result(60).transactions for future in brought)


def test_a_closed_queue_takes_no_more(tmp_path: Path) -> None:
    with made(tmp_path / "kg") as store:
        queue = store.updates()
        done = queue.submit(add=[(X, RDF.type, C)])
        queue.close()
        assert done.done(), "what was submitted is carried out"
        with pytest.raises(UsageError, match=r"Store\.updates"):
            queue.submit(add=[(Y, RDF.type, C)])
    with made(tmp_path / "other") as store, store.updates() as queue:
        store.close()
        with pytest.raises(UsageError, match="closed"):
            queue.submit(add=[(X, RDF.type, C)]).result(60)


def test_what_is_no_text_is_refused_at_once(tmp_path: Path) -> None:
    """The thread that carries out would end of it, and whoever waits wait for ever."""
    with made(tmp_path / "kg") as store, store.updates() as queue:
        for text, base in ((3, None), (None, None), (b"CLEAR ALL", None), ("CLEAR ALL", 3)):
            with pytest.raises(UsageError, match="is a text: not"):
                queue.sparql_update(text, base)  # type: ignore[arg-type]
        assert queue.sparql_update("CLEAR ALL", None).result(60).transactions == 1


def test_many_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each triple is there at the end; a small queue lets them wait."""
    monkeypatch.setattr(module, "WAITING", 3)
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.small", 4)
    with made(tmp_path / "kg") as store, store.updates() as queue:
        futures: list[Future[UpdateReport]] = []

        def work(number: int) -> None:
            futures.extend(queue.submit(add=[(URIRef(f"{E}{number}-{i}"), RDF.type, C)]) for i in range(20))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert {future.exception(60) for future in futures} == {None}
        assert sum(1 for _, _, o in store.triples("asserted") if o == C) == 160
        assert max(f.result().transactions or 0 for f in futures) <= 4


def test_a_fault_of_ours_reaches_who_waits() -> None:
    def faulty(waiting: object) -> list[UpdateReport]:
        raise ZeroDivisionError

    with UpdateQueue(faulty) as queue:
        with pytest.raises(ZeroDivisionError):
            queue.submit().result(60)
        with pytest.raises(ZeroDivisionError):
            queue.submit().result(60)


def test_a_fault_of_ours_hides_no_other_outcome() -> None:
    """Where one is refused, the others are carried out in parts: what became of a part is told by its own outcome."""
    done = UpdateReport("update")

    def carry_out(waiting: Sequence[Waiting]) -> list[UpdateReport]:
        if len(waiting) > 1:
            raise InputError("one is refused")
        if waiting[0].text == "fault":
            raise ZeroDivisionError
        return [done]

    found = module.each([Waiting(text=text) for text in ("a", "b", "fault", "c")], carry_out, lambda error: error)
    assert [done if outcome is done else type(outcome) for outcome in found] == [done, done, ZeroDivisionError, done]


def test_blank_nodes_of_requests_are_their_own(tmp_path: Path) -> None:
    """Also where another process reads files meanwhile."""
    with made(tmp_path / "kg") as store, made(tmp_path / "n") as _:
        text = "INSERT DATA { _:b a <http://example.org/C> }"
        waiting = [Waiting(text=text), Waiting(text=text)]
        with Store.open(tmp_path / "kg", engine="duckdb") as other:
            other.sparql_update(text)
            store.update_together(waiting)
            other.sparql_update(text)
        store.refresh()
        assert len({s for s, _, o in store.triples("asserted") if o == C}) == 4


def test_a_conflict_is_each_ones_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with made(tmp_path / "kg") as store:
        calls = []

        def conflicting(waiting: list[Waiting]) -> list[UpdateReport]:
            calls.append(len(waiting))
            raise ConflictError("another was first")

        found = module.each([Waiting()] * 5, conflicting, lambda error: error)
        assert [type(error) for error in found] == [ConflictError] * 5
        assert calls == [5, 3, 2, 1, 1, 1, 2, 1, 1]
        assert rule_names(("owl2rl",), str(tmp_path)) == [r.name for r in store.rulesets]


def test_a_disk_that_fails_is_asked_once() -> None:
    """Or an object store that does not answer, each time for a minute."""
    calls = []

    def failing(waiting: Sequence[Waiting]) -> list[UpdateReport]:
        calls.append(len(waiting))
        raise StorageError("no answer")

    found = module.each([Waiting()] * 5, failing, lambda error: error)
    assert [type(error) for error in found] == [StorageError] * 5
    assert calls == [5]


def test_what_was_published_is_not_carried_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the disk fails after that: who waits is told so, and nothing is counted twice."""
    count = (
        "DELETE { <http://ex/c> <http://ex/n> ?x } INSERT { <http://ex/c> <http://ex/n> ?y } "
        "WHERE { <http://ex/c> <http://ex/n> ?x BIND(?x + 1 AS ?y) }"
    )

    def fails(place: Folder) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with made(tmp_path / "kg", rules="none") as store, store.updates() as queue:
        store.sparql_update("INSERT DATA { <http://ex/c> <http://ex/n> 0 }")
        free = held(store, queue)
        futures = [queue.sparql_update(count) for _ in range(4)]
        with monkeypatch.context() as patch:
            patch.setattr(Folder, "settle", fails)
            free.set()
            for future in futures:
                with pytest.raises(PublishedError, match="do not run this again"):
                    future.result(60)
        store.refresh()
        assert bool(store.query("ASK { <http://ex/c> <http://ex/n> 4 }"))
