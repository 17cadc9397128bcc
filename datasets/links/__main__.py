"""`python -m datasets.links --count 10000000 [-o FILE]`: write owl:sameAs links as N-Triples."""

from __future__ import annotations

import argparse

from datasets.links.generate import LARGEST, chain, links, triples
from datasets.output import write


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m datasets.links", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000_000, help="links")
    parser.add_argument("--largest", type=int, default=LARGEST, help="members of the largest class")
    parser.add_argument("--extra", type=float, default=0.2, metavar="SHARE", help="links beyond a spanning tree")
    parser.add_argument("--chain", action="store_true", help="one chain instead of classes")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same triples")
    parser.add_argument("-o", "--output", default="-", help="a file (.gz is compressed), or - for standard output")
    given = parser.parse_args()
    if given.count < 1 or given.largest < 2 or given.extra < 0 or given.seed < 0:
        parser.error("there must be a link, two members in the largest class, and no negative number")
    try:
        made = chain(given.count, given.seed) if given.chain else links(*_sizes(given))
    except ValueError as error:
        parser.error(str(error))
    write(triples(made), given.output)


def _sizes(given: argparse.Namespace) -> tuple[int, int, float, int]:
    return given.count, given.largest, given.extra, given.seed


if __name__ == "__main__":
    main()
