"""A store's rules, and what a run of them needs to know of its dictionary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from triplake import rulesets
from triplake.loaders import bounded_text
from triplake.rulesets import datalog, swrl
from triplestore.closure.view import ClosureView
from triplestore.compile import check
from triplestore.compile.schema import Constants
from triplestore.dictionary import encoding
from triplestore.dictionary.datatypes import value_of
from triplestore.dictionary.literals import equal_to
from triplestore.engine import Engine
from triplestore.maintain import Reasoning
from triplestore.materialise.datatypes import Datatypes
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError, UsageError
from triplestore.model.expression import Call
from triplestore.model.legal_terms import check_legal
from triplestore.model.rule import Aggregate, Bind, Filter, Rule, constants_of
from triplestore.model.terms import BUILTIN_IDS, OWL
from triplestore.storage.manifest import Manifest, RulesetText

QUERIES: Final = (".rq", ".sparql")
"""The suffixes of files of SPARQL queries."""


def ruleset_text(name: str) -> RulesetText:
    """A built-in ruleset by name, or the text of a file of rules, parsed to check it (see `parsed`).

    Raises UsageError for what is neither, InputError (file, line, column) for faulty rules.
    """
    if name in rulesets.NAMES:
        return RulesetText(name)
    path = Path(name)
    if not path.is_file():
        raise rulesets.unknown(name)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text ({error.reason} at byte {error.start})", name) from error
    for rule in parsed(name, text, check.fault):
        try:
            check_legal([re.sub('".*"', '""', token, flags=re.DOTALL) for token in constants_of(rule)])
        except UsageError as error:
            raise InputError(f"rule {rule.name}: {error}", rule.source, rule.line or None) from error
    return RulesetText(name, text)


def parsed(name: str, text: str, check: Callable[[Call], str] | None = None) -> tuple[Rule, ...]:
    """The rules of a file's text: SWRL or a CONSTRUCT query, as its suffix says, or else the rule language.

    check: see `rulesets.datalog.parse`. Raises InputError (file, line, column) for faulty rules.
    """
    suffix = Path(name).suffix.lower()
    if suffix in swrl.FORMATS:
        return swrl.parse(text, name, check, bounded_text(text, name, swrl.BASE))
    if suffix in QUERIES:
        from triplake.sparql.to_rules import rules_of_query  # when asked for: a store opens without it

        return rules_of_query(text, name, check)
    return datalog.parse(text, name, check)


def switched_off(ruleset: RulesetText) -> tuple[str, ...]:
    """The names of the rules that a ruleset's file switches off: see `rulesets.swrl.ENABLED`."""
    is_swrl = ruleset.text is not None and Path(ruleset.name).suffix.lower() in swrl.FORMATS
    if not is_swrl:
        return ()
    text = ruleset.text or ""
    return swrl.disabled(text, ruleset.name, bounded_text(text, ruleset.name, swrl.BASE))


def origin(ruleset: RulesetText) -> str:
    """The origin of the rules of a ruleset: built in, or the language that the file is in."""
    if ruleset.text is None:
        return "built in"
    suffix = Path(ruleset.name).suffix.lower()
    return "SWRL" if suffix in swrl.FORMATS else "CONSTRUCT query" if suffix in QUERIES else "rule language"


def rules_of(ruleset: RulesetText) -> tuple[Rule, ...]:
    """The rules of one ruleset."""
    if ruleset.text is None:
        return rulesets.named(ruleset.name).rules
    return parsed(ruleset.name, ruleset.text)


def mentions_same_as(rule: Rule) -> bool:
    """Whether a rule speaks of owl:sameAs."""
    return f"<{OWL}sameAs>" in constants_of(rule)


def check_countable(texts: Iterable[RulesetText], equality: Equality) -> None:
    """Raise UsageError where the derivations of a store with these rulesets cannot be counted."""
    if equality == Equality.REWRITE:
        raise UsageError(
            "derivation counts are not kept with equality rewrite, where one stored fact stands for many: "
            "make the store with --equality axioms or --equality off, or without --counting"
        )
    for rule in (rule for text in texts for rule in rules_of(text)):
        if not rule.monotone:
            raise UsageError(
                f"derivations are counted of rules that are plain joins, and rule {rule.name} "
                f"({rule.source}:{rule.line}) has a NOT, an AGGREGATE or an expression: leave it out, or --counting"
            )


def all_rules(manifest: Manifest) -> tuple[Rule, ...]:
    """The rules of a store, with those of its equality mode."""
    rules = tuple(rule for text in manifest.rulesets for rule in rules_of(text))
    return rules + (rulesets.named("equality").rules if manifest.equality == Equality.AXIOMS else ())


def rule_constants(manifest: Manifest) -> set[str]:
    """Tokens of rules that are not built in, and that the dictionary must have: what rules put into facts, or compare
    terms with, and the forms in which they may make a number that they match. With datatypes a literal that is only
    matched is left out: it is looked up by its value, and what the data has of that value is to be the first of it."""
    rules = all_rules(manifest)
    tokens = {token for rule in rules for token in constants_of(rule)}
    if not ClosureView.of(manifest).by_value:
        if any(isinstance(element, Aggregate | Bind) for rule in rules for element in rule.body):
            tokens |= encoding.computed_forms(tokens)
    elif all(rule.monotone for rule in rules):
        kept = {t for rule in rules for atom in rule.heads for t in atom.terms}
        kept |= {t for rule in rules for e in rule.body if isinstance(e, Filter) for t in (e.left, e.right)}
        tokens = {token for token in tokens if token[0] != '"' or token in kept}
    return tokens - BUILTIN_IDS.keys()


def reasoning(engine: Engine, manifest: Manifest) -> Reasoning:
    """The rules of a store with their constants as ids of the dictionary in `term`."""
    rules = all_rules(manifest)
    tokens = {token for rule in rules for token in constants_of(rule)} - BUILTIN_IDS.keys()
    if not ClosureView.of(manifest).by_value:
        equal = encoding.numbers_equal_to(engine, tokens)
        return Reasoning(rules, manifest.equality, Constants(encoding.lookup(engine, tokens), equal))
    literals = {token for token in tokens if token.startswith('"')}
    ids = {**encoding.lookup(engine, tokens - literals), **equal_to(engine, literals)}
    return Reasoning(rules, manifest.equality, Constants(ids), Datatypes(manifest.counters.ill_typed > 0))


def touched(known: Reasoning, new: Iterable[str]) -> bool:
    """Whether a rule has one of these terms (tokens), or a literal of equal value, for a constant."""
    return any(
        token in known.tokens
        or (token[0] == '"' and (value := value_of(token)) is not None and value.canonical in known.values)
        for token in new
    )
