"""Commands on a store with damaged files: each tells what is wrong and changes nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import done, refused, run
from tests.support.pets import DOGS, stats, stored_files
from triplestore.storage.folder import Folder

pytestmark = pytest.mark.usefixtures("here")

READS = [["stats"], ["query", DOGS], ["export"], ["check"], ["copy", "other"]]
WRITES = [
    ["load", "more.nt"],
    ["update", "add.ru"],
    ["materialise"],
    ["compact"],
    ["vacuum"],
    ["rules", "add", "barks.dlog"],
]


def read_only(folder: Folder) -> float:
    raise PermissionError(folder)


def _newest(store: Path) -> Path:
    return sorted((store / "_versions").glob("*.json"))[-1]


def _delete(store: Path) -> None:
    (store / "data" / sorted(stored_files(store))[0]).unlink()


def _truncate(store: Path) -> None:
    os.truncate(store / "data" / sorted(stored_files(store))[0], 20)


def _scribble(store: Path) -> None:
    """Other bytes, as many as before: seen only when a file is read."""
    for name in stored_files(store):
        file = store / "data" / name
        file.write_bytes(b"x" * file.stat().st_size)


def _garbage(store: Path) -> None:
    _newest(store).write_text("garbage")


def _newer_version(store: Path) -> None:
    said = {**json.loads(_newest(store).read_text()), "format": 99}
    del said["checksum"]
    _newest(store).write_text(json.dumps(said))


def _newer_store(store: Path) -> None:
    (store / "triplake.json").write_text('{"format": 99}')


def _no_mark(store: Path) -> None:
    (store / "triplake.json").write_text("garbage")


def _other_mark(store: Path) -> None:
    """All versions are kept, instead of a hundred."""
    mark = store / "triplake.json"
    mark.write_text(mark.read_text().replace('"keep"', '"kaep"'))


def _lost_mark(store: Path) -> None:
    (store / "triplake.json").unlink()


def _other_manifest(store: Path) -> None:
    shutil.copyfile(store / "_versions/0000000001.json", _newest(store))


def _no_versions(store: Path) -> None:
    shutil.rmtree(store / "_versions")


TOLD = r"; `triplake verify kg` tells .*`triplake restore kg --to"
"""How a message about a damaged file goes on."""

DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (_delete, rf"kg/data/\S+\.parquet \(table \w+, version 2\) is missing{TOLD}"),
    (_truncate, rf"kg/data/\S+\.parquet \(table \w+, version 2\) has 20 bytes instead of \d+{TOLD}"),
    (_scribble, rf"kg/data/\S+\.parquet \(table \w+, version 2\) .* \(.*\){TOLD}"),
    (_garbage, r"kg/_versions/0000000002\.json cannot be read \(.*\); restore it"),
    (_newer_version, "version 2 was written by a newer Triplake; install that one"),
    (_newer_store, "kg is of store format 99, this program reads up to 9; install a newer Triplake"),
    (_no_mark, r"kg/triplake\.json cannot be read \(.*\); `triplake restore kg --from BACKUP`.* --to VERSION` writes"),
    (_other_mark, r"kg/triplake\.json cannot be read \(it is not what was written: its checksum differs\); `triplake"),
    (_lost_mark, r"kg/triplake\.json is missing; `triplake restore kg --from BACKUP`"),
    (_other_manifest, r"kg/_versions/0000000002\.json cannot be read \(it is the manifest of version 1\); restore it"),
    (_no_versions, "kg holds no version.*triplake restore kg --from BACKUP"),
]


class TestDamage:
    @pytest.mark.parametrize(("damage", "says"), DAMAGES)
    def test_reads_tell(self, kg: Path, damage: Callable[[Path], None], says: str) -> None:
        damage(kg)
        for command, *rest in READS:
            refused(5, command, "kg", *rest, says=says)

    @pytest.mark.parametrize(("damage", "says"), DAMAGES)
    def test_writes_refuse(self, kg: Path, damage: Callable[[Path], None], says: str) -> None:
        """Vacuum above all: the older version, which can still be read, stays."""
        damage(kg)
        for command, *rest in WRITES:
            if damage is _scribble and command != "vacuum":
                continue  # a write does not read every file
            refused(5, command, "kg", *rest, says=says)

    @pytest.mark.parametrize("damage", [_no_mark, _other_mark, _lost_mark])
    def test_a_damaged_mark_is_verified_and_written_again(self, kg: Path, damage: Callable[[Path], None]) -> None:
        before = stats("kg")
        damage(kg)
        found = run("verify", "kg", "--json")
        assert found.code == 5
        assert json.loads(found.out)["whole"] == []
        assert [one["path"] for one in json.loads(found.out)["damages"]] == ["triplake.json"]
        assert re.search(r"without triplake\.json no version .*`triplake restore kg --to 2` writes it again", found.err)
        refused(2, "restore", "kg", "--to", "7", says="kg has no version 7; it has 1 to 2")
        assert "triplake.json of kg was written again" in run("restore", "kg", "--to", "2").err
        assert stats("kg") == before
        assert "all versions" in run("retention", "kg").out
        assert run("verify", "kg").code == 0

    def test_an_older_version_can_be_read(self, kg: Path) -> None:
        _garbage(kg)
        assert stats("kg", "--at", "1")["asserted"] == 0

    def test_a_lost_version_is_noticed(self, kg: Path) -> None:
        """The store opens at the version before, as if the newest had never been; its files are there still."""
        done("backup", "kg", "safe")
        assert "no version names" not in run("verify", "kg").err
        _newest(kg).unlink()
        found = run("verify", "kg")
        assert found.code == 0
        assert re.search(r"no version names \d+ files of kg/data: .*triplake restore kg --from BACKUP", found.err)
        assert json.loads(run("verify", "kg", "--json").out)["strays"]
        assert json.loads(run("verify", "kg", "--at", "1", "--json").out)["strays"] == []
        (kg / "_versions/.lease-0").write_text("")  # of whoever: in a folder that cannot be written, no clock tells
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Folder, "now", read_only)
            assert json.loads(run("verify", "kg", "--json").out)["strays"] == []
        (kg / "_versions/.lease-0").unlink()
        done("restore", "kg", "--from", "safe")
        assert "no version names" not in run("verify", "kg").err
        assert stats("kg")["asserted"] > 0
