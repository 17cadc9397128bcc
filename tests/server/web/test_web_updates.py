"""The web page in headless Chromium: updates."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

from tests.support.server import serving
from tests.support.web import EX, NEEDS_BROWSER, ask, opened

pytestmark = NEEDS_BROWSER


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
    @pytest.mark.sampled(each=3)
    def test_what_takes_away_is_asked_about(self, page: Page, text: str, named: str) -> None:
        ask(page, text)
        dialog = page.get_by_role("dialog", name="Remove facts?")
        expect(dialog).to_contain_text(f"{named} removes facts")
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

    def test_what_stands_before_an_update(self, page: Page) -> None:
        ask(page, f'VERSION "1.2"\nPREFIX \u00e9: <{EX}>\nINSERT DATA {{ \u00e9:odd a \u00e9:Clear }}')
        expect(page.locator(".done")).to_contain_text("Version 3")

    def test_a_browser_that_keeps_nothing(self, page: Page) -> None:
        page.add_init_script(
            "for (const name of ['localStorage', 'sessionStorage'])"
            "Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError'); } });"
        )
        page.reload()
        ask(page, f"ASK {{ <{EX}odd> a <{EX}Painting> }}")
        expect(page.locator(".verdict")).to_have_text("Yes")

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


def test_an_update(browser: Browser, store: Path, tmp_path: Path) -> None:
    with serving(Path(shutil.copytree(store, tmp_path / "kg"))) as server, opened(browser, server) as page:
        ask(page, f"INSERT DATA {{ <{EX}new> a <{EX}Painter> }}")
        expect(page.locator(".done")).to_contain_text("Version 3")
        ask(page, f"ASK {{ <{EX}new> a <{EX}Person> }}")
        expect(page.locator(".verdict")).to_have_text("Yes")
