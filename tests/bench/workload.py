"""What is measured: data, queries and facts to change, written to files that every system reads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from datasets.clique.generate import clique
from datasets.output import write
from datasets.university.generate import generate
from tests import ROOT

SUITES = Path(os.environ.get("TRIPLAKE_SUITES", ROOT.parent / "shared/suites"))
UNIVERSITY = ROOT / "datasets/university"


@dataclass(frozen=True)
class Workload:
    """Data in `files` (N-Triples and Turtle), `queries` by name, and 100 asserted triples to take out and put back."""

    name: str
    files: tuple[str, ...]
    triples: int
    queries: dict[str, str]
    changes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def universities(count: int, seed: int, folder: Path) -> Workload:
    """`count` universities of our generator, with our ontology; LUBM's queries too where the suites are."""
    data, ontology = folder / f"university-{count}.nt", folder / "ontology.ttl"
    write(generate(count, seed), str(data))
    shutil.copy(UNIVERSITY / "ontology.ttl", ontology)
    paths = [*SUITES.glob("lubm/queries/q*.rq"), *sorted(UNIVERSITY.glob("queries/*.rq"))]
    paths.sort(key=lambda path: int(path.stem[1:]) if path.stem[1:].isdigit() else 99)
    queries = {path.stem: path.read_text() for path in paths}
    return _workload(f"university-{count}", (str(ontology), str(data)), queries)


def a_clique(n: int, k: int, folder: Path) -> Workload:
    """n equal resources with k facts each."""
    data = folder / f"clique-{n}.nt"
    write(clique(n, k), str(data))
    one = "<http://example.org/clique/r0>"
    queries = {
        "facts of one": f"SELECT ?p ?o WHERE {{ {one} ?p ?o }}",
        "who is it": f"PREFIX owl: <http://www.w3.org/2002/07/owl#>\nSELECT ?x WHERE {{ {one} owl:sameAs ?x }}",
        "values": "SELECT (COUNT(?o) AS ?n) WHERE { ?x <http://example.org/clique/p0> ?o }",
    }
    return _workload(f"clique-{n}", (str(data),), queries)


def _workload(name: str, files: tuple[str, ...], queries: dict[str, str]) -> Workload:
    data = files[-1]
    with open(data, encoding="utf-8") as file:
        lines = sum(1 for _ in file)
    with open(data, encoding="utf-8") as file:
        changes = tuple(line.rstrip("\n") for line in _spread(file, lines, 100))
    return Workload(name, files, lines, queries, changes)


def _spread(lines: Iterable[str], total: int, wanted: int) -> Iterable[str]:
    """`wanted` lines, evenly spaced from the first."""
    return islice(islice(lines, 0, None, max(1, total // wanted)), wanted)
