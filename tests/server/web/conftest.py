"""A store, a server of it, a browser, and the page in it. Without playwright the tests that use them are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.server import PATIENCE, serving
from triplestore import Store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
    from playwright.sync_api import expect, sync_playwright

    from tests.support.web import BROWSER

    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield made
        made.close()


@pytest.fixture
def page(browser: Browser, server: httpx.Client) -> Iterator[Page]:
    from tests.support.web import opened

    with opened(browser, server) as made:
        yield made
