"""The web page in headless Chromium: links that may be wrong, shown, cut and brought back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

from tests.support.seeds import seeds
from tests.support.server import OPEN, serving
from tests.support.web import EX, NEEDS_BROWSER, RICH, barriers, opened
from triplestore import Store
from triplestore.server.settings import Access

pytestmark = NEEDS_BROWSER

DATA = f"""
PREFIX : <{EX}> PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
INSERT DATA {{
  :rembrandt rdfs:label "Rembrandt van Rijn" ; owl:sameAs :p1 , :p2 . :p2 owl:sameAs :p1 .
  GRAPH :links {{ :p2 owl:sameAs :vermeer }} :vermeer owl:sameAs :v1 . :v1 owl:differentFrom :rembrandt .
  :mbox a owl:InverseFunctionalProperty . :x :mbox "a \\"b\\"" . :y :mbox "a \\"b\\""
}}
"""


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A store in which one link of a class is wrong."""
    with Store.create(tmp_path / "kg", ["owl2rl"]) as store:
        store.sparql_update(DATA)
    return tmp_path / "kg"


@pytest.fixture
def served(linked: Path) -> Iterator[httpx.Client]:
    with serving(linked) as client:
        yield client


@pytest.fixture
def page(browser: Browser, served: httpx.Client) -> Iterator[Page]:
    with opened(browser, served) as made:
        made.get_by_role("link", name="Links", exact=True).click()
        expect(made.locator(".suspects > li").first).to_be_visible()
        yield made


def asserted(client: httpx.Client) -> list[str]:
    return sorted(client.get("/data", headers={"Accept": "application/n-quads"}).text.splitlines())


def test_the_worst_first(page: Page) -> None:
    first = page.locator(".suspects > li").first
    expect(first).to_contain_text("vermeer")
    expect(first).to_contain_text("are declared different")
    expect(first).to_contain_text("would split into 3 and 2")
    by_key = page.locator(".suspects > li", has_text="prp-ifp")
    expect(by_key).to_contain_text("mbox")


def test_a_link_is_cut_and_brought_back(page: Page, served: httpx.Client) -> None:
    before = asserted(served)
    for place in range(page.locator(".suspects > li").count()):
        page.locator(".suspects > li").nth(place).get_by_role("button", name="Cut").click()
        dialog = page.get_by_role("dialog", name="Cut this link?")
        expect(dialog).to_contain_text("of the closure would")
        doomed = dialog.locator(".doomed")
        expect(doomed.get_by_role("listitem").first).to_contain_text(":")
        assert doomed.evaluate("e => e.scrollWidth <= e.clientWidth"), "what is deleted can be read in full"
        expect(dialog).not_to_contain_text("x-triplake")
        assert dialog.evaluate("e => e.scrollWidth <= e.clientWidth")
        if place == 0:
            expect(dialog).to_contain_text(" = ")
            expect(dialog).to_contain_text("1 inconsistency would be resolved")
            expect(dialog).to_contain_text("1 class of equals would be split")
            dialog.get_by_role("button", name="Cancel").click()
            assert asserted(served) == before
            page.locator(".suspects > li").first.get_by_role("button", name="Cut").click()
        dialog.get_by_role("button", name="Cut it").click()
        expect(dialog).to_have_count(0)
        undo = page.get_by_role("button", name="Undo")
        expect(undo).to_be_visible()
        assert len(asserted(served)) < len(before)
        undo.click()
        expect(undo).to_have_count(0)
        assert asserted(served) == before, "each triple is back in its graph"


@RICH
def test_a_class_is_drawn(page: Page) -> None:
    page.locator(".suspects > li").first.get_by_role("button", name="Show the class").click()
    dialog = page.get_by_role("dialog", name="Equal things")
    expect(dialog).to_contain_text("5 things, joined by links: 5 asserted. 2 bridges")
    expect(dialog.locator(".edge.marked")).to_have_count(2)
    expect(dialog.locator(".edge")).to_have_count(5)
    dialog.locator("a.chip", has_text="vermeer").click()
    expect(page.locator(".iri")).to_contain_text(f"{EX}vermeer")
    expect(dialog).to_have_count(0)
    page.go_back()
    page.get_by_role("button", name="Show the class").first.click()
    expect(dialog).to_be_visible()
    page.go_back()
    expect(dialog).to_have_count(0)


@RICH
def test_a_class_can_be_read_on_a_phone(browser: Browser, served: httpx.Client) -> None:
    with opened(browser, served, viewport={"width": 390, "height": 800}) as page:
        page.goto("/#/links")
        page.get_by_role("button", name="Show the class").first.click()
        names = page.locator(".node-name")
        expect(names).to_have_count(5)
        for name in names.all():
            assert (name.bounding_box() or {"height": 0})["height"] > 9


def test_without_drawings_and_rights(browser: Browser, linked: Path) -> None:
    access = Access(read_only=True, hosts=OPEN.hosts)
    with serving(linked, access=access) as client, opened(browser, client, plain=True) as page:
        page.goto("/#/links")
        expect(page.locator(".suspects > li").first).to_be_visible()
        expect(page.get_by_role("button", name="Cut")).to_have_count(0)
        page.get_by_role("button", name="Show the class").first.click()
        expect(page.get_by_role("dialog", name="Equal things")).to_contain_text("2 bridges")


def test_nothing_to_doubt(browser: Browser, tmp_path: Path) -> None:
    for name, options in (("kg", {}), ("off", {"equality": "off"})):
        with Store.create(tmp_path / name, ["owl2rl"], **options):
            pass
        with serving(tmp_path / name) as client, opened(browser, client) as page:
            page.goto("/#/links")
            expect(page.get_by_text("No asserted triple makes two things equal")).to_be_visible()
            assert client.get("/api/class", params={"term": f"<{EX}a>"}).status_code == 404


@pytest.mark.parametrize("scheme", seeds(["dark", "light"], 1))
def test_it_fits_a_phone_and_can_be_read(browser: Browser, served: httpx.Client, scheme: str) -> None:
    with opened(browser, served, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        for path in ("links", "search?text=rembrandt"):
            page.goto(f"/#/{path}")
            expect(page.locator("main > *").last).to_be_visible()
            expect(page.locator(".waiting")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert barriers(page) == []
