"""How the closure of a version is to be read: what its tables leave out, for all who list or match its triples."""

from __future__ import annotations

from dataclasses import dataclass, field

from triplake.rulesets import BUILT_IN, BuiltIn
from triplestore.model.equality import Equality
from triplestore.storage.manifest import Manifest


@dataclass(frozen=True, slots=True)
class ClosureView:
    """What `fact` and `same_as` of a version say, and what follows from them without being stored.

    equality: the store's mode. classes: how many classes of two or more equal terms there are. by_value: the datatype
    rules are among the rules, so a literal of a pattern matches every literal of its value (dt-eq). equal_values:
    by_value, and some values have several literals: `fact` has one of them, which stands for its value.
    same_as_in_class: owl:sameAs itself equals another term, so that x owl:sameAs x is listed for every term
    (`triplestore.closure.virtual`). literals_in_classes: some classes have literals, which are listed as objects only.
    generalised: some facts have a literal for a subject or no IRI for a predicate: no answer or export shows them,
    unless it is asked to. resources: every term is an rdfs:Resource by the rules (rdfs4a, rdfs4b), stored or not.
    triple_terms: the dictionary may have triple terms.
    rewriting: facts are stored under representatives. congruent: equal terms stand for each other.
    """

    equality: Equality
    classes: int = 0
    by_value: bool = False
    equal_values: bool = False
    same_as_in_class: bool = False
    literals_in_classes: bool = False
    generalised: bool = False
    resources: bool = False
    triple_terms: bool = True
    rewriting: bool = field(init=False)
    congruent: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rewriting", self.equality == Equality.REWRITE)
        object.__setattr__(self, "congruent", self.equality != Equality.OFF)

    @classmethod
    def of(cls, manifest: Manifest) -> ClosureView:
        """The view of a version."""
        own = built_in(manifest)
        by_value = any(ruleset.datatypes for ruleset in own)
        return cls(
            manifest.equality,
            classes=manifest.stats.get("classes", 0),
            by_value=by_value,
            equal_values=by_value and manifest.counters.equal_valued > 0,
            same_as_in_class=manifest.stats.get("named", 0) > 0,
            literals_in_classes=manifest.stats.get("literals", 0) > 0,
            generalised=manifest.stats.get("generalised", 0) > 0,
            resources=any(ruleset.resources for ruleset in own),
            triple_terms=manifest.counters.triple > 0,
        )


def built_in(manifest: Manifest) -> list[BuiltIn]:
    """The built-in rulesets of a version."""
    return [BUILT_IN[ruleset.name] for ruleset in manifest.rulesets if ruleset.text is None]
