"""`python -m datasets.clique --n 200 --k 5 [-o FILE]`: write n equal resources with k facts each as N-Triples."""

from __future__ import annotations

import argparse

from datasets.clique.generate import clique
from datasets.output import write


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m datasets.clique", description=__doc__)
    parser.add_argument("--n", type=int, default=200, help="how many equal resources (2 or more)")
    parser.add_argument("--k", type=int, default=5, help="facts of each")
    parser.add_argument("-o", "--output", default="-", help="a file (.gz is compressed), or - for standard output")
    given = parser.parse_args()
    if given.n < 2 or given.k < 0:
        parser.error("n must be 2 or more, and k not negative")
    write(clique(given.n, given.k), given.output)


if __name__ == "__main__":
    main()
