"""Standard streams that are closed, or whose encoding lacks characters."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.cli import command, done
from tests.support.seeds import seeds

QUERY = "SELECT ?o { ?s <urn:q> ?o }"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "x.ttl").write_text(
        "<urn:a> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:b> . <urn:x> a <urn:a> ; <urn:q> '\u65e5' .",
        encoding="utf-8",
    )
    done("load", folder / "kg", folder / "x.ttl")
    return folder / "kg"


def shell(redirected: str, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command with streams as the shell redirects them."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirected}', "sh", *command(*arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **variables},
    )


def test_outputs_that_are_closed(kg: Path, tmp_path: Path) -> None:
    found = shell("2>&-", "query", kg, "ASK {}")
    assert (found.returncode, found.stdout) == (0, "yes\n")
    found = shell(">&-", "query", kg, "ASK {}")
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    found = shell("<&- >&- 2>&-", "load", tmp_path / "new", kg.parent / "x.ttl")
    assert found.returncode == 0
    assert done("query", tmp_path / "new", QUERY, "--format", "csv") == done("query", kg, QUERY, "--format", "csv")


def test_an_input_that_is_closed(kg: Path, tmp_path: Path) -> None:
    for arguments in (("load", tmp_path / "new", "-", "--format", "nt"), ("query", kg, "-f", "-")):
        found = shell("<&-", *arguments)
        assert found.returncode == 2
        assert found.stderr.startswith("triplake: standard input is closed: name a file")
    assert not (tmp_path / "new").exists()


def test_an_encoding_that_lacks_characters(kg: Path) -> None:
    found = shell("", "explain", kg, "<urn:x>", "a", "<urn:b>", PYTHONIOENCODING="latin-1")
    assert found.stdout.splitlines()[1:] == [
        "|- <urn:a> rdfs:subClassOf <urn:b>   [asserted]",
        "`- <urn:x> a <urn:a>   [asserted]",
    ], found.stderr
    found = shell("", "query", kg, QUERY, "--format", "json", PYTHONIOENCODING="ascii")
    (row,) = json.loads(found.stdout)["results"]["bindings"]
    assert row["o"]["value"] == "\u65e5"


@pytest.mark.parametrize("taker", seeds(["nobody", "a full disk"], 1))
def test_messages_that_nobody_takes_end_no_command(kg: Path, tmp_path: Path, taker: str) -> None:
    """As of `triplake update kg changes.rdfp 2>&1 | head -1`: it was ended amid the transactions, with code 0."""
    transactions = "".join(f"TX .\nA <urn:new{number}> <urn:q> <urn:x> .\nTC .\n" for number in range(3))
    (tmp_path / "changes.rdfp").write_text(transactions)
    done("copy", kg, tmp_path / "kg")

    def code(*arguments: str | Path) -> int:
        reader, writer = os.pipe() if taker == "nobody" else (os.dup(0), os.open("/dev/full", os.O_WRONLY))
        os.close(reader)
        try:
            return subprocess.run(command(*arguments), stderr=writer, check=False).returncode
        finally:
            os.close(writer)

    assert code("update", tmp_path / "kg", tmp_path / "changes.rdfp") == 0
    assert (
        done("query", tmp_path / "kg", "SELECT (COUNT(*) AS ?n) { ?s <urn:q> <urn:x> }", "--format", "csv")
        == "n\r\n3\r\n"
    )
    assert code("load", tmp_path / "new", kg.parent / "x.ttl") == 0
    assert code("load", tmp_path / "new", kg.parent / "none.ttl") == 3


def test_brackets_in_paths_on_a_terminal(kg: Path, tmp_path: Path) -> None:
    """What a terminal shows while a command works is text, not markup, whatever brackets it has."""
    (tmp_path / "kg[").mkdir()
    terminal, stream = os.openpty()
    loading = command("load", tmp_path / "kg[/new]", kg.parent / "x.ttl")
    with subprocess.Popen(loading, stderr=stream, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(stream)
        shown = b""
        with suppress(OSError):  # at the end
            while read := os.read(terminal, 1_000):
                shown += read
        os.close(terminal)
        assert process.wait() == 0, shown.decode()
    assert b"kg[/new]: version 2" in shown
