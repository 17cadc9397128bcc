"""The tools that language models get: by themselves, and by the protocol."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import done, refused
from tests.support.turtle import graph
from triplestore import Store
from triplestore.model.errors import StoppedError, UsageError
from triplestore.server.tools import Tools

DATA = """:rembrandt a :Painter ; rdfs:label "Rembrandt van Rijn" ; owl:sameAs :p1 . :Painter rdfs:subClassOf :Person .
:vermeer a :Painter ; rdfs:label "Johannes Vermeer" . :p1 rdfs:label "Rijn, Rembrandt van" . :p1 :born 1606"""


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "kg"
    with Store.create(path, engine="duckdb") as store:
        store.update(add=graph(DATA))
        store.change_prefixes(add={"": "http://ex/"})
    return path


@pytest.fixture
def tools(kg: Path) -> Iterator[Tools]:
    made = Tools(kg, engine="duckdb")
    yield made
    made.close()


def test_overview(tools: Tools) -> None:
    found = tools.overview()
    assert found["prefixes"][""] == "http://ex/"
    assert {"term": ":Painter", "facts": 2} in found["classes"]
    assert found["inconsistencies"] == {}
    assert found["rulesets"] == ["owl2rl"]


def test_queries(tools: Tools) -> None:
    found = tools.query("SELECT ?x { ?x a :Person } ORDER BY ?x")
    assert found["rows"] == [[":p1"], [":rembrandt"], [":vermeer"]]
    assert not found["more"]
    assert tools.query("SELECT ?x { ?x a :Person }", limit=2)["more"]
    assert tools.query("ASK { :vermeer a :Person }") == {"kind": "ask", "answer": True}
    proved = tools.query("CONSTRUCT { ?x a :Person } { ?x a :Person FILTER(?x = :vermeer) }", prove=1)
    assert proved["proofs"][0].splitlines()[0] == ":vermeer a :Person   [cax-sco]"
    with pytest.raises(UsageError, match="1, column"):
        tools.query("SELECT ?x {")
    with pytest.raises(UsageError, match="limit is a number from 1 to 1,000, not 0"):
        tools.query("ASK {}", limit=0)


def test_reasons(tools: Tools) -> None:
    found = tools.describe(":vermeer")
    told = {one["triple"]: one for one in found["triples"]}
    assert told[":vermeer a :Painter"]["asserted"]
    assert "cax-sco" in told[":vermeer a :Person"]["proof"]
    assert sorted(tools.describe(":p1")["equal_terms"]) == [":p1", ":rembrandt"]
    once = [one["triple"] for one in tools.describe(":p1")["triples"]]
    assert ":p1 owl:sameAs :p1" in once, "of which it is subject and object"
    assert len(once) == len({*once})
    assert tools.explain(":rembrandt", ":born", '"1606"')["holds"] is False, "a text is not a number"
    number = '"1606"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert "eq-rep-s" in tools.explain(":rembrandt", ":born", number)["proof"]
    same = tools.why_same(":rembrandt", ":p1", cuts=2)
    assert same["chain"].startswith(":rembrandt = :p1, by 1 link")
    assert same["cuts"].startswith("1. without 1 link")
    assert tools.why_same(":rembrandt", ":vermeer") == {"same": False}
    assert {tools.suspects()[0][end] for end in ("left", "right")} == {"<http://ex/rembrandt>", "<http://ex/p1>"}
    assert [one["term"] for one in tools.search("rembrandt VAN")["found"]] != []
    assert tools.search("nobody")["found"] == []
    with pytest.raises(UsageError, match="no letter or digit"):
        tools.search('") || ("a" = "a')
    assert tools.check() == {"counts": {}, "inconsistencies": []}
    with pytest.raises(UsageError, match="the prefix 'ex:' is not declared"):
        tools.describe("ex:a")


def test_changes_are_seen(tmp_path: Path, kg: Path) -> None:
    done("copy", kg, tmp_path / "kg")
    tools = Tools(tmp_path / "kg", engine="duckdb")
    request = "INSERT DATA { :vermeer owl:differentFrom :rembrandt ; owl:sameAs :rembrandt }"
    told = tools.update(request)
    assert told["inconsistencies_made"] == 1
    assert not tools.query("ASK { :vermeer owl:sameAs :p1 }")["answer"], "a dry run"
    tools.update(request, dry_run=False)
    assert tools.query("ASK { :vermeer owl:sameAs :p1 }")["answer"]
    found = tools.check()
    assert found["counts"] == {"eq-diff1": 1}
    assert "owl:differentFrom" in found["inconsistencies"][0]["proof"]
    tools.close()


def test_time_is_limited(kg: Path) -> None:
    tools = Tools(kg, seconds=0.5, engine="duckdb")
    endless = " ".join(f"?a{i} ?b{i} ?c{i} ." for i in range(12))
    began = time.monotonic()
    with pytest.raises(StoppedError, match=r"more than 0.5 seconds: ask for less"):
        tools.query(f"SELECT (COUNT(*) AS ?n) {{ {endless} FILTER(?c0 != ?c11) }}")
    assert time.monotonic() - began < 10
    assert tools.query("ASK {}")["answer"]
    tools.close()


def test_by_the_protocol(kg: Path, tmp_path: Path) -> None:
    """As a process of its own, which a client starts."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from mcp import StdioServerParameters
    from mcp.client import Client
    from mcp.client.stdio import stdio_client

    async def talk(*more: str) -> tuple[list[Any], list[Any]]:
        command = [*("-m", "triplestore.cli", "mcp"), str(kg), "-q", *more]
        started = StdioServerParameters(command=sys.executable, args=command)
        with (tmp_path / "log").open("w") as log:  # else the stderr of the test that imported the client first
            return await asked(stdio_client(started, errlog=log))

    async def asked(transport: Any) -> tuple[list[Any], list[Any]]:
        async with Client(transport) as client:
            tools = (await client.list_tools()).tools
            told = [
                await client.call_tool(name, given)
                for name, given in (
                    ("query", {"sparql": "ASK { :vermeer a :Person }"}),
                    ("query", {"sparql": "SELEKT"}),
                    ("suspects", {"limit": 1}),
                    ("update", {"sparql": "INSERT DATA { :x a :Painter }"}),
                )
            ]
            return tools, told

    tools, (answer, wrong, suspects, update) = asyncio.run(talk())
    assert {tool.name for tool in tools} == {
        *("overview", "query", "describe", "explain", "why_same", "suspects", "search", "check"),
    }
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert "SPARQL" in next(tool.description for tool in tools if tool.name == "query")
    assert json.loads(answer.content[0].text)["answer"] is True
    assert wrong.is_error
    assert "line 1" in wrong.content[0].text or "1, column" in wrong.content[0].text
    assert not suspects.is_error
    assert update.is_error, "it may only read"
    tools, (*_, update) = asyncio.run(talk("--write"))
    assert "update" in {tool.name for tool in tools}
    assert json.loads(update.content[0].text)["added"] > 0


def test_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(2, "mcp", tmp_path / "none", says="is not a Triplake store")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused(2, "mcp", tmp_path / "none", says=r"triplake\[mcp\]")
