"""n equal resources in a ring, k facts each: n * (k + 1) asserted triples."""

from __future__ import annotations

from collections.abc import Iterator

EX = "http://example.org/clique/"
_SAME = "<http://www.w3.org/2002/07/owl#sameAs>"


def clique(n: int, k: int) -> Iterator[str]:
    """The triples as N-Triples text, a resource at a time.

    Resource i is linked to resource i + 1, and the last to the first: any one link can go and the class stays whole; a
    second one splits it. Fact j of resource i is `<ri> <pj> "vi.j"`: no two resources share a value.
    """
    for i in range(n):
        facts = "".join(f'<{EX}r{i}> <{EX}p{j}> "v{i}.{j}" .\n' for j in range(k))
        yield f"<{EX}r{i}> {_SAME} <{EX}r{(i + 1) % n}> .\n{facts}"


def stored(n: int, k: int) -> int:
    """Facts about the resources once they are one: the n * k facts of the representative."""
    return n * k


def expanded(n: int, k: int) -> int:
    """The closure under equality alone (eq-sym, eq-trans, eq-rep-s): n * n equalities, and every fact of everyone.

    The reflexive `x owl:sameAs x` of the n resources is counted, that of properties and values is not.
    """
    return n * n + n * n * k
