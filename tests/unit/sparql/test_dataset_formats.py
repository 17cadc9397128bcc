"""Quads as text: what is read again is what was written."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from triplake.sparql.dataset_formats import DATASET_FORMATS
from triplestore.model.prefixes import Names

READERS = {"nq": ox.RdfFormat.N_QUADS, "trig": ox.RdfFormat.TRIG, "jsonld": ox.RdfFormat.JSON_LD}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "character", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\n", "\r", "\t", '"', "\\"]
)
def test_literals_keep_each_character_that_ends_a_line(name: str, character: str) -> None:
    values = [f"before{character}@prefix after", f"{character}}} "]
    quads = [
        ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.Literal(v), ox.NamedNode("urn:g")) for v in values
    ]
    rows = [("<urn:s>", "<urn:p>", f'"{value}"', "<urn:g>") for value in values]
    text = "".join(DATASET_FORMATS[name]([rows], Names({})))
    assert set(ox.parse(text, READERS[name])) == set(quads)
