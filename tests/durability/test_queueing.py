"""Writers of one store take turns in the order in which they arrived, whoever of them dies."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rdflib import Literal, URIRef

from tests.support.buckets import Objects, whole
from tests.support.crash import started
from tests.support.seeds import seeds
from triplestore import Store
from triplestore.model.errors import StoppedError, StorageError
from triplestore.model.stopping import Stop, heeding
from triplestore.storage import leases, queueing
from triplestore.storage.bucket import Bucket
from triplestore.storage.folder import Folder
from triplestore.storage.place import VERSIONS, Place
from triplestore.storage.queueing import Ticket

EX = "http://ex/"
MakePlace = Callable[[], Place]


def silent(line: str) -> None:
    """For writers that nobody listens to."""


@pytest.fixture(params=["folder", "object store"])
def make_place(request: pytest.FixtureRequest, tmp_path: Path) -> MakePlace:
    """Makes what a process has of one place where a store may be."""
    if request.param == "folder":
        (tmp_path / "kg" / VERSIONS).mkdir(parents=True)
        return lambda: Folder(tmp_path / "kg")
    lake: dict[str, Objects] = request.getfixturevalue("lake")
    assert lake == {}
    request.getfixturevalue("monkeypatch").setattr(queueing, "REMOTE", 1.0)
    return lambda: Bucket("s3://lake/kg")


def tickets(place: Place) -> list[str]:
    return sorted(found.name for found in place.listed(VERSIONS) if re.fullmatch(r"\.lease-\d{10}", found.name))


@contextmanager
def elsewhere(place: Place) -> Iterator[Ticket]:
    """A ticket of another thread."""
    drawn: list[Ticket] = []
    thread = threading.Thread(target=lambda: drawn.append(Ticket(place, 0)))
    thread.start()
    thread.join()
    try:
        yield drawn[0]
    finally:
        drawn[0].end()


def test_the_first_waits_for_nobody(make_place: MakePlace) -> None:
    place = make_place()
    ticket = Ticket(place, 7)
    ticket.wait(silent)
    (name,) = tickets(place)
    held = leases.holder(place, f"{VERSIONS}/{name}")
    assert held is not None
    assert (held.pid, held.version) == (os.getpid(), 7)
    ticket.end()
    assert tickets(place) == []


def test_in_the_order_of_arrival(make_place: MakePlace) -> None:
    place, served = make_place(), list[int]()
    threads = list[threading.Thread]()
    with elsewhere(place):
        for number in range(6):

            def write(number: int = number) -> None:
                ticket = Ticket(make_place(), 0)
                ticket.wait(silent)
                served.append(number)
                ticket.end()

            threads.append(threading.Thread(target=write))
            threads[-1].start()
            while len(tickets(place)) < number + 2:
                time.sleep(0.001)
        assert served == []
    for thread in threads:
        thread.join()
    assert served == [*range(6)]
    assert tickets(place) == []


@pytest.mark.parametrize("seed", seeds(range(20), 2))
def test_one_at_a_time(make_place: MakePlace, seed: int) -> None:
    """Writers come and go at random, so that the queue is empty now and then, and numbers start again."""
    inside, most, served = list[int](), list[int](), Counter[int]()

    def write(number: int) -> None:
        order = random.Random(f"{seed} {number}")
        for _ in range(25):
            time.sleep(order.choice((0, 0, 0.002)))
            ticket = Ticket(make_place(), 0)
            ticket.wait(silent)
            inside.append(number)
            most.append(len(inside))
            time.sleep(order.choice((0, 0.001)))
            inside.remove(number)
            ticket.end()
            served[number] += 1

    threads = [threading.Thread(target=write, args=[number]) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert set(served.values()) == {25}


def test_numbers_that_start_again_while_one_is_drawn(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """All leave after the highest number was looked for; the next one begins at 1, and has its turn."""
    place, take = make_place(), leases.take
    early, later = Ticket(place, 0), list[Ticket]()

    def overtaken(at: Place, name: str, version: int = 0) -> leases.Lease | None:
        monkeypatch.undo()
        early.end()
        thread = threading.Thread(target=lambda: later.append(Ticket(place, 0)))
        thread.start()
        thread.join()
        later[0].wait(silent)
        return take(at, name, version)

    monkeypatch.setattr(leases, "take", overtaken)
    ours = Ticket(place, 0)
    assert [name[-2:] for name in tickets(place)] == ["01", "02"]
    with heeding(Stop(0.1)), pytest.raises(StoppedError):
        ours.wait(silent)
    later[0].end()
    ours.wait(silent)
    ours.end()


def test_numbers_that_start_again_below_one_that_was_drawn(
    make_place: MakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other way round: the one that finds a higher number than its own goes behind it."""
    place, take = make_place(), leases.take
    others = list[Ticket]()

    def overtaken(at: Place, name: str, version: int = 0) -> leases.Lease | None:
        monkeypatch.undo()
        monkeypatch.setattr(leases, "take", lambda *given: take(at, f"{VERSIONS}/{leases.PREFIX}{6:010d}", version))
        monkeypatch.setattr(queueing, "_tickets", lambda at: {5: 0.0, 6: 0.0})
        thread = threading.Thread(target=lambda: others.append(Ticket(place, 0)))
        thread.start()
        thread.join()
        monkeypatch.undo()
        return take(at, name, version)

    monkeypatch.setattr(leases, "take", overtaken)
    ours = Ticket(place, 0)
    assert [name[-2:] for name in tickets(place)] == ["06", "07"]
    others[0].end()
    ours.wait(silent)
    ours.end()


