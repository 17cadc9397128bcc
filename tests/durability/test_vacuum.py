"""What vacuum keeps, beside writers and readers too: what is about to be published stays, however old its files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rdflib import Literal, URIRef

from tests.support.cli import done, run
from tests.support.writers import hold_before_publishing
from triplestore import Store
from triplestore.model.errors import ConflictError, UsageError
from triplestore.read.log import log_of
from triplestore.storage import leases
from triplestore.storage.folder import Folder
from triplestore.storage.manifest import signed
from triplestore.storage.retention import DEFAULT, Retention
from triplestore.storage.vacuum import vacuum
from triplestore.storage.verify import examine, verify
from triplestore.storage.versions import Versions


def triple(name: str) -> tuple[URIRef, URIRef, Literal]:
    return URIRef(f"http://ex/{name}"), URIRef("http://ex/p"), Literal(name)


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    """A store of three versions."""
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.update(add=[triple("a")])
        store.update(add=[triple("b")])
    return tmp_path / "kg"


def aged(store: Path) -> None:
    """Let everything that is there be very old."""
    for file in (*(store / "data").iterdir(), *(store / "_versions").iterdir()):
        os.utime(file, (0, 0))


def named(store: Path) -> set[str]:
    return {f.path for _, f in Versions(store).read().named}


def test_leaves_a_living_writer_its_files(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def others_vacuum() -> None:
        monkeypatch.undo()
        aged(kg)
        done("vacuum", kg, "--keep", "1")

    with Store.open(kg) as writer:
        hold_before_publishing(monkeypatch, others_vacuum)
        writer.update(add=[triple("c")])
        assert len(list(writer.triples())) == 3
    examine(Versions(kg), Versions(kg).read(), sums=True)
    assert Versions(kg).numbers() == [3, 4]
    assert [name for name in os.listdir(kg / "_versions") if name.startswith(".")] == []


def test_leaves_the_version_that_a_writer_works_on(kg: Path) -> None:
    versions = Versions(kg)
    with versions.working():
        with Store.open(kg) as other:
            other.update(add=[triple("c")])
            other.update(add=[triple("d")])
        assert vacuum(versions, Retention(1))[0] == 2
        assert versions.numbers() == [3, 4, 5]
        examine(versions, versions.read(3), sums=True)
    assert vacuum(versions, Retention(1))[0] == 2
    assert versions.numbers() == [5]
    assert {f.name for f in versions.data.iterdir()} == named(kg)


def test_numbers_that_are_forgotten_are_not_given_again(kg: Path) -> None:
    """Somebody's old version stays, those after it go: whoever has it is at the newest then, before he writes."""
    with Store.open(kg) as reader, Store.open(kg) as other:
        for name in "cde":
            other.update(add=[triple(name)])
        assert other.vacuum(keep=1).versions == 4
        assert Versions(kg).numbers() == [3, 6]
        stale = reader._session.manifest
        with pytest.raises(ConflictError), reader._session.versions.working():
            reader._session.versions.publish(replace(stale, version=4))
        reader.update(add=[triple("f")])
        assert (reader.version, len(list(reader.triples()))) == (7, 6)
    assert Versions(kg).numbers() == [3, 6, 7]


