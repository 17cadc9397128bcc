"""Commands that are refused for what they are given: code 2, and what to give instead."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import command, done, refused, run


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    (tmp_path / "x.nt").write_text("<urn:a> <urn:p> <urn:b> .\n")
    done("load", tmp_path / "kg", tmp_path / "x.nt", "--rules", "none")
    return tmp_path / "kg"


def test_options_that_go_with_others(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kg.parent)
    refused(
        2, "retention", kg, "--keep-versions", "all", "--keep-days", "3", says="give --keep-days with --keep-versions N"
    )
    done("retention", kg, "--keep-versions", "all")
    refused(2, "retention", kg, "--keep-days", "3", says="all versions are kept, those of these days too")
    refused(2, "retention", kg, "--keep-versions", "few", says="--keep-versions takes a number or `all`, not 'few'")
    assert "30 versions, and the last" in done("retention", kg, "--keep-versions", "30", "--keep-days", "3")
    refused(2, "query", kg, "SELECT * { ?s ?p ?o }", "--exit-code", says="--exit-code is of ASK: this is a SELECT")
    refused(2, "query", kg, "ASK {}", "--exit-code", "--explain", says="--exit-code is of an answer")
    assert run("query", kg, "ASK { <urn:b> ?p ?o }", "--exit-code").code == 1
    refused(2, "why-same", kg, "urn:a", "urn:b", "--limit", "3", says="--limit is of the class of one term")
    for engine in ("query", kg, "ASK {}"), ("init", kg.parent / "new"):
        refused(
            2, *engine, "--engine", "duckdb", "--master", "local[2]", says="a master, or a session of Spark, is for"
        )
    assert not (kg.parent / "new").exists()


def test_a_store_without_a_name(kg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a variable of the shell that is not set: not the current folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for arguments in (
        ("load", "", kg.parent / "x.nt"),
        ("init", ""),
        ("stats", ""),
        ("backup", kg, ""),
        ("copy", kg, ""),
    ):
        refused(2, *arguments, says="the path of the store is empty: give a folder; . is the current one")
    assert list((tmp_path / "here").iterdir()) == []
    monkeypatch.chdir(kg)
    assert "urn:a" in done("query", ".", "SELECT * { ?s ?p ?o }")


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "kg", b"http://e/\xff", "a", "http://e/x"),
        ("export", "kg", "--graph", b"http://e/\xff"),
        ("update", "kg", "--drop-graph", b"http://e/\xff"),
        ("load", b"http\xff", "x.nt"),
        ("load", "kg", b"http\xff.nt"),
    ],
    ids=["a term", "a graph to export", "a graph to drop", "a store", "a file"],
)
def test_arguments_that_are_not_utf8(kg: Path, arguments: tuple[str | bytes, ...]) -> None:
    (kg.parent / os.fsdecode(b"http\xff.nt")).write_text("<urn:a> <urn:p> <urn:c> .\n")
    held = sorted(kg.parent.iterdir())
    found = subprocess.run([*command(), *arguments], cwd=kg.parent, capture_output=True, check=False)
    assert found.returncode == 2, found.stderr
    assert b"triplake: 'http" in found.stderr
    assert b"\\xff" in found.stderr
    assert b"is not UTF-8: give what is; nothing was committed" in found.stderr
    assert sorted(kg.parent.iterdir()) == held
