"""Rules that are added and removed: the closure is maintained by what the programs differ in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from triplestore.closure.view import ClosureView
from triplestore.maintain import rematerialise
from triplestore.maintain.policy import check as check_algorithm
from triplestore.model.errors import UsageError
from triplestore.model.report import UpdateReport
from triplestore.model.tables import ASSERTED
from triplestore.read.reasoning import check_countable, rule_constants, ruleset_text
from triplestore.read.session import Session
from triplestore.storage.manifest import RulesetText
from triplestore.write import in_memory, in_tables
from triplestore.write.change import Change, ChangeSet, Facts, Reason, Refused
from triplestore.write.commit import commit
from triplestore.write.netting import encoded, no_facts, numbered, token_table
from triplestore.write.transaction import Transaction, retried, writing


@retried
def change_rules(
    session: Session, add: Sequence[str | Path], remove: Sequence[str | Path], algorithm: str
) -> UpdateReport:
    """See `Store.change_rules`."""
    with writing(session, "rules") as tx:
        check_algorithm(algorithm, session.manifest.counting)
        rulesets = _changed(session.manifest.rulesets, add, remove)
        if session.manifest.counting:
            check_countable(rulesets, session.manifest.equality)
        return commit(tx, _maintained(tx, rulesets, algorithm))


def _changed(
    known: Sequence[RulesetText], add: Sequence[str | Path], remove: Sequence[str | Path]
) -> tuple[RulesetText, ...]:
    """The rulesets after a change. Raises UsageError for one to remove that is not there, or to add that is."""
    kept = list(known)
    for name in map(str, remove):
        kept.remove(_named(name, kept))
    for name in map(str, add):
        text = ruleset_text(name)
        if any(r.name == text.name for r in kept):
            raise UsageError(f"the store has ruleset '{text.name}' already; remove it first to replace it")
        kept.append(text)
    return tuple(kept)


def _named(name: str, known: Sequence[RulesetText]) -> RulesetText:
    """A ruleset by its name, or a file by its own name, where one alone has it. Raises UsageError."""
    same = [r for r in known if r.text is not None and Path(r.name).name == Path(name).name]
    found = [r for r in known if r.name == name] or same
    if not found:
        raise UsageError(f"the store has no ruleset '{name}'; it has {_names(known)}")
    if len(found) > 1:
        raise UsageError(f"the store has several rulesets '{name}': say which, of {_names(found)}")
    return found[0]


def _maintained(tx: Transaction, rulesets: tuple[RulesetText, ...], algorithm: str) -> ChangeSet:
    """What other rulesets make of the version at hand, whose manifest has them from now on."""
    workspace, before = tx.workspace, tx.before
    after = replace(before, rulesets=rulesets)
    found: ChangeSet | Refused
    if algorithm == rematerialise.NAME:
        found = Refused(Reason.FROM_SCRATCH, "asked for")
    elif before.materialised and ClosureView.of(before).by_value != ClosureView.of(after).by_value:
        found = Refused(Reason.LITERALS)
    else:
        memory = in_memory.closure(tx, 0, 0, algorithm)
        workspace.manifest = after
        if isinstance(memory, Refused):
            found = memory
        else:
            terms = numbered(workspace, (), rule_constants(after))
            change = Change(0, 0, terms.counters, facts=Facts((), (), terms))
            found = in_memory.maintained_rules(tx, memory, change, before, algorithm)
    if not isinstance(found, Refused):
        return found
    workspace.manifest = replace(workspace.manifest, rulesets=rulesets)
    workspace.tables(ASSERTED)
    tx.engine.load("raw", token_table([]))
    _, counters = encoded(tx, "raw", before.counters)
    tx.engine.load("plus", no_facts())
    return in_tables.maintained(tx, Change(0, 0, counters), rematerialise.NAME, found)


def _names(rulesets: Iterable[RulesetText]) -> str:
    return ", ".join(r.name for r in rulesets) or "none"
