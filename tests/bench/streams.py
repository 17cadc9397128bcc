"""Seconds a slide takes against the share of the window that changes, as the evaluation of IMaRS does.

`python -m tests.bench.streams --window 10000 --kinds tree,social,equal --algorithms imars,dred,naive`

Source: Dell'Aglio and Della Valle 2014, section 3.6: messages that discuss others, by a transitive property. `social`
and `equal` are ours: a class tree with domains, inverses and subproperties, and people of whom a tenth have two names.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from triplestore import Store
from triplestore.engine.select import make_engine
from triplestore.streams.checkpoint import State
from triplestore.streams.registration import StreamQuery
from triplestore.streams.source import chunks
from triplestore.streams.windows import Windows

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
E = "http://example.org/"
SHARES = (0.001, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
ONTOLOGY = {
    "tree": f"<{E}discuss> a <{OWL}TransitiveProperty> .",
    "social": f"""<{E}Retweet> <{RDFS}subClassOf> <{E}Tweet> . <{E}posts> <{OWL}inverseOf> <{E}postedBy> ;
        <{RDFS}range> <{E}Tweet> ; <{RDFS}domain> <{E}User> . <{E}discuss> <{RDFS}subPropertyOf> <{E}about> .""",
    "equal": f"<{E}mail> a <{OWL}InverseFunctionalProperty> . <{E}posts> <{RDFS}domain> <{E}User> .",
}
RULES = {"tree": "rdfs-plus", "social": "rdfs-plus", "equal": "owl2rl"}


def triples(kind: str, window: int, total: int, restated: float) -> Iterator[bytes]:
    """Lines of a stream in which each triple has a time of its own. restated: how many of them are one of the window
    before them again, as a share."""
    rng, recent = random.Random(1), list[bytes]()
    for i, fresh in enumerate(_fresh(kind, window, total)):
        again = i >= window and rng.random() < restated
        triple = recent[rng.randrange(i - window, i)] if again else fresh
        recent.append(triple)
        yield b"%d %s .\n" % (i, triple)


def _fresh(kind: str, window: int, total: int) -> Iterator[bytes]:
    rng = random.Random(1)
    for i in range(total):
        tweet = f"<{E}t{i}>"
        if kind == "tree":
            line = f"{tweet} <{E}discuss> <{E}t{max(0, i - 1 - rng.randrange(window // 10))}>"
        elif i % 4 == 0:
            line = f"{tweet} <{RDF}type> <{E}Retweet>"
        elif i % 4 == 1:
            line = f"<{E}u{rng.randrange(window // 20)}> <{E}posts> {tweet}"
        elif i % 4 == 2 and kind == "equal":
            person = rng.randrange(window // 20)
            line = f'<{E}u{person + rng.choice((0, 0, 0, 10**9))}> <{E}mail> "m{person}"'
        elif i % 4 == 2:
            line = f"{tweet} <{E}discuss> <{E}topic{rng.randrange(1000)}>"
        else:
            line = f"{tweet} <{E}postedBy> <{E}u{rng.randrange(window // 20)}>"
        yield line.encode()


def measure(
    kind: str, algorithm: str, window: int, share: float, slides: int, engine: str, restated: float
) -> tuple[float, float, int]:
    """(median, slowest) seconds of this process for the slides of a full window (on all processors together, so that
    they depend little on what else runs), and the facts of its closure. Nothing is written."""
    step = max(1, int(window * share))
    with tempfile.TemporaryDirectory() as folder:
        stream, ontology = Path(folder, "stream.txt"), Path(folder, "ontology.ttl")
        ontology.write_text(ONTOLOGY[kind])
        with stream.open("wb") as file:
            file.writelines(triples(kind, window, window + (slides + 3) * step + 1, restated))
        with Store.create(Path(folder, "kg"), RULES[kind], engine=engine) as store:
            store.load(ontology)
            ask = f"SELECT (COUNT(*) AS ?n) {{ ?x <{E}{'discuss' if kind == 'tree' else 'posts'}> ?y }}"
            queries = [StreamQuery.of(ask, str(window), str(step))]
            full_at = -(-window // step) * step
            windows = Windows(
                store._session, queries, lambda: make_engine(engine), algorithm, before=State(0, "", answered=[full_at])
            )
            spent, facts, before = [], 0, time.process_time()
            for chunk in chunks(stream):  # the first window is filled at once, as after a crash
                windows.feed("", chunk)
                for _ in windows.complete():
                    spent.append(time.process_time() - before)
                    facts, before = windows.stats.facts, time.process_time()
            windows.close()
    full = spent[1 : slides + 1]  # the first has the filling
    return statistics.median(full), max(full), facts


def plot(seconds: Mapping[str, Mapping[float, Sequence[float]]], algorithms: Sequence[str], target: Path) -> None:
    """Seconds of a slide by the percentage of the window that changes, a panel for each kind of data, as SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "triplake", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(seconds), figsize=(10, 3), squeeze=False, layout="constrained")
    for panel, (kind, rows) in zip(axes.flat, seconds.items(), strict=True):
        for place, name in enumerate(algorithms):
            panel.loglog(list(rows), [row[place] for row in rows.values()], marker=".", linewidth=1, label=name)
        panel.set_title(kind)
        panel.set_xlabel("% of the window that changes")
        panel.set_ylabel("seconds a slide")
        panel.grid(alpha=0.3)
    axes.flat[0].legend()
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def main() -> None:
    """Print a table: a row for each share, a column for each algorithm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--kinds", default="tree,social,equal")
    parser.add_argument("--algorithms", default="imars,dred,naive")
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--restated", type=float, default=0.0, help="share of what comes that the window has already")
    parser.add_argument("--slides", type=int, default=9)
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the table too, as SVG")
    given = parser.parse_args()
    algorithms = given.algorithms.split(",")
    seconds: dict[str, dict[float, list[float]]] = {}
    for kind in given.kinds.split(","):
        seconds[kind] = {}
        print(f"| {kind}, {given.window:,} triples: share | {' | '.join(algorithms)} | closure |")
        print(f"|---|{'---|' * (len(algorithms) + 1)}")
        for share in map(float, given.shares.split(",")):
            found = [
                measure(kind, a, given.window, share, given.slides, given.engine, given.restated) for a in algorithms
            ]
            seconds[kind][100 * share] = [median for median, _, _ in found]
            cells = " | ".join(f"{median:.3f}" for median, _, _ in found)
            print(f"| {100 * share:g} % | {cells} | {found[0][2]:,} |", flush=True)
    if given.plot is not None:
        plot(seconds, algorithms, given.plot)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:,} MB, {time.ctime()}")


if __name__ == "__main__":
    main()
