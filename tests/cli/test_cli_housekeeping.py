"""`triplake stats`, `log`, `compact`, `vacuum` and `copy`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.support.cli import contents, done, refused, run
from tests.support.pets import CLOSURE, DOGS, said, stats, stored_files

pytestmark = pytest.mark.usefixtures("here")

STATS_KEYS = ["version", "engine_written", "ruleset", "equality", "terms", "asserted", "facts", "inferred", "expanded"]
STATS_KEYS += ["classes", "largest_class", "violations", "bytes", "last", "generalised"]
LAST_KEYS = ["operation", "algorithm", "seconds", "rounds", "derived", "added", "deleted", "merged", "split"]


class TestHousekeeping:
    def test_stats(self, kg: Path) -> None:
        found = stats()
        assert [key for key in STATS_KEYS if key not in found] == []
        assert isinstance(found["last"], dict)
        assert [key for key in LAST_KEYS if key not in found["last"]] == []
        numbers = {
            key: found[key] for key in ("version", "terms", "asserted", "facts", "expanded", "classes", "largest_class")
        }
        assert numbers == {
            "version": 2,
            "terms": 6,
            "asserted": 5,
            "facts": 53,
            "expanded": 60,
            "classes": 1,
            "largest_class": 2,
        }
        assert found["bytes"] == sum(len(v) for k, v in contents(kg).items() if k.startswith("data/")) - _unused(kg)
        text = done("stats", kg)
        assert all(re.search(rf"^{key.replace('_', ' ')}\s", text, re.MULTILINE) for key in found)

    def test_log(self, kg: Path) -> None:
        lines = done("log", kg).splitlines()
        assert lines[0].split() == ["version", "created", "operation", "asserted", "facts", "seconds", "algorithm"]
        assert [(line.split()[0], *line.split()[2:4]) for line in lines[1:]] == [("1", "init", "0"), ("2", "load", "5")]
        entries = json.loads(done("log", kg, "--json"))
        assert [(e["version"], e["operation"], e["asserted"], e["facts"]) for e in entries] == [
            (1, "init", 0, 48),
            (2, "load", 5, 53),
        ]

    def test_compact(self, kg: Path) -> None:
        done("update", kg, "add.ru", "change.rdfp")
        before, files = done("export", kg, "--sorted"), len(stored_files(kg))
        assert "version 5 is compact" in run("compact", kg).err
        assert done("export", kg, "--sorted") == before
        assert len(stored_files(kg)) < files
        assert "nothing to compact" in run("compact", kg).err
        assert stats()["version"] == 5

    def test_vacuum(self, kg: Path) -> None:
        done("update", kg, "change.rdfp")
        done("update", kg, "add.ru")
        before = done("export", kg, "--sorted")
        assert "forgot 2 versions" in run("vacuum", kg, "--keep", "2").err
        assert len(done("query", kg, DOGS, "--at", "3", "--format", "csv").split()) == 2
        assert "2 versions kept\n--keep-versions 1 would forget 1 version, free" in run("vacuum", kg).err
        assert "forgot 1 version," in run("vacuum", kg, "--keep", "1").err
        assert done("export", kg, "--sorted") == before
        assert {Path(k).name for k in contents(kg) if k.startswith("data/")} == stored_files(kg)
        refused(2, "query", kg, DOGS, "--at", "3", says="kg has no version 3; it has 4")
        refused(2, "vacuum", kg, "--keep", "0", says="0 is not in the range")

    def test_vacuum_clears_up_after_dead_writers(self, kg: Path) -> None:
        dead = [kg / "data/fact-0.parquet", kg / "data/_fact-0.draft", kg / "_versions/.0000000003.json.0"]
        living = kg / "data/fact-1.parquet"
        for path in (dead[0], dead[2], living):
            path.write_text("half")
        dead[1].mkdir()
        for path in dead:
            os.utime(path, (0, 0))
        assert "forgot 0 versions, deleted 3 files" in run("vacuum", kg).err
        assert living.exists()
        assert not any(path.exists() for path in dead)
        assert said() == CLOSURE

    def test_copy(self, kg: Path) -> None:
        done("update", kg, "change.rdfp")
        done("copy", kg, "other")
        done("copy", kg, "earlier", "--at", "2")
        assert stats("other")["version"] == 1
        assert done("export", "other", "--sorted") == done("export", kg, "--sorted")
        assert said(store="earlier") == CLOSURE
        done("update", "earlier", "change.rdfp")
        assert done("export", "earlier", "--sorted") == done("export", kg, "--sorted")
        refused(2, "copy", kg, "other", says="other is a Triplake store already")
        refused(2, "copy", kg, "pets.ttl", says="pets.ttl is not an empty folder")


def _unused(store: Path) -> int:
    """Bytes of data files that only older versions name."""
    return sum(f.stat().st_size for f in (store / "data").iterdir() if f.name not in stored_files(store))
