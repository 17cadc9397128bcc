"""`python -m datasets.taxonomy --classes 100000 [-o FILE]`: write a large class hierarchy as N-Triples."""

from __future__ import annotations

import argparse

from datasets.output import write
from datasets.taxonomy.generate import taxonomy, triples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m datasets.taxonomy", description=__doc__)
    parser.add_argument("--classes", type=int, default=100_000, help="classes of the tree")
    parser.add_argument("--depth", type=int, default=12, help="levels below the root")
    parser.add_argument("--second", type=float, default=0.05, metavar="SHARE", help="classes with a second parent")
    parser.add_argument("--intersections", type=int, default=10_000, help="classes that are intersections of two")
    parser.add_argument("--instances", type=int, default=100_000, help="resources with one class each")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same triples")
    parser.add_argument("-o", "--output", default="-", help="a file (.gz is compressed), or - for standard output")
    given = parser.parse_args()
    if given.depth < 1 or given.classes <= given.depth or not 0 <= given.second <= 1:
        parser.error("there must be a level below the root, a class on each level, and a share from 0 to 1")
    if min(given.intersections, given.instances, given.seed) < 0:
        parser.error("numbers must not be negative")
    sizes = (given.classes, given.depth, given.second, given.intersections, given.instances, given.seed)
    write(triples(taxonomy(*sizes)), given.output)


if __name__ == "__main__":
    main()
