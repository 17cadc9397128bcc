"""Texts that commands read: with a byte order mark, from standard input, and what is no UTF-8."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import done, refused

ASK = "ASK { <urn:a> <urn:q> <urn:b> }"
TEXTS = {
    "rules.dlog": r'[?x, <urn:q>, ?y], [?x, <urn:r>, "a\"b\n\\"@en--ltr] :- [?x, <urn:p>, ?y] .',
    "rules.rq": "CONSTRUCT { ?x <urn:q> ?y }\r\nWHERE { ?x <urn:p> ?y }",
    "rules.ttl": """@prefix : <http://www.w3.org/2003/11/swrl#> .
        <urn:x> a :Variable . <urn:y> a :Variable .
        [] a :Imp ; :head ([ a :IndividualPropertyAtom ; :propertyPredicate <urn:q> ; :argument1 <urn:x> ;
                             :argument2 <urn:y> ]) ;
                    :body ([ a :IndividualPropertyAtom ; :propertyPredicate <urn:p> ; :argument1 <urn:x> ;
                             :argument2 <urn:y> ]) .""",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.nt").write_text("<urn:a> <urn:p> <urn:b> .\n")


@pytest.mark.parametrize("name", TEXTS)
def test_a_byte_order_mark(name: str) -> None:
    Path(name).write_text(f"\ufeff{TEXTS[name]}", encoding="utf-8")
    done("load", "kg", "x.nt", "--rules", name)
    Path("ask.rq").write_text(f"\ufeff{ASK}", encoding="utf-8")
    assert done("query", "kg", "-f", "ask.rq") == "yes\n"
    assert done("query", "kg", "-f", "-", stdin=f"\ufeff{ASK}".encode()) == "yes\n"
    Path("server.toml").write_text("\ufeffprot = 1\n", encoding="utf-8")
    refused(2, "serve", "kg", "--config", "server.toml", says="there is no option prot; did you mean port")


def test_what_is_no_utf8() -> None:
    done("load", "kg", "x.nt")
    Path("ask.rq").write_bytes(b"ASK { ?x ?p 'caf\xe9' }")
    refused(2, "query", "kg", "-f", "ask.rq", says="ask.rq: not UTF-8 text")
    refused(2, "query", "kg", "-f", "-", says="-: not UTF-8 text", stdin=Path("ask.rq").read_bytes())


@pytest.mark.parametrize(
    "term",
    [r"<http://e/\u0020x>", r"<http://e/\u003e\u003cx>", '"x"@abcdefghi', r'"x"^^<http://e/\u000ax>'],
    ids=["a space", "brackets", "a language", "a datatype"],
)
def test_terms_that_no_format_can_hold(term: str) -> None:
    """They would be in the store, and in exports that nobody can read."""
    Path("rules.dlog").write_text(f"@rule odd\n[?x, <urn:q>, {term}] :- [?x, <urn:p>, ?y] .\n")
    refused(3, "init", "kg", "--rules", "rules.dlog", says="rules.dlog:2: rule odd: '.*' is not a legal term of RDF")
