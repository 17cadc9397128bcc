"""Files to load, and the triples that are read from them."""

from __future__ import annotations

import bz2
import gzip
from collections import Counter
from pathlib import Path

import zstandard

from triplake.loaders import LoadReport, Source, read_into, sources
from triplestore.engine import Engine
from triplestore.model.dataset import Quad
from triplestore.model.terms import XSD

A, P, B = "<http://e/a>", "<http://e/p>", "<http://e/b>"
INTEGER = f"^^<{XSD}integer>"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """A file with this content, packed as its suffix says."""
    data = text.encode() if isinstance(text, str) else text
    packers = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packers.get(path.suffix, lambda plain: plain)(data))
    return path


def read(engine: Engine, *paths: Path | Source, **options: object) -> tuple[Counter[Quad], LoadReport]:
    """The quads read from files, with how often each came, and the report."""
    found = [path if isinstance(path, Source) else sources([path])[0] for path in paths]
    report = read_into(engine, "token", found, **{"first_file": 1, **options})  # type: ignore[arg-type]
    rows = engine.query("SELECT * FROM token").to_pylist()
    engine.drop("token")
    quads = [(row["s"], row["p"], row["o"], *filter(None, [row.get("g")])) for row in rows]
    assert (report.triples, report.named) == (len(rows), sum(len(quad) == 4 for quad in quads))
    return Counter(quads), report
