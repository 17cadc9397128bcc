"""Sensors in rooms, on floors, in buildings: as many triples as wanted, each of them about things that are near."""

from __future__ import annotations

from collections.abc import Iterator

EX = "http://example.org/sensors/"
_RDF, _RDFS, _OWL = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
)
ROOM, FLOOR = 10, 10
"""Sensors of a room, and rooms of a floor; a building has ten floors."""

_SCHEMA = (
    (f"{EX}Thermometer", f"{_RDFS}subClassOf", f"{EX}Sensor"),
    (f"{EX}Sensor", f"{_RDFS}subClassOf", f"{EX}Device"),
    (f"{EX}in", f"{_RDFS}subPropertyOf", f"{EX}within"),
    (f"{EX}within", f"{_RDF}type", f"{_OWL}TransitiveProperty"),
    (f"{EX}next", f"{_OWL}inverseOf", f"{EX}previous"),
)


def ontology() -> str:
    """The schema, as N-Triples."""
    return "".join(f"<{s}> <{p}> <{o}> .\n" for s, p, o in _SCHEMA)


def triples(sensors: int, piece: int = 10_000) -> Iterator[str]:
    """The data as N-Triples text, without the schema: so many sensors, some thousand a piece."""
    for start in range(0, sensors, piece):
        lines = []
        for i in range(start, min(start + piece, sensors)):
            room, floor = i // ROOM, i // (ROOM * FLOOR)
            me = f"<{EX}s{i}>"
            lines.append(f"{me} <{_RDF}type> <{EX}Thermometer> .\n{me} <{EX}in> <{EX}r{room}> .\n")
            if i % ROOM + 1 < ROOM:
                lines.append(f"{me} <{EX}next> <{EX}s{i + 1}> .\n")
            else:
                lines.append(f"<{EX}r{room}> <{EX}in> <{EX}f{floor}> .\n")
                if room % FLOOR + 1 == FLOOR:
                    lines.append(f"<{EX}f{floor}> <{EX}in> <{EX}b{floor // 10}> .\n")
        yield "".join(lines)
