"""The web page in headless Chromium: what versions changed, the hierarchy of classes, files that are loaded, queries
side by side."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

from tests.support.seeds import seeds
from tests.support.server import serving
from tests.support.web import EX, NEEDS_BROWSER, ask, barriers, opened, write
from triplestore import Store

pytestmark = NEEDS_BROWSER

FIRST = f"""
PREFIX : <{EX}> PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
INSERT DATA {{
  :Painter rdfs:subClassOf :Artist , [ a owl:Restriction ] . :Artist rdfs:subClassOf :Person .
  :Person rdfs:subClassOf :Agent . :Agent rdfs:subClassOf owl:Thing .
  :Boat a owl:Class . :Ship owl:equivalentClass :Boat .
  :a a :Painter . :b a :Person . :c a :Ship
}}
"""
THEN = f"PREFIX : <{EX}> DELETE DATA {{ :b a :Person }} ; INSERT DATA {{ :c a :Painter . GRAPH :g {{ :d :p 'x'@en }} }}"
FILE = f"@prefix : <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :n a :Painter . :n owl:sameAs :a ."


@pytest.fixture
def served(tmp_path: Path) -> Iterator[httpx.Client]:
    with Store.create(tmp_path / "kg", ["owl2rl"]) as store:
        store.sparql_update(FIRST)
        store.sparql_update(THEN)
    with serving(tmp_path / "kg") as client:
        yield client


@pytest.fixture
def page(browser: Browser, served: httpx.Client) -> Iterator[Page]:
    with opened(browser, served) as made:
        yield made


def test_what_a_version_changed(page: Page) -> None:
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="What version 3 changed").click()
    gone = page.get_by_role("region", name="Asserted, removed")
    expect(gone.get_by_role("row")).to_have_count(1)
    expect(gone).to_contain_text("Person")
    came = page.get_by_role("region", name="Asserted, added")
    expect(came.get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("region", name="Inferred, added")).to_contain_text("Artist")
    expect(page.get_by_role("region", name="In named graphs, added")).to_contain_text("x")
    expect(page.get_by_role("link", name="Previous version")).to_be_visible()
    expect(page.get_by_role("link", name="Next version")).to_have_count(0)
    page.get_by_role("link", name="Previous version").click()
    expect(page.get_by_role("heading", name="Version 2")).to_be_visible()
    page.get_by_role("link", name="Previous version").click()
    expect(page.get_by_role("heading", name="Version 1")).to_be_visible()
    page.goto("/#/changes?version=99")
    expect(page.get_by_role("alert")).to_contain_text("99")
    page.goto("/#/changes?version=x")
    expect(page.get_by_role("alert")).to_contain_text("version is the number of a version")


def test_the_hierarchy_of_classes(page: Page, served: httpx.Client) -> None:
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="as a hierarchy").click()
    top = page.locator(".hierarchy").first
    expect(top.locator("> li").first).to_contain_text("Agent")
    expect(page.locator(".hierarchy").get_by_text("Artist")).to_have_count(0)
    for name in ("Agent", "Person", "Artist"):
        page.get_by_label(f"Below :{name}").press("Enter")
    expect(page.get_by_text("Painter")).to_be_visible()
    page.get_by_role("link", name="2 things: ask for :Painter").click()
    expect(page.get_by_role("region", name="Rows")).to_be_visible()

    def level(under: str = "") -> dict[str, tuple[int, bool]]:
        found = served.get(f"/api/hierarchy{f'?under={EX}{under}' if under else ''}").json()["classes"]
        return {
            one["term"]["value"].removeprefix(EX): (one["things"], one["more"])
            for one in found
            if one["term"]["value"].startswith(EX)
        }

    assert level() == {"Agent": (2, True), "Boat": (1, False), "Ship": (1, False)}
    assert level("Agent") == {"Person": (2, True)}
    assert level("Artist") == {"Painter": (2, False)}
    assert level("Boat") == {}
    assert served.get("/api/hierarchy?under=1").status_code == 400


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.sampled(each=2)
def test_a_file_is_looked_at_then_loaded(page: Page, served: httpx.Client, tmp_path: Path, packed: bool) -> None:
    file = tmp_path / ("new.ttl.gz" if packed else "new.ttl")
    file.write_bytes(gzip.compress(FILE.encode()) if packed else FILE.encode())
    page.get_by_role("link", name="Graphs").click()
    page.get_by_label("File").set_input_files(file)
    page.get_by_label("Into the graph").fill(f"{EX}mine")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="The file")).to_contain_text(":n owl:sameAs :a")
    expect(page.get_by_text("2 triples read.")).to_be_visible()
    expect(page.get_by_text("1 class of equals would merge.")).to_be_visible()
    assert served.get(f"/data?graph={EX}mine").status_code == 404
    page.get_by_label("Into the graph").fill(f"{EX}other")  # of which no preview was shown
    expect(page.get_by_role("button", name="Load it")).to_have_count(0)
    page.get_by_label("Into the graph").fill(f"{EX}mine")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Load it").click()
    expect(page.get_by_role("row", name=":mine")).to_be_visible()
    assert served.get(f"/data?graph={EX}mine").text.count("\n") >= 2


def test_a_file_that_cannot_be_loaded(page: Page, tmp_path: Path) -> None:
    page.get_by_role("link", name="Graphs").click()
    for name, text, message in (
        ("a.txt", FILE, "tells no syntax of RDF"),
        ("a.ttl", "@prefix", "Unexpected end of file"),
        ("a.ttl.gz", FILE, ""),
    ):
        (tmp_path / name).write_text(text)
        page.get_by_label("File").set_input_files(tmp_path / name)
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("alert")).to_contain_text(message)
        expect(page.get_by_role("button", name="Load it")).to_have_count(0)


def test_who_may_only_read_loads_nothing(browser: Browser, tmp_path: Path) -> None:
    from triplestore.server.settings import Access

    Store.create(tmp_path / "kg", ["rdfs"]).close()
    with serving(tmp_path / "kg", access=Access(read_only=True)) as client, opened(browser, client) as page:
        page.get_by_role("link", name="Graphs").click()
        expect(page.get_by_role("heading", name="Graphs")).to_have_count(2)
        expect(page.get_by_text("Load a file")).to_have_count(0)


def test_queries_side_by_side(page: Page) -> None:
    tabs = page.get_by_role("navigation", name="Queries")
    ask(page, "SELECT ?one { BIND(1 AS ?one) }")
    expect(page.get_by_role("region", name="Rows")).to_contain_text("1")
    expect(tabs.get_by_role("link")).to_have_text(["SELECT ?one { BIND(1 AS ?one"])
    page.get_by_role("button", name="New query").click()
    expect(tabs.get_by_role("link")).to_have_count(2)
    ask(page, "SELECT ?two { BIND(2 AS ?two) }")
    expect(page.get_by_role("region", name="Rows")).to_contain_text("2")
    tabs.get_by_role("link").first.click()
    expect(page.get_by_role("region", name="Rows")).to_contain_text("1")
    page.reload()
    expect(tabs.get_by_role("link")).to_have_count(2)
    tabs.get_by_role("link").last.click()
    expect(page.get_by_role("textbox", name="SPARQL query")).to_contain_text("?two")
    tabs.get_by_role("button", name="Close").last.click()
    expect(tabs.get_by_role("link")).to_have_count(1)
    expect(page.get_by_role("textbox", name="SPARQL query")).to_contain_text("?one")
    expect(tabs.get_by_role("button", name="Close")).to_have_count(0)
    page.goto("/#/query?query=ASK {}")
    expect(tabs.get_by_role("link")).to_have_text(["SELECT ?one { BIND(1 AS ?one", "From a link"])
    write(page, "ASK { ?x ?y ?z }")
    tabs.get_by_role("link").first.click()
    expect(page.get_by_role("textbox", name="SPARQL query")).to_contain_text("?one")


def test_all_rows_can_be_read(page: Page) -> None:
    numbers = "VALUES ?a { 0 1 2 3 4 5 6 7 8 9 }"
    text = "SELECT * { " + " ".join(numbers.replace("?a", f"?{name}") for name in "abcde") + " FILTER(?a < 2) }"
    ask(page, text)
    expect(page.locator(".count")).to_contain_text("the first 10,000 rows")
    page.get_by_role("button", name="Read up to 100,000").click()
    expect(page.locator(".count")).to_contain_text("20,000 rows")
    rows = page.get_by_role("region", name="Rows").locator("tbody tr")
    expect(rows).to_have_count(200)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(1_200)


@pytest.mark.parametrize("scheme", seeds(["dark", "light"], 1))
@pytest.mark.long
def test_they_fit_a_phone(browser: Browser, served: httpx.Client, scheme: str) -> None:
    with opened(browser, served, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        page.get_by_role("button", name="New query").click()
        for path in ("query", "changes?version=3", "classes", "graphs"):
            page.goto(f"/#/{path}")
            expect(page.locator("main > *").first).to_be_visible()
            expect(page.locator(".waiting")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert barriers(page) == []


def test_triple_terms_that_a_version_changed(page: Page, served: httpx.Client) -> None:
    says = f"PREFIX : <{EX}> INSERT DATA {{ :d :says <<( :a :p 'x'@ar--rtl )>> }}"
    served.post("/sparql", content=says, headers={"Content-Type": "application/sparql-update"})
    page.goto("/#/changes?version=4")
    came = page.get_by_role("region", name="Asserted, added")
    expect(came.get_by_role("row")).to_have_count(1)
    expect(came).to_contain_text("<<(")
    expect(came.locator("[dir=rtl]")).to_contain_text("x")


def test_a_browser_that_keeps_nothing_and_an_address_of_no_page(page: Page) -> None:
    page.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };")
    page.goto("/#/constructor")
    page.reload()
    expect(page).to_have_title("Query · Triplake")
    write(page, "ASK { }")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Results")).to_contain_text("Yes")
