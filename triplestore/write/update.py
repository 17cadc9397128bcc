"""A change of asserted triples: netted and maintained in memory where that is possible, else in tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triplestore.dictionary.encoding import Numbered, in_new_term
from triplestore.maintain.policy import check as check_algorithm
from triplestore.model.dataset import Quad, QuadOperation
from triplestore.model.errors import UsageError
from triplestore.model.prefixes import Prefix
from triplestore.model.report import UpdateReport
from triplestore.model.tables import QUAD, TERM, Table
from triplestore.model.terms import from_rdflib_quads, to_ntriples
from triplestore.read.session import Session
from triplestore.storage.manifest import Manifest
from triplestore.write import in_memory, in_tables
from triplestore.write.change import Change, ChangeSet, Facts, Reason, Refused, TableChange
from triplestore.write.commit import commit, dry_run
from triplestore.write.graphs import facts_of
from triplestore.write.netting import net_in_memory, net_in_tables
from triplestore.write.pending import Pending
from triplestore.write.table_changes import Extended, NewTerms
from triplestore.write.transaction import Transaction, check_numbers, retried, writing


def update(session: Session, add: Iterable[Any], delete: Iterable[Any], algorithm: str, dry: bool) -> UpdateReport:
    """See `Store.update`. dry: a dry run."""
    added, deleted = sides(add, delete)
    return apply(session, [(False, deleted), (True, added)], algorithm, dry)


def sides(add: Iterable[Any], delete: Iterable[Any]) -> tuple[list[Quad], list[Quad]]:
    """The quads of rdflib to add, and those to delete; one in both is added. What is deleted may be what an older
    version stored, which is legal or not. Raises UsageError for what is not a triple of RDF."""
    added = dict.fromkeys(to_add(add))
    return list(added), [quad for quad in dict.fromkeys(to_delete(delete)) if quad not in added]


def to_add(quads: Iterable[Any]) -> list[Quad]:
    """Quads of rdflib to add. Raises UsageError for what is not a triple of RDF: rdflib lets a literal be a subject,
    and anything a predicate."""
    found = from_rdflib_quads(quads)
    for s, p, *_ in found:
        if s[0] in '"(' or p[0] != "<":
            place, token = ("subject", s) if s[0] in '"(' else ("predicate", p)
            raise UsageError(f"{to_ntriples(token)} cannot be the {place} of a triple: nothing was changed")
    return found


def to_delete(quads: Iterable[Any]) -> list[Quad]:
    """Quads of rdflib to delete. Raises UsageError for what holds other things than terms."""
    return from_rdflib_quads(quads, legal=False)


@retried
def apply(
    session: Session,
    operations: Sequence[QuadOperation],
    algorithm: str,
    dry: bool,
    file: int = 0,
    prefixes: Sequence[Prefix] = (),
    began: int | None = None,
) -> UpdateReport:
    """Carry out operations on quads, in order, as one transaction. file: the number of the last input file. prefixes:
    those that are declared with it. began: see `check_numbers`."""
    with writing(session, "update", dry) as tx:
        check_numbers(session, began)
        tx.prefixes = tx.prefixes.met(prefixes)
        check_algorithm(algorithm, session.manifest.counting)
        pending = Pending(tx.default_graph)
        for insert, quads in operations:
            pending.put(insert, quads)
        found = maintained(tx, pending, algorithm, file)
        report = dry_run(tx, found) if dry else commit(tx, found)
        return replace(report, not_asserted=found.change.not_asserted)


def maintained(
    tx: Transaction,
    pending: Pending,
    algorithm: str,
    file: int = 0,
    tables_only: Refused | None = None,
) -> ChangeSet:
    """What pending changes make of the version at hand. tables_only: why it is not to be maintained in memory, if
    so."""
    add, delete = [*pending.add], [*pending.delete]
    refused = Refused(Reason.REPLACED) if pending.clear else tables_only
    memory = refused or in_memory.closure(tx, len(add), len(delete), algorithm)
    if isinstance(memory, Refused):
        change = net_in_tables(tx, add, delete, file, pending.clear)
    else:
        with tx.phase("net"):
            change = net_in_memory(tx, memory, add, delete, file)
    if not change and tx.workspace.manifest.materialised:
        return graphs_only(tx, change)
    found = memory if isinstance(memory, Refused) else in_memory.maintained(tx, memory, change, algorithm)
    return in_tables.maintained(tx, change, algorithm, found) if isinstance(found, Refused) else found


def netted(
    tx: Transaction, change: Change, algorithm: str, terms: Numbered | None = None, refused: Refused | None = None
) -> ChangeSet:
    """Return the change set for a change of any size that was netted in tables.

    terms: the new terms; None if only working table `new_term` holds them. refused: why the change must not be
    maintained in memory.
    """
    if not change and tx.workspace.manifest.materialised:
        return graphs_only(tx, change)
    memory = refused or in_memory.closure(tx, change.added, change.removed, algorithm)
    if isinstance(memory, Refused):
        return in_tables.maintained(tx, change, algorithm, memory)
    if terms is None:
        terms = in_new_term(tx.engine, change.counters)
        if terms.new:
            tx.workspace.extend_terms()
    change = replace(change, facts=Facts(*facts_of(tx, change), terms))
    found = in_memory.maintained(tx, memory, change, algorithm)
    return in_tables.maintained(tx, change, algorithm, found) if isinstance(found, Refused) else found


def graphs_only(tx: Transaction, change: Change) -> ChangeSet:
    """The change set where graphs gain and lose triples, if that, and the same triples stay asserted."""
    tables: dict[Table, TableChange] = {}
    if change.quads is not None:
        tables[QUAD] = change.quads
        if change.facts is None or change.facts.terms.new:
            tables[TERM] = Extended(NewTerms(tx.workspace))
    return GraphsOnly(change, change.counters, tables=tables, tx=tx, before=tx.workspace.manifest)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphsOnly(ChangeSet):
    """The change set where only graphs differ. The closure in memory is that of the next version too, unless it has to
    learn of new terms. before: the version that is changed."""

    tx: Transaction
    before: Manifest

    def keep(self, now: Manifest) -> None:
        """See `ChangeSet`."""
        facts = self.change.facts
        in_memory.keep_beside(self.tx, self.before, now, None if facts is None else facts.terms.new)
