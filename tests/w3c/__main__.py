"""Run the W3C suites and print how many of their tests pass: `python -m tests.w3c`.

A test is passed, failed, or excluded with a reason. The exit code is 1 if any test fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.server import serving
from tests.w3c import manifest, test_sparql, test_syntax, test_update
from tests.w3c import test_protocol as http
from tests.w3c.http import cases as exchanges
from tests.w3c.sparql import Case, cases
from triplestore import Store
from triplestore.engine.duckdb import DuckDBEngine

TITLES = {"sparql10": "SPARQL 1.0", "sparql11": "SPARQL 1.1"}


@dataclass(frozen=True)
class Test:
    """One test of a part of the suites. excluded: why it is not counted as passed, or empty."""

    part: str
    name: str
    run: Callable[[], None]
    excluded: str = ""


def _queries(engine: DuckDBEngine) -> Iterator[Test]:
    kinds: dict[str, tuple[str, Callable[[Case], None]]] = {
        "PositiveSyntax": ("query syntax, positive", test_sparql.test_what_is_right_is_accepted),
        "NegativeSyntax": ("query syntax, negative", test_sparql.test_what_is_wrong_is_refused),
        "QueryEvaluation": ("query evaluation", lambda case: test_sparql.evaluate(engine, case)),
        "CSVResultFormat": ("CSV results", lambda case: test_sparql.evaluate(engine, case)),
    }
    for version in test_sparql.VERSIONS:
        for case in cases(version):
            for kind, (title, run) in kinds.items():
                if case.kind.startswith(kind):
                    excluded = ""
                    yield Test(f"{TITLES[version]} {title}", case.name, lambda r=run, c=case: r(c), excluded)


def _updates(store: Store, folder: str) -> Iterator[Test]:
    kinds: dict[str, tuple[str, Callable[[Case], None]]] = {
        "PositiveUpdateSyntax": ("syntax, positive", test_update.test_what_is_right_is_accepted),
        "NegativeUpdateSyntax": ("syntax, negative", test_update.test_what_is_wrong_is_refused),
        "UpdateEvaluation": ("evaluation", lambda case: test_update.evaluate(store, case, Path(folder))),
    }
    for kind, (title, run) in kinds.items():
        for case in test_update.found(kind):
            yield Test(f"SPARQL 1.1 update {title}", case.name, lambda r=run, c=case: r(c))


def _syntaxes(engine: DuckDBEngine) -> Iterator[Test]:
    for suite in test_syntax.SUITES:
        for case in manifest.cases(suite):
            excluded = "XML literals" if case.name in test_syntax.EXCLUDED else ""
            yield Test(f"RDF 1.1 {suite[4:]}", case.name, lambda c=case: test_syntax.check(engine, c), excluded)


def _protocols(client: httpx.Client) -> Iterator[Test]:
    for manifest_, title in (
        (http.PROTOCOL, "protocol"),
        (http.INDIRECT, "graph store protocol"),
        (http.DIRECT, "graph store protocol"),
    ):
        for case in exchanges(manifest_):
            yield Test(f"SPARQL 1.1 {title}", case.name, lambda c=case: http.run(client, c))


def table() -> tuple[list[str], int]:
    """The lines of the table, and how many tests fail; what fails is said on standard error."""
    counts: dict[str, Counter[str]] = {}
    engine = DuckDBEngine()
    with (
        tempfile.TemporaryDirectory(prefix="w3c-") as folder,
        Store.create(Path(folder, "kg"), ["none"], default_graph="separate") as store,
        Store.create(Path(folder, "served"), ["none"], default_graph="separate") as served,
        serving(served.path) as client,
    ):
        for test in (*_queries(engine), *_updates(store, folder), *_protocols(client), *_syntaxes(engine)):
            count = counts.setdefault(test.part, Counter())
            count["all"] += 1
            outcome = test.excluded or "passed"
            if not test.excluded:
                try:
                    test.run()
                except Exception:
                    outcome = "failed"
                    print(f"{test.part}: {test.name}\n{traceback.format_exc()}", file=sys.stderr)
            count[outcome] += 1
    engine.close()
    lines = ["| suite | tests | passed | excluded | failed |", "| --- | --- | --- | --- | --- |"]
    for part, count in counts.items():
        left = ", ".join(f"{n:,} {why}" for why, n in sorted(count.items()) if why not in ("all", "passed", "failed"))
        lines.append(f"| {part} | {count['all']:,} | {count['passed']:,} | {left} | {count['failed']:,} |")
    return lines, sum(count["failed"] for count in counts.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.w3c", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    if not manifest.SUITES.exists():
        parser.error(manifest.MISSING)
    lines, failed = table()
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
