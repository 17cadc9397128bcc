"""Documents nested or expanded without bound: refused with the place before a parser's stack or memory is gone."""

from __future__ import annotations

import io
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.cli import spawn
from triplake.loaders import Source, Syntax, bounds, quads_of
from triplake.loaders.bounds import JSON_DEPTH, Json, Turtle, check_terms
from triplake.loaders.rdfxml import XML_DEPTH, Xml
from triplake.rulesets import datalog
from triplestore.model.errors import InputError
from triplestore.model.legal_terms import TERM_DEPTH
from triplestore.read.reasoning import ruleset_text

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'
PREFIX = "@prefix : <http://e/> .\n"


def xml(depth: int) -> str:
    """A chain of nodes, `depth` elements deep with the root."""
    half = (depth - 1) // 2
    return f"<rdf:RDF {RDF}>\n" + "<e:C><e:p>" * half + "</e:p></e:C>" * half + "</rdf:RDF>"


def collections(depth: int) -> str:
    return f"<rdf:RDF {RDF}>" + '<e:C><e:p rdf:parseType="Collection">' * depth + "</e:p></e:C>" * depth + "</rdf:RDF>"


def array(depth: int) -> str:
    return '{"@id": "urn:s",\n"urn:p": ' + "[" * (depth - 1) + "1" + "]" * (depth - 1) + "}"


def objects(depth: int) -> str:
    return '{"urn:p": ' * depth + "1" + "}" * depth


def term(depth: int) -> str:
    return "<urn:s> <urn:p> " + "<<( <urn:s> <urn:p> " * depth + "<urn:o> " + ")>> " * depth + "."


def parsed(folder: Path, syntax: Syntax, text: str | bytes) -> int:
    path = folder / "document"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return len(quads_of(Source(str(path), syntax, "document"), 1))


DEEP: dict[str, tuple[Syntax, Callable[[int], str], int]] = {
    "arrays": (Syntax.JSONLD, array, JSON_DEPTH),
    "objects": (Syntax.JSONLD, objects, JSON_DEPTH),
    "nodes": (Syntax.RDFXML, xml, XML_DEPTH - 1),
}


@pytest.mark.parametrize("kind", DEEP)
def test_depth_is_bounded_exactly(tmp_path: Path, kind: str) -> None:
    syntax, text, most = DEEP[kind]
    assert parsed(tmp_path, syntax, text(most)) > 0
    for depth in (most + 2, 10_000, 100_000):
        began = time.monotonic()
        with pytest.raises(InputError, match=r"document:[12]:\d+: .* nest deeper than .* levels"):
            parsed(tmp_path, syntax, text(depth))
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("syntax", [Syntax.TURTLE, Syntax.TRIG, Syntax.NTRIPLES, Syntax.NQUADS], ids=str)
def test_deep_triple_terms(tmp_path: Path, syntax: Syntax) -> None:
    for depth in (1, TERM_DEPTH):
        assert parsed(tmp_path, syntax, term(depth)) == 1
    with pytest.raises(InputError, match=r"document:2:\d+: triple terms nest deeper than 100 levels"):
        parsed(tmp_path, syntax, "<urn:a> <urn:b> <urn:c> .\n" + term(100_000))


HIDING = ("<urn:x#(1)>", "<urn:x(1)>", ":x\\#", ":x\\'", ":x\\(", '"\'#"', "'<'")


WORDS = [
    *["<<("] * 9,
    *[")>>"] * 4,
    "<a:b#(>",
    "<a:b>",
    "'",
    '"',
    '"""',
    "\\",
    "\\'",
    "#",
    " ",
    " ",
    "\n",
    "é",
    ":x",
    "( ",
]


def test_a_scan_for_triple_terms_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever its blocks end."""
    dice = random.Random(7)

    def told(text: bytes, block: int) -> str:
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.block", block)
        try:
            check_terms(io.BytesIO(text), "x")
        except InputError as error:
            return str(error)
        return ""

    monkeypatch.setattr(bounds, "TERM_DEPTH", 2)
    deep = 0
    for _ in range(400):
        text = "".join(dice.choices(WORDS, k=dice.randrange(60))).encode()
        whole = told(text, 1 << 20)
        deep += whole != ""
        assert {told(text, dice.choice([1, 2, 3, 5, 20])) for _ in range(3)} == {whole}, text
    assert 50 < deep < 350


def test_a_scan_for_triple_terms_takes_little_memory() -> None:
    line = b'<a:b> <a:b> <<( <a:b> <a:b> "x" )>> . # ' + b"x " * 500 + b"\n"
    for text in (line * 40_000, b"# " + b"x " * 20_000_000):
        file = io.BytesIO(text)
        tracemalloc.start()
        try:
            check_terms(file, "x")
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()
    with pytest.raises(InputError, match="16 MiB"):
        check_terms(io.BytesIO(b'<a:b> """' + b"x " * 20_000_000), "x")


