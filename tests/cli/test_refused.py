"""Commands that are refused for what they are given: code 2, and what to give instead."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import command, done, refused, run
from triplestore.engine.written import blocks_of
from triplestore.storage import folder, verify


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
    refused(
        2,
        "retention",
        kg,
        "--keep-versions",
        "few",
        says="--keep-versions takes a number of 1 or more, or `all`, not 'few'",
    )
    refused(
        2,
        "retention",
        kg,
        "--keep-versions",
        5_000 * "9",
        says="--keep-versions takes a number of 1 or more, or `all`, not '9",
    )
    refused(2, "retention", kg, "--keep-versions", "0", says="takes a number of 1 or more, or `all`, not .0.")
    assert "30 versions, and the last" in done("retention", kg, "--keep-versions", "30", "--keep-days", "3")
    refused(2, "query", kg, "SELECT * { ?s ?p ?o }", "--exit-code", says="--exit-code is of ASK: this is a SELECT")
    refused(2, "query", kg, "ASK {}", "--exit-code", "--explain", says="--exit-code is of an answer")
    assert run("query", kg, "ASK { <urn:b> ?p ?o }", "--exit-code").code == 1
    refused(2, "why-same", kg, "urn:a", "urn:b", "--limit", "3", says="--limit is of the class of one term")
    for terms in ("urn:a",), ("urn:a", "urn:p"), ("urn:a", "urn:p", "urn:b"):
        refused(2, "explain", kg, *terms, "--violation", "prp-fp:1", says="of one triple, or --violation RULE:N")
    refused(2, "rules", kg, "list", "owl2rl", says="rules list takes no names")
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
    ],
    ids=["a term", "a graph to export", "a graph to drop", "a store"],
)
def test_arguments_that_are_not_utf8(kg: Path, arguments: tuple[str | bytes, ...]) -> None:
    held = sorted(kg.parent.iterdir())
    found = subprocess.run([*command(), *arguments], cwd=kg.parent, capture_output=True, check=False)
    assert found.returncode == 2, found.stderr
    assert b"triplake: 'http" in found.stderr
    assert b"\\xff" in found.stderr
    assert b"is not UTF-8: give what is; nothing was committed" in found.stderr
    assert sorted(kg.parent.iterdir()) == held


def test_a_full_device(kg: Path) -> None:
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            command("query", kg, "ASK {}"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert found.returncode == 6
    assert found.stderr.startswith("triplake: standard output, or a file: No space left on device")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--pace", "nan"), "the pace is a number of units a second, more than 0: not nan"),
        (("--pace", "0"), "the pace is a number of units a second, more than 0: not 0"),
        (("--lateness", 400 * "9"), "'9+' is not a duration"),
        (("--checkpoint", "x.nt"), "x.nt is not a folder, which a checkpoint is kept in"),
        (("--output", "none/answers"), "none/answers: there is no such folder; make it first"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_options_of_streams(kg: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str) -> None:
    monkeypatch.chdir(kg.parent)
    refused(2, "stream", kg, "--from", "x.nt", "--ask", "SELECT * { ?s ?p ?o }", "--range", "5", *arguments, says=says)


@pytest.mark.parametrize("option", ["--timeout", "--slow", "--grace"])
@pytest.mark.parametrize("number", ["nan", "inf", "1e10"])
def test_seconds(kg: Path, monkeypatch: pytest.MonkeyPatch, option: str, number: str) -> None:
    monkeypatch.chdir(kg.parent)
    refused(2, "serve", kg, option, number, "--port", "0", says=f"Invalid value for '{option}': ")


def test_a_password_that_is_not_utf8(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kg.parent)
    refused(2, "account", "accounts", "ann", stdin=b"\xff\n", says="the password on standard input is not UTF-8")


def test_a_copy_within_the_store(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kg.parent)
    refused(2, "copy", kg, kg / "x", says="kg/x overlaps with .*kg: give another folder for the copy")


def test_inconsistencies_that_are_not_there(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kg.parent)
    refused(2, "explain", kg, "--violation", "", says="--violation takes RULE or RULE:NUMBER, .*, not ''")
    refused(2, "explain", kg, "--violation", ":2", says="--violation takes RULE or RULE:NUMBER, .*, not ':2'")
    for text, says in (("eq-diff1:x", "1 of the rule 'eq-diff1:x'"), ("eq-diff1:2", "2 of the rule 'eq-diff1'")):
        refused(
            2, "explain", kg, "--violation", text, says=f"there is no inconsistency {says}: `triplake check` lists 0"
        )
    refused(2, "explain", kg, "--violation", f"eq-diff1:{5_000 * '9'}", says="there is no inconsistency 1 of the rule")


def test_an_inconsistency_of_a_rule_without_a_name(kg: Path, tmp_path: Path) -> None:
    """It is called by its file and line."""
    (tmp_path / "family.dlog").write_text("# for all\nfalse :- [?x, <urn:p>, ?y] .\n")
    done("rules", kg, "add", tmp_path / "family.dlog")
    assert "family:2: 1 inconsistency" in run("check", kg).out
    for text in ("family:2", "family:2:1"):
        assert done("explain", kg, "--violation", text).startswith("inconsistent   [family:2]\n")


@pytest.mark.parametrize("name", ["triplake.json", "_versions/0000000002.json", "data/*.parquet"])
def test_files_that_may_not_be_read(kg: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """That is no damage. Whoever runs the tests may read all, so that it is reading that refuses."""
    (file, *_) = sorted(kg.glob(name))
    read = Path.read_text

    def refusing(path: Path, *args: Any, **kwargs: Any) -> Any:
        if path == file:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read(path, *args, **kwargs) if path.suffix == ".json" else blocks_of(path)

    for place, function in ((Path, "read_text"), (folder, "blocks_of"), (verify, "blocks_of")):
        monkeypatch.setattr(place, function, refusing)
    found = run("verify", kg)
    assert found.code == 2, found
    assert f"triplake: {file}: Permission denied; nothing was committed\n" in found.err
