"""Run the W3C suites and print how many of their tests pass: `python -m tests.w3c [--engine spark] [--part TEXT]`.

There is a row for each manifest that is found. A test passes, fails, or is skipped for a reason. The exit code is 1 if
a test fails, or a manifest lists one that nothing runs.
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
from functools import cached_property, partial
from pathlib import Path

import httpx

from tests.support.server import serving
from tests.w3c import (
    entailment,
    manifest,
    regimes,
    shacl,
    test_entailment,
    test_rdf12,
    test_regimes,
    test_shacl,
    test_sparql,
    test_sparql12,
    test_syntax,
    test_update,
)
from tests.w3c import test_protocol as http
from tests.w3c.http import cases as exchanges
from tests.w3c.manifests import listed
from tests.w3c.sparql import SPARQL, Case, cases
from triplestore import Store
from triplestore.engine import Engine
from triplestore.engine.select import make_engine

SKIPPED = {
    "rdf/rdf11/rdf-mt/az-tests": "not approved by the W3C, and a file of one test is missing",
    "rdf/rdf12/rdf-n-quads/c14n": "the canonical form of N-Quads, which Triplake reads but does not write",
    "rdf/rdf12/rdf-n-triples/c14n": "the canonical form of N-Triples, which Triplake reads but does not write",
    "sparql/sparql11/http-rdf-update": "deprecated by the W3C in favour of graph-store-protocol",
}
"""The manifests of which no test is run, and why."""


@dataclass(frozen=True)
class Test:
    """One test of a manifest, which is named as in `tests.w3c.manifests`. excluded: why it is not run, or empty."""

    manifest: str
    name: str
    run: Callable[[], None]
    excluded: str = ""


class Machine:
    """What tests are run with, made when the first test asks for it. engine: "duckdb" or "spark"."""

    def __init__(self, engine: str, stack: ExitStack) -> None:
        self.name, self._stack = engine, stack

    @cached_property
    def folder(self) -> Path:
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="w3c-")))

    @cached_property
    def engine(self) -> Engine:
        made = make_engine(self.name)
        self._stack.callback(made.close)
        return made

    @cached_property
    def store(self) -> Store:
        """Without rules."""
        return self._stack.enter_context(self._made("store"))

    @cached_property
    def client(self) -> httpx.Client:
        """Of a server of another such store."""
        store = self._made("served")
        store.close()
        return self._stack.enter_context(serving(store.path, engine=self.name))

    def fresh(self, name: str) -> Path:
        """A new folder."""
        path = self.folder / name.replace("/", "-")
        path.mkdir()
        return path

    def _made(self, name: str) -> Store:
        return Store.create(self.folder / name, ["none"], engine=self.name, default_graph="separate")


def _queries(on: Machine) -> Iterator[Test]:
    kinds: dict[str, Callable[[Case], None]] = {
        "PositiveSyntax": test_sparql.test_what_is_right_is_accepted,
        "NegativeSyntax": test_sparql.test_what_is_wrong_is_refused,
        "QueryEvaluation": lambda case: test_sparql.evaluate(on.engine, case),
        "CSVResultFormat": lambda case: test_sparql.evaluate(on.engine, case),
        "PositiveUpdateSyntax": test_update.test_what_is_right_is_accepted,
        "NegativeUpdateSyntax": test_update.test_what_is_wrong_is_refused,
        "UpdateEvaluation": lambda case: test_update.evaluate(on.store, case, on.folder),
    }
    for version in test_sparql.VERSIONS:
        for case in cases(version):
            (run,) = (run for kind, run in kinds.items() if case.kind.startswith(kind))
            yield Test(f"sparql/{version}/{case.suite}", case.name, partial(run, case))


def _queries12(on: Machine) -> Iterator[Test]:
    for case in cases("sparql12"):
        run = partial(test_sparql12.run, case)
        excluded = test_sparql12.EXCLUDED.get(case.name, "")
        yield Test(f"sparql/sparql12/{case.suite}", case.name, lambda run=run: run(on.store), excluded)


def _syntaxes(on: Machine) -> Iterator[Test]:
    for suite in test_syntax.SUITES:
        for case in manifest.cases(suite):
            run = partial(test_syntax.check, case=case)
            excluded = test_syntax.EXCLUDED.get(case.name, "")
            yield Test(f"rdf/rdf11/{suite}", case.name, lambda run=run: run(on.engine), excluded)
    for suite in test_rdf12.SUITES:
        for case in manifest.cases(suite, manifest.RDF12):
            run = partial(test_rdf12.check, case=case)
            excluded = test_rdf12.EXCLUDED.get(case.name, "")
            yield Test(f"rdf/rdf12/{suite}", case.name, lambda run=run: run(on.engine), excluded)


def _protocols(on: Machine) -> Iterator[Test]:
    for path in (http.PROTOCOL, http.INDIRECT, http.DIRECT):
        for case in exchanges(path):
            label = f"sparql/sparql11/{path.removesuffix('.ttl').removesuffix('/manifest')}"
            yield Test(label, case.name, lambda case=case: http.run(on.client, case))
    if SPARQL.exists():
        for name, check in http.DESCRIPTION.items():
            label = "sparql/sparql11/service-description"
            yield Test(label, name, lambda check=check: check(on.client))


def _entailments(on: Machine) -> Iterator[Test]:
    suites = {"rdf/rdf11/rdf-mt": entailment.rdf_mt, "rdf/rdf12/rdf-semantics": entailment.rdf12_semantics}
    for label, suite in suites.items():
        for case in suite():
            run = partial(test_entailment.check, case)
            yield Test(label, case.name, lambda run=run, case=case: run(on.fresh(str(case)), on.name))
    for case in regimes.cases():
        run = partial(test_regimes.check, case)
        label = "sparql/sparql11/entailment"
        yield Test(label, case.name, lambda run=run, case=case: run(on.fresh(str(case)), on.name), case.excluded)


def _validations(on: Machine) -> Iterator[Test]:
    for case in shacl.cases():
        run = partial(test_shacl.check, case)
        yield Test("w3c-shacl/core", case.name, lambda run=run, case=case: run(on.fresh(case.name) / "kg", on.name))


PARTS: tuple[Callable[[Machine], Iterator[Test]], ...] = (
    _syntaxes,
    _entailments,
    _queries,
    _protocols,
    _queries12,
    _validations,
)
"""What yields the tests of the suites; a new suite is one more."""


def tests(on: Machine) -> dict[str, list[Test]]:
    """The tests of each manifest."""
    found: dict[str, list[Test]] = {}
    for test in (test for part in PARTS for test in part(on)):
        found.setdefault(test.manifest, []).append(test)
    return found


def uncovered(planned: dict[str, list[Test]]) -> dict[str, list[str]]:
    """The manifests with tests that are neither run nor skipped for a reason, and these tests; and those with tests
    that they do not list."""
    found = {}
    for label, names in listed().items():
        mine = sorted(test.name for test in planned.get(label, ()))
        if label not in SKIPPED and mine != sorted(names):
            found[label] = sorted({*names} ^ {*mine}) or mine
    return found


def table(engine: str = "duckdb", part: str = "", run: bool = True) -> tuple[list[str], int]:
    """The lines of the table, one for each manifest, and how many tests fail or are not covered; which they are is said
    on standard error.

    part: only manifests whose names contain it. run: or else take all tests for passed."""
    with ExitStack() as stack:
        planned = tests(Machine(engine, stack))
        rows: dict[str, tuple[int, Counter[str], Counter[str]]] = {}
        for label in sorted({*listed(), *planned}):
            if part not in label:
                continue
            outcomes, reasons = Counter[str](), Counter[str]()
            for test in planned.get(label, ()):
                outcome = "skipped" if test.excluded else _outcome(test) if run else "passed"
                outcomes[outcome] += 1
                reasons.update([test.excluded] * bool(test.excluded))
            left = len(listed().get(label, ())) - sum(outcomes.values())
            if left > 0 and label in SKIPPED:
                outcomes["skipped"] += left
                reasons[SKIPPED[label]] += left
            rows[label] = sum(outcomes.values()), outcomes, reasons
    missing = {label: names for label, names in uncovered(planned).items() if part in label}
    for label, names in missing.items():
        print(f"{label}: nothing runs {', '.join(names)}", file=sys.stderr)
    lines = ["| manifest | tests | passed | failed | skipped | why |", "| --- | --- | --- | --- | --- | --- |"]
    for label, (number, count, why) in rows.items():
        told = "; ".join(f"{n}: {reason}" if len(why) > 1 else reason for reason, n in sorted(why.items()))
        figures = " | ".join(f"{n:,}" for n in (number, count["passed"], count["failed"], count["skipped"]))
        lines.append(f"| `{label}` | {figures} | {told} |")
    whole = [sum(count[kind] for _, count, _ in rows.values()) for kind in ("passed", "failed", "skipped")]
    lines.append(f"| all | {' | '.join(f'{n:,}' for n in (sum(whole), *whole))} | |")
    return lines, whole[1] + sum(map(len, missing.values()))


def _outcome(test: Test) -> str:
    try:
        test.run()
    except Exception:
        print(f"{test.manifest}: {test.name}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        return "failed"
    return "passed"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.w3c", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb", help="default: duckdb")
    parser.add_argument("--part", metavar="TEXT", default="", help="only manifests whose names contain TEXT")
    arguments = parser.parse_args()
    if not manifest.SUITES.exists():
        parser.error(manifest.MISSING)
    lines, failed = table(arguments.engine, arguments.part)
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