@pytest.mark.parametrize("odd", HIDING)
def test_nothing_hides_triple_terms_or_makes_up_any(tmp_path: Path, odd: str) -> None:
    """Objects with marks of other things are before terms too deep, and in terms of one level."""
    with pytest.raises(InputError, match="triple terms nest deeper than 100 levels"):
        parsed(tmp_path, Syntax.TURTLE, f"{PREFIX}:s :p {odd} . {term(100_000)}")
    flat = "".join(f":s{i} :p <<( :s :p {odd} )>> .\n" for i in range(2 * TERM_DEPTH))
    assert parsed(tmp_path, Syntax.TURTLE, PREFIX + flat) == 2 * TERM_DEPTH
    if odd[0] in "<:":
        closing = "".join(f":s{i} :p << :s :p {odd}>> .\n" for i in range(2 * TERM_DEPTH))
        with pytest.raises(InputError, match="triple terms nest deeper than 100 levels"):
            parsed(tmp_path, Syntax.TURTLE, f"{PREFIX}{closing} {term(100_000)}")


def test_turtle_nests_as_it_likes(tmp_path: Path) -> None:
    n = 20_000
    assert parsed(tmp_path, Syntax.TURTLE, PREFIX + ":s :p " + "(" * n + ")" * n + " .") == 2 * n - 1
    assert parsed(tmp_path, Syntax.TRIG, PREFIX + ":g { :s :p " + "[ :p " * n + ":o" + "]" * n + " }") == n + 1
    shifts = " ".join(f"cout <<(x{i})" for i in range(500))
    assert parsed(tmp_path, Syntax.TURTLE, f"{PREFIX}:s :p '''{shifts}''', \"{shifts}\" . # {shifts}\n") == 2
    assert parsed(tmp_path, Syntax.NTRIPLES, f'<urn:s> <urn:p> "{shifts}" .') == 1


def test_the_process_lives(tmp_path: Path) -> None:
    """What ended it (a native stack that overflows) is an error with its place."""
    (tmp_path / "deep.jsonld").write_text(objects(10_000))
    outcome = spawn("load", tmp_path / "store", tmp_path / "deep.jsonld")
    assert (outcome.code, "deep.jsonld:1:2501: arrays and objects nest deeper than 250" in outcome.err) == (3, True)
    (tmp_path / "collections.rdf").write_text(collections(100_000))
    outcome = spawn("load", tmp_path / "store", tmp_path / "collections.rdf")
    assert (outcome.code, "elements nest deeper than 1,000" in outcome.err) == (3, True), outcome


def doctype(declared: str, text: str) -> str:
    body = f'<e:C rdf:about="http://e/x"><e:p>{text}</e:p></e:C>'
    return f'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [\n{declared}\n]>\n<rdf:RDF {RDF}>{body}</rdf:RDF>'


def laughs(levels: int, width: int = 10) -> str:
    own = "\n".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * width}">' for i in range(levels))
    return f'<!ENTITY l0 "ha! ha! ha">\n{own}'


def test_entities_are_bounded(tmp_path: Path) -> None:
    assert parsed(tmp_path, Syntax.RDFXML, doctype(laughs(3), "&l3;&l3;")) == 2
    bombs = {
        "levels": (doctype(laughs(8), "&l8;"), r"document:7:13: the entity l4 would expand to more than 64 KiB"),
        "declared": (
            doctype("\n".join(f'<!ENTITY a{i} "{"x" * 60_000}">' for i in range(100)), "&a1;"),
            r"document:20:14: its entities would expand to more than 1,024 KiB",
        ),
        "uses": (
            doctype(f'<!ENTITY a "{"x" * 60_000}">', "&a;" * 100_000),
            "expand the document more than 32 times",
        ),
        "attribute": (
            doctype(laughs(3), "x").replace("e:p>x", f'e:p e:q="{"&l3;" * 10_000}">x'),
            "expand the document more than 32 times",
        ),
    }
    for text, message in bombs.values():
        began = time.monotonic()
        with pytest.raises(InputError, match=message):
            parsed(tmp_path, Syntax.RDFXML, text)
        assert time.monotonic() - began < 3


def test_ordinary_entities_pass(tmp_path: Path) -> None:
    """Those of ontologies: names of namespaces, used everywhere."""
    declared = '<!ENTITY owl "http://www.w3.org/2002/07/owl#">\n<!ENTITY e "http://e/">'
    nodes = "".join(f'<e:C rdf:about="&e;{i}"><e:p rdf:resource="&owl;Thing"/></e:C>' for i in range(5_000))
    text = doctype(declared, "x").replace("</rdf:RDF>", nodes + "</rdf:RDF>")
    assert parsed(tmp_path, Syntax.RDFXML, text) == 10_002


