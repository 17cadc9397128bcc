"""The server against its own description: schemathesis makes requests from the OpenAPI document, right ones and wrong
ones, and looks whether the answers are as it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, URIRef

from tests.support.server import PATIENCE, serving
from triplestore import Store
from triplestore.server.graph_store import SUFFIXES
from triplestore.server.openapi import document
from triplestore.server.protocol import QUERY, UPDATE
from triplestore.server.settings import Settings

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

EX = "http://ex/"
TEXTS = {
    QUERY: [
        "ASK {}",
        "SELECT (<<( <x:a> <x:b> 1 )>> AS ?t) {}",
        "SELECT * { ?s ?p ?o } LIMIT 3",
        f"DESCRIBE <{EX}a>",
        "SELECT * {",
        "\x00",
    ],
    UPDATE: [
        f"INSERT DATA {{ <{EX}a> <{EX}p> 1 }}",
        f"DELETE WHERE {{ <{EX}a> <{EX}p> ?x }}",
        "CLEAR GRAPH <x:y>",
        "{",
    ],
    **{media: [f"<{EX}a> <{EX}p> <{EX}b> .", "<a> <b", "{}", "<x/>", ""] for media in SUFFIXES},
}

for media, texts in TEXTS.items():
    schemathesis.openapi.media_type(media, st.sampled_from(texts).map(str.encode) | st.binary(max_size=20))


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("openapi") / "kg"
    with Store.create(path, ["rdfs"]) as made:
        made.update(
            add=[(URIRef(EX + "A"), RDFS.subClassOf, URIRef(EX + "B")), (URIRef(EX + "a"), RDF.type, URIRef(EX + "A"))]
        )
    with serving(path) as client:
        yield schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")


PATHS = document(Settings())["paths"]
OPERATIONS = [(path, method) for path, item in PATHS.items() for method in item]

EXCLUDED = [
    # A text that a schema allows need not be SPARQL or RDF: 400 with the place is the right answer then.
    positive_data_acceptance,
]


def check(api: Any, path: str, method: str, examples: int) -> None:
    """Send so many right requests to an operation, and wrong ones where it can be wrong; the same on every run."""
    described = PATHS[path][method]
    parameters = [parameter for parameter in described.get("parameters", ()) if parameter["in"] != "path"]
    takes_something = parameters or "requestBody" in described  # any text is a right path
    for mode in GenerationMode if takes_something else [GenerationMode.POSITIVE]:

        @settings(
            max_examples=examples,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=api[path][method].as_strategy(generation_mode=mode))
        def run(case: Any) -> None:
            if isinstance(limit := (case.query or {}).get("timeout"), int | float) and 0 < limit < PATIENCE:
                case.query["timeout"] = PATIENCE  # shorter ones may truly be over
            case.call_and_validate(excluded_checks=EXCLUDED)

        run()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_each_operation(api: Any, path: str, method: str) -> None:
    check(api, path, method, 2)


@pytest.mark.long
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_each_operation_often(api: Any, path: str, method: str) -> None:
    check(api, path, method, 20)


def test_triple_terms(api: Any) -> None:
    asked = 'SELECT (<<( <x:a> <x:b> "x"@ar--rtl )>> AS ?t) (<<( <x:a> <x:b> ?t )>> AS ?u) {}'
    api["/sparql"]["GET"].Case(query={"query": asked}).call_and_validate(excluded_checks=EXCLUDED)
