"""The jobs, each run in a process of its own: `python -m tests.bench.jobs JOB.json RESULT.json`.

A job is a JSON object: `job` (a key of `JOBS`), the workload under `workload`, and what that job needs besides. The
result is a JSON object with `seconds` (imports left out) and counts.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Job = dict[str, Any]


# Triplake ----------------------------------------------------------------------------------------------------------


def store_load(job: Job) -> Job:
    from triplestore import Store

    with Store.create(job["store"], rules=job["rules"], engine=job["engine"]) as store:
        start = time.perf_counter()
        store.load(*job["workload"]["files"], materialise=False)
        return {"seconds": _since(start), "triples": store.stats()["asserted"]}


def store_materialise(job: Job) -> Job:
    from triplestore import Store

    with Store.open(job["store"], engine=job["engine"]) as store:
        start = time.perf_counter()
        store.materialise()
        seconds = _since(start)
        stats = store.stats()
        counts = {key: stats[key] for key in ("asserted", "facts", "expanded", "classes", "largest_class", "bytes")}
        return {"seconds": seconds, **counts, "rounds": stats["last"]["rounds"], "derived": stats["last"]["derived"]}


def store_query(job: Job) -> Job:
    from triplestore import Store

    with Store.open(job["store"], engine=job["engine"]) as store:
        return _ask(job, lambda text: sum(1 for _ in store.query(text)))


def store_update(job: Job) -> Job:
    """Take 1 fact out and put it back, then 100: the closure must end as it began."""
    import rdflib

    from triplestore import Store

    changes = list(rdflib.Graph().parse(data="\n".join(job["workload"]["changes"]), format="nt"))
    steps = []
    with Store.open(job["store"], engine=job["engine"]) as store:
        before = store.stats()
        for count in (1, 100):
            for change in ("delete", "add"):
                start = time.perf_counter()
                store.update(**{change: changes[:count]})
                seconds, last = _since(start), store.stats()["last"]
                steps.append({"step": f"{change} {count}", "seconds": seconds, "algorithm": last["algorithm"]})
        after = store.stats()
    for key in ("asserted", "facts", "expanded", "classes"):
        if before[key] != after[key]:
            raise RuntimeError(f"{key} was {before[key]:,} before the updates and is {after[key]:,} after undoing them")
    return {"seconds": sum(step["seconds"] for step in steps), "steps": steps}


def store_export(job: Job) -> Job:
    from triplestore import Store

    with Store.open(job["store"], engine=job["engine"]) as store, open(job["closure"], "w", encoding="utf-8") as file:
        start = time.perf_counter()
        count = 0
        for batch in store.lines("all", "expand"):
            file.writelines(f"{line}\n" for line in batch)
            count += len(batch)
        return {"seconds": _since(start), "triples": count}


# Peers -------------------------------------------------------------------------------------------------------------


def reasonable(job: Job) -> Job:
    import reasonable

    reasoner = reasonable.PyReasoner()
    files = _as_turtle(job["workload"]["files"], Path(job["folder"]))
    start = time.perf_counter()
    for file in files:
        reasoner.load_file(file)
    loaded = _since(start)
    triples = len(reasoner.reason())
    return {"seconds": _since(start), "load": loaded, "expanded": triples}


def owlrl(job: Job) -> Job:
    import owlrl
    import rdflib

    graph = rdflib.Graph()
    start = time.perf_counter()
    for file in job["workload"]["files"]:
        graph.parse(file)
    loaded = _since(start)
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return {"seconds": _since(start), "load": loaded, "expanded": len(graph)}


def pyoxigraph_load(job: Job) -> Job:
    import pyoxigraph

    store = pyoxigraph.Store(job["store"])
    start = time.perf_counter()
    for file in job["workload"]["files"]:
        store.bulk_load(path=file)
    return {"seconds": _since(start), "triples": len(store)}


def pyoxigraph_query(job: Job) -> Job:
    """The queries over the closure that Triplake exported: Oxigraph does not reason."""
    import pyoxigraph

    store = pyoxigraph.Store()
    store.bulk_load(path=job["closure"])
    return _ask(job, lambda text: sum(1 for _ in store.query(text)))


def maintain(job: Job) -> Job:
    from tests.bench.maintain.measure import measure

    return measure(job["name"], Path(job["folder"]), job["seconds"], job["seed"])


def maintain_embedded(job: Job) -> Job:
    from tests.bench.maintain.scales import embedded

    return embedded(job)


def maintain_spark(job: Job) -> Job:
    from tests.bench.maintain.scales import on_spark

    return on_spark(job)


JOBS: dict[str, Callable[[Job], Job]] = {
    "store_load": store_load,
    "store_materialise": store_materialise,
    "store_query": store_query,
    "store_update": store_update,
    "store_export": store_export,
    "maintain": maintain,
    "maintain_embedded": maintain_embedded,
    "maintain_spark": maintain_spark,
    "reasonable": reasonable,
    "owlrl": owlrl,
    "pyoxigraph_load": pyoxigraph_load,
    "pyoxigraph_query": pyoxigraph_query,
}


def _ask(job: Job, rows: Callable[[str], int]) -> Job:
    """Every query once, and again `runs` times (1). A query's `seconds` is the median of these, the job's their sum."""
    found = []
    for name, text in job["workload"]["queries"].items():
        timed = []
        for _ in range(1 + job.get("runs", 1)):
            start = time.perf_counter()
            count = rows(text)
            timed.append(_since(start))
        again = statistics.median(timed[1:])
        found.append({"query": name, "rows": count, "first": timed[0], "seconds": again})
    return {"seconds": sum(one["seconds"] for one in found), "queries": found}


def _as_turtle(files: list[str], folder: Path) -> list[str]:
    """The files under names that end in .ttl, which N-Triples may: `reasonable` knows no other."""
    return [str(shutil.copy(file, folder / f"{Path(file).stem}.copy.ttl")) for file in files]


def _since(start: float) -> float:
    return time.perf_counter() - start


def main() -> None:
    given, made = sys.argv[1:]
    job = json.loads(Path(given).read_text())
    Path(made).write_text(json.dumps(JOBS[job["job"]](job)))


if __name__ == "__main__":
    main()
