"""The web page in headless Chromium: resources, the overview, and what holds for every page, by mouse and keyboard, on
wide screens and narrow ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

from tests import ROOT
from tests.support.server import OPEN, serving
from tests.support.web import EX, NEEDS_BROWSER, ask, barriers, opened
from triplestore import Store
from triplestore.server.settings import Access

pytestmark = NEEDS_BROWSER


class TestResources:
    def test_facts_apart_and_equals(self, page: Page) -> None:
        page.get_by_role("combobox", name="Find words or a resource").fill(f"{EX}rembrandt")
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

    def test_search(self, page: Page) -> None:
        find = page.get_by_role("combobox", name="Find words or a resource")
        find.fill("rembr*")
        page.keyboard.press("Enter")
        row = page.locator(".hits tbody tr").first
        expect(row).to_contain_text("Rembrandt")
        expect(find).to_have_value("rembr*")
        row.get_by_role("link").first.click()
        expect(page.get_by_role("heading", name="Rembrandt", exact=True)).to_be_visible()
        page.goto("/#/search?text=nowhere")
        expect(page.get_by_text("nothing found")).to_be_visible()
        page.goto("/#/search?text=a~")
        expect(page.get_by_role("alert")).to_contain_text("means nothing in a search")

    def test_nothing_known(self, page: Page) -> None:
        page.get_by_role("combobox", name="Find words or a resource").fill("nobody:x")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("the prefix 'nobody:' is not declared")
        page.goto("/#/resource?term=http://nowhere/x")
        expect(page.get_by_text("The store has no facts about it.")).to_be_visible()
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
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("(e => e.getAttribute('aria-label') || e.textContent.trim())(document.activeElement)")
        )
    assert reached[:2] == ["Skip to the content", "Triplake, to the query editor"]
    assert {"Query", "Overview", "Find words or a resource", "SPARQL query", "▶ Run"} <= set(reached)
    page.reload()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.sampled(each=2)
def test_every_page_fits_a_phone_and_can_be_read(browser: Browser, server: httpx.Client, scheme: str) -> None:
    """No page is wider than the screen, and axe-core finds nothing."""
    with opened(browser, server, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        for path in (
            "query?query=SELECT * { ?s ?p ?o }",
            "overview",
            f"resource?term={EX}rembrandt",
            "classes",
            "changes?version=2",
        ):
            page.goto(f"/#/{path}")
            expect(page.locator("main > *").last).to_be_visible()
            expect(page.locator(".waiting, .spinner")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert barriers(page) == []


def test_another_page_begins_at_its_top(page: Page) -> None:
    page.set_viewport_size({"width": 800, "height": 300})
    page.goto("/#/overview")
    expect(page.get_by_role("heading", name="Versions")).to_be_visible()
    page.locator(".chip a").last.click()
    expect(page.get_by_role("heading", name="Rembrandt")).to_be_visible()
    assert page.evaluate("scrollY") == 0


def test_light_and_dark(page: Page) -> None:
    def back() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    first = back()
    page.get_by_role("button", name="Switch between light and dark").click()
    other = back()
    assert first != other
    page.reload()
    expect(page.locator("body")).to_have_css("background-color", other)


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


def test_the_wheel_carries_the_page() -> None:
    """Every file of the page is matched by what pyproject.toml says belongs to the package."""
    root = ROOT
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["triplestore"]
    carried = {file for pattern in patterns for file in (root / "triplestore").glob(pattern) if file.is_file()}
    web = root / "triplestore" / "server" / "web"
    assert {web / "index.html", *(web / "static").iterdir()} <= carried
    assert not any("bundle" in file.parts for file in carried)
