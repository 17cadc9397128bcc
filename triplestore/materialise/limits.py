"""How far rules that make terms may go: `[?x :n ?z] :- [?x :n ?y], BIND(?y + 1 AS ?z)` would never end.

Rules that make no terms end by themselves: there are finitely many facts over the terms that there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from triplestore.model.arguments import check_whole
from triplestore.model.errors import EndlessError
from triplestore.model.rule import Rule


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one materialisation. terms: those that rules may make. rounds: those in which rules may make terms that were
    not there. Raises UsageError for less than one."""

    terms: int = 10_000_000
    rounds: int = 1_000

    def __post_init__(self) -> None:
        for name in ("terms", "rounds"):
            check_whole(f"max_{name}", getattr(self, name), 1)

    def check(self, terms: int, rounds: int, rules: Iterable[Rule]) -> None:
        """Raise EndlessError if so many terms, or rounds, are too many. rules: those that made terms last."""
        if terms <= self.terms and rounds <= self.rounds:
            return
        names = ", ".join(f"{rule.name} ({rule.source}:{rule.line})" for rule in rules) or "(one of them)"
        option, number = ("terms", self.terms) if terms > self.terms else ("rounds", self.rounds)
        raise EndlessError(
            f"rule {names} makes ever more terms: {terms:,} in {rounds:,} rounds, and still new ones. "
            "Nothing was committed\n"
            "let its body bound them by a FILTER, or allow more: "
            f"--max-{option} {10 * number} (Store.limits in Python)"
        )
