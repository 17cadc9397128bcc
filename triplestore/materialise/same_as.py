"""The representative map pi: merging classes of equal terms, and rewriting what they touch.

Motik et al. 2015 ("Handling owl:sameAs via rewriting") merge two constants at a time; here a round's equalities are
merged at once, as connected components of a graph over representatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from triplestore.dictionary.datatypes import KNOWN
from triplestore.engine import Queries, Workbench
from triplestore.engine.arrow import id_lists, strings
from triplestore.engine.dialect import Dialect
from triplestore.engine.sql import Scratch, Select, Spelled, count
from triplestore.model.equality import Equality
from triplestore.model.terms import FIRST_LITERAL, SAME_AS
from triplestore.model.thresholds import SIZES

CLASH: Final = "eq-diff1"
"""Equal literals of different values: W3C's dt-diff makes them different, eq-diff1 the inconsistency."""

APART: Final = f"(s >= {FIRST_LITERAL} AND o >= {FIRST_LITERAL})"
"""An equality of two literals: it makes no class, see docs/architecture.md."""


Violation = tuple[str, tuple[int, ...]]
"""Rule and triples at fault, flattened, as ids."""

ILL_TYPED: Final = "dt-not-type"
"""A literal that is not of its datatype, or of another that it is asserted to be of."""


def normalised(source: str, pi: str, representative: str = "representative") -> str:
    """The rows (s, p, o) of `source` under pi, as SQL; terms that `pi` lacks stand for themselves. Not DISTINCT."""
    columns = ", ".join(f"coalesce({c}m.{representative}, t.{c}) AS {c}" for c in "spo")
    joins = " ".join(f"LEFT JOIN {pi} {c}m ON {c}m.term = t.{c}" for c in "spo")
    return f"SELECT {columns} FROM {source} t {joins}"


def merge(engine: Workbench, pairs: str, merged: str) -> int:
    """Merge the classes of the pairs (a, b: different representatives) that the SELECT yields.

    Makes working table `merged` (term, representative): every representative that lost its place, and the new one.
    Updates `same_as`. Returns the number of terms that lost their place.
    """
    components = engine.components(pairs).rename_columns(["term", "representative"])
    if components.num_rows == 0:
        engine.load(merged, components)
        return 0
    with engine.scratch() as scratch:
        joined = scratch.load("joined", components)
        if components.num_rows > SIZES.share * count(engine, "same_as"):
            engine.create("same_as", f"SELECT term, representative FROM ({_joined('same_as', joined)}) m")
        else:  # only the rows of classes that grow
            growing = scratch.create(
                "growing",
                f"SELECT s.term, s.representative FROM same_as s JOIN {joined} j ON j.term = s.representative "
                "WHERE j.representative <> s.representative",
            )
            absent = "NOT EXISTS (SELECT 1 FROM same_as k WHERE k.term = j.term)"
            grown = scratch.create("grown", f"{_joined(growing, joined)} AND {absent}")
            engine.remove("same_as", f"SELECT term, representative FROM {growing}")
            engine.append("same_as", [Select(grown, ("term", "representative"))])
        return engine.create(merged, f"SELECT term, representative FROM {joined} WHERE term <> representative")


def _joined(pi: str, joined: str) -> str:
    """The rows of `pi` under the classes of `joined`, and the members of these that have no row yet."""
    return (
        f"SELECT s.term, coalesce(j.representative, s.representative) AS representative FROM {pi} s "
        f"LEFT JOIN {joined} j ON j.term = s.representative "
        f"UNION ALL SELECT j.term, j.representative FROM {joined} j "
        f"WHERE NOT EXISTS (SELECT 1 FROM {pi} s WHERE s.term = j.term)"
    )


def mentions(source: str, terms: str) -> str:
    """The rows of `source` that mention a term of the one-column SELECT `terms`, as SQL, distinct.

    One semi-join per column: that is twice as fast as one scan that asks for any of them.
    """
    return " UNION ".join(f"SELECT s, p, o FROM {source} WHERE {c} IN ({terms})" for c in "spo")


def mergeable(source: str) -> str:
    """The equalities of `source` between different terms that are not both literals: (a, b), as SQL."""
    return f"SELECT DISTINCT s AS a, o AS b FROM {source} WHERE p = {SAME_AS} AND s <> o AND NOT {APART}"


