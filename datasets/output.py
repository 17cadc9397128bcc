"""Writing generated triples: to a file, compressed by its suffix, or to standard output."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph


def write(pieces: Iterable[str], target: str) -> None:
    """Write pieces of text to `target`: a path (`.gz` is compressed) or `-`. A reader that goes away ends it."""
    try:
        if target == "-":
            for piece in pieces:
                sys.stdout.buffer.write(piece.encode())
            sys.stdout.buffer.flush()
        elif target.endswith(".gz"):
            # No name and no time in the header: the same triples give the same bytes.
            with open(target, "wb") as raw, gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as packed:
                for piece in pieces:
                    packed.write(piece.encode())
        else:
            with open(target, "wb") as plain:
                for piece in pieces:
                    plain.write(piece.encode())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_ntriples(turtle: Path) -> str:
    """A Turtle file as N-Triples text, its blank nodes numbered in the order in which they occur."""
    labels: dict[str, str] = {}

    def text(term: object) -> str:
        if isinstance(term, pyoxigraph.BlankNode):
            return labels.setdefault(term.value, f"_:{turtle.stem}{len(labels)}")
        return str(term)

    quads = pyoxigraph.parse(turtle.read_bytes(), format=pyoxigraph.RdfFormat.TURTLE)
    return "".join(f"{text(q.subject)} {text(q.predicate)} {text(q.object)} .\n" for q in quads)
