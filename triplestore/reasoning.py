"""A store's rules, and what a run of them needs to know of its dictionary."""

from __future__ import annotations

from pathlib import Path

import rulesets
from rulesets import datalog
from triplestore import dictionary
from triplestore.compile.schema import Constants
from triplestore.engine import Engine
from triplestore.errors import InputError, UsageError
from triplestore.maintain import Reasoning
from triplestore.rule import Atom, BodyElement, Filter, Rule, Term
from triplestore.storage.manifest import Manifest, RulesetText
from triplestore.terms import BUILTIN_IDS, OWL


def ruleset_text(name: str) -> RulesetText:
    """A built-in ruleset by name, or the text of a file of rules, parsed to check it.

    Raises UsageError for what is neither, InputError (file, line, column) for faulty rules.
    """
    if name in rulesets.NAMES:
        return RulesetText(name)
    path = Path(name)
    if not path.is_file():
        known = ", ".join(rulesets.NAMES)
        raise UsageError(f"no ruleset '{name}': give one of {known}, or the path of a file of rules")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text ({error.reason} at byte {error.start})", name) from error
    datalog.parse(text, name)
    return RulesetText(name, text)


def rules_of(ruleset: RulesetText) -> tuple[Rule, ...]:
    """The rules of one ruleset."""
    if ruleset.text is None:
        return rulesets.named(ruleset.name).rules
    return tuple(datalog.parse(ruleset.text, ruleset.name))


def mentions_same_as(rule: Rule) -> bool:
    """Whether a rule speaks of owl:sameAs."""
    return any(f"<{OWL}sameAs>" in _terms(element) for element in (*rule.heads, *rule.body))


def all_rules(manifest: Manifest) -> tuple[Rule, ...]:
    """The rules of a store, with those of its equality mode."""
    rules = tuple(rule for text in manifest.rulesets for rule in rules_of(text))
    return rules + (rulesets.named("equality").rules if manifest.equality == "axioms" else ())


def head_constants(manifest: Manifest) -> set[str]:
    """Tokens that rules can put into facts and that are not built in, so that the dictionary must have them."""
    tokens = {t for r in all_rules(manifest) for atom in r.heads for t in atom.terms if isinstance(t, str)}
    return tokens - BUILTIN_IDS.keys()


def reasoning(engine: Engine, manifest: Manifest) -> Reasoning:
    """The rules of a store with their constants as ids of the dictionary in `term`."""
    rules = all_rules(manifest)
    tokens = {t for r in rules for element in (*r.heads, *r.body) for t in _terms(element) if isinstance(t, str)}
    tokens -= BUILTIN_IDS.keys()
    equal = dictionary.numbers_equal_to(engine, tokens)
    return Reasoning(rules, manifest.equality, Constants(dictionary.lookup(engine, tokens), equal))


def _terms(element: BodyElement) -> tuple[Term, ...]:
    if isinstance(element, Atom):
        return element.terms
    return (element.left, element.right) if isinstance(element, Filter) else ()