def clashes_in_classes(engine: Queries, equality: Equality) -> str:
    """The SELECT of VIOLATION rows for classes with literals of different values (dt-diff, eq-diff1): of each class the
    first of these literals and one of each further value. Values that are not known differ from none."""
    if equality == Equality.REWRITE:
        members = f"SELECT representative AS class, term AS literal FROM same_as WHERE term >= {FIRST_LITERAL}"
    else:
        members = (
            f"SELECT least(min(s), o) AS class, o AS literal FROM fact WHERE p = {SAME_AS} AND o >= {FIRST_LITERAL} "
            "AND s <> o GROUP BY o"
        )
    return _clashing(engine, members)


def clashes_between(engine: Workbench, scratch: Scratch, source: str) -> str:
    """The SELECT, over tables of `scratch`, of VIOLATION rows for the equalities of `source` between literals that stay
    apart: of those that equal a literal the first with one of each further value. Literals whose values are not known
    are one for this, so that whatever equals them is compared."""
    equal = f"p = {SAME_AS} AND s <> o AND {APART}"
    ordered = f"SELECT DISTINCT least(s, o) AS a, greatest(s, o) AS b FROM {source} WHERE {equal}"
    apart = scratch.create("apart", ordered)
    ends = f"SELECT a FROM {apart} UNION SELECT b FROM {apart}"
    known = f"SELECT id FROM term WHERE {known_value(engine, 'term')} AND id IN ({ends})"
    valued = f"(SELECT id FROM {scratch.create('valued', known)})"
    unknown = f"SELECT a, b FROM {apart} WHERE a NOT IN {valued} AND b NOT IN {valued}"
    hidden = scratch.load("hidden", engine.components(unknown).rename_columns(["term", "representative"]))
    linked = f"SELECT a AS hub, a AS literal FROM {apart} UNION ALL SELECT a, b FROM {apart}"
    through = (
        f"SELECT coalesce(h.representative, l.hub), l.literal FROM (SELECT a AS hub, b AS literal FROM {apart} UNION "
        f"ALL SELECT b, a FROM {apart}) l LEFT JOIN {hidden} h ON h.term = l.hub WHERE l.hub NOT IN {valued}"
    )
    return _clashing(engine, f"SELECT hub AS class, literal FROM ({linked}) e UNION ALL {through}")


def _clashing(engine: Queries, members: str) -> str:
    """VIOLATION rows for the groups (class, literal) of a SELECT: the first known value of each with each other one."""
    values = (
        f"SELECT c.class, coalesce(t.value, t.id) AS value, min(c.literal) AS literal FROM ({members}) c "
        f"JOIN term t ON t.id = c.literal WHERE {known_value(engine, 't')} GROUP BY c.class, coalesce(t.value, t.id)"
    )
    triple = engine.dialect.array(["h.least", f"CAST({SAME_AS} AS BIGINT)", "v.literal"])
    return (
        f"SELECT DISTINCT {engine.dialect.string(CLASH)} AS rule, {triple} AS facts FROM ({values}) v JOIN (SELECT "
        f"class, min(literal) AS least FROM ({values}) w GROUP BY class HAVING count(*) > 1) h ON h.class = v.class "
        "WHERE v.literal <> h.least"
    )


def known_value(engine: Queries, term: str) -> str:
    """Whether the value of a literal (a row of TERM) is known, as SQL."""
    datatypes = ", ".join(engine.dialect.string(name) for name in KNOWN)
    return f"(NOT {term}.ill_typed AND ({term}.lang IS NOT NULL OR {term}.datatype IN ({datatypes})))"


def is_clash(rule: str, facts: Sequence[int]) -> bool:
    """Whether a violation is one of two values that are equal."""
    return rule == CLASH and len(facts) == 3


def normalise_violations(engine: Workbench, equality: Equality) -> None:
    """Put the rows of `violation` under pi, and have each inconsistency once. What speaks of literals as such (clashes
    of values, dt-not-type) goes on to name them, not what equals them."""
    if equality == Equality.REWRITE:

        def represented(dialect: Dialect) -> str:
            mentioned = f"SELECT DISTINCT {dialect.explode('facts')} AS term FROM violation"
            return (
                f"SELECT m.term, m.representative FROM same_as m JOIN ({mentioned}) v ON v.term = m.term "
                "WHERE m.term <> m.representative"
            )

        pi = engine.query(Spelled(engine.dialect, represented)).to_pydict()
        now = dict(zip(pi["term"], pi["representative"], strict=True))
        if now:
            rows = engine.query("SELECT rule, facts FROM violation").to_pydict()
            found = []
            for rule, row in zip(rows["rule"], rows["facts"], strict=True):
                named = rule == ILL_TYPED or is_clash(rule, row)
                found.append([i if named and i >= FIRST_LITERAL else now.get(i, i) for i in row])
            facts = id_lists(found)
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
