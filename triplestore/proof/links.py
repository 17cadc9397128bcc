"""The links of a class of equal terms: everything that makes two of its members one, each with its reason."""

from __future__ import annotations

from collections import defaultdict

from triplestore.model.terms import SAME_AS
from triplestore.proof.equalities import Hub
from triplestore.proof.explain import ANY, open_facts
from triplestore.proof.forward import Forward, Grouped, Version, hub_of, itself
from triplestore.proof.proof import ASSERTED
from triplestore.proof.slices import Slice


def evaluated(region: Slice, representative: int) -> Forward:
    """The evaluation, to its end, of a slice (it samples nothing) with every derivation of the class, and of the facts
    that mention it and can take part in one; of other facts it has one proof at least."""
    region.want([(representative, SAME_AS, representative)])
    region.settle()
    while True:
        own = [fact for fact in region.entries if representative in fact]
        if fresh := [fact for fact in own if not region.entries[fact].expanded]:
            region.expand(fresh)
            continue
        if region.compute(own):
            continue
        forward = Forward(region, representative)
        forward.run(None, lambda: False)
        premises = [premise for fact in own for i in region.entries[fact].instances for premise in i.premises]
        missing = open_facts(region, forward, premises, ANY)
        if fresh := [fact for fact in missing if not region.entries[fact].expanded]:
            region.expand(fresh)
        elif not region.compute(missing):
            return forward


def links(forward: Forward, representative: int) -> list[Hub]:
    """What was asserted, what rules derive from triples that agree but for terms of other classes, and what made the
    class one in the first place; in the order of the rounds. `forward`: of `evaluated`."""
    region = forward.region
    fact = representative, SAME_AS, representative
    kept: dict[object, Hub] = {}
    groups: dict[int, list[set[int]]] = defaultdict(list)

    def keep(hub: Hub) -> None:
        kept.setdefault(_key(hub), hub)

    for version in forward.versions[fact]:
        if version.reason is None and version.triple[0] != version.triple[2]:
            keep(hub_of(version))
    for instance in region.entries[fact].instances:
        for reason in forward.linking(instance, forward.but_apart, itself):
            keep(reason if isinstance(reason, Hub) else hub_of(reason))
    for hub in kept.values():
        if isinstance(hub.reason, Grouped):
            groups[id(hub.reason.instance)].append({term for term, _ in hub.members})
    for hub in forward.equalities.hubs:
        terms = {term for term, _ in hub.members}
        grouped = groups[id(hub.reason.instance)] if isinstance(hub.reason, Grouped) else []
        if all(region.normal(t) == representative for t in terms) and not any(terms <= group for group in grouped):
            keep(hub)
    return sorted(kept.values(), key=lambda hub: hub.round)


def rule_of(hub: Hub) -> str:
    """The rule by which a hub makes terms one, or "asserted"."""
    if isinstance(hub.reason, Grouped):
        return hub.reason.instance.body.rule.name
    version: Version = hub.reason
    return ASSERTED if version.reason is None else version.reason.body.rule.name


def _key(hub: Hub) -> object:
    """What tells links apart: the triple that was asserted, or the rule with the ends and the triples it used."""
    if isinstance(hub.reason, Grouped):
        return id(hub.reason.instance), frozenset(term for term, _ in hub.members)
    version: Version = hub.reason
    if version.reason is None:
        return version.triple
    used = frozenset(id(witness) for witness in version.reason.witnesses)
    return id(version.reason.body.rule), frozenset(version.triple), used
