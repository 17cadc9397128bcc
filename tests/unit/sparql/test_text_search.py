"""Text search: what `text:query` finds is what a plain reading of its words finds, on both engines."""

from __future__ import annotations

import random
import re
import unicodedata
from fnmatch import fnmatchcase

import pytest

from tests.conftest import MakeStore
from tests.support.sparql import make_graph
from triplake.sparql import query
from triplake.sparql.text_search import Clauses, Search, Words, parsed
from triplestore.engine import Engine
from triplestore.model.errors import UsageError

TEXT = "PREFIX text: <http://jena.apache.org/text#> PREFIX : <http://e/> "
LABEL, ABOUT = "<http://e/label>", "<http://e/about>"
ROWS = [
    ("<http://e/r>", LABEL, '"Rembrandt van Rijn"@nl'),
    ("<http://e/r>", ABOUT, '"A Dutch painter"'),
    ("<http://e/d>", LABEL, '"Albrecht Dürer"@de'),
    ("<http://e/v>", LABEL, '"Vincent van Gogh"'),
    ("<http://e/v>", ABOUT, '"painter, not Rembrandt"'),
    ("<http://e/x>", LABEL, '"Rembrandtplein"'),
    ("<http://e/x>", "<http://e/is>", "<http://e/rembrandt>"),
    ("<http://e/x>", ABOUT, '"1606"^^<http://www.w3.org/2001/XMLSchema#gYear>'),
]


def found(engine: Engine, pattern: str) -> list[str]:
    """The local names and texts of the answers to `SELECT * { pattern }`, sorted."""
    rows = query(make_graph(engine, ROWS), f"{TEXT} SELECT * {{ {pattern} }}").tokens()
    return sorted(" ".join(str(t).removeprefix("<http://e/").rstrip(">") for t in row) for row in rows)


@pytest.mark.long_on_spark(but=5)
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("?s text:query 'rembrandt'", ["r", "v"]),
        ("?s text:query 'REMBR*'", ["r", "v", "x"]),
        ("?s text:query 'durer'", ["d"]),
        ("?s text:query 'DÜRER'", ["d"]),
        ("?s text:query 'Du\u0308rer'", ["d"]),
        ("?s text:query '\"van gogh\"'", ["v"]),
        ("?s text:query '\"gogh van\"'", []),
        ("?s text:query 'painter AND rembrandt'", ["v"]),
        ("?s text:query '+painter -rembrandt'", ["r"]),
        ("?s text:query 'painter NOT (gogh OR rembrandt)'", ["r"]),
        ("?s text:query 'r?jn'", ["r"]),
        ("?s text:query 'van&gogh'", ["v"]),
        ("?s text:query 'gogh|van'", []),
        ("?s text:query 'painter&&rembrandt||nobody'", ["v"]),
        ("?s text:query '1606'", ["x"]),
        ("?s text:query (:label 'rembrandt')", ["r"]),
        ("?s text:query (:label :about 'rembrandt')", ["r", "v"]),
        ("?s text:query (:label 'rembr*' 'lang:nl')", ["r"]),
        ("{ SELECT ?s { (?s ?score) text:query ('rembrandt' 1) FILTER(?score > 1.3) } }", ["r"]),
        ("?s text:query ('van' -1)", ["r", "v"]),
        (f"?s text:query ('van' {'9' * 5_000})", ["r", "v"]),
        ("(?s ?n ?t ?g ?p) text:query 'van'", []),
        ("?s text:query 'van' ; :about ?about", ['r "A Dutch painter"', 'v "painter, not Rembrandt"']),
        (":r text:query 'van'", [""]),
        (":d text:query 'van'", []),
        ("?s :label ?l OPTIONAL { ?s text:query 'painter' BIND(1 AS ?x) } FILTER(!BOUND(?x) && ?s != :x)",
         ['d "Albrecht Dürer"@de None']),
    ],
)  # fmt: skip
def test_patterns(engine: Engine, pattern: str, expected: list[str]) -> None:
    rows = found(engine, pattern)
    assert sorted({*rows}) == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("?s text:query ?t", "takes no variables after it"),
        ("?s text:query (:label)", "takes one search string"),
        ("?s text:query ('a' 'b')", "takes one search string"),
        ("(?s :x) text:query 'a'", "all but the first are variables"),
        ("(?a ?b ?c ?d ?e ?f) text:query 'a'", "has (?s ?score ?literal ?graph ?property) before it"),
        ("?s text:query ''", "needs a word"),
        ("?s text:query '-a'", "besides those that must not be there"),
        ("?s text:query 'a~2'", "means nothing in a search"),
        ("?s text:query 'label:a'", "':' in 'label:a' means nothing in a search"),
        ("?s text:query '(a'", "'(' without its ')'"),
        ("?s text:query 'a)'", "')' without its '('"),
        ("?s text:query '\"a'", "quotation mark"),
        ("?s text:query 'a & b'", "no letter or digit in '&'"),
        ("?s text:query '!!! ...'", "no letter or digit"),
        (f"?s text:query '{'a ' * 31}'", "up to 30 words"),
        ("?s text:query ('a' 'b'^^<http://www.w3.org/2001/XMLSchema#integer>)", "a whole number of literals at most"),
        (f"?s text:query '{'*' * 1000}'", "no letter or digit"),
        (f"?s text:query '{'*' * 30_000}'", "up to 1,000 characters"),
        (f"?s text:query '{'(' * 400}a{')' * 400}'", "up to 100 brackets"),
    ],
)
def test_what_is_refused(embedded: Engine, pattern: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        query(make_graph(embedded, ROWS), f"{TEXT} SELECT * {{ {pattern} }}")


# -- at random --------------------------------------------------------------------------------------------------------


def folded(text: str) -> str:
    parts = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in parts if not unicodedata.combining(c))


