"""The web page in headless Chromium: what people do with it, by mouse and keyboard, on wide screens and narrow ones."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import triplestore.server
from tests.support.server import OPEN, PATIENCE, serving
from triplestore import Store
from triplestore.server.settings import Access

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("TRIPLAKE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser: install Chromium, or let TRIPLAKE_BROWSER name one ({', '.join(NAMES)})"
)

STATIC = Path(triplestore.server.__file__).parent / "web" / "static"
EX = "http://ex.org/"
DATA = """
@prefix ex: <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Painter rdfs:subClassOf ex:Artist . ex:Artist rdfs:subClassOf ex:Person ; owl:disjointWith ex:Painting .
ex:rembrandt a ex:Painter ; rdfs:label "Rembrandt"@nl ; ex:born 1606 ; owl:sameAs ex:p1 .
ex:p1 ex:teacher ex:lastman . ex:lastman a ex:Painter . ex:nightwatch ex:by ex:p1 ; a ex:Painting .
ex:odd a ex:Painter , ex:Painting .
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    (folder / "data.ttl").write_text(DATA)
    with Store.create(folder / "kg", ["owl2rl"]) as made:
        made.load(folder / "data.ttl")
    return folder / "kg"


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[httpx.Client]:
    with serving(store) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield made
        made.close()


@contextmanager
def opened(browser: Browser, server: httpx.Client, plain: bool = False, **options: Any) -> Iterator[Page]:
    """The page, opened. Whatever is done to it: no script fails, and nothing is fetched from elsewhere.

    plain: as if the editor and the drawings were not built in."""
    base = str(server.base_url)
    wrong: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type == "error" and "the server responded with a status of" not in message.text:
            wrong.append(message.text)

    def fetched(request: Request) -> None:
        if not request.url.startswith((base, "data:", "blob:")):
            wrong.append(request.url)

    context = browser.new_context(base_url=base, **options)
    try:
        context.set_default_timeout(PATIENCE * 1000)
        if plain:
            context.route("**/vendor.js", lambda route: route.fulfill(status=404))
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", said)
        page.on("request", fetched)
        page.goto("/")
        expect(page.get_by_role("textbox", name="SPARQL query")).to_be_visible()
        yield page
        assert wrong == []
    finally:
        context.close()


@pytest.fixture
def page(browser: Browser, server: httpx.Client) -> Iterator[Page]:
    with opened(browser, server) as made:
        yield made


RICH = pytest.mark.skipif(
    not (STATIC / "vendor.js").exists(), reason="the page's editor and drawings are not built in: that takes npm"
)


def write(page: Page, text: str) -> None:
    """Type a query in place of what is there."""
    page.get_by_role("textbox", name="SPARQL query").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def ask(page: Page, text: str) -> None:
    write(page, text)
    page.keyboard.press("Control+Enter")


def cells(page: Page) -> list[list[str]]:
    return [
        [cell.strip() for cell in row.locator("td:not(.row-number)").all_inner_texts()]
        for row in page.get_by_role("region", name="Rows").locator("tbody tr").all()
    ]


def editor_text(page: Page) -> str:
    return "\n".join(page.locator(".cm-line").all_inner_texts())


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

    def test_a_download(self, page: Page) -> None:
        ask(page, f"SELECT ?b {{ <{EX}p1> <{EX}born> ?b }}")
        with page.expect_download() as started:
            page.get_by_role("button", name="CSV").click()
        assert Path(started.value.path()).read_bytes() == b"b\r\n1606\r\n"

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


