"""`python -m datasets.sensors --sensors 1000000 [-o FILE]`: write sensors in buildings as N-Triples."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain

from datasets.output import write
from datasets.sensors.generate import ontology, triples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m datasets.sensors", description=__doc__)
    parser.add_argument("--sensors", type=int, default=1_000_000, help="3 asserted triples and 8.5 facts each")
    parser.add_argument("-o", "--output", default="-", help="a file (.gz is compressed), or - for standard output")
    given = parser.parse_args()
    if given.sensors < 1:
        parser.error("there must be a sensor")
    pieces: Iterator[str] = chain([ontology()], triples(given.sensors))
    write(pieces, given.output)


if __name__ == "__main__":
    main()