@pytest.mark.parametrize("odd", ["<!-- </a></a> <b> -->", "<![CDATA[</a><b>]]>", "<?pi </a> <b> ?>", "&lt;/a>"])
def test_what_only_looks_like_tags(tmp_path: Path, odd: str) -> None:
    """Comments and the like neither hide depth nor make it up."""
    flat = "".join(f'<e:C rdf:about="http://e/{i}"><e:p>{odd}</e:p></e:C>' for i in range(2_000))
    assert parsed(tmp_path, Syntax.RDFXML, f"<rdf:RDF {RDF}>{flat}</rdf:RDF>") == 4_000
    hiding = xml(2_000).replace("\n", "\n" + "<!-- </a></a></a> -->" * 2_000)
    with pytest.raises(InputError, match="elements nest deeper"):
        parsed(tmp_path, Syntax.RDFXML, hiding)


def scan(kind: type[Json] | type[Xml] | type[Turtle], text: bytes, cuts: list[int]) -> str:
    """What a scan in these pieces says, or else what it hands on, which of all but XML must be the text as it is."""

    class Pieces(io.RawIOBase):
        at = 0

        def read(self, size: int = -1) -> bytes:
            end = next((cut for cut in cuts if cut > self.at), len(text))
            part, self.at = text[self.at : end], end
            return part

    pieces = Pieces()
    again = lambda: nullcontext(io.BytesIO(text))  # noqa: E731
    stream = Turtle(pieces, "x", again) if kind is Turtle else kind(pieces, "x")  # type: ignore[arg-type, call-arg]
    out = b""
    try:
        while part := stream.read(2048):
            out += part
    except InputError as error:
        return str(error)
    if kind is Xml:
        return out.decode()
    assert out == text
    return ""


def test_blocks_may_end_anywhere() -> None:
    """A scan says the same however its input is cut, and what a plain count says."""
    dice = random.Random(5)
    words = ['"', "\\", '\\"', "[", "]", "{", "}", "\n", "a", "é"]
    for _ in range(60):
        strings = ["".join(dice.choices(words, k=dice.randrange(6))) for _ in range(20)]
        depth = dice.choice([3, JSON_DEPTH - 2, JSON_DEPTH + 2])
        text = json.dumps([strings, *strings], indent=dice.choice([None, 1]), ensure_ascii=False)
        whole = ("[\n" * depth + text + "]" * depth).encode()
        cuts = sorted(dice.sample(range(1, len(whole)), 30))
        deep = depth + 2 > JSON_DEPTH
        told = f"x:{JSON_DEPTH + 1}:1: arrays and objects nest deeper than 250 levels, the most that is read"
        assert scan(Json, whole, cuts) == scan(Json, whole, []) == (told if deep else "")
    for text in (xml(500), xml(5_000), doctype(laughs(3), "&l3;"), doctype(laughs(6), "&l3;")):
        whole = text.encode()
        for _ in range(10):
            cuts = sorted(dice.sample(range(1, len(whole)), 30))
            assert scan(Xml, whole, cuts) == scan(Xml, whole, [])
    whole = term(TERM_DEPTH + 1).encode()
    assert "deeper" in scan(Turtle, whole, list(range(1, len(whole))))


NESTED_RULES = {
    "parentheses": lambda n: f"BIND({'(' * n}?y{')' * n} AS ?z)",
    "functions": lambda n: f"BIND({'ABS(' * n}?y{')' * n} AS ?z)",
    "signs": lambda n: f"BIND({'- ' * n}?y AS ?z)",
    "groups": lambda n: f"{'NOT (' * n}[?x, :q, ?y]{')' * n}, BIND(?y AS ?z)",
    "aggregates": lambda n: f"{'AGGREGATE(' * n}[?x, :q, ?w] ON ?x BIND COUNT(?w) AS ?z{')' * n}",
    "sums": lambda n: f"BIND(?y{' + 1' * n} AS ?z)",
    "differences": lambda n: f"BIND(?y{' -1' * n} AS ?z)",
    "products": lambda n: f"BIND(?y{' * 1' * n} AS ?z)",
}


@pytest.mark.parametrize("kind", NESTED_RULES)
def test_rules_nest_within_bounds(kind: str) -> None:
    """A rule too deep for its parser is refused with the place; one within the bounds goes there and back."""
    text = "PREFIX : <http://e/>\n@rule r\n[?x, :q, ?z] :- [?x, :p, ?y],\n{} ."
    most = {"groups": 1, "aggregates": 1, "sums": 100, "differences": 100, "products": 100}.get(kind, 50)
    rules = datalog.parse(text.format(NESTED_RULES[kind](most)), "r.dlog")
    if most < 100 and kind != "signs":  # written with parentheses as well
        assert datalog.parse(datalog.render(rules[0]), "r.dlog")[0].body == rules[0].body
    for n in (most + 60, 100_000):
        with pytest.raises(InputError, match=r"r.dlog:4:\d+: .*(nest deeper than 50 levels|more than 100 operators)"):
            datalog.parse(text.format(NESTED_RULES[kind](n)), "r.dlog")


def test_swrl_is_bounded_as_data(tmp_path: Path) -> None:
    (tmp_path / "rules.jsonld").write_text(objects(10_000))
    with pytest.raises(InputError, match=r"rules.jsonld:1:2501: .* nest deeper"):
        ruleset_text(str(tmp_path / "rules.jsonld"))
