"""Updates over graphs that are one transaction leave what they leave one by one: the operations of a request, updates
that wait together, the rows and the transactions of patches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rdflib import URIRef

from tests.conftest import MakeStore
from tests.support.seeds import seeds
from tests.unit.write.test_graph_histories import Quad, written
from triplestore import Store
from triplestore.model.dataset import DEFAULT
from triplestore.model.terms import OWL, RDF, RDFS, to_ntriples
from triplestore.write.queue import Waiting

E = "http://e/"
TRIPLES = [
    (f"<{E}s>", f"<{E}p>", f"<{E}o>"),
    (f"<{E}s>", f"<{OWL}sameAs>", f"<{E}t>"),
    (f"<{E}p>", f"<{RDFS}domain>", f"<{E}C>"),
    (f"<{E}s>", f"<{RDF}type>", f"<{E}C>"),
]
PLACES: list[Quad] = [(), (), (DEFAULT,), (f"<{E}g>",), (f"<{E}h>",)]

Operation = tuple[bool, list[Quad]]
"""Whether quads are added, or deleted; the unnamed graph has either of its names."""

State = tuple[set[Quad], set[Quad], set[Quad]]


def operations(rng: Random, most: int = 6) -> list[Operation]:
    some = rng.sample(TRIPLES, rng.choice([1, 1, 2, 4]))

    def quads() -> list[Quad]:
        return [(*rng.choice(some), *rng.choice(PLACES)) for _ in range(rng.choice([1, 1, 2]))]

    return [(rng.random() < 0.5, quads()) for _ in range(rng.randint(2, most))]


def state(store: Store) -> State:
    """The quads, what the rules see, and the closure."""
    quads = {quad for batch in store.quad_batches() for quad in batch}
    asserted, closure = ({t for b in store.token_batches(what) for t in b} for what in ("asserted", "all"))
    return quads, asserted, closure


def text_of(operation: Operation) -> str:
    return f"{'INSERT' if operation[0] else 'DELETE'} DATA {{ {written(operation[1])} }}"


def pattern_of(operation: Operation) -> str:
    """The same by a template; what is added is deleted there, too."""
    insert, quads = operation
    triples = f"{{ {written(quads)} }}"
    return f"DELETE {triples} {f'INSERT {triples}' if insert else ''} WHERE {{}}"


def waiting_of(operation: Operation) -> Waiting:
    insert, quads = operation
    terms = [tuple(URIRef(token[1:-1]) for token in quad) for quad in quads]
    return Waiting.of(terms if insert else (), () if insert else terms)


def patch_of(folder: Path, transactions: list[list[Operation]], name: str) -> Path:
    """A patch file of some transactions."""
    rows = []
    for transaction in transactions:
        rows.append("TX .")
        for insert, quads in transaction:
            rows += [f"{'A' if insert else 'D'} {' '.join(map(to_ntriples, quad))} ." for quad in quads]
        rows.append("TC .")
    path = folder / f"{name}.rdfp"
    path.write_text("\n".join(rows))
    return path


def in_request(store: Store, done: list[Operation], rng: Random, folder: Path) -> Callable[[bool], Any]:
    text = " ; ".join(map(text_of, done))
    return lambda dry: store.sparql_update(text, dry_run=dry)


def in_queue(store: Store, done: list[Operation], rng: Random, folder: Path) -> Callable[[bool], Any]:
    """Quads, and sometimes requests between them."""
    mixed = rng.choice([0, 0, 0.3])
    waiting = [Waiting(text=text_of(one)) if rng.random() < mixed else waiting_of(one) for one in done]
    return lambda dry: None if dry else store.update_together(waiting)


def in_patch(store: Store, done: list[Operation], rng: Random, folder: Path) -> Callable[[bool], Any]:
    """The rows of one transaction."""
    path = patch_of(folder, [done], "one")
    return lambda dry: store.update_files(path, dry_run=dry)


def in_files(store: Store, done: list[Operation], rng: Random, folder: Path) -> Callable[[bool], Any]:
    """Files that are one batch: of each operation, a patch or sometimes a request."""
    paths, requests = [], rng.choice([0, 0, 0.3])
    for number, one in enumerate(done):
        if rng.random() < requests:
            paths.append(folder / f"{number}.ru")
            paths[-1].write_text(text_of(one))
        else:
            paths.append(patch_of(folder, [[one]], str(number)))
    return lambda dry: store.update_files(*paths, batch=len(paths), dry_run=dry)


def with_patterns(store: Store, done: list[Operation], rng: Random, folder: Path) -> Callable[[bool], Any]:
    """Operations with patterns see, and so split, what is pending; `check` carries the same out one by one."""
    texts = [pattern_of(one) if one[1] == done[-1][1] else text_of(one) for one in done]
    return lambda dry: store.sparql_update(" ; ".join(texts), dry_run=dry)


WAYS = [in_request, in_queue, in_patch, in_files, with_patterns]


def check(together: Store, one_by_one: Store, rng: Random, rounds: int, folder: Path, note: str) -> None:
    """The same sequences on both, each carried out together on one of them, after a dry run."""
    for _ in range(rounds):
        way, done = rng.choice(WAYS), operations(rng)
        told = f"{note}, {way.__name__}: {' ; '.join(map(text_of, done))}"
        carry_out = way(together, done, rng, folder)
        before = state(one_by_one)
        carry_out(True)
        assert state(together) == before, told
        carry_out(False)
        for one in done:
            by_pattern = way is with_patterns and one[1] == done[-1][1]
            one_by_one.sparql_update(pattern_of(one) if by_pattern else text_of(one))
        assert state(together) == state(one_by_one), told


def check_seed(folder: Path, seed: int, rounds: int) -> None:
    rng = Random(seed)
    default_graph, rules = rng.choice(["union", "separate"]), rng.choice([["none"], ["rdfs-plus"], ["owl2rl"]])
    made: dict[str, Any] = {"engine": "duckdb", "default_graph": default_graph}
    Store.create(folder / "a", rules, **made).close()
    with Store.create(folder / "b", rules, **made) as other:
        for _ in range(rounds // 2):  # opened anew: it has read nothing yet
            with Store.open(folder / "a", engine="duckdb") as first:
                check(first, other, rng, 2, folder, f"seed {seed}, {default_graph}, {rules}")


@pytest.mark.parametrize("seed", seeds(range(4), 1))
def test_together_as_one_by_one(tmp_path: Path, seed: int) -> None:
    check_seed(tmp_path, seed, 8)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 106))
def test_together_as_one_by_one_often(tmp_path: Path, seed: int) -> None:
    check_seed(tmp_path, seed, 20)


@pytest.mark.long_on_spark
def test_on_either_engine(make_store: MakeStore, tmp_path: Path) -> None:
    store = make_store(["none"])
    with Store.create(tmp_path / "other", ["none"], engine="duckdb") as other:
        check(store, other, Random(5), 4, tmp_path, "either")


@pytest.mark.parametrize("default_graph", ["union", "separate"])
@pytest.mark.parametrize(
    "done",
    [
        [(True, [TRIPLES[0]]), (False, [(*TRIPLES[0], DEFAULT)])],
        [(True, [(*TRIPLES[0], DEFAULT)]), (False, [TRIPLES[0]])],
        [(False, [TRIPLES[0]]), (True, [TRIPLES[0]])],
    ],
)
@pytest.mark.parametrize("way", WAYS[:4])
@pytest.mark.sampled(each=3)
def test_the_two_names_of_the_unnamed_graph(
    tmp_path: Path, way: Callable[..., Callable[[bool], Any]], done: list[Operation], default_graph: str
) -> None:
    """The triple was in a named graph before."""
    named = (*TRIPLES[0], f"<{E}g>")
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb", default_graph=default_graph) as store:
        store.sparql_update(text_of((True, [named])))
        way(store, done, Random(0), tmp_path)(False)
        found = state(store)[0]
        last_added, union = done[-1][0], default_graph == "union"
        if last_added:
            assert found == ({TRIPLES[0]} if union else {TRIPLES[0], named})
        else:
            deleted_everywhere = union and len(done[-1][1][0]) == 3
            assert found == (set() if deleted_everywhere else {named})


@pytest.mark.parametrize("default_graph", ["union", "separate"])
@pytest.mark.parametrize("maintain", ["auto", "rematerialise"])
def test_what_is_deleted_and_added_again_is_not_counted(tmp_path: Path, default_graph: str, maintain: str) -> None:
    """Neither as not asserted where it is there, nor where it is not; and each quad counts once."""
    triple, named = TRIPLES[0], (*TRIPLES[0], f"<{E}g>")
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb", default_graph=default_graph) as store:
        for there in ([], [triple], [named], [triple, named]):
            store.sparql_update("CLEAR ALL")
            store.sparql_update(text_of((True, there)))
            text = " ; ".join(map(text_of, [(False, [triple]), (True, [triple, named])]))
            assert store.sparql_update(text, maintain=maintain).not_asserted == 0
        store.sparql_update("CLEAR ALL")
        text = " ; ".join(text_of((False, [quad])) for quad in (triple, triple, named))
        assert store.sparql_update(text, maintain=maintain).not_asserted == 2
