"""The numbers of docs/conformance.md are those that the runner prints."""

from __future__ import annotations

import pytest

from tests import ROOT
from tests.w3c.__main__ import table
from tests.w3c.manifest import MISSING
from tests.w3c.sparql import SPARQL

PAGE = ROOT / "docs" / "conformance.md"


@pytest.mark.long
@pytest.mark.skipif(not SPARQL.exists(), reason=MISSING)
def test_the_readme_has_the_runner_s_numbers() -> None:
    lines, failed = table()
    assert not failed
    text = PAGE.read_text(encoding="utf-8")
    assert [line for line in lines if line not in text] == []