def holds(search: Search, text: str) -> bool:
    """Whether a text is found, read word by word."""
    words = re.findall(r"[^\W_]+", folded(text))
    if isinstance(search, Words):
        wanted = [folded(word) for word in search.words]
        places = range(len(words) - len(wanted) + 1)
        return any(all(fnmatchcase(words[i + k], one) for k, one in enumerate(wanted)) for i in places)
    if any(holds(part, text) for part in search.must_not) or not all(holds(part, text) for part in search.must):
        return False
    return bool(search.must) or any(holds(part, text) for part in search.should)


WORDS = ["a", "ab", "Ába", "bé", "be\u0301b", "1b", "ÿ", "ñañ", "q", "B"]


def some_search(rng: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        if kind < 0.2 and depth < 2:
            part = f"({some_search(rng, depth + 1)})"
        elif kind < 0.4:
            part = f'"{" ".join(rng.choices(WORDS, k=rng.randint(1, 3)))}"'
        elif kind < 0.6:
            part = rng.choice(WORDS) + rng.choice(["*", "?", "*b", "-" + rng.choice(WORDS)])
        else:
            part = rng.choice(WORDS)
        parts.append(rng.choice(["", "", "", "+", "-", "NOT "]) + part)
    return "".join(
        part + (rng.choice([" ", " AND ", " OR "]) if i < len(parts) - 1 else "") for i, part in enumerate(parts)
    )


@pytest.mark.sampled(each=4)
@pytest.mark.parametrize("seed", range(8))
def test_searches_at_random(engine: Engine, seed: int) -> None:
    rng = random.Random(seed)
    texts = sorted({
        "".join(rng.choice(WORDS) + rng.choice([" ", "-", ", ", "_", ". ", ""]) for _ in range(rng.randint(1, 5)))
        for _ in range(60)
    })  # fmt: skip
    graph = make_graph(engine, [(f"<http://e/{n}>", LABEL, f'"{text}"') for n, text in enumerate(texts)])
    asked = 0
    while asked < 12:
        text = some_search(rng)
        try:
            search = parsed(text)
        except UsageError:
            continue  # all of it must not be there
        asked += 1
        quoted = text.replace('"', '\\"')
        rows = query(graph, f'{TEXT} SELECT ?s {{ ?s text:query "{quoted}" }}').tokens()
        numbers = sorted(int(str(s).removeprefix("<http://e/").rstrip(">")) for (s,) in rows)
        assert numbers == [n for n, one in enumerate(texts) if holds(search, one)], (text, search)


def test_clauses() -> None:
    a, b, c = (Words((name,)) for name in "abc")
    assert parsed("a b AND c") == Clauses((b, c), (a,), ())
    assert parsed("a OR b") == parsed("a b") == parsed("a || b") == Clauses((), (a, b), ())
    assert parsed("a && !b") == Clauses((a,), (), (b,))
    assert parsed("a-b") == Clauses((), (Words(("a", "b")),), ())


@pytest.mark.long_on_spark
def test_store(make_store: MakeStore) -> None:
    from rdflib import RDFS, Literal, URIRef
    from rdflib.namespace import OWL

    a, b, c = (URIRef(f"http://e/{name}") for name in "abc")
    store = make_store(
        add=[
            (a, RDFS.label, Literal("Red house")),
            (a, RDFS.comment, Literal("A house that is red, and was a red house before")),
            (b, RDFS.label, Literal("house", "en")),
            (c, RDFS.label, Literal("Haus", "de")),
            (c, OWL.sameAs, b),
        ]
    )
    hits = store.search("house")
    assert [(hit.term, hit.text) for hit in hits] == [("<http://e/b>", '"house"@en'), ("<http://e/a>", '"Red house"')]
    assert hits[0].as_dict()["property"] == f"<{RDFS.label}>"
    assert hits[0].score > hits[1].score > 1
    assert [hit.term for hit in store.search("house", 1)] == ["<http://e/b>"]
    assert [hit.term for hit in store.search("house", properties=[RDFS.comment])] == ["<http://e/a>"]
    assert [hit.text for hit in store.search("hau* house", language="de")] == ['"Haus"@de']
    store.update(add=[(c, RDFS.label, Literal("Hütte"))])
    assert [hit.term for hit in store.search("hutte")] == ["<http://e/b>"]
    assert store.search("nowhere") == []
    with pytest.raises(UsageError, match=r"^the search needs a word"):
        store.search(" ")
