"""Reports: their JSON forms, which are a contract, and reading them as the dictionaries that they once were."""

from __future__ import annotations

import dataclasses
import json

import pytest

from triplestore.model.report import ClassDiff, ClassPart, ClassSplit, Inconsistency, UpdateReport, ViolationDiff
from triplestore.read.equality import ClassCause, EqualityStats, LargeClass, SizeRange
from triplestore.read.log import DAMAGED, LogEntry
from triplestore.read.stats import StoreStats

FIGURES = (
    "operation",
    "algorithm",
    "seconds",
    "rounds",
    "statements",
    "derived",
    "added",
    "deleted",
    "merged",
    "split",
    "doubted",
    "checked",
    "proved",
    "sets",
    "phases",
    "reason",
)
A, B, AB = ClassPart("<a>", 1), ClassPart("<b>", 1), ClassPart("<a>", 2, ("<a>", "<b>"))
REPORT = UpdateReport("update", "dred", 0.5, added=3, sets={"overdeleted": 4}, phases={"write": 0.1}, reason="why")


def test_an_update() -> None:
    assert tuple(REPORT.as_dict()) == FIGURES
    assert json.loads(json.dumps(REPORT.as_dict()))["sets"] == {"overdeleted": 4}
    whole = dataclasses.replace(
        REPORT, not_asserted=0, transactions=2, classes=ClassDiff(1, ((A, B),), 1, (ClassSplit(AB, (A, B)),))
    )
    classes = ("classes_merged", "merges", "classes_split", "splits")
    assert tuple(whole.as_dict()) == (*FIGURES, *classes, "not_asserted", "transactions")
    one, other = {"term": "<a>", "members": 1}, {"term": "<b>", "members": 1}
    assert whole["merges"] == [[one, other]]
    inconsistent = Inconsistency("eq-diff1", (("<a>", "<p>", "<b>"),))
    checked = dataclasses.replace(REPORT, violations=ViolationDiff(1, (inconsistent,), 0, ()))
    assert tuple(checked.as_dict())[-4:] == ("inconsistencies_made", "makes", "inconsistencies_mended", "mends")
    assert checked["makes"] == [{"rule": "eq-diff1", "triples": [["<a>", "<p>", "<b>"]]}]
    both = {"term": "<a>", "members": 2, "names": ["<a>", "<b>"]}
    assert whole["splits"] == [{"class": both, "into": [one, other]}]
    assert Inconsistency("r", (), (AB,)).as_dict() == {"rule": "r", "triples": [], "classes": [both]}


def test_of_a_manifest() -> None:
    assert UpdateReport.of(REPORT.as_dict()) == REPORT
    assert UpdateReport.of({"operation": "load", "of_older_ones": 1}) == UpdateReport("load")
    assert UpdateReport.of({}).operation == ""


def test_as_a_mapping() -> None:
    assert (REPORT["added"], REPORT.added, len(REPORT)) == (3, 3, len(FIGURES))
    assert {**REPORT} == REPORT.as_dict() == REPORT
    assert "merges" not in REPORT
    with pytest.raises(KeyError):
        REPORT["merges"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        REPORT.added = 4  # type: ignore[misc]


def test_a_version() -> None:
    entry = LogEntry(3, "2026-01-01T00:00:00Z", "duckdb", 5, 7, 100, REPORT)
    assert tuple(entry) == ("version", "created", "engine", "asserted", "facts", "bytes", *FIGURES)
    assert LogEntry(2, "", "", 0, 0, 0, UpdateReport(DAMAGED)).as_dict() == {
        "version": 2,
        "created": "",
        "engine": "",
        "asserted": 0,
        "facts": 0,
        "bytes": 0,
        "operation": "damaged",
    }


def test_classes() -> None:
    stats = EqualityStats(1, 2, (SizeRange(2, 3, 1),), (LargeClass(2, ("<a>",)),), (ClassCause("prp-key", (), 1),), 0)
    assert stats.as_dict() == {
        "classes": 1,
        "members": 2,
        "sizes": [{"from": 2, "to": 3, "classes": 1}],
        "largest": [{"size": 2, "members": ["<a>"]}],
        "causes": [{"rule": "prp-key", "on": [], "links": 1}],
        "by_derived_facts": 0,
    }


def test_counts() -> None:
    names = [field.name for field in dataclasses.fields(StoreStats)]
    stats = StoreStats(**dict.fromkeys(names, 0) | {"ruleset": ("rdfs",), "outside_profile": (), "last": REPORT})
    assert list(stats) == names
    assert (stats["ruleset"], stats["outside_profile"], stats["last"]) == (["rdfs"], [], REPORT.as_dict())
