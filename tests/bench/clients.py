"""Clients that update a server at once: updates a second, and how long the slowest hundredth waits.

`python -m tests.bench.clients --universities 1 --clients 1,8,64 --seconds 10`
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import httpx

from tests.bench.workload import universities
from tests.support.server import UPDATE, serving
from triplestore import Store
from triplestore.server.settings import Clients, Limits

_PERSON = "<http://example.org/person/{}> a <http://swat.cse.lehigh.edu/onto/univ-bench.owl#GraduateStudent>"


async def measured(base: str, clients: int, seconds: float, reversed_: float) -> list[float]:
    """The seconds that each update waited. reversed_: the share of updates that the client's next one undoes."""
    taken: list[float] = []
    ends = time.perf_counter() + seconds

    async def work(number: int) -> None:
        async with httpx.AsyncClient(base_url=base, timeout=120) as client:
            turn, undo = 0, ""
            while time.perf_counter() < ends:
                turn += 1
                triple = _PERSON.format(f"{clients}-{number}-{turn}")
                text, undo = undo or f"INSERT DATA {{ {triple} }}", ""
                if text.startswith("INSERT") and turn % 100 < 100 * reversed_:
                    undo = text.replace("INSERT", "DELETE")
                started = time.perf_counter()
                answer = await client.post("/sparql", content=text, headers={"Content-Type": UPDATE})
                answer.raise_for_status()
                taken.append(time.perf_counter() - started)

    await asyncio.gather(*(work(number) for number in range(clients)))
    return sorted(taken)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.clients", description=__doc__)
    parser.add_argument("--universities", type=int, default=1, metavar="N", help="about 138,000 triples each")
    parser.add_argument("--clients", default="1,8,64", metavar="N,..")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--reversed", type=float, default=0.0, metavar="SHARE", help="of updates that are undone next")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, path = universities(given.universities, 0, Path(folder)), Path(folder, "kg")
        with Store.create(path, "owl2rl", engine="duckdb") as store:
            store.load(*data.files)
        with serving(path, Limits(), clients=Clients(per_address=1000)) as client:
            asyncio.run(measured(str(client.base_url), 1, 2.0, 0.0))  # the first one reads
            for clients in map(int, given.clients.split(",")):
                taken = asyncio.run(measured(str(client.base_url), clients, given.seconds, given.reversed))
                print(
                    f"{clients:3} clients: {len(taken) / given.seconds:8.1f} updates/s, half within "
                    f"{taken[len(taken) // 2] * 1000:.0f} ms, 99 % within {taken[len(taken) * 99 // 100] * 1000:.0f} ms"
                )


if __name__ == "__main__":
    main()
