"""Drawings for notebooks: what they show is what the store has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rdflib import OWL, RDF, Literal, URIRef

from triplestore import Store
from triplestore.model.errors import UsageError

EX = "http://ex/"


def ex(name: str) -> URIRef:
    return URIRef(EX + name)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    key = ex("mbox")
    with Store.create(tmp_path / "kg", ["owl2rl"]) as made:
        made.update(add=[(ex(a), OWL.sameAs, ex(b)) for a, b in ("ab", "bc", "ca", "cd")])
        made.update(add=[(key, RDF.type, OWL.InverseFunctionalProperty)])
        made.update(add=[(ex(name), key, Literal("m")) for name in "de"])
        return made


def test_a_class(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    with Store.open(store.path) as opened:
        drawn = opened.plot_class(ex("a"))
        assert drawn.get_title() == "5 equal terms, 2 bridges"
        texts = {text.get_text() for text in drawn.texts}
        assert {f"<{EX}{name}>" for name in "abcde"} <= texts or {f":{name}" for name in "abcde"} <= texts
        assert "prp-ifp" in texts
        assert opened.plot_class(ex("a"), ax=drawn) is drawn
        with pytest.raises(UsageError, match="equals no other term"):
            opened.plot_class(ex("nobody"))
        grown = opened.plot_versions()
        stored, asserted = (line.get_ydata() for line in grown.get_lines())
        assert [*stored] == [entry.facts for entry in opened.log()]
        assert [*asserted] == [0, 4, 5, 7]
        (Path(opened.path) / "_versions" / "0000000001.json").write_text("{}")
        assert [*opened.plot_versions().get_lines()[1].get_ydata()] == [4, 5, 7]
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(UsageError, match=r"drawings need matplotlib: pip install .*plots"):
            opened.plot_versions()
