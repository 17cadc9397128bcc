"""`python -m datasets.building --buildings 10 -o FOLDER`: write buildings and their ontology as Turtle files."""

from __future__ import annotations

import argparse
from pathlib import Path

from datasets.building.generate import Buildings
from datasets.building.ontology import KINDS, PLACES, QUANTITIES, SUBSTANCES, Vocabulary, schema, tags, units
from datasets.output import write

_TAGS = {"kinds": (KINDS, 4), "substances": (SUBSTANCES, 3), "quantities": (QUANTITIES, 3), "places": (PLACES, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m datasets.building", description=__doc__)
    parser.add_argument("--buildings", type=int, default=10, help="how many")
    parser.add_argument("--floors", type=int, default=3, help="of each building")
    parser.add_argument("--rooms", type=int, default=10, help="of each floor")
    parser.add_argument("--points", type=int, default=4, help="of each room's air volume box")
    for name, (names, default) in _TAGS.items():
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"tags, at most {len(names)}")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same triples")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the four files go")
    given = parser.parse_args()
    if min(given.buildings, given.floors, given.rooms, given.points, given.seed, *(vars(given)[n] for n in _TAGS)) < 0:
        parser.error("numbers must not be negative")
    if not given.kinds:
        parser.error("there must be one kind of points at least")
    folder = Path(given.output)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = Vocabulary(given.kinds, given.substances, given.quantities, given.places)
    data = Buildings(vocabulary, given.buildings, given.floors, given.rooms, given.points, given.seed)
    write(schema(vocabulary), str(folder / "schema.ttl"))
    write(tags(), str(folder / "tag.ttl"))
    write(units(), str(folder / "unit.ttl"))
    write(data.triples(), str(folder / "data.ttl"))


if __name__ == "__main__":
    main()
