"""The representative map pi: merging classes of equal terms, and rewriting what they touch.

Motik et al. 2015 ("Handling owl:sameAs via rewriting") merge two constants at a time; here a round's equalities are
merged at once, as connected components of a graph over representatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from triplestore.datatypes import KNOWN
from triplestore.engine import Engine
from triplestore.engine.arrow import id_lists, strings
from triplestore.engine.queries import count
from triplestore.terms import FIRST_LITERAL, SAME_AS

FEW_SHARE: Final = 0.1
"""Merged terms as a share of the map from which it is made anew, not changed in place."""

VIOLATION_RULE: Final = "eq-diff1"
"""Equal literals of different values: W3C's dt-diff makes them different, eq-diff1 the inconsistency."""

LITERAL_RULE: Final = "eq-literal"
"""An IRI or blank node said to be equal to a literal: never merged, reported (ours, not W3C's)."""


Violation = tuple[str, tuple[int, ...]]
"""Rule and triples at fault, flattened, as ids."""

REFUSED: Final = (VIOLATION_RULE, LITERAL_RULE)
"""The rules by which equalities with a literal are reported."""


def normalised(source: str, pi: str, representative: str = "representative") -> str:
    """The rows (s, p, o) of `source` under pi, as SQL; terms that `pi` lacks stand for themselves. Not DISTINCT."""
    columns = ", ".join(f"coalesce({c}m.{representative}, t.{c}) AS {c}" for c in "spo")
    joins = " ".join(f"LEFT JOIN {pi} {c}m ON {c}m.term = t.{c}" for c in "spo")
    return f"SELECT {columns} FROM {source} t {joins}"


def merge(engine: Engine, pairs: str) -> int:
    """Merge the classes of the pairs (a, b: different representatives, no literals) that the SELECT yields.

    Makes working table `merged` (term, representative): every representative that lost its place, and the new one.
    Updates `same_as`. Returns the number of terms that lost their place.
    """
    components = engine.components(pairs)
    if components.num_rows == 0:
        engine.load("merged", components.rename_columns(["term", "representative"]))
        return 0
    engine.load("joined", components.rename_columns(["term", "representative"]))
    if components.num_rows > FEW_SHARE * count(engine, "same_as"):
        engine.create("same_as", f"SELECT term, representative FROM ({_joined('same_as')}) m")
    else:  # only the rows of classes that grow
        engine.create(
            "growing",
            "SELECT s.term, s.representative FROM same_as s JOIN joined j ON j.term = s.representative "
            "WHERE j.representative <> s.representative",
        )
        engine.create("grown", f"{_joined('growing')} AND NOT EXISTS (SELECT 1 FROM same_as k WHERE k.term = j.term)")
        engine.remove("same_as", "SELECT term, representative FROM growing")
        engine.append("same_as", ["SELECT term, representative FROM grown"])
        engine.drop("growing", "grown")
    lost = engine.create("merged", "SELECT term, representative FROM joined WHERE term <> representative")
    engine.drop("joined")
    return lost


def _joined(pi: str) -> str:
    """The rows of `pi` under the classes of `joined`, and the members of these that have no row yet."""
    return (
        f"SELECT s.term, coalesce(j.representative, s.representative) AS representative FROM {pi} s "
        "LEFT JOIN joined j ON j.term = s.representative "
        "UNION ALL SELECT j.term, j.representative FROM joined j "
        f"WHERE NOT EXISTS (SELECT 1 FROM {pi} s WHERE s.term = j.term)"
    )


def mentions(source: str, terms: str) -> str:
    """The rows of `source` that mention a term of the one-column SELECT `terms`, as SQL, distinct.

    One semi-join per column: that is twice as fast as one scan that asks for any of them.
    """
    return " UNION ".join(f"SELECT s, p, o FROM {source} WHERE {c} IN ({terms})" for c in "spo")


def mergeable(source: str) -> str:
    """The equalities of `source` between different terms that are no literals: (a, b), as SQL."""
    return (
        f"SELECT DISTINCT s AS a, o AS b FROM {source} "
        f"WHERE p = {SAME_AS} AND s <> o AND s < {FIRST_LITERAL} AND o < {FIRST_LITERAL}"
    )


