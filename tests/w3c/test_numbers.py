"""docs/conformance.md has a row for every manifest of the suites, and the numbers that the runner prints."""

from __future__ import annotations

import pytest

from tests import ROOT
from tests.w3c import __main__ as runner
from tests.w3c.manifest import MISSING
from tests.w3c.manifests import listed
from tests.w3c.sparql import SPARQL

PAGE = ROOT / "docs" / "conformance.md"

pytestmark = pytest.mark.skipif(not SPARQL.exists(), reason=MISSING)


def rows() -> list[str]:
    """The rows of the page's table about manifests that are at hand."""
    text = PAGE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [line for line in lines if line.split("`")[1] in listed()]


def test_the_page_has_a_row_for_every_manifest() -> None:
    """With the tests that the manifest lists, all of them passed but for those that are skipped for a reason."""
    lines, failed = runner.table(run=False)
    assert not failed
    assert rows() == [line for line in lines if line.startswith("| `") and line.split("`")[1] in listed()]


def test_a_manifest_that_nothing_runs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [part for part in runner.PARTS if part is not runner._protocols]
    monkeypatch.setattr(runner, "PARTS", tuple(left))
    lines, failed = runner.table(run=False)
    names = [label for label in listed() if "protocol" in label or "service-description" in label]
    assert failed == sum(len(listed()[name]) for name in names) == 50
    assert "| `sparql/sparql11/protocol` | 0 | 0 | 0 | 0 |  |" in lines


def test_each_manifest_that_is_skipped_is_there() -> None:
    assert runner.SKIPPED.keys() <= listed().keys()


@pytest.mark.long
def test_the_page_has_the_runner_s_numbers() -> None:
    lines, failed = runner.table()
    assert not failed
    text = PAGE.read_text(encoding="utf-8")
    assert [line for line in lines if line.startswith("| `") and line not in text] == []