class TestResources:
    def test_facts_apart_and_equals(self, page: Page) -> None:
        page.get_by_role("combobox", name="Resource").fill(f"{EX}rembrandt")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Rembrandt", exact=True)).to_be_visible()
        asserted, inferred = page.locator(".facts.asserted").first, page.locator(".facts.inferred").first
        expect(asserted).to_contain_text("1606")
        expect(asserted).not_to_contain_text("Artist")
        expect(inferred).to_contain_text("Artist")
        expect(inferred).to_contain_text("lastman")
        expect(page.locator(".equals")).to_contain_text("p1")
        page.locator(".equals").get_by_role("link").click()
        expect(page.locator(".iri")).to_contain_text(f"{EX}p1")

    def test_why(self, page: Page) -> None:
        page.goto(f"/#/resource?term={EX}rembrandt")
        person = page.locator(".facts.inferred li", has=page.get_by_role("link", name="Person"))
        person.get_by_role("button", name="Why").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("cax-sco")
        expect(dialog).to_contain_text("asserted")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.locator(".equals").get_by_role("button", name="Why").click()
        expect(dialog).to_contain_text("sameAs")
        dialog.get_by_role("link", name="p1").first.click()
        expect(page.locator(".iri")).to_contain_text(f"{EX}p1")
        expect(dialog).to_have_count(0)

    def test_nothing_known(self, page: Page) -> None:
        page.get_by_role("combobox", name="Resource").fill("nobody:x")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("the prefix 'nobody:' is not declared")
        page.goto("/#/resource?term=http://nowhere/x")
        expect(page.get_by_text("nothing to say")).to_be_visible()
        page.goto("/#/resource?term=a b")
        expect(page.get_by_role("alert")).to_contain_text("IRI")


class TestOverview:
    def test_what_there_is(self, page: Page, store: Path) -> None:
        page.get_by_role("link", name="Overview").click()
        with Store.open(store) as opened:
            stats = opened.stats()
        for name in ("asserted", "facts", "inferred", "expanded"):
            expect(page.get_by_role("region", name="Counts")).to_contain_text(f"{stats[name]:,}")
        expect(page.locator(".classes")).to_contain_text("rembrandt")
        expect(page.locator(".versions tbody tr")).to_have_count(stats["version"])
        page.get_by_role("link", name=re.compile("ask for .*:Painter$")).click()
        expect(page.get_by_text("4 rows in")).to_be_visible()

    def test_inconsistencies(self, page: Page) -> None:
        page.get_by_role("link", name="Overview").click()
        page.locator(".violations").get_by_role("button", name="Why").first.click()
        expect(page.get_by_role("dialog")).to_contain_text("inconsistent")
        expect(page.get_by_role("dialog")).to_contain_text("disjointWith")


