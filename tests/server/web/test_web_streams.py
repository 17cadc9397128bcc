"""The web page in headless Chromium: continuous queries, whose answers come by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

from tests.support.server import serving
from tests.support.web import EX, NEEDS_BROWSER, barriers, opened
from triplestore.server.settings import StreamSettings

pytestmark = NEEDS_BROWSER

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ARTISTS = (
    f"PREFIX ex: <{EX}> REGISTER QUERY artists AS SELECT ?who FROM STREAM <s> [RANGE 4 STEP 2] "
    "{ ?who a ex:Artist ; ex:at ?where }"
)
ANY = f"ASK FROM STREAM <s> [RANGE 4 STEP 2] {{ ?s <{EX}at> ?o }}"


def said(client: httpx.Client, time: int, who: str) -> None:
    """Post that a painter is somewhere."""
    lines = f"{time} <{EX}{who}> {TYPE} <{EX}Painter> .\n{time} <{EX}{who}> <{EX}at> <{EX}home> ."
    assert client.post("/streams", content=lines).status_code == 202


@pytest.fixture
def served(store: Path) -> Iterator[httpx.Client]:
    with serving(store, streams=StreamSettings((("artists", ARTISTS), ("any", ANY)))) as client:
        yield client


@pytest.fixture
def page(browser: Browser, served: httpx.Client) -> Iterator[Page]:
    with opened(browser, served) as made:
        yield made


def test_answers_come_by_themselves(page: Page, served: httpx.Client) -> None:
    page.get_by_role("link", name="Streams", exact=True).click()
    expect(page.get_by_role("heading", name="Waiting for an answer")).to_be_visible()
    said(served, 1, "vermeer")
    said(served, 3, "hals")
    answer = page.locator(".live")
    expect(answer.get_by_role("heading", name="At 2")).to_be_visible()
    expect(answer).to_contain_text("vermeer")
    expect(page.locator(".tiles")).to_contain_text("triples in it now")
    page.get_by_role("button", name="Pause").click()
    said(served, 6, "steen")
    said(served, 20, "steen")
    page.wait_for_timeout(1_500)
    expect(answer).not_to_contain_text("hals")
    page.get_by_role("button", name="Resume").click()
    expect(answer.get_by_role("heading", name="At 10")).to_be_visible()
    page.get_by_role("link", name="any", exact=True).click()
    expect(page.locator(".live .figure")).to_have_text("no")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_for_everybody(browser: Browser, served: httpx.Client, scheme: str) -> None:
    with opened(browser, served, color_scheme=scheme, viewport={"width": 390, "height": 800}) as page:
        said(served, 1, "vermeer")
        said(served, 3, "hals")
        page.goto("/#/streams")
        expect(page.locator(".live")).to_contain_text("vermeer")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert barriers(page) == []


def test_a_server_without_queries(browser: Browser, server: httpx.Client) -> None:
    with opened(browser, server) as page:
        expect(page.get_by_role("link", name="Query", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Streams", exact=True)).to_have_count(0)
        page.goto("/#/streams")
        expect(page.locator(".empty")).to_contain_text("--stream")