def test_the_ticket_ahead_is_gone_and_another_has_come_behind_it(make_place: MakePlace) -> None:
    """Between looking for tickets and reading them: the lower number that is new by then is waited for."""
    place, late = make_place(), list[Ticket]()
    with elsewhere(place) as first:
        place.claim(f"{VERSIONS}/{leases.PREFIX}{6:010d}", "{}")
        ours = Ticket(place, 0)  # 7: the numbers start again at 1 for those who looked before 6 was taken
        place.remove(f"{VERSIONS}/{leases.PREFIX}{6:010d}")
        read = type(place).read

        def overtaken(at: Place, name: str) -> str:
            if not late:
                late.append(second(place))
                first.end()
            return read(at, name)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(place), "read", overtaken)
            with heeding(Stop(0.1)), pytest.raises(StoppedError):
                ours.wait(silent)
    late[0].end()
    ours.wait(silent)
    ours.end()
    assert tickets(place) == []


def second(place: Place) -> Ticket:
    """The ticket of another thread that looked for the highest number, 1, before a higher one was taken."""
    drawn, look = list[Ticket](), queueing._tickets
    looks = [{1: look(place)[1]}]

    def draw() -> None:
        drawn.append(Ticket(place, 0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queueing, "_tickets", lambda at: looks.pop() if looks else look(at))
        thread = threading.Thread(target=draw)
        thread.start()
        thread.join()
    return drawn[0]


def test_a_ticket_that_goes_just_after_another_writer_has_met_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name was taken, and nothing is there when the two files are compared: the next number is tried."""
    (tmp_path / VERSIONS).mkdir()
    link, met = os.link, list[str]()

    def taken_once(draft: Path, name: Path) -> None:
        if not met:
            met.append(name.name)
            raise FileExistsError(name)
        link(draft, name)

    monkeypatch.setattr(os, "link", taken_once)
    ticket = Ticket(Folder(tmp_path), 0)
    assert tickets(Folder(tmp_path)) == met
    ticket.end()


def wait_in_line(kg: Path, holding: str) -> None:
    """In a process of its own: take a ticket and keep it. holding: a file to make once it is this process's turn."""
    ticket = Ticket(Folder(kg), 0)
    ticket.wait(silent)
    Path(holding).touch()
    time.sleep(600)


def test_the_dead_hold_up_nobody(tmp_path: Path) -> None:
    """Neither one that has the turn nor some that wait, nor both."""
    kg, served = tmp_path / "kg", threading.Event()
    (kg / VERSIONS).mkdir(parents=True)
    place = Folder(kg)
    doomed = []
    for number in range(3):
        doomed.append(started(wait_in_line, kg, str(tmp_path / f"holding{number}")))
        while len(tickets(place)) <= number:
            time.sleep(0.005)
    assert (tmp_path / "holding0").exists()

    def write() -> None:
        ticket = Ticket(Folder(kg), 0)
        ticket.wait(silent)
        served.set()
        ticket.end()

    thread = threading.Thread(target=write)
    thread.start()
    for process in (doomed[1], doomed[0]):  # one that waits, then the one that has the turn
        process.kill()
        process.join()
    while not (tmp_path / "holding2").exists():  # it is the turn of the last of them
        time.sleep(0.005)
    assert not (tmp_path / "holding1").exists()
    assert not served.is_set()
    doomed[2].kill()
    doomed[2].join()
    thread.join(60)
    assert served.is_set()
    assert tickets(place) == []


def test_a_writer_that_was_suspended_is_passed(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process exists, but it has not renewed its ticket; when it goes on, others wait for it again."""
    place, now = make_place(), time.time
    with elsewhere(place) as other:
        monkeypatch.setattr(queueing.time, "time", lambda: now() + 1000)
        with monkeypatch.context() as patch:
            patch.setattr(type(place), "now", lambda self: now() + 1000)
            ticket = Ticket(place, 0)
            ticket.wait(silent)
            ticket.end()
        ticket = Ticket(place, 0)
        with heeding(Stop(0.1)), pytest.raises(StoppedError):
            ticket.wait(silent)
        other.end()
        ticket.wait(silent)
        ticket.end()


def test_one_that_becomes_overdue_while_another_waits(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the clock of this machine is behind that of the place."""
    place, now = make_place(), time.time
    monkeypatch.setattr(queueing, "LOOK", 0.01)
    monkeypatch.setattr(queueing.time, "time", lambda: now() - 1000)
    monkeypatch.setattr(type(place), "now", lambda self: now() + 1000)
    with elsewhere(place):
        ticket = Ticket(place, 0)
        ticket.wait(silent)
        ticket.end()


def renewing() -> int:
    """How many threads renew leases."""
    return sum(thread.name == "leases" for thread in threading.enumerate())


def test_all_leases_are_renewed_by_one_thread(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as they are held, and not a moment longer."""
    monkeypatch.setattr(leases, "RENEWAL", 0.01)
    monkeypatch.setattr(leases, "_RENEWERS", {})
    place, renewed = make_place(), Counter[str]()
    renew = type(place).renew

    def noted(at: Place, name: str, text: str) -> None:
        renewed[name] += 1
        renew(at, name, text)

    monkeypatch.setattr(type(place), "renew", noted)
    before = renewing()
    held = [leases.take(place, f"{VERSIONS}/{leases.READER}{number}") for number in range(3)]
    assert renewing() == before + 1
    deadline = time.monotonic() + 60
    while len(renewed) < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert len(renewed) == 3
    for lease in held:
        assert lease is not None
        lease.end()
    while renewing() > before and time.monotonic() < deadline:
        time.sleep(0.005)
    assert renewing() == before
    assert [entry.name for entry in place.listed(VERSIONS)] == []


def test_a_place_that_does_not_answer_keeps_no_lease_of_another_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: dict[str, Objects]
) -> None:
    monkeypatch.setattr(leases, "RENEWAL", 0.01)
    monkeypatch.setattr(leases, "_RENEWERS", {})
    hanging, renewed = threading.Event(), threading.Event()
    monkeypatch.setattr(Bucket, "renew", lambda self, name, text: hanging.wait(60))
    monkeypatch.setattr(Folder, "renew", lambda self, name, text: renewed.set())
    (tmp_path / VERSIONS).mkdir()
    held = [leases.take(place, f"{VERSIONS}/{leases.READER}0") for place in (Bucket("s3://lake/kg"), Folder(tmp_path))]
    assert renewed.wait(30)
    hanging.set()
    for lease in held:
        assert lease is not None
        lease.end()


def test_a_ticket_that_could_not_be_given_back(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network was gone for a moment: this process knows that the ticket counts no more."""
    place = make_place()
    left = Ticket(place, 0)
    with monkeypatch.context() as patch:
        patch.setattr(type(place), "remove", refuse)
        left.end()
    assert len(tickets(place)) == 1
    with heeding(Stop(60)):
        ticket = Ticket(place, 0)
        ticket.wait(silent)
    ticket.end()
    assert tickets(place) == []


def refuse(place: Place, name: str) -> None:
    raise StorageError("gone")


@pytest.mark.parametrize("text", ["", "{}", '{"host": "elsewhere", "pid": 1, "born": "", "version": 3}'])
def test_a_ticket_of_another_machine_is_heeded(make_place: MakePlace, text: str) -> None:
    place = make_place()
    place.claim(f"{VERSIONS}/{leases.PREFIX}{4:010d}", text)
    ticket = Ticket(place, 0)
    with heeding(Stop(0.1, "too late")), pytest.raises(StoppedError, match=r"too late \(it was waiting for .*process"):
        ticket.wait(silent)
    place.remove(f"{VERSIONS}/{leases.PREFIX}{4:010d}")
    ticket.wait(silent)
    ticket.end()


def test_tells_whom_it_waits_for(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    place, told = make_place(), list[str]()
    monkeypatch.setattr(queueing, "TOLD", 0.02)
    with elsewhere(place) as other:

        def notify(line: str) -> None:
            told.append(line)
            other.end()

        ticket = Ticket(place, 0)
        ticket.wait(notify)
        ticket.end()
    assert told == [f"waiting for process {os.getpid()}, which is writing to the store"]


def triple(writer: str, number: int) -> tuple[URIRef, URIRef, Literal]:
    return URIRef(f"{EX}{writer}"), URIRef(f"{EX}wrote"), Literal(number)


UPDATES = 8


def keep_writing(kg: Path, writer: str, go: str, told: str) -> None:
    """In a process of its own: change the store time and again, in ways that name blank nodes and ways that do not."""
    lines: list[str] = []
    with Store.open(kg, engine="duckdb") as store:
        store.notify = lines.append
        Path(f"{told}.ready").touch()
        while not Path(go).exists():
            time.sleep(0.002)
        for number in range(UPDATES):
            if number % 2:
                store.update(add=[triple(writer, number)])
            else:
                store.sparql_update(f"INSERT DATA {{ <{EX}{writer}> <{EX}wrote> {number} . [] <{EX}by> '{writer}' }}")
    Path(told).write_text("\n".join(lines))


def test_processes_that_write_all_the_time(tmp_path: Path) -> None:
    """All are served alike, and none meets with a conflict. (The fifth is killed, and the others go on.)"""
    kg, go, writers = tmp_path / "kg", tmp_path / "go", "abcd"
    Store.create(kg, ["none"]).close()
    running = {w: started(keep_writing, kg, w, str(go), str(tmp_path / w)) for w in (*writers, "doomed")}
    while not all((tmp_path / f"{w}.ready").exists() for w in running):
        time.sleep(0.005)
    go.touch()
    with Store.open(kg, engine="duckdb") as reader:
        while reader.refresh() < 12:
            time.sleep(0.005)
    running["doomed"].kill()
    for process in running.values():
        process.join()
    lines = [line for w in writers for line in (tmp_path / w).read_text().splitlines()]
    assert [line for line in lines if "another writer" in line] == []
    with Store.open(kg, engine="duckdb") as store:
        found = {w: {int(o) for s, p, o in store.triples() if s == URIRef(EX + w)} for w in writers}
        assert list(found.values()) == [set(range(UPDATES))] * len(writers)
        order = [w for entry in store.log() for w in writers if _wrote(store, entry["version"], w)]
    whole(kg)
    assert len(order) == UPDATES * len(writers)
    # While all four are at it, each comes once before any comes again, but for the time between two of its updates.
    served: Counter[str] = Counter()
    for writer in order:
        served[writer] += 1
        if max(served.values()) == UPDATES:
            break
        assert max(served.values()) - min(served[w] for w in writers) <= UPDATES // 2, order


def _wrote(store: Store, version: int, writer: str) -> bool:
    with store.log_facts(version) as change:
        return any(f"<{EX}{writer}>" in line for line in change.lines("asserted", "added"))


def test_a_transaction_within_a_transaction(tmp_path: Path) -> None:
    """The inner one cannot wait for the outer one, which meets with a conflict and is carried out again."""
    Store.create(tmp_path / "kg", ["none"]).close()
    with Store.open(tmp_path / "kg") as outer, Store.open(tmp_path / "kg") as inner:
        left = [1]

        def meanwhile(line: str) -> None:
            if left:
                left.pop()
                inner.update(add=[triple("inner", 1)])

        file = tmp_path / "x.nt"
        file.write_text(f"<{EX}outer> <{EX}wrote> <{EX}x> .\n")
        outer.verbose = meanwhile
        outer.update(add=[triple("outer", 1)])
        assert not left
        assert outer.refresh() == 3
        assert {str(s) for s, _, _ in outer.triples()} == {f"{EX}inner", f"{EX}outer"}


def test_a_dry_run_waits_for_nobody(tmp_path: Path) -> None:
    Store.create(tmp_path / "kg", ["none"]).close()
    with elsewhere(Folder(tmp_path / "kg")), Store.open(tmp_path / "kg") as store, heeding(Stop(60)):
        (tmp_path / "x.nt").write_text(f"<{EX}a> <{EX}b> <{EX}c> .\n")
        assert store.update(add=[triple("a", 1)], dry_run=True).added == 1
        assert store.sparql_update(f"INSERT DATA {{ <{EX}a> <{EX}b> 1 }}", dry_run=True).added == 1
        assert store.load(tmp_path / "x.nt", dry_run=True).triples == 1


def test_a_load_has_a_turn_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An update that comes while files are loaded waits; the load, which would not be tried again, is not spoilt."""
    kg, order = tmp_path / "kg", list[str]()
    Store.create(kg, ["none"]).close()
    (tmp_path / "x.nt").write_text(f"<{EX}a> <{EX}b> <{EX}c> .\n")

    def update() -> None:
        with Store.open(kg) as other:
            other.update(add=[triple("a", 1)])
            order.append("update")

    thread = threading.Thread(target=update)
    with Store.open(kg) as store:

        def meanwhile(line: str) -> None:
            if "read 1 triples" in line:
                thread.start()
                while len(tickets(Folder(kg))) < 2:
                    time.sleep(0.001)

        store.notify = meanwhile
        store.load(tmp_path / "x.nt")
        order.append("load")
    thread.join()
    assert order[0] == "load"
    with Store.open(kg) as store:
        assert len(list(store.triples())) == 2
