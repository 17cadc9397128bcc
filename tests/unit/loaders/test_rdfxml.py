"""RDF/XML: only what is well-formed is read, and read as XML 1.0 says."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.cli import run
from tests.support.seeds import seeds
from triplake.loaders import Source, Syntax, quads_of
from triplestore.model.errors import InputError
from triplestore.model.terms import resolve

XML = "{http://www.w3.org/XML/1998/namespace}"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
ROOT = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/">'


def objects(folder: Path, text: str | bytes) -> list[str]:
    """The objects of a document, in order."""
    path = folder / "x.rdf"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return [quad[2] for quad in quads_of(Source(str(path), Syntax.RDFXML, "x.rdf"), 1)]


def node(inside: str) -> str:
    return f'{ROOT}<rdf:Description rdf:about="http://e/x">{inside}</rdf:Description></rdf:RDF>'


WHOLE = f'{ROOT}\n<e:C rdf:about="http://e/x">\n<e:p>text</e:p>\n</e:C>\n</rdf:RDF>'


@pytest.mark.parametrize("end", range(len(ROOT) - 1, len(WHOLE) - 1, 3))
def test_a_document_that_is_cut_short_is_refused(tmp_path: Path, end: int) -> None:
    with pytest.raises(InputError, match=r"^x\.rdf:\d+:\d+: not well-formed XML: (no element found|unclosed token)"):
        objects(tmp_path, WHOLE[:end])


def test_load_ends_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "x.rdf").write_text(WHOLE.removesuffix("</rdf:RDF>"))
    outcome = run("load", tmp_path / "kg", tmp_path / "x.rdf")
    assert outcome.code == 3
    assert "x.rdf:5:1: not well-formed XML: no element found" in outcome.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (node("") + node(""), "1:{end}: not well-formed XML: junk after document element"),
        (node("<e:p>&#1;</e:p>"), "reference to invalid character number"),
        (node("<e:p>a]]>b</e:p>"), "not well-formed XML"),
        (node('<e:p rdf:ID="a"rdf:resource="b"/>'), "not well-formed XML"),
        (node("<e:p>&no;</e:p>"), "undefined entity"),
        (node("<e:\u1780/>"), "not well-formed XML"),
        ("", "1:1: not well-formed XML: no element found"),
    ],
)
def test_what_is_not_well_formed_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        objects(tmp_path, text)
    assert says.format(end=len(node("")) + 1) in str(caught.value)


def test_the_first_fault_is_named(tmp_path: Path) -> None:
    """Of RDF before one of XML, with the line that it has in the file."""
    text = node("\n<e:p>a<!--\n\n--></e:p>\n <e:q rdf:ID='a b'/>\n<e:r>")
    with pytest.raises(InputError, match=r"x\.rdf:5:2: a b is not a valid rdf:ID value"):
        objects(tmp_path, text)


def test_line_ends_are_those_of_xml(tmp_path: Path) -> None:
    text = node("<e:p>a\r\nb\rc\nd&#13;e</e:p>").encode()
    assert objects(tmp_path, text) == ['"a\nb\nc\nd\re"']
    assert objects(tmp_path, node('<e:p e:q="a\r\nb\tc&#10;d&#9;e"/>').encode())[0] == '"a b c\nd\te"'


def test_text_may_be_in_pieces(tmp_path: Path) -> None:
    text = "a<!-- <b> -->b<![CDATA[<&]]>c<?pi d?>&lt;d"
    assert objects(tmp_path, node(f"<e:p>{text}</e:p>")) == ['"ab<&c<d"']
    (literal,) = objects(tmp_path, node(f'<e:p rdf:parseType="Literal">{text}<f g="&quot;&lt;"/>"&gt;</e:p>'))
    assert literal.startswith('"ab&lt;&amp;c&lt;d<f g="&quot;&lt;"')
    assert literal.endswith(f'</f>&quot;&gt;"^^<{RDF}XMLLiteral>')


def test_no_language(tmp_path: Path) -> None:
    """An empty one is none, but for where it would end another, which is refused."""
    assert objects(tmp_path, node('<e:p xml:lang="">a</e:p><e:q xml:lang="en">b</e:q><e:r xml:lang="">c</e:r>')) == [
        '"a"',
        '"b"@en',
        '"c"',
    ]
    with pytest.raises(InputError, match="language tag"):
        objects(tmp_path, node('<e:D xml:lang="en"><e:p xml:lang="">a</e:p></e:D>'))


@pytest.mark.parametrize("encoding", ["US-ASCII", "ISO-8859-1", "windows-1252", "UTF-16", "utf-8"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    value = "e" if encoding == "US-ASCII" else "é"
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n' + node(f"<e:p>{value}</e:p>")
    assert objects(tmp_path, text.encode(encoding)) == [f'"{value}"']


@pytest.mark.parametrize("encoding", ["Shift_JIS", "EUC-JP", "GBK", "GB18030", "Big5", "iso-2022-jp", "utf-7"])
def test_encodings_of_many_bytes(tmp_path: Path, encoding: str) -> None:
    """A character may be in two blocks, and what is wrong has its place."""
    head = f'<?xml version="1.0" encoding="{encoding}" standalone="yes"?>\n'
    for value in ("日本", "日" * 600_000, "a" + "日" * 600_000):
        assert objects(tmp_path, head.encode() + node(f"<e:p>{value}</e:p>").encode(encoding)) == [f'"{value}"']
    with pytest.raises(InputError, match=r"x\.rdf:3:2: a b is not a valid rdf:ID value"):
        objects(tmp_path, head.encode() + node('<e:p>日本</e:p>\n <e:q rdf:ID="a b"/>').encode(encoding))


@pytest.mark.parametrize("encoding", ["foo", "idna", "punycode", "undefined", "base64", "utf-32", "cp037"])
def test_encodings_that_are_not_read(tmp_path: Path, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n' + node("<e:p>a</e:p>")
    with pytest.raises(InputError, match=rf"^x\.rdf:1:1: .*{encoding}"):
        objects(tmp_path, text)
    outcome = run("load", tmp_path / "kg", tmp_path / "x.rdf", "--on-error", "skip")
    assert outcome.code == 3


def test_text_that_is_not_in_its_encoding(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="Shift_JIS"?>\n' + node("\n<e:p>日@</e:p>")
    with pytest.raises(InputError, match=r"^x\.rdf:3:7: the text is not Shift_JIS"):
        objects(tmp_path, text.encode("Shift_JIS").replace(b"@", b"\xff"))


def test_entities(tmp_path: Path) -> None:
    """The first of two declarations holds; one that is elsewhere, or is used before it, is not read."""

    def declared(inside: str, text: str, system: str = "") -> list[str]:
        return objects(tmp_path, f"<!DOCTYPE rdf:RDF {system} [{inside}]>{node(text)}")

    assert declared('<!ENTITY a "1"><!ENTITY a "2">', "<e:p>&a;</e:p>") == ['"1"']
    assert declared("<!ENTITY a '<e:p>1</e:p>'>", "&a;") == ['"1"']
    assert declared("", "<e:p>&amp;</e:p>", 'SYSTEM "x.dtd"') == ['"&"']
    for text in ("<e:p>&a;</e:p>", '<e:p e:q="&a;"/>'):
        with pytest.raises(InputError, match="the entity a is not declared in the document"):
            declared("", text, 'SYSTEM "x.dtd"')
    secret = tmp_path / "secret"
    secret.write_text("read")
    external = f'<!ENTITY a SYSTEM "{secret.as_uri()}">'
    assert declared(external, "<e:p>1</e:p>") == ['"1"']
    for text in ("<e:p>1&a;2</e:p>", '<e:p e:q="&a;"/>'):
        with pytest.raises(InputError, match=r"the entity a is not declared in the document|external entity"):
            declared(external, text)
        with pytest.raises(InputError, match="the entity a is not declared in the document"):
            declared(f'<!ENTITY % b SYSTEM "{secret.as_uri()}">%b;<!ENTITY a "1">', text)
    with pytest.raises(InputError, match="binary entity"):
        declared(f'<!NOTATION n SYSTEM "n">{external.removesuffix(">")} NDATA n>', "<e:p>&a;</e:p>")
    with pytest.raises(InputError, match="the entity a uses b, which is not declared before it"):
        declared('<!ENTITY a "&b;"><!ENTITY b "1">', "<e:p>&a;</e:p>")


BASES = ["", "a/", "b", "../c/", "./", "/d/e", "?q=1", "#f", "//other/x/", "http://far/y/z?w#v", "urn:x:y"]


def based(rng: random.Random, depth: int = 0) -> str:
    """Nested elements, some with a base; references to resolve against those in scope."""
    base = f' xml:base="{rng.choice(BASES)}"' if rng.random() < 0.6 else ""
    value = f' xml:base="{rng.choice(BASES)}"' if rng.random() < 0.3 else ""
    name = rng.choice([f'rdf:about="{rng.choice(BASES)}"', f'rdf:ID="i{rng.randrange(10**9)}"', 'rdf:about="n"'])
    inside = based(rng, depth + 1) if depth < 4 else ""
    last = f'<e:p{value} rdf:resource="{rng.choice(BASES)}"/>'
    return (
        f"<rdf:Description{base} {name}><e:q>{inside}</e:q>{last}</rdf:Description>"
        if inside
        else (f"<rdf:Description{base} {name}>{last}</rdf:Description>")
    )


@pytest.mark.parametrize("seed", seeds(range(300), 60))
def test_bases_are_resolved_against_those_in_scope(seed: int) -> None:
    """As a resolver of references finds them on the way down: an independent reader of the same elements."""
    rng = random.Random(seed)
    outer = rng.choice(["http://host/dir/file", "file:///home/x.rdf", "http://host", "http://host/a/?k=v#g"])
    root = rng.choice(["", ' xml:base=""', ' xml:base="sub/"', ' xml:base="http://root/r"'])
    text = f"{ROOT.removesuffix('>')}{root}>{based(rng)}</rdf:RDF>"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.rdf")
        path.write_text(text, encoding="utf-8")
        source = Source(str(path), Syntax.RDFXML, "x.rdf", base=outer)
        found = {(quad[0], quad[2]) for quad in quads_of(source, 1) if quad[1] == "<http://e/p>"}
    wanted = set()

    def read(element: ElementTree.Element, base: str) -> None:
        base = resolve(element.get(f"{XML}base", ""), base) if f"{XML}base" in element.attrib else base
        about, name = element.get(f"{{{RDF}}}about"), element.get(f"{{{RDF}}}ID")
        for child in element:
            within = resolve(child.get(f"{XML}base", ""), base) if f"{XML}base" in child.attrib else base
            if (resource := child.get(f"{{{RDF}}}resource")) is not None:
                subject = resolve(f"#{name}" if about is None else about, base)
                wanted.add((f"<{subject}>", f"<{resolve(resource, within)}>"))
            for grandchild in child:
                read(grandchild, within)

    document = ElementTree.fromstring(text)
    start = resolve(document.get(f"{XML}base", ""), outer) if f"{XML}base" in document.attrib else outer
    for top in document:
        read(top, start)
    assert found == wanted


def test_a_relative_base_without_one_to_resolve_it_against(tmp_path: Path) -> None:
    path = tmp_path / "x.rdf"
    for base in ("", "a/"):
        path.write_text(f'{ROOT.removesuffix(">")} xml:base="{base}">{node("<e:p>1</e:p>")[len(ROOT) :]}')
        source = Source(str(path), Syntax.RDFXML, "x.rdf", base="")
        if not base:
            assert [quad[2] for quad in quads_of(source, 1)] == ['"1"']
            continue
        with pytest.raises(InputError, match=r"^x\.rdf:1:1: the base 'a/' is relative, and there is none"):
            list(quads_of(source, 1))


def test_an_empty_base_in_a_load(tmp_path: Path) -> None:
    (tmp_path / "x.rdf").write_text(f'{ROOT.removesuffix(">")} xml:base="">{node("<e:p>1</e:p>")[len(ROOT) :]}')
    assert run("load", tmp_path / "kg", tmp_path / "x.rdf").code == 0
