"""`triplake demo --stream`: a building's sensors, windows with reasoning, and two names of one desk."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

from triplestore.engine import temporary
from triplestore.engine.disk import naming
from triplestore.store import Store

PREFIX: Final = "http://building.example/"

ONTOLOGY: Final = """@prefix : <http://building.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Hot rdfs:subClassOf :Alarm .
:Smoke rdfs:subClassOf :Alarm .
:partOf a owl:TransitiveProperty .
:badge a owl:InverseFunctionalProperty .
:desk1 :partOf :room1 .  :desk2 :partOf :room2 .  :desk3 :partOf :room3 .
:room1 :partOf :floor1 .  :room2 :partOf :floor1 .  :room3 :partOf :floor2 .
"""

QUERY: Final = """PREFIX : <http://building.example/>
REGISTER QUERY alarms AS
SELECT ?place (COUNT(DISTINCT ?alarm) AS ?alarms)
FROM STREAM <http://building.example/sensors> [RANGE 5m STEP 1m]
WHERE { ?alarm a :Alarm ; :at ?desk . ?desk :partOf ?place }
GROUP BY ?place ORDER BY ?place
"""


def run(engine_options: Mapping[str, Any], console: Console | None = None) -> None:
    """Run the demo and show it on stdout."""
    console = console or Console(highlight=False)
    with temporary.folder("demo") as folder:
        ontology, stream = Path(folder, "building.ttl"), Path(folder, "sensors.txt")
        with naming(folder):
            ontology.write_text(ONTOLOGY, encoding="utf-8")
            stream.write_text("".join(_sensors()), encoding="utf-8")
        with Store.create(Path(folder, "kg"), "owl2rl", **engine_options) as store:
            store.load(ontology)
            console.print("[bold]What the building is like[/bold] (the background):")
            console.print(escape(ONTOLOGY), style="dim", soft_wrap=True)
            console.print("[bold]What its sensors say[/bold], a time and a triple a line, as in:")
            console.print(escape("".join(list(_sensors())[:4])), style="dim", soft_wrap=True)
            console.print("[bold]Alarms of the last five minutes by place, each minute:[/bold]")
            console.print(escape(QUERY), style="cyan", soft_wrap=True)
            with store.stream(stream, QUERY) as answers:
                for answer in answers:
                    minute = answer.time // 60_000 % (24 * 60)
                    rows = [f"{row['place'].removeprefix(PREFIX)} {row['alarms']}" for row in answer.bindings()]
                    text = ", ".join(rows) or "none"
                    console.print(f"  {minute // 60:02}:{minute % 60:02}  {escape(text)}", soft_wrap=True)
                stats = answers.stats
    console.print(
        "\nA sensor that has no place reads the badge of a desk: the two are one while that is in the window, so its "
        f"alarms have the desk's places. {stats.triples} triples, {stats.windows} windows by {stats.algorithm}, "
        f"{stats.busy:.1f} s. See docs/streams.md, and `triplake stream --help`.",
        soft_wrap=True,
    )


def _sensors() -> Iterator[str]:
    """Alarms at desks, and at a sensor of which only a badge says where it is, now and then."""
    rng, begin = random.Random(4), 19_844 * 24 * 3_600_000 + 12 * 3_600_000
    a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    for minute in range(15):
        time = begin + minute * 60_000
        for number in range(rng.choice((0, 1, 1, 2))):
            alarm, kind = f"<{PREFIX}a{minute}-{number}>", rng.choice(("Hot", "Smoke", "Quiet"))
            place = rng.choice(("desk1", "desk2", "desk3", "sensor9"))
            yield f"{time} {alarm} {a} <{PREFIX}{kind}> .\n"
            yield f"{time} {alarm} <{PREFIX}at> <{PREFIX}{place}> .\n"
        if minute % 7 == 2:
            yield f'{time} <{PREFIX}sensor9> <{PREFIX}badge> "B3" .\n'
            yield f'{time} <{PREFIX}desk3> <{PREFIX}badge> "B3" .\n'
