"""Backups of a server: when asked, every so often, and what becomes of those that fail."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.cli import run
from tests.support.server import EX, PATIENCE, add, answering, counted, eventually, people, sent, served, serving
from triplestore import Store
from triplestore.server.backups import Backups
from triplestore.server.served import Served
from triplestore.storage.backup import BackedUp, backup


def test_when_asked(store: Path, tmp_path: Path) -> None:
    with answering({"": served(store, Backups(store, tmp_path / "copy", None))}) as client:
        assert counted(client)["triplake_last_backup_timestamp_seconds", ""] == 0
        assert client.post("/admin/backup").json()["new"] >= 1
        sent(client, add("b"))
        assert client.post("/admin/backup").json()["new"] == 1
        assert counted(client)["triplake_last_backup_timestamp_seconds", ""] > 0
    with Store.open(tmp_path / "copy") as copy:
        assert len(list(copy.query(f"SELECT * {{ <{EX}b> a ?t }}"))) > 0
    with serving(store) as client:
        refused = client.post("/admin/backup")
        assert refused.status_code == 409
        assert "--backup FOLDER" in refused.text


def test_every_so_often(store: Path, tmp_path: Path) -> None:
    backups = Backups(store, tmp_path / "copy", 0.2)
    with answering({"": served(store, backups)}) as client:
        sent(client, add("b"))
        changed = client.get("/health").json()["version"]

        def there() -> bool:
            log = run("log", tmp_path / "copy", "--json")
            return log.code == 0 and json.loads(log.out)[-1]["version"] == changed

        eventually(there)


def test_of_several_stores(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its folder there, in an object store too."""
    found: list[str] = []

    def listening(stores: dict[str, Served], *more: object) -> None:
        for each in stores.values():
            assert each.backups is not None
            found.append(str(each.backups.dest))
            each.discard()

    monkeypatch.setattr("triplestore.server.run.listen", listening)
    monkeypatch.chdir(store.parent)
    for dest in "s3://lake/backups/", "backups":
        run("serve", "one=kg", "two=kg", "--backup", dest, "--max-requests", "1")
    assert found == ["s3://lake/backups/one", "s3://lake/backups/two", "backups/one", "backups/two"]


def test_versions_that_are_damaged(store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The others are copied, and it is told that these are not."""
    (store / "_versions" / "0000000001.json").write_text("{}")
    with answering({"": served(store, Backups(store, tmp_path / "copy", None))}) as client:
        made = client.post("/admin/backup").json()
    assert [found["version"] for found in made["damaged"]] == [1]
    assert f"version 1 of {store} is left out of its backup" in caplog.text


def test_of_many_stores(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that take long are in the way of nobody who needs a thread."""
    ended = threading.Event()
    none = BackedUp(0, 0, 0, 0, ())
    monkeypatch.setattr("triplestore.server.backups.backup", lambda *given: ended.wait(PATIENCE) and none)
    most = 32 + 1  # threads that asyncio has at most

    async def many() -> None:
        async with AsyncExitStack() as entered:
            for number in range(most):
                await entered.enter_async_context(Backups(store, tmp_path / str(number), PATIENCE))
            await asyncio.sleep(0)
            entered.callback(ended.set)
            await asyncio.wait_for(asyncio.to_thread(int), PATIENCE / 4)

    asyncio.run(many())


def test_one_that_fails_is_told(store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "copy").write_text("in the way")
    with answering({"": served(store, Backups(store, tmp_path / "copy", 0.2))}) as client:
        eventually(lambda: "the backup of" in caplog.text)
        people(client)
    assert "failed" in caplog.text


def test_a_fault_ends_no_schedule(
    store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [ValueError("a fault of ours")]

    def faulty(*given: Path) -> BackedUp:
        if faults:
            raise faults.pop()
        return backup(*given)

    monkeypatch.setattr("triplestore.server.backups.backup", faulty)
    with answering({"": served(store, Backups(store, tmp_path / "copy", 0.1))}) as client:
        eventually(lambda: counted(client)["triplake_last_backup_timestamp_seconds", ""] > 0)
    assert "failed: a fault of ours" in caplog.text
