"""The web page in headless Chromium: the graphs of a store, and where facts were asserted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

from tests.support.seeds import seeds
from tests.support.server import OPEN, serving
from tests.support.web import EX, NEEDS_BROWSER, barriers, opened
from triplestore import Store
from triplestore.server.settings import Access

pytestmark = NEEDS_BROWSER

SAME = "http://www.w3.org/2002/07/owl#sameAs"


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    """A store of a few graphs, one of which holds equal terms together."""
    links = f"<{EX}a> <{SAME}> <{EX}b> ; <{EX}p> <{EX}c> . <{EX}b> <{SAME}> <{EX}d>"
    text = f"<{EX}a> <{EX}p> <{EX}c> . GRAPH <{EX}links> {{ {links} }} GRAPH <{EX}more> {{ <{EX}a> <{EX}q> 1 }}"
    with Store.create(tmp_path / "kg", ["owl2rl"]) as store:
        store.sparql_update(f"INSERT DATA {{ {text} }} ; CREATE GRAPH <{EX}empty>")
    return tmp_path / "kg"


@pytest.fixture
def served(graphs: Path) -> Iterator[httpx.Client]:
    with serving(graphs) as client:
        yield client


@pytest.fixture
def page(browser: Browser, served: httpx.Client) -> Iterator[Page]:
    with opened(browser, served) as made:
        yield made


def listed(page: Page) -> list[list[str]]:
    expect(page.locator(".graphs tbody tr").first).to_be_visible()
    return [
        row.locator("th .term, th .note, td.numeric").all_inner_texts()
        for row in page.locator(".graphs tbody tr").all()
    ]


def test_graphs_and_their_sizes(page: Page) -> None:
    page.get_by_role("link", name="Graphs", exact=True).click()
    names = [[name.rpartition(":")[2], size] for name, size in listed(page)]
    assert names == [["unnamed", "1"], ["links", "3"], ["more", "1"], ["empty", "0"]]
    page.get_by_role("link", name="3 triples: ask for those of").click()
    expect(page.get_by_text("3 rows in")).to_be_visible()


def test_a_graph_is_dropped_when_it_is_known_what_goes(page: Page, served: httpx.Client) -> None:
    page.goto("/#/graphs")
    page.get_by_role("button", name="links").click()
    dialog = page.get_by_role("dialog", name="Drop this graph?")
    expect(dialog).to_contain_text("1 class of equals would be split")
    expect(dialog).to_contain_text("ex:a = ex:b = ex:d into ex:a, ex:b, ex:d")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert served.get("/health").json()["version"] == 2
    page.get_by_role("button", name="links").click()
    dialog.get_by_role("button", name="Drop it").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".graphs tbody tr")).to_have_count(3)
    assert served.get("/health").json()["version"] == 3


def test_where_facts_were_asserted(page: Page) -> None:
    page.goto(f"/#/resource?term={EX}a")
    asserted = page.locator(".facts.asserted").first
    both = asserted.locator("li", has=page.get_by_role("link", name="c", exact=False)).first
    expect(both).to_contain_text("in the unnamed graph, ")
    expect(both).to_contain_text("links")
    expect(asserted.locator("li", has_text="1").last).to_contain_text("more")


def test_who_cannot_write_is_offered_nothing(browser: Browser, graphs: Path) -> None:
    with serving(graphs, access=Access(read_only=True, hosts=OPEN.hosts)) as client, opened(browser, client) as page:
        page.goto("/#/graphs")
        expect(page.locator(".graphs tbody tr")).to_have_count(4)
        expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize("scheme", seeds(["dark", "light"], 1))
def test_it_fits_a_phone_and_can_be_read(browser: Browser, served: httpx.Client, scheme: str) -> None:
    with opened(browser, served, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        for path in ("graphs", f"resource?term={EX}a"):
            page.goto(f"/#/{path}")
            expect(page.locator("main > *").last).to_be_visible()
            expect(page.locator(".waiting")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert barriers(page) == []