def test_the_keyboard_alone(page: Page) -> None:
    page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("(e => e.getAttribute('aria-label') || e.textContent.trim())(document.activeElement)")
        )
    assert reached[:2] == ["Skip to the content", "Triplake, to the query editor"]
    assert {"Query", "Overview", "Resource", "SPARQL query", "▶ Run"} <= set(reached)
    page.reload()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone_and_can_be_read(browser: Browser, server: httpx.Client, scheme: str) -> None:
    """No page is wider than the screen; each control has a name; texts stand out from what is behind them."""
    with opened(browser, server, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        for path in ("query?query=SELECT * { ?s ?p ?o }", "overview", f"resource?term={EX}rembrandt"):
            page.goto(f"/#/{path}")
            expect(page.locator("main > *").last).to_be_visible()
            expect(page.locator(".waiting, .spinner")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert page.evaluate(NAMELESS) == []
            assert page.evaluate(FAINT) == []


NAMELESS = """[...document.querySelectorAll('button, a, input, select, [role=button], [tabindex="0"]')]
  .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.title)).map(e => e.outerHTML)"""

FAINT = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return [255, 255, 255, 1];
  };
  const found = [];
  for (const e of document.querySelectorAll('main *, header *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.offsetParent) continue;
    const colours = [light(rgba(getComputedStyle(e).color)), light(behind(e))].sort((a, b) => b - a);
    const ratio = (colours[0] + 0.05) / (colours[1] + 0.05);
    if (ratio < 4.4) found.push(`${e.className} ${e.textContent.trim().slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return found;
})()"""
"""Texts whose contrast is below what WCAG 2.2 asks for (4.5 : 1; a little less here, colours being rounded)."""


def test_light_and_dark(page: Page) -> None:
    def back() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    first = back()
    page.get_by_role("button", name="Switch between light and dark").click()
    other = back()
    assert first != other
    page.reload()
    assert back() == other


def test_signing_in(browser: Browser, store: Path) -> None:
    access = Access(users=(("ann", "pässword"),), protect_reads=True, hosts=OPEN.hosts)
    with serving(store, access=access) as server:
        context = browser.new_context(base_url=str(server.base_url))
        page = context.new_page()
        page.goto("/")
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("not accepted")
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password").fill("pässword")
        page.get_by_role("button", name="Sign in").click()
        ask(page, "ASK {}")
        expect(page.locator(".verdict")).to_have_text("Yes")
        context.close()


class TestUpdates:
    """What takes much away is asked about; what a link says changes nothing by itself."""

    @pytest.fixture
    def page(self, browser: Browser, store: Path, tmp_path: Path) -> Iterator[Page]:
        with serving(Path(shutil.copytree(store, tmp_path / "kg"))) as server, opened(browser, server) as page:
            yield page

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("CLEAR ALL", "CLEAR ALL"),
            ("drop silent default", "DROP SILENT DEFAULT"),
            (f"# all\nPREFIX ex: <{EX}> # those\nDELETE WHERE {{ ?x a ex:Painting }}", "DELETE WHERE"),
            (f'INSERT DATA {{ <{EX}x> <{EX}y> "#" }} ; DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}', "DELETE"),
        ],
        ids=["clear", "drop", "where", "second"],
    )
    def test_what_takes_away_is_asked_about(self, page: Page, text: str, named: str) -> None:
        ask(page, text)
        dialog = page.get_by_role("dialog", name="Take facts away?")
        expect(dialog).to_contain_text(f"{named} takes facts away")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.get_by_role("button", name="Run").click()
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        assert httpx.get(page.url.split("#")[0] + "health").json()["version"] == 2
        page.get_by_role("button", name="Run").click()
        dialog.get_by_role("button", name="Run it").click()
        expect(page.locator(".done")).to_contain_text("Version 3")

    def test_what_names_each_triple_is_not(self, page: Page) -> None:
        ask(page, f'DELETE DATA {{ <{EX}odd> a <{EX}Painting> }} ; INSERT DATA {{ <{EX}odd> <{EX}clear> "CLEAR ALL" }}')
        expect(page.locator(".done")).to_contain_text("Version 3")

    def test_an_update_in_the_address_waits(self, page: Page) -> None:
        page.goto(f"/#/query?query=INSERT DATA {{ <{EX}x> a <{EX}y> }}")
        expect(page.get_by_role("textbox", name="SPARQL query")).to_contain_text("INSERT")
        page.get_by_role("link", name="Overview").click()
        expect(page.get_by_role("region", name="Counts")).to_be_visible()
        assert httpx.get(page.url.split("#")[0] + "health").json()["version"] == 2

    def test_more_than_are_shown(self, page: Page) -> None:
        triples = " . ".join(f"<{EX}hub> <{EX}p> <{EX}n{n}>" for n in range(501))
        ask(page, f"INSERT DATA {{ {triples} }}")
        expect(page.locator(".done")).to_contain_text("Version 3")
        page.goto(f"/#/resource?term={EX}hub")
        expect(page.locator(".facts.asserted").first).to_contain_text("more than 500 facts")


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


def test_an_update(browser: Browser, store: Path, tmp_path: Path) -> None:
    with serving(Path(shutil.copytree(store, tmp_path / "kg"))) as server, opened(browser, server) as page:
        ask(page, f"INSERT DATA {{ <{EX}new> a <{EX}Painter> }}")
        expect(page.locator(".done")).to_contain_text("Version 3")
        ask(page, f"ASK {{ <{EX}new> a <{EX}Person> }}")
        expect(page.locator(".verdict")).to_have_text("Yes")


def test_the_wheel_carries_the_page() -> None:
    """Every file of the page is matched by what pyproject.toml says belongs to the package."""
    root = ROOT
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["triplestore"]
    carried = {file for pattern in patterns for file in (root / "triplestore").glob(pattern) if file.is_file()}
    web = root / "triplestore" / "server" / "web"
    assert {web / "index.html", *(web / "static").iterdir()} <= carried
    assert not any("bundle" in file.parts for file in carried)
