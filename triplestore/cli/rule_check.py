"""`triplake rules check`: what is most likely not meant in files of rules, and what each rule does on data."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from triplestore.cli.options import NO, Common, counted, limits, say
from triplestore.engine import temporary
from triplestore.engine.disk import naming
from triplestore.model.errors import EndlessError, InputError, UsageError
from triplestore.model.terms import from_rdflib, to_ntriples, to_rdflib
from triplestore.objects import is_remote

if TYPE_CHECKING:
    from triplestore.materialise.figures import RoundFigures
    from triplestore.model.rule import Rule
    from triplestore.ontology.rule_check import Doubt, Word
    from triplestore.storage.manifest import RulesetText
    from triplestore.store import Store


@dataclass(frozen=True, slots=True)
class Work:
    """What a rule does on data. matches: of its body, in the closure; seconds: of its statements, each shared evenly
    by the rule instances that it runs."""

    rule: str
    source: str
    line: int
    matches: int
    seconds: float


def check(options: Common, files: Sequence[str], data: Sequence[str], others: Sequence[str], as_json: bool) -> None:
    """Print what is doubtful in files of rules and, with data (a store, or files of RDF), what each rule does; exit
    with 1 where something is. others: further rulesets that run with them.

    Raises UsageError, and InputError for all faults of the files at once.
    """
    from triplestore.ontology.rule_check import doubts
    from triplestore.read.reasoning import rules_of

    texts = _texts(files)
    rules = [rule for text in texts for rule in rules_of(text)]
    if not rules:
        raise UsageError(f"there are no rules in {', '.join(files)}")
    more = _texts(others)
    beside = [rule for text in more for rule in rules_of(text)]
    works: list[Work] = []
    if data:
        with temporary.folder("rules") as folder:
            found, works = _on_data(options, Path(folder), texts, rules, more, data)
    else:
        found = doubts(rules, beside, None)
    found.sort(key=lambda doubt: (doubt.source, doubt.line))
    if as_json:
        click.echo(json.dumps({"doubts": [asdict(d) for d in found], "rules": [asdict(w) for w in works]}, indent=2))
    else:
        for doubt in found:
            click.echo(f"{doubt.source}:{doubt.line}: rule {doubt.rule}: {doubt.message}")
        if works:
            click.echo(f"{'matches':>12}  {'seconds':>8}  rule")
        for work in sorted(works, key=lambda work: -work.seconds):
            click.echo(f"{work.matches:>12,}  {work.seconds:>8.3f}  {work.rule} ({work.source}:{work.line})")
        say(options, f"{counted(len(rules), 'rule')}, {counted(len(found), 'doubt')}")
    if found:
        raise SystemExit(NO)


def _texts(names: Sequence[str]) -> list[RulesetText]:
    """Rulesets. Raises InputError with the faults of all."""
    from triplestore.read.reasoning import ruleset_text

    found, faults = [], list[InputError]()
    for name in names:
        try:
            found.append(ruleset_text(name))
        except InputError as fault:
            faults.append(fault)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise InputError("\n".join(map(str, faults)))
    return found


_PROBE: Final = "probe-"
"""How the names of rules begin that count the matches of others: the same body, and `false` for a head."""


def _on_data(
    options: Common,
    folder: Path,
    texts: Sequence[RulesetText],
    rules: Sequence[Rule],
    more: Sequence[RulesetText],
    data: Sequence[str],
) -> tuple[list[Doubt], list[Work]]:
    """What is doubtful on data, and what each rule does there, in a store of its own in `folder`."""
    from triplake.rulesets.render import render
    from triplestore.ontology.rule_check import Doubt, doubts
    from triplestore.read.reasoning import rules_of
    from triplestore.store import Store

    probes = folder / "probes.dlog"
    probing = [replace(rule, name=f"{_PROBE}{i}", heads=()) for i, rule in enumerate(rules) if rule.body]
    with naming(probes):
        probes.write_text("\n".join(map(render, probing)), "utf-8")
    path = folder / "store"
    seconds: defaultdict[str, float] = defaultdict(float)

    def ran(figures: RoundFigures) -> None:
        for statement in figures.shapes:
            for name, instances in Counter(statement.rules).items():
                seconds[name] += statement.seconds * instances / len(statement.rules)

    own = {text.name: text for text in texts}
    added = [*own, *(text.name for text in more), str(probes)]
    if len(data) == 1 and _is_store(data[0]):
        with Store.open(data[0], **options.engine_options) as there:
            there.copy(path)
    else:
        with Store.create(path, "none", **options.engine_options) as made:
            made.load(*data)
    with Store.open(path, **options.engine_options) as store:
        if other := [text.name for text in store.rulesets if text != own.get(text.name, text)]:
            store.change_rules(remove=other)  # the files have been changed since the store was given them
        known = {text.name for text in store.rulesets}
        words = _words(store)
        running = [rule for text in (*store.rulesets, *more) if text.name not in own for rule in rules_of(text)]
        found = doubts(rules, running, words)
        store.rounds = ran
        store.limits = limits(options)
        try:
            store.change_rules([name for name in added if name not in known], maintain="rematerialise")
        except EndlessError as error:
            first = str(error).splitlines()[0].removesuffix(". Nothing was committed")
            named = next((rule for rule in rules if f"{rule.name} ({rule.source}:{rule.line})" in first), rules[0])
            first = first.replace(f"rule {named.name} ({named.source}:{named.line}) ", "it ")
            kept = [doubt for doubt in found if doubt.kind != "endless"]
            return [*kept, Doubt(named.name, named.source, named.line, "endless", first)], []
        found = [doubt for doubt in found if doubt.kind != "endless"]  # here it has ended
        counts = store.violated()
        works = []
        for i, rule in enumerate(rules):
            matches = counts.get(f"{_PROBE}{i}", 0)
            if rule.body:
                works.append(Work(rule.name, rule.source, rule.line, matches, round(seconds[rule.name], 6)))
            doubted = any(d.rule == rule.name and d.kind == "unknown" for d in found)
            if rule.body and not matches and not doubted:
                found.append(Doubt(rule.name, rule.source, rule.line, "never", _never(store, rule)))
    return found, works


def _is_store(path: str) -> bool:
    """Whether a path, or a URL, is that of a store: else it is one of RDF, which may be on the web."""
    from triplestore.storage.places import is_url
    from triplestore.storage.versions import Versions

    return (is_remote(path) or not is_url(path)) and Versions(path).exists()


def _words(store: Store) -> set[Word]:
    """The properties and classes of the data."""
    queries = {False: "SELECT DISTINCT ?t { ?s ?t ?o }", True: "SELECT DISTINCT ?t { ?s a ?t }"}
    return {(kind, from_rdflib(term)) for kind, text in queries.items() for (term,) in store.query(text) if term}


def _never(store: Store, rule: Rule) -> str:
    """Why a rule never fires: an atom that nothing matches, or that its elements do not match together."""
    from triplake.rulesets.render import element_text
    from triplestore.model.rule import Atom, Var

    for element in rule.body:
        if isinstance(element, Atom) and all(isinstance(term, str | Var) for term in element.terms):
            number = {term: f"?x{place}" for place, term in reversed([*enumerate(element.terms)])}
            literal = {"x0": to_rdflib(s)} if isinstance(s := element.s, str) and s[0] == '"' else {}  # not of SPARQL
            pattern = " ".join(
                to_ntriples(term) if isinstance(term, str) and (place or not literal) else number[term]
                for place, term in enumerate(element.terms)
            )
            if not store.query(f"ASK {{ {pattern} }}", generalised=True, bindings=literal).boolean:
                return f"it never fires: nothing matches {element_text(element)}"
    return "it never fires: the parts of its body have no match together"
