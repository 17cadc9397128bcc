"""Canonical XML against the standard library's, and where that is wrong."""

from __future__ import annotations

from random import Random
from xml.etree.ElementTree import canonicalize

import pytest

from triplestore.dictionary.xml_literals import canonical_xml


def random_element(rng: Random, depth: int, scope: frozenset[str] = frozenset()) -> str:
    """An element. Each prefix has namespaces of its own: of two prefixes the standard library takes any."""
    declared = [prefix for prefix in ("", "p", "q") if rng.random() < 0.3]
    scope |= set(declared)
    texts = [f' xmlns{":" * bool(prefix)}{prefix}="u:{prefix}{rng.randrange(2)}"' for prefix in declared]
    prefixes = [f"{prefix}:" for prefix in sorted(scope - {""})] + [""]
    for number in range(rng.randrange(3)):
        quote = rng.choice("\"'")
        texts.append(f" {rng.choice(prefixes)}a{number}={quote}{rng.choice(['1', '&lt;', 'x&#10;>', ' '])}{quote}")
    rng.shuffle(texts)
    inside = ""
    for _ in range(rng.randrange(4)):
        leaf = rng.choice(["t", "<!--c-->", "&lt;&#13;", "<![CDATA[<&]]>", "<?pi x?>", "<?pi?>", "é"])
        inside += leaf if depth == 0 or rng.random() < 0.3 else random_element(rng, depth - 1, scope)
    name = rng.choice(prefixes) + "e"
    return f"<{name}{''.join(texts)} >{inside}</{name}>"


def test_random_elements() -> None:
    for seed in range(500):
        text = random_element(Random(seed), 3)
        wanted = canonicalize(f"<r>{text}</r>", with_comments=True)[3:-4]
        assert canonical_xml(text) == wanted, seed
        assert canonical_xml(wanted) == wanted


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("<a/><b c=\"1\"  a='2'/>", '<a></a><b a="2" c="1"></b>'),
        ('<e xmlns="u"/><q:e xmlns:q="u" xmlns="v" q:a=""/>', '<e xmlns="u"></e><q:e xmlns:q="u" q:a=""></q:e>'),
        ('<e xmlns="u"><e xmlns=""/></e>', '<e xmlns="u"><e xmlns=""></e></e>'),
        ('<e xml:lang="en" xmlns:p="u"/>', '<e xml:lang="en"></e>'),
        ('<e p:a=""/>', None),
        ('<e xmlns:p="u" xmlns:q="u" p:a="" q:a=""/>', None),
        ("<e>&x;</e>", None),
        ("</r><r>", None),
    ],
)
def test_namespaces(text: str, canonical: str | None) -> None:
    assert canonical_xml(text) == canonical


def test_deep_elements_are_canonical_too() -> None:
    """However deep, and however many namespaces: it takes a time for each element that does not depend on those around
    it."""
    depth = 20_000
    text = "".join(f"<e xmlns='u:{n}' a=''>" for n in range(depth)) + "</e>" * depth
    assert canonical_xml(text) == text.replace("'", '"')
