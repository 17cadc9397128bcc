"""Basic graph patterns over (pi, I): a row of representatives stands for all that members of their classes make of it.

Semantics (Motik et al. 2015, "Handling owl:sameAs via rewriting"): the answers are those over the expanded graph, as a
bag. Equalities themselves are not stored: they are the triples `r owl:sameAs r` over representatives r of classes of
two or more (and over what was asserted equal to itself), expanded like any other. `sparql.classes` says what becomes of
a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sparql.algebra import Triple
from triplestore.expression import Constant, Variable
from triplestore.terms import FIRST_BLANK, FIRST_LITERAL, SAME_AS, TYPE
from triplestore.virtual import RESOURCE, resources_sql

_LINKS: Final = (
    f"SELECT representative AS s, CAST({SAME_AS} AS BIGINT) AS p, representative AS o FROM same_as "
    f"WHERE term = representative AND representative < {FIRST_LITERAL} UNION ALL SELECT a.s, a.p, a.o FROM asserted a "
    f"WHERE a.p = {SAME_AS} AND a.s = a.o AND NOT EXISTS (SELECT 1 FROM same_as e WHERE e.term = a.s)"
)
"""owl:sameAs over representatives, each standing for its whole class."""

_PLACES: Final = "spo"


@dataclass(frozen=True, slots=True)
class Matching:
    """How patterns read the tables. rewriting: `fact` holds representatives and no owl:sameAs; expanding: variables
    range over classes; reflexive: `c owl:sameAs c` holds for every c; generalised: some facts are no RDF; facts: what
    stands after FROM for the facts with literals in their asserted forms: variables range over these, a literal in a
    pattern matches by its value, in `fact`; preferred: the members (term, representative) that stand for their classes,
    where these are not the representatives; resources: see `sparql.query.Graph`."""

    rewriting: bool
    expanding: bool
    reflexive: bool
    generalised: bool
    facts: str = "fact"
    preferred: str | None = None
    resources: str = ""


def match(
    triples: Sequence[Triple], columns: Mapping[str, str], representatives: Mapping[str, int], how: Matching
) -> str:
    """The SELECT of a basic graph pattern's matches over representatives: a column per variable, rows distinct.

    columns: the column of each variable. representatives: the (normalised) ids of the constants.
    """
    atoms: list[Triple] = []
    for triple in dict.fromkeys(triples):
        s, p, o = (representatives[t.token] if isinstance(t, Constant) else None for t in triple)
        if how.reflexive and p == SAME_AS and s is not None and o is not None and (s == o or how.rewriting):
            if s == o:
                continue
            nulls = [f"CAST(NULL AS BIGINT) AS {column}" for column in columns.values()]
            return f"SELECT {', '.join(nulls) or '1 AS unit'} WHERE FALSE"
        atoms.append(triple)
    return _joined(atoms, columns, representatives, how) if atoms else "SELECT 1 AS unit"


def _joined(
    atoms: Sequence[Triple], columns: Mapping[str, str], representatives: Mapping[str, int], how: Matching
) -> str:
    """The join of the atoms over representatives, most bound first, connected where possible. A variable that several
    atoms have as object is joined by value, and shows the forms that the first one has."""
    forms = how.facts != "fact"
    home: dict[str, str] = {}
    values: dict[str, str] = {}  # by value: the column, for variables whose home may hold a literal
    steps: list[str] = []
    filters: list[str] = []
    for number, atom in enumerate(_ordered(atoms)):
        alias, conditions = f"f{number}", []
        matched = isinstance(atom[2], Constant) or atom[2].name in home
        for place, term in zip(_PLACES, atom, strict=True):
            column = f"{alias}.{place}"
            if isinstance(term, Constant):
                conditions.append(f"{column} = {representatives[term.token]}")
            elif term.name in home:
                conditions.append(f"{column} = {values.get(term.name, home[term.name])}")
            else:
                home[term.name] = column
                if forms and place == "o":
                    values[term.name] = f"{alias}.v"
        if how.generalised:
            conditions += [f"{alias}.s < {FIRST_LITERAL}", f"{alias}.p < {FIRST_BLANK}"]
        predicate = representatives[atom[1].token] if isinstance(atom[1], Constant) else None
        reading = replace(how, facts="fact") if matched else how
        end = representatives[atom[2].token] if isinstance(atom[2], Constant) else None
        table = f"{source(predicate, reading, end)} {alias}"
        if number == 0:
            steps.append(table)
            filters = conditions
        else:
            steps.append(f"JOIN {table} ON {' AND '.join(conditions)}" if conditions else f"CROSS JOIN {table}")
    selected = ", ".join(f"{home[name]} AS {column}" for name, column in columns.items()) or "1 AS unit"
    where = f" WHERE {' AND '.join(filters)}" if filters else ""
    return f"SELECT {selected} FROM {' '.join(steps)}{where}"


def source(predicate: int | None, how: Matching, end: int | None = None) -> str:
    """The triples over representatives that a pattern with this predicate and object (None: any) may match, as a
    table; with a column v, the object by value, if `how.facts` has it."""
    links, value = (_LINKS, "") if how.facts == "fact" else (f"SELECT s, p, o, o AS v FROM ({_LINKS}) l", ", v")
    if how.resources and (predicate, end) == (TYPE, RESOURCE):
        return f"({resources_sql(source(None, replace(how, facts='fact')), how.resources == 'all')})"
    if not how.rewriting:
        return how.facts
    if predicate is None:
        return f"(SELECT s, p, o{value} FROM {how.facts} f UNION ALL {links})"
    return f"({links})" if predicate == SAME_AS else how.facts


def triples_of_rdf(table: str, how: Matching, condition: str = "TRUE") -> str:
    """The SELECT of those triples of a table that RDF has a place for."""
    if how.generalised:
        condition += f" AND s < {FIRST_LITERAL} AND p < {FIRST_BLANK}"
    return f"SELECT s, p, o FROM {table} f WHERE {condition}"


def _ordered(atoms: Sequence[Triple]) -> list[Triple]:
    """Greedy: the atom with most bound places next, among those that share a variable with what is there."""
    left, found, bound = list(atoms), [], set[str]()

    def rank(atom: Triple) -> tuple[bool, int, bool]:
        known = [isinstance(t, Constant) or t.name in bound for t in atom]
        shares = not bound or any(isinstance(t, Variable) and t.name in bound for t in atom)
        return shares, sum(known), isinstance(atom[1], Constant)

    while left:
        best = max(left, key=rank)
        left.remove(best)
        found.append(best)
        bound.update(t.name for t in best if isinstance(t, Variable))
    return found