def test_takes_what_the_dead_left(kg: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    us = leases.holder_now()
    (kg / "data/fact-0.parquet").write_text("half")
    (kg / f"_versions/{leases.PREFIX}0").write_text(leases.written(leases.Holder(us.host, ended.pid, us.born, 1)))
    assert vacuum(Versions(kg))[1] == 0
    aged(kg)
    assert vacuum(Versions(kg))[1] == 2
    assert Versions(kg).numbers() == [1, 2, 3]


def test_files_that_went_before_they_were_published(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever hand: nothing is published then."""
    before = set(os.listdir(kg / "data"))

    def remove() -> None:
        monkeypatch.undo()
        (kg / "data" / min(set(os.listdir(kg / "data")) - before)).unlink()

    with Store.open(kg) as writer:
        writer.retries = 0
        hold_before_publishing(monkeypatch, remove)
        with pytest.raises(ConflictError, match=r"is missing: another process removed it.* nothing was changed"):
            writer.update(add=[triple("c")])
        assert Versions(kg).numbers() == [1, 2, 3]
        writer.update(add=[triple("c")])
        assert len(list(writer.triples())) == 3


def test_tells_what_could_go(kg: Path) -> None:
    told = run("vacuum", kg)
    assert told.code == 0
    bytes_freed = vacuum(Versions(kg), Retention(1), dry=True).bytes
    assert "forgot 0 versions, deleted 0 files, freed 0 bytes; 3 versions kept" in told.err
    assert f"--keep-versions 1 would forget 2 versions, free {bytes_freed:,} bytes" in told.err
    gone = len(os.listdir(kg / "data")) - len(named(kg))
    told = run("vacuum", kg, "--keep-versions", "1", "--dry-run")
    assert (
        f"would forget 2 versions, delete {gone} files, free {bytes_freed:,} bytes; 1 version would be kept" in told.err
    )
    assert Versions(kg).numbers() == [1, 2, 3]
    assert f"forgot 2 versions, deleted {gone} files" in run("vacuum", kg, "--keep", "1").err
    assert "would forget" not in run("vacuum", kg).err
    assert {f.name for f in Versions(kg).data.iterdir()} == named(kg)


def at_times(kg: Path, *times: str) -> None:
    """Let the versions be of these times."""
    for number, time in enumerate(times, 1):
        file = Path(kg, Versions(kg).file(number))
        data = json.loads(file.read_text()) | {"version": number, "created": time}
        file.write_text(json.dumps(signed(data)))


def test_keeps_the_last_version_of_each_minute(kg: Path) -> None:
    now = datetime.now(UTC).replace(second=0)
    old, hour, minute = (now - timedelta(**{unit: 1}) for unit in ("days", "hours", "minutes"))
    times = [old - timedelta(seconds=1), hour, hour + timedelta(seconds=59), minute, now, now, now]
    for number in range(4, 8):
        Path(kg, Versions(kg).file(number)).write_text(Path(kg, Versions(kg).file(3)).read_text())
    at_times(kg, *(time.strftime("%Y-%m-%dT%H:%M:%SZ") for time in times))
    assert vacuum(Versions(kg), Retention(2, 1.0), dry=True)[::3] == (2, 5)
    assert vacuum(Versions(kg), Retention(2, 1.0))[::3] == (2, 5)
    assert Versions(kg).numbers() == [3, 4, 5, 6, 7]
    assert vacuum(Versions(kg), Retention(2, 0.02))[::3] == (1, 4)
    assert Versions(kg).numbers() == [4, 5, 6, 7]


def test_the_store_s_rule(kg: Path) -> None:
    assert run("retention", kg).out == (
        "keeps the newest 100 versions, and the last version of each minute of the last day\n"
    )
    assert done("retention", kg, "--keep-versions", "2", "--keep-days", "0") == "keeps the newest 2 versions\n"
    assert Versions(kg).retention == Retention(2)
    assert run("vacuum", kg).err.startswith("forgot 1 version,")
    assert done("retention", kg, "--keep-versions", "all") == "keeps all versions\n"
    assert "'some'" in run("retention", kg, "--keep-versions", "some").err
    assert run("retention", kg, "--keep-versions", "0").code == 2
    (kg / "triplake.json").write_text('{"format": 6}')  # made before there were rules
    assert run("retention", kg).out == "keeps all versions\n"
    (kg / "triplake.json").write_text('{"format": 6, "keep": {"versions": "x"}}')
    assert run("retention", kg).code == 5


@pytest.mark.parametrize("rule", [DEFAULT, Retention()])
def test_writers_tidy_up(tmp_path: Path, rule: Retention, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what a reader reads, whatever its process: it asks on."""
    monkeypatch.setattr("triplestore.storage.thresholds.Thresholds.every", 8)
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.retention = replace(rule, versions=3, days=0.0) if rule.versions else rule
        store.update(add=[triple("a")])
        with Store.open(tmp_path / "kg") as reader, Store.open(tmp_path / "kg", at=1) as first:
            for n in range(24):
                store.update(add=[triple(f"b{n}")])
            assert len(list(store.triples())) == 25
            assert (len(list(reader.triples())), len(list(first.triples()))) == (1, 0)
            assert Versions(store.path).numbers() == ([1, 2, *range(22, 27)] if rule.versions else [*range(1, 27)])
        for n in range(8):
            store.update(delete=[triple(f"b{n}")])
        assert Versions(store.path).numbers()[0] == (30 if rule.versions else 1)
        assert len(list(store.triples())) == 17
    assert not [name for name in os.listdir(tmp_path / "kg/_versions") if name.startswith(".")]
    examine(Versions(tmp_path / "kg"), Versions(tmp_path / "kg").read(), sums=True)


def test_a_load_of_what_is_there_makes_no_version(kg: Path, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text('<http://ex/a> <http://ex/p> "a" .\n')
    outcome = run("load", kg, tmp_path / "a.nt")
    assert "nothing new: the store stays at version 3" in outcome.err
    assert outcome.code == 0
    assert Versions(kg).numbers() == [1, 2, 3]
    with Store.open(kg) as store:
        store.load(tmp_path / "a.nt")
        store.update(add=[triple("c")])
        assert len(list(store.triples())) == 3


class At:
    """Calls something once, before a folder is asked its question of a number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int, other: Callable[[], object]) -> None:
        self._left, self._other = number, other
        self.reached = False
        for name in ("read", "create", "claim", "remove", "entry", "listed", "sizes", "here"):
            monkeypatch.setattr(Folder, name, self._asked(getattr(Folder, name)))

    def _asked(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*given: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                self.reached = True
                self._other()
            return method(*given)

        return asked


def rewritten(path: Path) -> Path:
    """A store of seven versions, each of the first with files that the newest does not name."""
    with Store.create(path, ["none"], engine="duckdb") as store:
        for name in "ab":
            store.update(add=[triple(name)])
            store.compact()
        store.update(add=[triple("c")])
        store.compact()
    return path


def forgetting(path: Path) -> int:
    vacuum(Versions(path), Retention(1))
    return 0


def restoring(path: Path) -> int:
    """0 where it comes too late."""
    refused = None
    try:
        return Store.restore(path, 2)
    except (ConflictError, UsageError) as error:
        refused = str(error)
    assert re.search("has no version 2|nothing was changed", refused)
    return 0


def looking(path: Path) -> int:
    """Nothing that was forgotten is told as damage."""
    found = verify(Versions(path))
    assert (found.damages, found.strays) == ((), ())
    assert "damaged" not in [entry.last.operation for entry in log_of(Versions(path), None)]
    Store.open(path, engine="duckdb").close()
    return 0


def _noted(last: list[int], work: Callable[[Path], int], path: Path) -> None:
    last.append(work(path))


@pytest.mark.parametrize(
    ("one", "other"),
    [(forgetting, restoring), (restoring, forgetting), (forgetting, forgetting), (looking, forgetting)],
)
def test_beside_another(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    one: Callable[[Path], int],
    other: Callable[[Path], int],
) -> None:
    """Whenever the other comes: a version that was made stays, and is whole."""
    made, number, reached = rewritten(tmp_path / "kg"), 0, True
    while reached:
        number += 3
        kg, last = tmp_path / str(number), list[int]()
        shutil.copytree(made, kg)
        with monkeypatch.context() as patch:
            at = At(patch, number, partial(_noted, last, other, kg))
            _noted(last, one, kg)
            reached = at.reached
        versions = Versions(kg)
        assert versions.version == max(7, *last)
        examine(versions, versions.read(), sums=True)
        shutil.rmtree(kg)
    assert number > 9
