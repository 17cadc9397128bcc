"""Measure Triplake next to its peers on the same data, on this machine, in one run.

Every phase runs in a fresh process, with its peak memory (that of the processes it starts included): `load` (files to
committed store), `materialise`, `query` (LUBM's 14 where the suites are, and our own), `update` (delete 1 fact, add it
again; the same with 100), and `end to end`, the command `triplake load` from a cold start to a committed closure.

`python -m tests.bench maintain` measures the maintenance algorithms instead: see its --help.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.bench import report
from tests.bench.plan import ENGINES, PEERS, Plan, Row, measure
from tests.bench.workload import a_clique, universities


def _names(allowed: tuple[str, ...]) -> object:
    def parse(text: str) -> tuple[str, ...]:
        names = tuple(name for name in text.split(",") if name and name != "none")
        for name in names:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(allowed)}")
        return names

    return parse


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(",") if number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers, like 1,10") from None


def main() -> int:
    if sys.argv[1:2] == ["maintain"]:
        from tests.bench.maintain.run import main as maintain

        return maintain(sys.argv[2:])
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--universities", type=_numbers, default=(1,), metavar="N,..", help="sizes (about 138,000 triples each)"
    )
    parser.add_argument(
        "--cliques", type=_numbers, default=(), metavar="N,..", help="also n equal resources with 5 facts each"
    )
    parser.add_argument("--engines", type=_names(ENGINES), default=("duckdb",), help=f"of {','.join(ENGINES)}, or none")
    parser.add_argument("--peers", type=_names(PEERS), default=PEERS, help=f"of {','.join(PEERS)}, or none")
    parser.add_argument("--rules", default="owl2rl", help="ruleset of the stores")
    parser.add_argument("--seed", type=int, default=0, help="of the generated universities")
    parser.add_argument("--runs", type=int, default=1, help="repeat each phase; the median is shown")
    parser.add_argument("--limit", type=float, default=600, help="seconds for each phase of Triplake")
    parser.add_argument("--peer-limit", type=float, default=300, help="seconds for each phase of a peer")
    parser.add_argument("--out", type=Path, default=Path("bench.json"), help="the results; a .md goes beside it")
    given = parser.parse_args()
    if given.runs < 1:
        parser.error("--runs must be 1 or more")
    plan = Plan(given.engines, given.peers, given.rules, given.runs, given.limit, given.peer_limit)
    arguments = {name: str(value) if isinstance(value, Path) else value for name, value in vars(given).items()}
    rows: list[Row] = []
    wanted = [(universities, (n, given.seed)) for n in given.universities] + [(a_clique, (n, 5)) for n in given.cliques]
    for make, sizes in wanted:
        with tempfile.TemporaryDirectory(prefix="bench-data-") as folder:
            workload = make(*sizes, Path(folder))
            for row in measure(plan, workload, lambda line: print(line, file=sys.stderr, flush=True)):
                rows.append(row)
                report.save(given.out, rows, arguments)  # what is measured survives an interruption
    report.show(rows)
    print(f"saved to {given.out} and {given.out.with_suffix('.md')}")
    return 0 if all(row.status in ("ok", "not run", "timeout") for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
