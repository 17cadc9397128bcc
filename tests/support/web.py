"""The web page in headless Chromium, and what people do with it. Needs playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import axe_playwright_python
import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

import triplestore.server
from tests.support.server import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("TRIPLAKE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)

NEEDS_BROWSER = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser: install Chromium, or let TRIPLAKE_BROWSER name one ({', '.join(NAMES)})"
)

STATIC = Path(triplestore.server.__file__).parent / "web" / "static"

RICH = pytest.mark.skipif(
    not (STATIC / "vendor.js").exists(), reason="the page's editor and drawings are not built in: that takes npm"
)

EX = "http://ex.org/"


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
        assert wrong == [], wrong
    finally:
        context.close()


AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def barriers(page: Page) -> list[str]:
    """What axe-core finds on the page against WCAG 2.2, levels A and AA."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("levels => axe.run({runOnly: levels})", LEVELS)
    nodes = [(one["id"], node) for one in found["violations"] for node in one["nodes"]]
    return [f"{rule}: {node['html'][:150]} {node['failureSummary']}" for rule, node in nodes]


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
