"""`triplake load --template`, with right and with wrong input, and the page that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.cli import done, refused
from tests.support.pets import stats

pytestmark = pytest.mark.usefixtures("here")

PAGE = (ROOT / "docs/tables.md").read_text(encoding="utf-8")


@pytest.fixture
def people(here: None) -> None:
    """The files of the page."""
    blocks = re.findall(r"^`(people\.\w+)`:\n\n```\w*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for name, text in blocks:
        Path(name).write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("people")
class TestTemplate:
    def test_the_page(self) -> None:
        done("load", "kg", "people.csv", "--template", "people.tpl", "--rules", "none")
        ex, xsd = "http://example.org/", "http://www.w3.org/2001/XMLSchema#"
        ada, grace = f"<{ex}person/1>", f"<{ex}person/2>"
        wanted = {
            f"{grace} <{ex}worksFor> {ada} .",
            f"{ada} <{ex}email> <mailto:ada%40example.org> .",
            f'{ada} <{ex}label> "Ada Lovelace, no. 1"@en .',
            f'{grace} <{ex}born> "1906-12-09"^^<{xsd}date> .',
        }
        lines = set(done("export", "kg", "-q").splitlines())
        assert wanted <= lines
        assert len(lines) == 10
        exec(PAGE.split("```python\n")[1].split("```")[0], {})

    def test_standard_input_and_graphs(self) -> None:
        table = Path("people.csv").read_bytes()
        done("load", "kg", "-", "--format", "csv", "--template", "people.tpl", "--graph", "http://ex/g", stdin=table)
        assert stats()["named_graphs"] == 1
        done("load", "kg", "people.csv", "people.csv", "--template", "people.tpl", "--no-materialise")
        assert stats()["asserted"] == 10

    def test_wrong_input(self) -> None:
        refused(2, "load", "kg", "people.csv", says="people.csv: a table has rows, no triples: say with --template")
        refused(
            2, "load", "kg", "-", "--template", "people.tpl", says="has no suffix .*: add one of csv, tsv", stdin=b""
        )
        refused(3, "load", "kg", "people.csv", "--template", "no.tpl", says="no.tpl: cannot read the template: No such")
        refused(2, "load", "kg", "x.csv", "--base", "http://e/", "--template", "people.tpl", says="are for RDF files")
        refused(3, "load", "kg", "x.csv", "--template", "people.tpl", says="x.csv: there is no such file")
        refused(
            2,
            "load",
            "kg",
            "people.tpl",
            "--template",
            "people.tpl",
            says="does not tell the table's format; use .csv",
        )
        refused(
            2, "load", "kg", "people.csv", "--format", "ttl", "--template", "people.tpl", says="use one of csv, tsv, pa"
        )
        Path("wrong.tpl").write_text("<x:{id}> <x:p>\n  {Name} .", encoding="utf-8")
        says = r"wrong.tpl:2:3: people.csv has no column 'Name': is \{name\} meant\? It has id, name"
        refused(3, "load", "kg", "people.csv", "--template", "wrong.tpl", says=says)
        with Path("people.csv").open("a", encoding="utf-8") as file:
            file.write("3,Alan\n")
        refused(
            3,
            "load",
            "kg",
            "people.csv",
            "--template",
            "people.tpl",
            says="people.csv:4: .*Columns: 5 Found: 2.*correct",
        )
        assert not Path("kg").exists()
