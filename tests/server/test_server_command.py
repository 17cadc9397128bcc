"""`triplake serve`: what each option promises, and the log."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest

from tests.support.cli import command, done, run
from tests.support.server import EX, PEOPLE, QUERY, answering, people, rows, sent, serving
from triplestore.model.errors import EndlessError
from triplestore.server.served import Served
from triplestore.server.tools import Tools


def test_the_log(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "triplake.access"), serving(store, log_queries=True) as client:
        people(client)
        sent(client, "SELECT", QUERY)
    first, second = (json.loads(record.message) for record in caplog.records if record.name == "triplake.access")
    assert first["query"] == PEOPLE
    assert (first["method"], first["path"], first["status"], first["client"]) == ("GET", "/sparql", 200, "127.0.0.1")
    assert first["bytes"] > 50
    assert first["ms"] > 0
    assert second["status"] == 400
    assert "line 1" in second["error"]
    with caplog.at_level(logging.INFO, "triplake.access"), serving(store) as client:
        people(client)
    assert "query" not in json.loads(caplog.records[-1].message)


class TestCommand:
    @pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
    def test_serves_until_a_signal(self, store: Path, sign: signal.Signals) -> None:
        with subprocess.Popen(
            command("serve", store, "--port", "0"), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            try:
                lines = [process.stderr.readline(), process.stderr.readline()]
                found = re.search(r"http://127\.0\.0\.1:\d+/", lines[1])
                assert found, lines
                answer = httpx.get(found.group() + "sparql", params={"query": PEOPLE}, timeout=30)
                assert rows(answer) == [{"x": EX + "a"}]
                process.send_signal(sign)
                _, rest = process.communicate(timeout=30)
                assert process.returncode == 0
                assert json.loads(rest.splitlines()[0])["status"] == 200
                assert "Traceback" not in rest
            finally:
                process.kill()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--host", "0.0.0.0"], "give --accounts, --token or --user, or --insecure"),
            (["--user", "ann"], "NAME:PASSWORD"),
            (["--protect-reads"], "needs --accounts, --token or --user"),
            (["--token", ""], "not empty"),
            (["--token", "pässword"], "a token of ASCII characters"),
            (["--cors", "*"], "--cors takes a site, as https://example.org, not '*'"),
            (["--cors", "example.org"], "--cors takes a site"),
            (["--host", "a..b", "--insecure"], "cannot listen on a..b"),
            (["--host", "256.1.1.1", "--insecure"], "cannot listen on 256.1.1.1"),
            (["--host", "192.0.2.1", "--insecure"], "try another --host"),
        ],
    )
    def test_wrong_usage(self, store: Path, arguments: list[str], message: str) -> None:
        outcome = run("serve", store, "--port", "0", *arguments)
        assert outcome.code == 2
        assert message in outcome.err

    def test_a_query_that_is_none_of_streams(self, store: Path, tmp_path: Path) -> None:
        """Nothing of the server is left."""
        (tmp_path / "asked.rq").write_text("SELECT * { ?s ?p ?o }")
        assert "the query has no window" in run("serve", store, "--stream", tmp_path / "asked.rq", "--port", "0").err
        assert [file.name for file in (store / "_versions").iterdir() if file.name.startswith(".")] == []

    def test_port_in_use(self, store: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            assert "try another --port" in run("serve", store, "--port", str(taken.getsockname()[1])).err

    def test_no_store(self, tmp_path: Path) -> None:
        assert "is not a Triplake store; make one" in run("serve", tmp_path / "none").err
        (file := tmp_path / "file").touch()
        assert "is a file, not a Triplake store" in run("serve", file).err

    def test_not_installed(self, store: Path) -> None:
        code = (
            "import sys, importlib.util as u; find = u.find_spec\n"
            "u.find_spec = lambda name, *a: None if name in ('starlette', 'uvicorn') else find(name, *a)\n"
            f"from triplestore.cli import main; main(['serve', {str(store)!r}])"
        )
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=dict(os.environ), timeout=60
        )
        assert found.returncode == 2
        assert "pip install 'triplake[server]'" in found.stderr


def test_rules_that_make_ever_more_terms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "next.dlog").write_text("[?x, <urn:n>, ?z] :- [?x, <urn:n>, ?y], BIND(?y + 1 AS ?z) .\n")
    monkeypatch.chdir(tmp_path)
    done("init", "kg", "--rules", "next.dlog")
    insert = "INSERT DATA { <urn:a> <urn:n> 1 }"
    refused: list[str] = []

    def listening(stores: dict[str, Served], *more: object) -> None:
        with answering(stores) as client:
            answer = sent(client, insert)
            assert answer.status_code == 422
            refused.append(answer.text)

    def given(tools: Tools, write: bool) -> Mock:
        with pytest.raises(EndlessError) as found:
            tools.update(insert)
        refused.append(str(found.value))
        return Mock()

    monkeypatch.setattr("triplestore.server.run.listen", listening)
    monkeypatch.setattr("triplestore.server.mcp.server", given)
    for each in "serve", "mcp":
        done(each, "kg", "--max-rounds", "5")
    assert all("makes ever more terms" in text and "--max-rounds 50" in text for text in refused)
    assert len(refused) == 2
