"""Run the W3C suites and print how many of their tests pass: `python -m tests.w3c [--engine spark] [--part TEXT]`.

A test is passed, failed, or excluded with a reason. The exit code is 1 if any test fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.server import serving
from tests.w3c import manifest, shacl, test_rdf12, test_shacl, test_sparql, test_sparql12, test_syntax, test_update
from tests.w3c import test_protocol as http
from tests.w3c.http import cases as exchanges
from tests.w3c.sparql import Case, cases
from triplestore import Store
from triplestore.engine import Engine
from triplestore.engine.select import make_engine

TITLES = {"sparql10": "SPARQL 1.0", "sparql11": "SPARQL 1.1"}


@dataclass(frozen=True)
class Test:
    """One test of a part of the suites. excluded: why it is not counted as passed, or empty."""

    part: str
    name: str
    run: Callable[[], None]
    excluded: str = ""


def _queries(engine: Engine) -> Iterator[Test]:
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
                    yield Test(f"{TITLES[version]} {title}", case.name, lambda r=run, c=case: r(c))


def _updates(store: Store, folder: str) -> Iterator[Test]:
    kinds: dict[str, tuple[str, Callable[[Case], None]]] = {
        "PositiveUpdateSyntax": ("syntax, positive", test_update.test_what_is_right_is_accepted),
        "NegativeUpdateSyntax": ("syntax, negative", test_update.test_what_is_wrong_is_refused),
        "UpdateEvaluation": ("evaluation", lambda case: test_update.evaluate(store, case, Path(folder))),
    }
    for kind, (title, run) in kinds.items():
        for case in test_update.found(kind):
            yield Test(f"SPARQL 1.1 update {title}", case.name, lambda r=run, c=case: r(c))


def _queries12(store: Store) -> Iterator[Test]:
    for case in test_sparql12.evaluations():
        excluded = "see `test_sparql12`" if case.name in test_sparql12.EXCLUDED else ""
        yield Test("SPARQL 1.2 query evaluation", case.name, lambda c=case: test_sparql12.evaluate(store, c), excluded)
    for case in test_sparql12.syntaxes():
        excluded = "see `test_sparql12`" if case.name in test_sparql12.EXCLUDED else ""
        yield Test("SPARQL 1.2 syntax", case.name, lambda c=case: test_sparql12.check(c), excluded)


def _syntaxes(engine: Engine) -> Iterator[Test]:
    for suite in test_syntax.SUITES:
        for case in manifest.cases(suite):
            excluded = "XML literals" if case.name in test_syntax.EXCLUDED else ""
            yield Test(f"RDF 1.1 {suite[4:]}", case.name, lambda c=case: test_syntax.check(engine, c), excluded)
    for suite in test_rdf12.SUITES:
        for case in manifest.cases(suite, manifest.RDF12):
            excluded = "XML literals" if case.name in test_rdf12.EXCLUDED else ""
            part = f"RDF 1.2 {suite[4:].split('/')[0]}"
            yield Test(part, case.name, lambda c=case: test_rdf12.check(engine, c), excluded)


def _protocols(client: httpx.Client) -> Iterator[Test]:
    for manifest_, title in (
        (http.PROTOCOL, "protocol"),
        (http.INDIRECT, "graph store protocol"),
        (http.DIRECT, "graph store protocol"),
    ):
        for case in exchanges(manifest_):
            yield Test(f"SPARQL 1.1 {title}", case.name, lambda c=case: http.run(client, c))


def _validations(folder: Path, engine: str) -> Iterator[Test]:
    for case in shacl.cases():
        path = folder / case.name.replace("/", "-")
        yield Test("SHACL core", case.name, lambda c=case, p=path: test_shacl.check(c, p, engine))


def table(engine: str = "duckdb", part: str = "") -> tuple[list[str], int]:
    """The lines of the table, and how many tests fail; what fails is said on standard error.

    part: only parts of the suites whose titles contain it."""
    counts: dict[str, Counter[str]] = {}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="w3c-"))

        def made(name: str) -> Store:
            path = Path(folder, name)
            return stack.enter_context(Store.create(path, ["none"], engine=engine, default_graph="separate"))

        on = make_engine(engine)
        stack.callback(on.close)
        client = stack.enter_context(serving(made("served").path, engine=engine))
        tests = (
            *_queries(on),
            *_updates(made("updated"), folder),
            *_protocols(client),
            *_queries12(made("queried")),
            *_syntaxes(on),
            *_validations(Path(folder), engine),
        )
        for test in tests:
            if part not in test.part:
                continue
            count = counts.setdefault(test.part, Counter())
            count["all"] += 1
            outcome = test.excluded or "passed"
            if not test.excluded:
                try:
                    test.run()
                except Exception:
                    outcome = "failed"
                    print(f"{test.part}: {test.name}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            count[outcome] += 1
    lines = ["| suite | tests | passed | excluded | failed |", "| --- | --- | --- | --- | --- |"]
    for title, count in counts.items():
        left = ", ".join(f"{n:,} {why}" for why, n in sorted(count.items()) if why not in ("all", "passed", "failed"))
        lines.append(f"| {title} | {count['all']:,} | {count['passed']:,} | {left} | {count['failed']:,} |")
    return lines, sum(count["failed"] for count in counts.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.w3c", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb", help="default: duckdb")
    parser.add_argument("--part", metavar="TEXT", default="", help="only parts whose titles contain TEXT")
    arguments = parser.parse_args()
    if not manifest.SUITES.exists():
        parser.error(manifest.MISSING)
    lines, failed = table(arguments.engine, arguments.part)
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
