"""Updates that arrive while another is carried out: they wait, and are then carried out together.

The counter-examples are those of Illich and Glimm (Fully Dynamic Materialization Maintenance). Their method, which
takes up changes between the rounds of a running one, is not implemented."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, URIRef

from tests.support.closure import expected
from tests.support.histories import Step
from tests.support.random_programs import Triple, rules_of
from tests.support.seeds import seeds
from tests.support.stores import as_terms, tokens
from tests.unit.write.test_queue import steps_of
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.report import UpdateReport
from triplestore.write.queue import UpdateQueue

E = "http://example.org/"
EXAMPLES = {
    "invalid addition": ("A B, B C, C B", "", ["+A", "-A"], ""),
    "invalid deletion": ("A B, B C, C B, D C", "A", ["+D", "-A"], "BCD"),
    "deletion without derivation": ("A B, B C, D C", "", ["+A +D", "-A"], "CD"),
    "duplicate derivation": ("A B, B C", "A", ["-A", "+A"], "ABC"),
    "a loop that nothing supports": ("A B, B C, C B", "A", ["-A", "+A", "-A"], ""),
    "a loop that something supports": ("A B, B C, C B, D C", "AD", ["-A", "+A", "-A", "-D", "+A"], "ABC"),
}
"""Rules, facts, updates that come while those before them are worked on, and what there must be: by name of the paper's
examples 1 to 4, and two more."""


def facts(classes: Iterable[str]) -> list[tuple[URIRef, URIRef, URIRef]]:
    return [(URIRef(E + "x"), RDF.type, URIRef(E + name)) for name in classes]


@pytest.mark.long_on_spark(but=1)
@pytest.mark.parametrize("counting", [False, True], ids=["", "counting"])
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.sampled(each=3)
def test_counter_examples(tmp_path: Path, engine: Engine, name: str, counting: bool) -> None:
    """Brought while the first of them is carried out, and while another is."""
    rules, before, updates, after = EXAMPLES[name]
    pairs = [pair.split() for pair in rules.split(", ")]
    (tmp_path / "own.dlog").write_text(
        "\n".join(f"[?x, a, <{E}{head}>] :- [?x, a, <{E}{body}>] ." for body, head in pairs)
    )
    session = getattr(engine, "spark", None)
    kind: dict[str, Any] = {"engine": engine.name, "spark": session, "counting": counting}
    with Store.create(tmp_path / "kg", [str(tmp_path / "own.dlog")], **kind) as store, store.updates() as queue:
        for held in (nullcontext, store._turns.turn):
            store.update(add=facts(before), delete=facts("ABCD"))
            with held():
                futures = [
                    queue.submit(facts(re.findall(r"[+](.)", update)), facts(re.findall("-(.)", update)))
                    for update in updates
                ]
            for future in futures:
                future.result(120)
            assert set(store.triples()) == set(facts(after))


def brought(store: Store, steps: list[Step], rng: random.Random) -> list[Step]:
    """Let some threads bring updates at random moments; the order in which they came."""
    came, failed, order = list[Step](), list[BaseException | None](), threading.Lock()

    def work(mine: list[Step], pauses: list[float], queue: UpdateQueue) -> None:
        futures = list[Future[UpdateReport]]()
        for step, pause in zip(mine, pauses, strict=True):
            time.sleep(pause)
            with order:
                came.append(step)
                futures.append(queue.submit(as_terms(step.add), as_terms(step.delete)))
        failed.extend(future.exception(60) for future in futures)

    with store.updates() as queue:
        shares = [steps[first::3] for first in range(3)]
        pauses = [[rng.choice((0, 0, 0.001, 0.01, 0.05)) for _ in share] for share in shares]
        threads = [threading.Thread(target=work, args=(*both, queue)) for both in zip(shares, pauses, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    assert failed == [None] * len(steps)
    return came


@pytest.mark.parametrize("seed", seeds(range(5), 1))
def test_interleavings(tmp_path: Path, seed: int) -> None:
    """At rest the closure is that of the updates in the order in which they came; ten times, of one store."""
    rng = random.Random(seed)
    equality = rng.choice(["rewrite", "rewrite", "axioms", "off"])
    asserted = set[Triple]()
    counting = equality != "rewrite" and seed % 2 == 0
    with Store.create(tmp_path / "kg", "owl2rl", equality, engine="duckdb", counting=counting) as store:
        for turn in range(10):
            for step in brought(store, steps_of(rng.randrange(10**6)), rng):
                asserted = (asserted - set(step.delete)) | set(step.add)
            closure, violated = expected(sorted(asserted), rules_of(("owl2rl",)), equality, True)
            assert tokens(store, "asserted") == asserted, turn
            assert tokens(store) == closure, turn
            assert bool(store.check()) == bool(violated), turn
            gone = {triple for triple in asserted if rng.random() < 0.7}
            store.update(delete=as_terms(sorted(gone)))
            asserted -= gone
