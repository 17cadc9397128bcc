"""Reading the closure: expanding equality classes, and triples as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from triplestore.closure.view import ClosureView
from triplestore.closure.virtual import alone_sql, with_virtual_sql
from triplestore.dictionary.literals import by_value
from triplestore.engine.dialect import Dialect
from triplestore.engine.sql import minus
from triplestore.model.equality import Equality
from triplestore.model.errors import UsageError
from triplestore.model.tables import EQUAL_VALUED, token_sql
from triplestore.model.terms import FIRST_BLANK, FIRST_IRI, FIRST_LITERAL, FIRST_TRIPLE, SAME_AS

WHAT: Final = ("asserted", "inferred", "all")
SAME_AS_MODES: Final = ("expand", "canonical")

RDF_ONLY: Final = f"s < {FIRST_LITERAL} AND p < {FIRST_BLANK}"
"""A triple that RDF has a place for (rules may derive others: literal subjects, blank predicates)."""

GENERALISED_COUNT: Final = f"SELECT count(*) AS n FROM fact WHERE NOT ({RDF_ONLY})"
"""The number of stored facts that answers and exports hide, as a one-row SELECT."""

_EQUALITY = (
    f"(SELECT {SAME_AS} AS term UNION SELECT term FROM same_as "
    f"WHERE representative = {SAME_AS} AND term < {FIRST_BLANK})"
)
"""owl:sameAs and whatever IRI equals it."""

RESOURCES: Final = f"(SELECT term, representative FROM same_as WHERE term < {FIRST_LITERAL})"
"""The members of classes that can be subjects."""

_PREDICATES: Final = f"(SELECT term, representative FROM same_as WHERE term < {FIRST_BLANK})"
"""The members of classes that can be predicates."""

_MEMBERS: Final = {"s": RESOURCES, "p": _PREDICATES, "o": RESOURCES}
"""The members of the classes that the columns of `_folded` stand for, by column."""

_SPELLED: Final = (
    f"(SELECT term, representative FROM same_as WHERE term >= {FIRST_LITERAL} "
    "UNION SELECT representative, representative FROM same_as "
    f"WHERE term >= {FIRST_LITERAL} AND representative < {FIRST_LITERAL})"
)
"""Of classes that have literals these, and the representative, which stands for the other members, if there are any."""

_ASSERTED_EQUALITIES = (
    f"SELECT DISTINCT a.s, e.term AS p, a.o FROM asserted a, {_EQUALITY} e "
    f"WHERE a.p IN (SELECT term FROM {_EQUALITY} x) "
    "AND a.s = a.o AND NOT EXISTS (SELECT 1 FROM same_as m WHERE m.term = a.s)"
)
"""Asserted equalities that no class stands for: x sameAs x of a term alone."""

REFLEXIVE: Final = f"SELECT s FROM asserted WHERE p = {SAME_AS} AND s = o LIMIT 1"
"""A row if a term was asserted to equal itself."""


def _equalities(view: ClosureView) -> str:
    """The equalities that are listed and that no class stands for, distinct, as SQL."""
    if not view.same_as_in_class:
        return _ASSERTED_EQUALITIES
    return f"SELECT a.s, e.term AS p, a.o FROM ({alone_sql()}) a, {_EQUALITY} e UNION {_ASSERTED_EQUALITIES}"


def preferred_sql(prefixes: Sequence[str], dialect: Dialect, among: str | None = None) -> str:
    """(term, representative): of each class the member that is to stand for it in canonical answers, as SQL.

    An IRI that starts with the first of the prefixes that any member starts with; of several, or without one, the
    built-in vocabulary comes before other IRIs, these before blank nodes and these before literals, then the shortest,
    then the first by its characters. The same on either engine, and from one load of the same data to another, since no
    ids are compared.
    among: a SELECT of representatives (or a list of them); of no other class the member is looked for.
    """
    ranks = " ".join(
        f"WHEN m.term < {FIRST_BLANK} AND substr(t.lexical, 1, {len(prefix)}) = {dialect.string(prefix)} THEN {place}"
        for place, prefix in enumerate(prefixes)
    )
    rank = f"CASE {ranks} ELSE {len(prefixes)} END, " if prefixes else ""
    kind = (
        f"CASE WHEN m.term < {FIRST_IRI} THEN 0 WHEN m.term < {FIRST_BLANK} THEN 1 "
        f"WHEN m.term < {FIRST_LITERAL} THEN 2 ELSE 3 END"
    )
    only = "" if among is None else f" WHERE m.representative IN ({among})"
    return (
        "SELECT term, representative FROM (SELECT m.term, m.representative, row_number() OVER (PARTITION BY "
        f"m.representative ORDER BY {rank}{kind}, length(t.lexical), t.lexical) AS place "
        f"FROM same_as m JOIN term t ON t.id = m.term{only}) r WHERE place = 1"
    )


def shown_sql(triples: str, preferred: str) -> str:
    """The triples of a SELECT over representatives, with the `preferred` members (`preferred_sql`) in their places."""
    columns = ", ".join(f"coalesce({c}p.term, t.{c}) AS {c}" for c in "spo")
    joins = " ".join(f"LEFT JOIN chosen {c}p ON {c}p.representative = t.{c}" for c in "spo")
    return f"WITH chosen AS ({preferred}) SELECT {columns} FROM ({triples}) t {joins}"


def closure_sql(equality: Equality) -> str:
    """The closure by representatives of a store in which some values have several literals (s, p, o: ids; v: the id
    that `fact` has for o), literals in the forms that were asserted, as SQL.

    A value that was asserted of this subject and predicate (or of equals of them) comes in the forms in which it was,
    otherwise in the form that was met first.
    """
    return _in_forms("SELECT s, p, o, o AS v FROM fact", equality)


def spelled_sql(facts: str, forms: bool) -> str:
    """As `closure_sql`, of the facts (over representatives) of a store with equality `rewrite` in which literals equal
    other terms: an object that stands for such a class comes as each literal of it, and as the representative for the
    other members (`RESOURCES`). forms: other literals come in the forms that were asserted."""
    listed = (
        f"SELECT f.s, f.p, coalesce(m.term, f.o) AS o, f.o AS v FROM {facts} f "
        f"LEFT JOIN {_SPELLED} m ON m.representative = f.o"
    )
    return _in_forms(listed, Equality.REWRITE) if forms else listed


def triples_sql(view: ClosureView, what: str, same_as: str, virtual: bool = False) -> str:
    """The triples (s, p, o: ids) of a store, distinct, as SQL over asserted, fact, same_as and term.

    what: "asserted"; "all", the closure; "inferred", the closure without the asserted triples. same_as: "expand" gives
    every triple of every member of a class, "canonical" one per class, by representatives. virtual: also what holds of
    every term (`triplestore.closure.virtual`). Raises UsageError for other words.
    """
    if what not in WHAT:
        raise UsageError(f"no part '{what}' of a store; give one of {', '.join(WHAT)}")
    if same_as not in SAME_AS_MODES:
        raise UsageError(f"no equality mode '{same_as}' for answers; give one of {', '.join(SAME_AS_MODES)}")
    asserted = "SELECT s, p, o FROM asserted"
    if what == "asserted":
        if virtual:
            raise UsageError("what holds of every term is inferred, not asserted: ask for all triples, or the inferred")
        return asserted
    if same_as == "canonical":
        closure, given = f"SELECT s, p, o FROM {_source(view)} WHERE {RDF_ONLY}", normalised_sql(view, forms=True)
    else:
        closure, given = expanded_sql(view), asserted
    if virtual:
        closure = with_virtual_sql(closure, view.congruent, view.resources)
    if what == "all":
        return closure
    return minus(f"({closure})", f"({given})", "spo")


def expanded_sql(view: ClosureView) -> str:
    """The closure with all equalities expanded, distinct, as SQL."""
    if not view.rewriting:
        facts = f"SELECT s, p, o FROM {_source(view)} WHERE {RDF_ONLY}"
        return facts + (" UNION " + _ASSERTED_EQUALITIES if view.congruent else "")
    columns = ", ".join(f"coalesce({c}m.term, f.{c}) AS {c}" for c in "spo")
    joins = " ".join(f"LEFT JOIN {_MEMBERS[c]} {c}m ON {c}m.representative = f.{c}" for c in "spo")
    return f"SELECT {columns} FROM ({_folded(view)}) f {joins} UNION ALL {_equalities(view)}"


def _folded(view: ClosureView) -> str:
    """The closure of a store with equality `rewrite`, owl:sameAs over the classes too, to be expanded by `_MEMBERS`."""
    classes = (
        f"SELECT representative AS s, CAST({SAME_AS} AS BIGINT) AS p, representative AS o FROM same_as "
        f"WHERE term = representative AND term < {FIRST_LITERAL}"
    )
    if not view.literals_in_classes:
        return f"SELECT s, p, o FROM {_source(view)} WHERE {RDF_ONLY} UNION ALL {classes}"
    facts = f"(SELECT s, p, o FROM fact WHERE {RDF_ONLY} UNION ALL {classes})"
    return f"SELECT s, p, o FROM ({spelled_sql(facts, view.equal_values)}) c"


def expanded_count_sql(view: ClosureView) -> str:
    """The number of triples of `expanded_sql` as a one-row SELECT, counted without enumerating them."""
    if not view.rewriting:
        return f"SELECT count(*) AS n FROM ({expanded_sql(view)}) e"
    sizes = {c: f"SELECT representative, count(*) AS n FROM {_MEMBERS[c]} m GROUP BY representative" for c in "spo"}
    product = " * ".join(f"coalesce(n{c}.n, 1)" for c in "spo")
    joins = " ".join(f"LEFT JOIN ({sizes[c]}) n{c} ON n{c}.representative = f.{c}" for c in "spo")
    return (
        f"SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM ("
        f"SELECT sum(CAST({product} AS BIGINT)) AS n FROM ({_folded(view)}) f {joins} "
        f"UNION ALL SELECT count(*) FROM ({_equalities(view)}) a) counts"
    )


def ntriples_sql(triples: str, dialect: Dialect, quads: bool = False) -> str:
    """The triples of a SELECT as N-Triples lines (one column, `line`), as SQL over `term`. quads: those of named graphs
    (g) as N-Quads."""
    columns = "spog" if quads else "spo"
    parts = ", ' ', ".join(written(f"{c}_term", dialect) for c in columns)
    joins = " ".join(f"JOIN term {c}_term ON {c}_term.id = t.{c}" for c in columns)
    return f"SELECT concat({parts}, ' .') AS line FROM ({triples}) t {joins}"


def written_sql(table: str, columns: Sequence[str], dialect: Dialect) -> str:
    """The rows of a table with ids in these columns, each as its term as N-Triples writes it, as SQL over `term`. An id
    that no term has is NULL."""
    texts = (f"CASE WHEN {c}_term.id IS NOT NULL THEN {written(f'{c}_term', dialect)} END AS {c}" for c in columns)
    joins = " ".join(f"LEFT JOIN term {c}_term ON {c}_term.id = t.{c}" for c in columns)
    return f"SELECT {', '.join(texts)} FROM {table} t {joins}"


def tokens_sql(triples: str, grouped: bool = False) -> str:
    """The triples of a SELECT as tokens (s, p, o), as SQL over `term`. grouped: those of a subject come together."""
    columns = ", ".join(f"{token_sql(f'{c}_term')} AS {c}" for c in "spo")
    joins = " ".join(f"JOIN term {c}_term ON {c}_term.id = t.{c}" for c in "spo")
    return f"SELECT {columns} FROM ({triples}) t {joins}{' ORDER BY t.s, t.p, t.o' if grouped else ''}"


def _source(view: ClosureView) -> str:
    """The closure by representatives, as something that can stand after FROM."""
    return f"({closure_sql(view.equality)}) c" if view.equal_values else "fact"


def _in_forms(listed: str, equality: Equality) -> str:
    """The triples of a SELECT, literals in the forms that were asserted."""
    same = " AND ".join(f"w.{c} = f.{c}" for c in "spo")
    forms = f"LEFT JOIN ({_forms(equality)}) w ON {same}"
    return f"SELECT f.s, f.p, coalesce(w.form, f.o) AS o, f.v FROM ({listed}) f {forms}"


def _forms(equality: Equality) -> str:
    """(s, p, o, form): in which forms a value with several literals was asserted; s, p as `fact` has them."""
    several = f"(SELECT id, value FROM {EQUAL_VALUED} v UNION SELECT value, value FROM {EQUAL_VALUED} v)"
    # With equality as axioms every member of a class has the facts itself, so it has the forms itself too.
    classes, kept = {
        Equality.REWRITE: ("same_as", "representative"),
        Equality.AXIOMS: (f"(SELECT s AS term, o AS member FROM fact WHERE p = {SAME_AS})", "member"),
        Equality.OFF: ("", ""),
    }[equality]
    s, p = (f"coalesce({c}m.{kept}, a.{c})" if classes else f"a.{c}" for c in "sp")
    joins = " ".join(f"LEFT JOIN {classes} {c}m ON {c}m.term = a.{c}" for c in "sp") if classes else ""
    return (
        f"SELECT DISTINCT {s} AS s, {p} AS p, t.value AS o, a.o AS form FROM asserted a "
        f"JOIN {several} t ON t.id = a.o {joins}"
    )


def normalised_sql(view: ClosureView, forms: bool) -> str:
    """The asserted triples under the representatives in `same_as`, not distinct, as SQL. forms: a literal in no class
    comes as it was asserted, not as the one that stands for its value in `fact`."""
    several = view.equal_values
    source = f"({by_value('asserted')})" if several and not forms else "asserted"
    if not view.rewriting:
        return f"SELECT s, p, o FROM {source} a"
    columns = ", ".join(f"coalesce({c}m.representative, a.{c}) AS {c}" for c in "spo")
    ends = {"s": "a.s", "p": "a.p", "o": "coalesce(v.value, a.o)" if several and forms else "a.o"}
    joins = f"LEFT JOIN {EQUAL_VALUED} v ON v.id = a.o " if several and forms else ""
    joins += " ".join(f"LEFT JOIN same_as {c}m ON {c}m.term = {end}" for c, end in ends.items())
    return f"SELECT {columns} FROM {source} a {joins}"


def written(term: str, dialect: Dialect) -> str:
    """A row of `term` (alias) as N-Triples writes it, as an SQL expression."""
    lexical = escaped(f"{term}.lexical", dialect)
    return (
        f"CASE WHEN {term}.id < {FIRST_BLANK} THEN concat('<', {term}.lexical, '>') "
        f"WHEN {term}.id < {FIRST_LITERAL} THEN concat('_:', {term}.lexical) "
        f"WHEN {term}.id >= {FIRST_TRIPLE} THEN concat('<<( ', {term}.lexical, ' )>>') "
        f"ELSE concat('\"', {lexical}, '\"', "
        f"CASE WHEN {term}.lang IS NOT NULL THEN concat('@', {term}.lang) "
        f"WHEN {term}.datatype = 'http://www.w3.org/2001/XMLSchema#string' THEN '' "
        f"ELSE concat('^^<', {term}.datatype, '>') END) END"
    )


def escaped(lexical: str, dialect: Dialect) -> str:
    """A lexical form (SQL) as N-Triples writes it between quotes, as `triplestore.model.terms.escape` does."""
    for plain, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        lexical = f"replace({lexical}, {dialect.string(plain)}, {dialect.string(written)})"
    return lexical