def clashes(engine: Engine, source: str) -> Sequence[str]:
    """SELECTs of VIOLATION rows for the equalities of `source` that involve a literal.

    Two literals clash if their values are known and different (dt-diff). Those that equal one literal whose value is
    not known are equal: the least of their values is compared with the greatest.
    """

    def rows(rule: str, where: str, ends: Sequence[str] = ("e.s", "e.o"), table: str = source) -> str:
        triple = engine.dialect.array([ends[0], f"CAST({SAME_AS} AS BIGINT)", ends[1]])
        return f"SELECT DISTINCT {engine.dialect.string(rule)} AS rule, {triple} AS facts FROM {table} e {where}"

    datatypes = ", ".join(engine.dialect.string(name) for name in KNOWN)
    known = f"(NOT x.ill_typed AND (x.lang IS NOT NULL OR x.datatype IN ({datatypes})))"
    literals = f"e.p = {SAME_AS} AND e.s <> e.o AND e.s >= {FIRST_LITERAL} AND e.o >= {FIRST_LITERAL}"
    both = (
        f"JOIN term x ON x.id = e.s JOIN term y ON y.id = e.o WHERE {literals} AND {known} "
        f"AND {known.replace('x.', 'y.')} AND coalesce(x.value, x.id) <> coalesce(y.value, y.id)"
    )
    one = f"WHERE e.p = {SAME_AS} AND (e.s >= {FIRST_LITERAL}) <> (e.o >= {FIRST_LITERAL})"
    ways = (f"SELECT e.{u} AS u, e.{v} AS v FROM {source} e WHERE {literals}" for u, v in ("so", "os"))
    value = "coalesce(y.value, y.id)"
    through = (
        f"(SELECT min({value}) AS a, max({value}) AS b FROM ({' UNION ALL '.join(ways)}) l "
        f"JOIN term x ON x.id = l.u JOIN term y ON y.id = l.v WHERE NOT {known} AND {known.replace('x.', 'y.')} "
        f"GROUP BY l.u HAVING min({value}) < max({value}))"
    )
    return rows(VIOLATION_RULE, both), rows(VIOLATION_RULE, "", ("e.a", "e.b"), through), rows(LITERAL_RULE, one)


def is_clash(rule: str, facts: Sequence[int]) -> bool:
    """Whether a violation is one of `clashes`."""
    return rule in (VIOLATION_RULE, LITERAL_RULE) and len(facts) == 3 and facts[1] == SAME_AS


def normalise_violations(engine: Engine, equality: str) -> None:
    """Put the rows of `violation` under pi, and have each inconsistency once."""
    if equality == "rewrite":
        mentioned = f"SELECT DISTINCT {engine.dialect.explode('facts')} AS term FROM violation"
        pi = engine.query(
            f"SELECT m.term, m.representative FROM same_as m JOIN ({mentioned}) v ON v.term = m.term "
            "WHERE m.term <> m.representative"
        ).to_pydict()
        now = dict(zip(pi["term"], pi["representative"], strict=True))
        if now:
            rows = engine.query("SELECT rule, facts FROM violation").to_pydict()
            facts = id_lists([[now.get(i, i) for i in row] for row in rows["facts"]])
            engine.load("violation", pa.table({"rule": strings(rows["rule"]), "facts": facts}))
    engine.create("violation", "SELECT DISTINCT rule, facts FROM violation")
    found = engine.query("SELECT rule, facts FROM violation").to_pydict()
    rows = [(rule, tuple(facts)) for rule, facts in zip(found["rule"], found["facts"], strict=True)]
    kept = once(rows)
    if len(kept) < len(rows):
        engine.load(
            "violation",
            pa.table({"rule": strings(r for r, _ in kept), "facts": id_lists([facts for _, facts in kept])}),
        )


def once(violations: Iterable[Violation]) -> list[Violation]:
    """One of those violations of a rule that have the same triples: a body that says the same of ?x and ?y as of ?y and
    ?x matches a pair both ways (prp-asyp). The least of them, by its ids."""
    least: dict[tuple[str, frozenset[tuple[int, ...]]], Violation] = {}
    single: list[Violation] = []
    for violation in violations:
        rule, facts = violation
        if len(facts) <= 3:
            single.append(violation)
            continue
        key = rule, frozenset(facts[i : i + 3] for i in range(0, len(facts), 3))
        if key not in least or violation < least[key]:
            least[key] = violation
    return single + list(least.values())
