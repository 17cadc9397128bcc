"""`python -m datasets.university --universities N --seed S [-o FILE]`: write university data as N-Triples."""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path

from datasets.output import as_ntriples, write
from datasets.university.generate import generate

_HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m datasets.university", description=__doc__)
    parser.add_argument("-n", "--universities", type=int, default=1, help="how many (about 135,000 triples each)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same triples")
    parser.add_argument("--start", type=int, default=0, help="number of the first university")
    parser.add_argument(
        "--aliases", type=float, default=0.0, metavar="SHARE", help="share of the people in a second catalogue (0 to 1)"
    )
    parser.add_argument(
        "--ontology", action="store_true", help="write the ontology first (with --aliases: merging.ttl too)"
    )
    parser.add_argument("-o", "--output", default="-", help="a file (.gz is compressed), or - for standard output")
    given = parser.parse_args()
    if given.universities < 0 or given.start < 0 or given.seed < 0 or not 0 <= given.aliases <= 1:
        parser.error("numbers must not be negative, and a share lies between 0 and 1")
    parts = [generate(given.universities, given.seed, given.start, given.aliases)]
    if given.ontology:
        names = ["ontology.ttl", *(["merging.ttl"] if given.aliases else [])]
        parts.insert(0, iter([as_ntriples(_HERE / name) for name in names]))
    write(chain.from_iterable(parts), given.output)


if __name__ == "__main__":
    main()
