"""The closure of LUBM(1), rule by rule, next to the sizes that other reasoners agree on.

150,589 (OWL) and 126,732 (RDFS) are what sparq, VLog and Nemo derive, the same triples all three; the latter is also
pydbsp's. Their programs are parts of ours, `REFERENCE` by W3C id, and two rules of their own, `SWAPS`; their data lacks
`HEADERS`. So there is a way from their closure to ours on which every step is a change of the data or one rule, and
each difference has a name. `python -m tests.bench.lubm_closures` prints the tables of docs/benchmarks.md.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.w3c.manifest import SUITES
from triplake import rulesets
from triplake.rulesets import datalog
from triplestore import Store
from triplestore.model.rule import Rule

LUBM: Final = SUITES / "lubm"
SIZES: Final = {"owl2rl": 150_589, "rdfs": 126_732}

REFERENCE: Final = {
    "owl2rl": """prp-dom prp-rng prp-spo1 prp-trp prp-inv1 prp-inv2 cls-int1 cls-svf1 cax-sco
        scm-sco scm-spo scm-dom1 scm-dom2 scm-rng1 scm-rng2 scm-svf1 scm-int""",
    "rdfs": "rdfs2 rdfs3 rdfs5 rdfs7 rdfs9 rdfs11",
}

SWAPS: Final = """
@rule domain-of-inverse
[?p, rdfs:domain, ?c] :- [?p, owl:inverseOf, ?q], [?q, rdfs:range, ?c] .

@rule range-of-inverse
[?p, rdfs:range, ?c] :- [?p, owl:inverseOf, ?q], [?q, rdfs:domain, ?c] .
"""
"""Sound by OWL's semantics, but no rules of OWL 2 RL: the types that they lead to come by prp-inv1 and prp-dom."""

HEADERS: Final = 28
"""Triples of ontology headers: our data has one for each of its 15 files, theirs one."""


@dataclass(frozen=True, slots=True)
class Step:
    """A change on the way from their closure to ours, and the size of the closure after it."""

    change: str
    size: int


def steps(ruleset: str) -> Iterator[Step]:
    """The way from the reference closure to ours under a built-in ruleset ("owl2rl" or "rdfs")."""
    rules, reference = rulesets.named(ruleset).rules, REFERENCE[ruleset].split()
    theirs = _text(rules, reference)
    with tempfile.TemporaryDirectory(prefix="triplake-lubm-") as folder:
        closures = _Closures(Path(folder))
        if ruleset == "owl2rl":
            yield Step("their rules and data", closures.size(theirs + SWAPS, headers=False))
            yield Step("without domain-of-inverse, range-of-inverse", closures.size(theirs, headers=False))
        else:
            yield Step("their rules and data", closures.size(theirs, headers=False))
        size = closures.size(theirs)
        yield Step("the ontology headers", size)
        others = [name for name in dict.fromkeys(rule.name for rule in rules) if name not in reference]
        yield from _one_by_one(others, size, lambda n: closures.size(_text(rules, [*reference, *others[:n]])))
        yield Step("the rules that the store carries out itself", closures.size(ruleset))


def _text(rules: Sequence[Rule], names: Sequence[str]) -> str:
    return "".join(datalog.render(rule) for rule in rules if rule.name in names)


def _one_by_one(names: Sequence[str], before: int, size: Callable[[int], int]) -> Iterator[Step]:
    """A step for each rule; size(n) is that of the closure with the first n. Runs of rules that change nothing take one
    closure together."""

    def between(start: int, low: int, end: int, high: int) -> Iterator[Step]:
        if low == high or end == start + 1:
            yield from (Step(f"`{name}`", high) for name in names[start:end])
            return
        middle = (start + end) // 2
        at = size(middle)
        yield from between(start, low, middle, at)
        yield from between(middle, at, end, high)

    yield from between(0, before, len(names), size(len(names)))


class _Closures:
    """Closures of LUBM(1) with its ontology."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0
        with gzip.open(LUBM / "lubm1_seed0.nt.gz", "rt", encoding="utf-8") as file:
            lines = list(file)
        self.whole, self.one_header = folder / "whole.nt", folder / "one-header.nt"
        kept = [line for line in lines if not _is_header(line) or "University0_0.owl" in line]
        assert len(lines) - len(kept) == HEADERS
        self.whole.write_text("".join(lines), encoding="utf-8")
        self.one_header.write_text("".join(kept), encoding="utf-8")

    def size(self, rules: str, headers: bool = True) -> int:
        """Triples of the closure under a built-in ruleset, or the text of rules."""
        self.number += 1
        named = rules
        if rules not in rulesets.NAMES:
            named = str(self.folder / f"rules{self.number}.dlog")
            Path(named).write_text(rules, encoding="utf-8")
        with Store.create(self.folder / f"kg{self.number}", rules=[named], engine="duckdb") as store:
            store.load(self.whole if headers else self.one_header, LUBM / "univ-bench.owl")
            assert not store.check()
            return int(store.stats()["expanded"])


def _is_header(line: str) -> bool:
    return (
        line.endswith("<http://www.w3.org/2002/07/owl#Ontology> .\n")
        or "<http://www.w3.org/2002/07/owl#imports>" in line
    )


def table(ruleset: str, found: Sequence[Step]) -> str:
    """The way as Markdown: every step that changes something, with the difference."""
    rows = [f"| `{ruleset}` | triples | closure |", "|---|---|---|"]
    rows.append(f"| {found[0].change} | | {found[0].size:,} |")
    for before, step in pairwise(found):
        if step.size != before.size:
            rows.append(f"| {step.change} | {step.size - before.size:+,} | {step.size:,} |")
    idle = [s.change for before, s in pairwise(found) if s.size == before.size and s.change.startswith("`")]
    return "\n".join(rows) + (f"\n\nNo difference: {', '.join(idle)}.\n" if idle else "\n")


if __name__ == "__main__":
    for name in SIZES:
        print(table(name, list(steps(name))))
