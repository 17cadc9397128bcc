"""Chains and classes of equal terms as text, JSON and DOT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from triplestore.model.report import JsonObject
from triplestore.model.terms import to_ntriples
from triplestore.proof.cuts import Cut
from triplestore.proof.proof import ASSERTED, Proof
from triplestore.proof.text import Write, as_json, by, line, quoted, text
from triplestore.proof.why_same import Bridge, Chain, EqualityClass, Link


def chain_text(chain: Chain, write: Write) -> Iterator[str]:
    """The links in order, what each rests on below it."""
    count = len(chain.links)
    if not count:
        yield f"{write(chain.left)} and {write(chain.right)} are the same term"
        return
    yield f"{write(chain.left)} = {write(chain.right)}, by {count:,} link{'s' if count != 1 else ''}"
    for number, link in enumerate(chain.links, 1):
        yield from _link_text(link, f"{number}. ", write)


def class_text(found: EqualityClass, write: Write, most: int) -> Iterator[str]:
    """The members (up to `most`), the links by rule, and the bridges with what they rest on."""
    yield f"{len(found.tokens):,} terms are one"
    for token in found.tokens[:most]:
        yield f"  {write(token)}"
    if len(found.tokens) > most:
        yield f"  ... and {len(found.tokens) - most:,} more"
    yield "links:"
    for rule, count in found.links.items():
        yield f"  {count:,} {rule}"
    if not found.bridge_count:
        yield "no link alone holds the class together"
        return
    yield f"bridges, without which the class falls apart: {found.bridge_count:,}"
    for number, bridge in enumerate(found.bridges, 1):
        yield from _link_text(bridge.link, f"{number}. ", write, _parts(bridge, write))
    if found.bridge_count > len(found.bridges):
        yield f"... and {found.bridge_count - len(found.bridges):,} more"


def cuts_text(cuts: Sequence[Cut], write: Write) -> Iterator[str]:
    """The cuts in order, each with its links and what these rest on."""
    for number, cut in enumerate(cuts, 1):
        count = len(cut.links)
        yield f"{number}. without {count:,} link{'s' if count != 1 else ''}, {cut.bits:.1f} bits"
        for link in cut.links:
            yield from (f"   {row}" for row in _link_text(link, "", write))


def cuts_json(cuts: Sequence[Cut]) -> list[JsonObject]:
    """The cuts: what speaks against each, and its links."""
    return [{"bits": round(cut.bits, 2), "links": [_link_json(link) for link in cut.links]} for cut in cuts]


def chain_json(chain: Chain) -> dict[str, Any]:
    """The chain: its ends, and its links in order."""
    return {
        "left": to_ntriples(chain.left),
        "right": to_ntriples(chain.right),
        "links": [_link_json(link) for link in chain.links],
    }


def class_json(found: EqualityClass) -> dict[str, Any]:
    """The class: members, numbers of links by rule, bridges."""
    return {
        "members": [to_ntriples(token) for token in found.tokens],
        "links": dict(found.links),
        "bridge_count": found.bridge_count,
        "bridges": [
            {
                **_link_json(bridge.link),
                "left_members": bridge.left,
                "right_members": bridge.right,
                "shared_by": bridge.shared,
            }
            for bridge in found.bridges
        ],
    }


def chain_dot(chain: Chain, write: Write) -> Iterator[str]:
    """The chain for Graphviz: terms, the rule of each link between them, and the asserted triples behind it."""
    yield from _dot([chain.left, chain.right], [(link, link.by) for link in chain.links], write)


def class_dot(found: EqualityClass, write: Write) -> Iterator[str]:
    """The bridges for Graphviz, each with the numbers of members on its sides."""
    yield from _dot([], [(b.link, _parting(b)) for b in found.bridges], write)


def _parts(bridge: Bridge, write: Write) -> str:
    cut = "" if bridge.shared == 2 else f"without {write(bridge.link.left)} among the {bridge.shared:,} that share it, "
    return f": {cut}{bridge.left:,} and {bridge.right:,}"


def _parting(bridge: Bridge) -> str:
    return f"{bridge.link.by}\n{bridge.left:,} | {bridge.right:,}"


def _dot(terms: Sequence[str], links: Sequence[tuple[Link, str]], write: Write) -> Iterator[str]:
    names = [*terms, *(token for link, _ in links for token in (link.left, link.right))]
    places = {token: place for place, token in enumerate(dict.fromkeys(names))}
    facts: dict[tuple[str, str, str], int] = {}
    yield "graph equality {"
    yield "  rankdir=LR; node [fontname=Helvetica];"
    for token, place in places.items():
        yield f"  t{place} [shape=ellipse, label={quoted(write(token))}];"
    for number, (link, label) in enumerate(links):
        yield f"  l{number} [shape=plaintext, label={quoted(label)}];"
        yield f"  t{places[link.left]} -- l{number} -- t{places[link.right]};"
        for fact in link.proof.asserted():
            if link.by == ASSERTED:
                continue
            if fact not in facts:
                facts[fact] = len(facts)
                yield f"  f{facts[fact]} [shape=box, label={quoted(' '.join(map(write, fact)))}];"
            yield f"  f{facts[fact]} -- l{number} [style=dashed];"
    yield "}"


def _link_text(link: Link, number: str, write: Write, more: str = "") -> Iterator[str]:
    below = _derived(link.proof)
    reason = by(below, write) if below.by == ASSERTED else link.by
    yield f"{number}{write(link.left)} = {write(link.right)}   [{reason}]{more}"
    if below.by == ASSERTED:
        if (below.tokens or ())[:1] != (link.left,):  # asserted the other way round
            yield f"   └─ {line(below, write)}   [{reason}]"
        return
    for row in list(text(below, write))[1:]:
        yield f"   {row}"


def _derived(proof: Proof) -> Proof:
    """The proof without turning the equality round."""
    return proof.premises[0] if proof.by == "eq-sym" and len(proof.premises) == 1 else proof


def _link_json(link: Link) -> dict[str, Any]:
    return {
        "left": to_ntriples(link.left),
        "right": to_ntriples(link.right),
        "by": link.by,
        "asserted": [[to_ntriples(token) for token in triple] for triple in link.proof.asserted()],
        **as_json(link.proof),
    }
