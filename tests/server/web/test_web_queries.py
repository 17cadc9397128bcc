"""The web page in headless Chromium: queries, their answers, and the editor that they are written in."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Locator, Page, expect
from rdflib import OWL, RDFS

from tests.support.web import EX, NEEDS_BROWSER, RICH, ask, barriers, cells, editor_text, opened, write

pytestmark = NEEDS_BROWSER


class TestQueries:
    def test_rows(self, page: Page) -> None:
        ask(page, f"SELECT ?x ?born WHERE {{ ?x a <{EX}Artist> OPTIONAL {{ ?x <{EX}born> ?born }} }} ORDER BY ?x")
        expect(page.get_by_text("4 rows in")).to_be_visible()
        assert [row[1] for row in cells(page)] == ["·", "·", "1606", "1606"]
        page.get_by_role("button", name="born").click()
        expect(page.get_by_role("columnheader", name="born")).to_have_attribute("aria-sort", "ascending")
        assert [row[1] for row in cells(page)] == ["1606", "1606", "·", "·"]
        page.get_by_role("button", name="born").click()
        expect(page.get_by_role("columnheader", name="born")).to_have_attribute("aria-sort", "descending")
        assert [row[1] for row in cells(page)] == ["·", "·", "1606", "1606"]
        page.get_by_label("Equal terms").select_option("canonical")
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_text("3 rows in")).to_be_visible()

    def test_a_filter_over_many_rows(self, page: Page) -> None:
        ask(page, "SELECT * { ?s ?p ?o }")
        filtering = page.get_by_role("searchbox", name="Filter the rows")
        filtering.fill("rembrandt")
        rows = cells(page)
        assert rows
        assert all("rembrandt" in " ".join(row).lower() for row in rows)

    def test_a_warning(self, page: Page) -> None:
        ask(page, "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING(?n > 1)")
        expect(page.get_by_role("alert")).to_contain_text("Warning: line 1, column 59: HAVING reads ?n")
        ask(page, "ASK { }")
        expect(page.locator(".verdict")).to_have_text("Yes")
        expect(page.get_by_role("alert")).to_have_count(0)

    def test_yes_and_no(self, page: Page) -> None:
        ask(page, f"ASK {{ <{EX}p1> a <{EX}Person> }}")
        expect(page.locator(".verdict")).to_have_text("Yes")
        ask(page, f"ASK {{ <{EX}p1> a <{EX}Painting> }}")
        expect(page.locator(".verdict")).to_have_text("No")

    @RICH
    def test_an_error_is_shown_where_it_is(self, page: Page) -> None:
        ask(page, "SELECT * WHERE {\n  ?s ?p\n}")
        expect(page.get_by_role("alert")).to_contain_text("line 3, column 1")
        expect(page.locator(".cm-lintRange-error")).to_be_visible()
        ask(page, "SELECT * WHERE {\n  ?s ?p ?o\n}")
        expect(page.locator(".cm-lintRange-error")).to_have_count(0)

    @RICH
    def test_a_graph_is_drawn(self, page: Page) -> None:
        ask(page, f"CONSTRUCT {{ ?a <{EX}taught> ?b }} WHERE {{ ?b <{EX}teacher> ?a }}")
        nodes = page.locator(".node")
        expect(nodes).to_have_count(3)  # the teacher, and two names of the pupil
        page.locator(".node[aria-label$=lastman]").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="lastman")).to_be_visible()
        page.go_back()
        expect(nodes).to_have_count(3)  # nothing has to be asked again
        page.get_by_role("tab", name="Graph").focus()
        page.keyboard.press("ArrowLeft")
        assert len(cells(page)) == 2

    @RICH
    def test_a_drawing_has_labels_classes_and_equals(self, page: Page) -> None:
        """Labels are names, classes are colours, equals are one; only what is left is an edge."""
        said = (
            "ex:a rdfs:label 'Anna'@en, 'Аня'@ru ; a ex:Painter, owl:Thing ; ex:taught ex:b, ex:c ; ex:liked ex:b . "
            "ex:b a ex:Painter ; owl:sameAs ex:b2 . ex:c a ex:Critic . ex:d rdfs:label 'alone'"
        )
        prefixes = "".join(
            f"PREFIX {name}: <{space}> " for name, space in {"ex": EX, "owl": str(OWL), "rdfs": str(RDFS)}.items()
        )
        ask(page, f"{prefixes} CONSTRUCT {{ {said} }} {{}}")
        nodes, edges = page.locator(".node"), page.locator(".edge")
        expect(nodes).to_have_count(4)
        expect(edges).to_have_count(2)
        names = page.locator(".edge-name").all_text_contents()
        assert sorted(sorted(name.split(", ")) for name in names) == [["ex:liked", "ex:taught"], ["ex:taught"]]
        assert sorted(page.locator(".node-name").all_text_contents()) == ["Anna", "alone", "ex:b = 1", "ex:c"]
        expect(page.locator(".node[aria-label='ex:b = ex:b2']")).to_have_class(re.compile("class-0"))
        expect(page.locator(".node[aria-label='Anna = ex:a']")).to_have_class(re.compile("class-0"))
        expect(page.locator(".node[aria-label='ex:c']")).to_have_class(re.compile("class-1"))
        expect(page.locator(".legend")).to_have_text(re.compile("ex:Painter.*ex:Critic"))
        assert barriers(page) == []
        ask(page, f"{prefixes} CONSTRUCT {{ ex:a a ex:Painter . ex:b owl:sameAs ex:c }} {{}}")
        expect(page.get_by_text("2 triples in")).to_be_visible()  # else the next key stops this query
        expect(edges).to_have_count(2)  # there is nothing else to draw
        star = " . ".join(f"ex:hub ex:aRatherLongProperty{i} ex:spoke{i}" for i in range(12))
        ask(page, f"{prefixes} CONSTRUCT {{ {star} }} {{}}")
        expect(edges).to_have_count(12)
        met = page.evaluate(
            """() => { const b = [...document.querySelectorAll('.edge-name')].map(e => e.getBoundingClientRect());
            return b.flatMap((x, i) => b.slice(i + 1).filter(y => x.left < y.right && y.left < x.right
            && x.top + 2 < y.bottom - 2 && y.top + 2 < x.bottom - 2)).length }"""
        )
        assert met == 0

    def test_a_download(self, page: Page) -> None:
        ask(page, f"SELECT ?b {{ <{EX}p1> <{EX}born> ?b }}")
        with page.expect_download() as started:
            page.get_by_role("button", name="CSV").click()
        assert Path(started.value.path()).read_bytes() == b"b\r\n1606\r\n"

    def test_a_download_that_is_refused(self, page: Page) -> None:
        ask(page, r'SELECT ("\u0001" AS ?x) {}')
        page.get_by_role("button", name="XML").click()
        expect(page.get_by_role("alert")).to_contain_text("XML cannot hold the control characters")
        with page.expect_download():
            page.get_by_role("button", name="JSON").click()
        expect(page.get_by_role("alert")).to_have_count(0)

    def test_a_query_in_the_address(self, page: Page) -> None:
        page.goto("/#/query?query=SELECT (1 %2B 1 AS ?two) {}")
        expect(page.get_by_role("region", name="Rows").locator("tbody")).to_contain_text("2")

    @RICH
    def test_what_was_asked_before(self, page: Page) -> None:
        ask(page, "ASK { ?old ?p ?o }")
        expect(page.locator(".verdict")).to_have_text("Yes")
        page.reload()
        expect(page.locator(".cm-content")).to_contain_text("?old")
        write(page, "ASK {}")
        page.get_by_label("Examples and history").select_option(label="ASK { ?old ?p ?o }")
        assert editor_text(page) == "ASK { ?old ?p ?o }"


@RICH
class TestCompletion:
    def options(self, page: Page) -> Locator:
        return page.locator(".cm-tooltip-autocomplete li")

    def test_classes_after_a(self, page: Page) -> None:
        write(page, "SELECT * WHERE { ?x a ")
        page.keyboard.type("Pai")
        expect(self.options(page).first).to_contain_text("Painter")
        expect(self.options(page).first).to_contain_text("3 things")
        expect(self.options(page).first).to_have_attribute("aria-selected", "true")
        page.wait_for_timeout(100)  # the editor takes no Enter for the list's in the first 75 ms that it is shown
        page.keyboard.press("Enter")
        expect(page.locator(".cm-line").first).to_contain_text("PREFIX")
        assert re.fullmatch(r"PREFIX (\w+): <http://ex.org/>\nSELECT \* WHERE \{ \?x a \1:Painter ?", editor_text(page))

    def test_properties_prefixes_and_variables(self, page: Page) -> None:
        write(page, "SELECT * WHERE { ?somebody ")
        page.keyboard.type("teach")
        expect(self.options(page).first).to_contain_text("teacher")
        page.keyboard.press("Escape")
        write(page, "PREFIX ")
        page.keyboard.type("fo")
        expect(self.options(page).first).to_contain_text("foaf:")
        page.keyboard.press("Escape")
        write(page, "SELECT * WHERE { ?somebody ?p ?o . ")
        page.keyboard.type("?so")
        expect(self.options(page).first).to_contain_text("?somebody")


def test_a_page_without_what_npm_builds(browser: Browser, server: httpx.Client) -> None:
    with opened(browser, server, plain=True) as page:
        field = page.locator("textarea")
        ask(page, "SELECT * WHERE {\n  ?s ?p\n}")
        expect(page.get_by_role("alert")).to_contain_text("line 3, column 1")
        expect(field).to_have_attribute("aria-invalid", "true")
        assert field.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)") == "}"
        ask(page, f"CONSTRUCT {{ ?a <{EX}taught> ?b }} WHERE {{ ?b <{EX}teacher> ?a }}")
        expect(field).to_have_attribute("aria-invalid", "false")
        expect(page.get_by_text("2 triples in")).to_be_visible()
        assert len(cells(page)) == 2
        expect(page.get_by_role("tab", name="Graph")).to_have_count(0)
        page.reload()
        expect(field).to_have_value(re.compile("CONSTRUCT"))
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")


@pytest.mark.parametrize("plain", [pytest.param(False, marks=RICH, id="rich"), pytest.param(True, id="plain")])
def test_prefixes_that_the_page_shows_are_declared(browser: Browser, server: httpx.Client, plain: bool) -> None:
    with opened(browser, server, plain=plain) as page:
        page.get_by_role("link", name="Overview").click()
        painter = page.get_by_role("link", name=re.compile(":Painter$")).first.inner_text()
        prefix = painter.partition(":")[0]
        page.get_by_role("link", name="Query", exact=True).click()
        ask(page, f'# x:y\nSELECT ?x {{ ?x a {painter} FILTER(STR(?x) != "skos:no" && ?x != <owl:no>) }}')
        expect(page.get_by_text("4 rows in")).to_be_visible()
        box = page.get_by_role("textbox", name="SPARQL query")
        text = box.input_value() if plain else editor_text(page)
        assert text.startswith(f"PREFIX {prefix}: <{EX}>\n# x:y\nSELECT")
        ask(page, "SELECT * { ?x nobody:knows ?y }")
        expect(page.get_by_role("alert")).to_contain_text("nobody")


def test_how_a_query_is_answered(page: Page) -> None:
    write(page, "SELECT * { ?x a owl:Class }")
    page.get_by_role("button", name="Explain").click()
    plan = page.get_by_role("region", name="Plan")
    expect(plan).to_contain_text("-- order of joins, with estimates")
    expect(plan).to_contain_text("-- plan")
    write(page, "SELECT * { ?x a }")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("alert")).to_contain_text("line 1")
