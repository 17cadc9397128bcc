"""A relation, in memory or on files that are read by the page, equals a set of triples."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.support.pages import PagedTables
from tests.support.seeds import seeds
from triplestore.maintain.keys import Ids, Layout
from triplestore.maintain.relation import ALL, Relation
from triplestore.model.errors import DamagedStoreError
from triplestore.model.tables import FACT
from triplestore.model.terms import FIRST_BLANK, FIRST_IRI, FIRST_LITERAL
from triplestore.storage.manifest import TableFiles
from triplestore.storage.pages import PageCache

Triple = tuple[int, int, int]


def random_triple(random: Random, terms: int) -> Triple:
    """Few terms of each kind, so that pages begin and end within the triples of one subject or object."""
    starts = FIRST_IRI, FIRST_BLANK, FIRST_LITERAL
    s, o = (random.choice(starts) + random.randrange(terms) for _ in range(2))
    return s, FIRST_IRI + random.choice((0, 1, 1, 1, 2, 7)), o


def column(values: list[int]) -> Ids:
    return np.array(values, dtype=np.int64)


def keys_of(layout: Layout, triples: list[Triple]) -> Ids:
    s, p, o = (layout.encode(column([t[i] for t in triples])) for i in range(3))
    return layout.keys(s, p, o)


def triples_of(layout: Layout, keys: Ids) -> list[Triple]:
    s, p, o = (layout.decode(part).tolist() for part in layout.unpack(keys))
    return list(zip(s, p, o, strict=True))


@pytest.mark.parametrize("page", [1, 2, 8])
@pytest.mark.parametrize("seed", seeds(range(40), 3))
def test_it_equals_a_set(seed: int, page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    cached = random.choice((0, 200, 1000, 1 << 20))  # pages are dropped, and read again
    monkeypatch.setattr("triplestore.storage.thresholds.Thresholds.cached", cached)
    layout, terms = Layout((50, 60, 60, 60, 0)), random.choice((3, 8, 50))
    truth = {random_triple(random, terms) for _ in range(random.choice((1, 30, 200)))}
    tables = PagedTables(random, page)
    small = random.choice((0, 20))
    stored = tables.stored(tables.files(sorted(truth)), layout, small)
    relation = stored.relation(FACT)
    dead = stored.dead[FACT.name]
    assert set(triples_of(layout, relation.keys)) == truth
    assert not truth & set(triples_of(layout, dead.keys))
    gone = list(triples_of(layout, dead.keys))
    for step in range(12):
        some = [random_triple(random, terms) for _ in range(random.randint(1, 20))]
        some += random.sample(sorted(truth), min(len(truth), 5)) + random.sample(gone, min(len(gone), 3))
        known = random.random() < 0.3
        if step % 2 and known:
            relation.add_new(np.unique(keys_of(layout, sorted(set(some) - truth))))
            truth |= set(some)
        elif known:
            relation.remove_old(np.unique(keys_of(layout, sorted(set(some) & truth))))
            truth -= set(some)
        elif step % 2:
            assert set(triples_of(layout, relation.add(keys_of(layout, some)))) == set(some) - truth
            truth |= set(some)
        else:
            assert set(triples_of(layout, relation.remove(keys_of(layout, some)))) == set(some) & truth
            truth -= set(some)
        assert len(relation) == len(truth)
        check(layout, relation, truth, [random_triple(random, terms) for _ in range(10)], random)
    assert set(triples_of(layout, relation.copy().keys)) == truth
    assert set(triples_of(layout, relation.sample(10))) <= truth


def check(layout: Layout, relation: Relation, truth: set[Triple], asked: list[Triple], random: Random) -> None:
    """Every kind of look-up, of triples that are there and of others."""
    asked += random.sample(sorted(truth), min(len(truth), 10))
    random.shuffle(asked)
    assert relation.contains(keys_of(layout, asked)).tolist() == [triple in truth for triple in asked]
    s, p, o = (column([t[i] for t in asked]) for i in range(3))
    codes = layout.encode(s), layout.numbers(layout.encode(p)), layout.encode(o)
    for by_s, by_o in ((True, True), (True, False), (False, True), (False, False)):
        given = codes[1], codes[0] if by_s else None, codes[2] if by_o else None
        wanted = {
            (row, t)
            for row, (a, b, c) in enumerate(asked)
            for t in truth
            if t[1] == b and (not by_s or t[0] == a) and (not by_o or t[2] == c)
        }
        rows, keys, cut = relation.match(*given)
        found = list(zip(rows.tolist(), triples_of(layout, keys), strict=True))
        assert len(found) == len(set(found)), "each match once"
        assert set(found) == wanted
        assert not cut
        few = (None if codes is None else codes[:16] for codes in given)
        assert 2 * relation.count(*few) >= sum(row < 16 for row, _ in wanted)  # an estimate where pages are many
        for row in range(0, len(asked), 7):
            for times in (1, 100):
                again = (None if codes is None else np.repeat(codes[row], times) for codes in given)
                assert relation.count(*again) >= times * sum(number == row for number, _ in wanted)
        rows, keys, cut = relation.match(*given, 1)
        some = set(zip(rows.tolist(), triples_of(layout, keys), strict=True))
        assert some <= wanted
        assert cut or some == wanted


@pytest.mark.parametrize("seed", seeds(range(1000), 25))
def test_a_count_is_within_a_factor_of_two(seed: int) -> None:
    """Layouts of pages of any size, predicates of a page or less to many pages, hubs, several files and tombstones, and
    changes in memory: what orders joins is near the truth for one row and for many."""
    random = Random(f"layout {seed}")
    layout, terms = Layout((50, 600, 600, 600, 0)), random.choice((3, 20, 150, 500))
    hubs = [random.randrange(terms) for _ in range(random.choice((0, 1, 3)))]

    def term() -> int:
        number = random.choice(hubs) if hubs and random.random() < 0.3 else random.randrange(terms)
        return random.choice((FIRST_IRI, FIRST_IRI, FIRST_BLANK, FIRST_LITERAL)) + number

    predicates = [FIRST_IRI + number for number in range(random.choice((1, 2, 4)))]
    weights = [random.choice((1, 5, 30)) for _ in predicates]

    def triple() -> Triple:
        return term(), random.choices(predicates, weights)[0], term()

    truth = {triple() for _ in range(random.choice((10, 300, 1500)))}
    tables = PagedTables(random, random.choice((1, 3, 8, 30, 100)))
    relation = tables.stored(tables.files(sorted(truth)), layout, random.choice((0, 20))).relation(FACT)
    if random.random() < 0.5:
        relation.remove(keys_of(layout, random.sample(sorted(truth), len(truth) // random.choice((2, 10)))))
        relation.add(keys_of(layout, [triple() for _ in range(random.choice((1, 50)))]))
    known = sorted(truth)
    for rows in (1, 1, 1, 2, 30, 300):
        asked = [random.choice(known) if random.random() < 0.7 else triple() for _ in range(rows)]
        s, p, o = (column([t[i] for t in asked]) for i in range(3))
        codes = layout.encode(s), layout.numbers(layout.encode(p)), layout.encode(o)
        for by_s, by_o in ((True, False), (False, True), (False, False)):
            given = codes[1], codes[0] if by_s else None, codes[2] if by_o else None
            matched, counted = len(relation.match(*given)[0]), relation.count(*given)
            assert matched <= 2 * counted, (rows, by_s, by_o)
            assert counted <= 2 * matched, (rows, by_s, by_o)
            if rows == 1:
                assert counted == matched


@pytest.mark.parametrize("page", [2, 5])
def test_a_count_is_exact_at_every_alignment(page: int) -> None:
    """A predicate of one subject, and of one object, begins and ends anywhere in the pages, among others."""
    layout = Layout((50, 600, 600, 600, 0))
    for before in range(page + 1):
        for size in range(1, 4 * page):
            rows = [(FIRST_IRI + i, FIRST_IRI, FIRST_IRI + 100) for i in range(before)]
            rows += [(FIRST_IRI + i, FIRST_IRI + 1, FIRST_IRI + 7) for i in range(size)]
            rows += [(FIRST_IRI + 9, FIRST_IRI + 2, FIRST_IRI + i) for i in range(size)]
            rows += [(FIRST_IRI + i, FIRST_IRI + 3, FIRST_IRI + 100) for i in range(page)]
            tables = PagedTables(Random(0), page)
            relation = tables.stored(TableFiles((tables.file(rows, turned=True),), ()), layout).relation(FACT)
            for place, number in ((2, 1), (0, 2)):
                p = layout.numbers(layout.encode(column([FIRST_IRI + number])))
                for term in range(12):
                    code = layout.encode(column([FIRST_IRI + term]))
                    wanted = sum(row[1] == FIRST_IRI + number and row[place] == FIRST_IRI + term for row in rows)
                    assert relation.count(p, *((code, None) if place == 0 else (None, code))) == wanted
                assert relation.count(p, None, None) == size


def test_a_count_reads_few_pages() -> None:
    """Of a predicate that begins and ends within pages, and of hubs of many pages, only the pages at the ends; and of
    however many rows a few."""
    layout, tables = Layout((50, 6000, 600, 600, 0)), PagedTables(Random(0), 8)
    rows = [(FIRST_IRI + i % 2000, FIRST_IRI + 1, FIRST_IRI + i % 3) for i in range(6000)]
    rows += [(FIRST_IRI + i, FIRST_IRI + number, FIRST_IRI) for number in (0, 2) for i in range(5)]
    stored = tables.stored(TableFiles((tables.file(rows, turned=True),), ()), layout)
    relation = stored.relation(FACT)
    number = layout.numbers(layout.encode(column([FIRST_IRI + 1])))

    def read() -> int:
        return len(stored.pages)

    start = read()
    assert relation.count(number, None, None) == 6000
    assert relation.count(number, None, layout.encode(column([FIRST_IRI + 1]))) == 2000
    assert read() - start <= 4
    start = read()
    every = layout.encode(column([FIRST_IRI + i for i in range(2000)]))
    assert 3000 < relation.count(np.repeat(number, 2000), every, None) < 12000
    assert read() - start <= 16


def test_a_few_matches_are_read_of_few_pages() -> None:
    """Whatever the last page of the file has: here one row."""
    layout, tables = Layout((50, 6000, 600, 600, 0)), PagedTables(Random(0), 8)
    rows = [(FIRST_IRI, FIRST_IRI + 1, FIRST_IRI + i) for i in range(161)]
    stored = tables.stored(TableFiles((tables.file(rows, turned=True),), ()), layout)
    number, hub = (layout.encode(column([FIRST_IRI + i])) for i in (1, 0))
    matched = stored.relation(FACT).match(layout.numbers(number), hub, None, 8)
    assert matched[2]
    assert len(matched[0]) >= 8
    assert len(stored.pages) <= 4


def test_no_predicate_matches_nothing() -> None:
    layout, tables = Layout((50, 60, 60, 60, 0)), PagedTables(Random(1))
    relation = tables.stored(tables.files([(FIRST_IRI, FIRST_IRI + 1, FIRST_IRI + 2)]), layout).relation(FACT)
    none, term = column([-1]), layout.encode(column([FIRST_IRI]))
    for given in ((none, term, None), (none, None, term), (none, None, None), (none, term, term)):
        assert not len(relation.match(*given, ALL)[0])


def test_a_page_that_is_not_what_was_written_is_refused(tmp_path: Path) -> None:
    random = Random(5)
    layout, tables = Layout((50, 500, 500, 500, 0)), PagedTables(random)
    files = tables.files([random_triple(random, 400) for _ in range(500)])
    relation = tables.stored(files, layout).relation(FACT)
    other = tables.files([random_triple(random, 400) for _ in range(500)])
    for mine, its in zip(files.files, other.files, strict=False):
        folder = tables.folder
        (folder / mine.path).write_bytes((folder / its.path).read_bytes())
    with pytest.raises(DamagedStoreError, match=r"triplake verify"):
        _ = relation.keys


def test_the_pages_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplestore.storage.thresholds.Thresholds.cached", 240)
    cache = PageCache()
    for page in range(10):
        cache.put(page, column([page] * 5))  # 40 bytes
        assert cache.get(0) is not None
    assert [page for page in range(10) if cache.get(page) is not None] == [0, 5, 6, 7, 8, 9]
