"""Apache Jena ARQ as an oracle: one Java process that answers queries over a graph (`Arq.java`, fetched by Maven)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.support.literal_values import parts
from tests.support.sparql import Triple
from triplestore.model.terms import XSD

Row = tuple[str | None, ...]

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>x</groupId><artifactId>oracle</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.jena</groupId><artifactId>jena-arq</artifactId>
<version>5.6.0</version></dependency></dependencies></project>
"""
CLASS_PATH = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
FAILURE = "!"
"""What the token begins with where ARQ itself fails to evaluate an expression."""


class ArqError(Exception):
    """ARQ refuses a query, or fails to answer it."""


def class_path(folder: Path) -> str:
    """The jars of ARQ. Skips the test where they are out of reach."""
    maven = shutil.which("mvn")
    if maven is None or shutil.which("javac") is None:
        pytest.skip("needs Maven and a JDK")
    (folder / "pom.xml").write_text(POM)
    asked = [maven, "-q", "-B", CLASS_PATH, "-Dmdep.outputFile=jars"]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, timeout=800, check=False)
    if "Could not" in done.stdout or "Unknown host" in done.stdout:
        pytest.skip("Maven's repository cannot be reached")
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "jars").read_text()


class Arq:
    """The process. Requests are answered one after the other."""

    def __init__(self, folder: Path) -> None:
        command = ["java", "-Xmx1g", "-cp", class_path(folder), str(Path(__file__).with_name("Arq.java"))]
        pipe, log = subprocess.PIPE, (folder / "log").open("w")
        with log:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, encoding="utf-8")

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def load(self, triples: Iterable[Triple]) -> None:
        """Takes a graph in the place of the one before."""
        self._ask(graph="".join(f"{' '.join(map(_n_triples, triple))} .\n" for triple in triples))

    def select(self, text: str, variables: Sequence[str]) -> list[Row]:
        """The answer, in its order. Raises ArqError."""
        return _rows(self._ask(query=text), variables)

    def cells(self, text: str, variables: Sequence[str]) -> list[Row]:
        """As `select`, each expression evaluated alone, so that one that ARQ fails at costs its own cell only."""
        return _rows(self._ask(cells=text), variables)

    def _ask(self, **request: object) -> dict[str, list[list[list[str]]]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "Java has ended"
        answer = json.loads(line)
        if "error" in answer:
            raise ArqError(answer["error"])
        found: dict[str, list[list[list[str]]]] = answer
        return found


def _rows(answer: dict[str, list[list[list[str]]]], variables: Sequence[str]) -> list[Row]:
    names: list[object] = list(answer["variables"])
    places = [names.index(name) for name in variables]
    return [tuple(_token(row[place]) for place in places) for row in answer["rows"]]


def _token(term: list[str]) -> str | None:
    match term:
        case []:
            return None
        case ["<", iri]:
            return f"<{iri}>"
        case ["_", label]:
            return f"_:{label}"
        case ['"', text, datatype, ""]:
            return f'"{text}"' if datatype == XSD + "string" else f'"{text}"^^<{datatype}>'
        case ['"', text, _, language]:
            return f'"{text}"@{language.lower()}'
    return FAILURE + term[1]


def _n_triples(token: str) -> str:
    if token[0] != '"':
        return token
    lexical, datatype, language = parts(token)
    for raw, letter in ("\\\\", '""', "\nn", "\rr", "\tt"):
        lexical = lexical.replace(raw, f"\\{letter}")
    return f'"{lexical}"' + (f"@{language}" if language else f"^^<{datatype}>")
