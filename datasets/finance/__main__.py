"""`python -m datasets.finance --modules 40 -o FOLDER`: write the modules of an ontology as Turtle files."""

from __future__ import annotations

import argparse
from pathlib import Path

from datasets.finance.generate import Finance, module
from datasets.output import write


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m datasets.finance", description=__doc__)
    parser.add_argument("--modules", type=int, default=40, help="how many, a file each")
    parser.add_argument("--classes", type=int, default=30, help="of each module, a multiple of three")
    parser.add_argument("--individuals", type=int, default=50, help="of each module")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same triples")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the files go")
    given = parser.parse_args()
    if given.modules < 1 or given.classes < 3 or given.classes % 3 or min(given.individuals, given.seed) < 0:
        parser.error("there must be a module, classes by threes, and no negative number")
    folder = Path(given.output)
    folder.mkdir(parents=True, exist_ok=True)
    data = Finance(given.modules, given.classes, given.individuals, given.seed)
    for number in range(given.modules):
        write(module(data, number), str(folder / f"m{number}.ttl"))


if __name__ == "__main__":
    main()
