"""docs/constants.md lists every number at the top of a module, with the value that the code has."""

from __future__ import annotations

from collections import Counter
from typing import Final

from tests.support.thresholds import constants, rows

KINDS: Final = {"threshold", "batch", "limit", "bound", "display", "seconds", "fixed"}


def test_every_number_is_described_with_its_value() -> None:
    described = {row.constant: row.value for row in rows()}
    assert described == constants()


def test_each_is_described_once_and_is_of_a_kind() -> None:
    found = rows()
    assert [c for c, n in Counter(row.constant for row in found).items() if n > 1] == []
    assert {row.kind for row in found} == KINDS
