"""What the public signatures promise: values with names, no dictionaries of anything."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator

import pytest

import triplake
from triplestore.model.report import ClassDiff, Report, UpdateReport
from triplestore.read.equality import EqualityStats
from triplestore.read.log import LogEntry
from triplestore.read.stats import StoreStats
from triplestore.storage.vacuum import VacuumReport

LOOSE = re.compile(r"\b([Dd]ict|Mapping)\[str, Any\]|\bdict\b(?!\[)")
RESULTS = (UpdateReport, ClassDiff, StoreStats, EqualityStats, LogEntry, VacuumReport)


def public() -> Iterator[tuple[str, object]]:
    """The public functions of what `triplake` exports, and of the results of `Store`, by name."""
    for owner in (*(getattr(triplake, name) for name in triplake.__all__), *RESULTS):
        if isinstance(owner, type):
            for name, member in inspect.getmembers(owner):
                function = member.fget if isinstance(member, property) else inspect.unwrap(member)
                if (name == "__init__" or not name.startswith("_")) and inspect.isfunction(function):
                    yield f"{owner.__name__}.{name}", function


@pytest.mark.parametrize(("name", "function"), [*public()])
def test_no_signature_has_a_dictionary_of_anything(name: str, function: object) -> None:
    written = [str(annotation) for annotation in getattr(function, "__annotations__", {}).values()]
    assert not [text for text in written if LOOSE.search(text)], name


def test_signatures_are_looked_at() -> None:
    names = [name for name, _ in public()]
    assert len(names) > 60
    assert {"Store.update", "Store.stats", "Store.version", "UpdateReport.as_dict"} <= {*names}


@pytest.mark.parametrize("result", [r for r in RESULTS if issubclass(r, Report)])
def test_reports_are_frozen(result: type) -> None:
    assert dataclasses.is_dataclass(result)
    assert result.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert not [field.name for field in dataclasses.fields(result) if LOOSE.search(str(field.type))]
