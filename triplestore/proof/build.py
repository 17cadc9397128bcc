"""From what `forward` found to proofs: each step an instance of its rule, down to asserted triples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from triplestore.compile.schema import Fact
from triplestore.model.rule import Rule
from triplestore.model.terms import SAME_AS
from triplestore.proof.conditions import conditions
from triplestore.proof.equalities import Hub
from triplestore.proof.forward import Firing, Forward, Grouped, Version, ground
from triplestore.proof.proof import ASSERTED, Proof


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A part of a proof, in ids. instance: the rule and the values of its variables, where it is no plain join."""

    triple: Fact | None
    by: str
    premises: tuple[Step, ...]
    depth: int
    instance: tuple[Rule, Mapping[str, int]] | None = None


def step(triple: Fact | None, by: str, premises: tuple[Step, ...], cost: int = 0) -> Step:
    """A step with its depth. cost: 1 for a rule; putting equals for equals costs nothing."""
    return Step(triple, by, premises, max((p.depth for p in premises), default=0) + cost)


class Builder:
    """Proofs out of one evaluation; each part is made once."""

    def __init__(self, forward: Forward) -> None:
        self.forward = forward
        self._versions: dict[int, Step] = {}
        self._leaves: dict[Fact, Step] = {}
        self._links: dict[tuple[int, int, int], Step] = {}
        self._equal: dict[tuple[int, int, int], Step] = {}
        self._converted: dict[tuple[Fact, int], Step] = {}

    def triple(self, triple: Fact, round: int) -> Step:
        """The proof of a triple known by a round."""
        if self._is_asserted(triple):
            return self._leaf(triple)
        s, p, o = self.forward.region.normal_fact(triple)
        if self.forward.region.source.same_as is not None and p == SAME_AS and s == o:
            return self._given_equality(triple, round)
        version = self.forward.known(triple)
        assert version is not None, triple
        return self._convert(version, triple, round)

    def firing(self, firing: Firing) -> Step:
        """The step that a rule instance is."""
        head = None if firing.body.head is None else ground(firing.body.head, firing.binding)
        premises = tuple(
            self._premise(ground(atom, firing.binding), witness, firing.round)
            for atom, witness in zip(firing.body.atoms, firing.witnesses, strict=True)
        )
        found = step(head, firing.body.rule.name, premises, 1)
        if firing.body.rule.monotone:
            return found
        return replace(found, instance=(firing.body.rule, {**firing.binding, **dict(firing.body.made)}))

    def equality(self, left: int, right: int, round: int) -> Step:
        """That two terms are one by a round: the shortest chain."""
        key = left, right, round
        if key not in self._equal:
            self._equal[key] = self._chain(left, right, round)
        return self._equal[key]

    def link(self, hub: Hub, left: int, right: int) -> Step:
        """That two members of a hub are one."""
        key = id(hub), left, right
        if key not in self._links:
            self._links[key] = self._link(hub, left, right)
        return self._links[key]

    def _chain(self, left: int, right: int, round: int) -> Step:
        triple = (left, SAME_AS, right)
        if self._is_asserted(triple):
            return self._leaf(triple)
        if left == right:
            mention = self.forward.mention.get(left)
            by = () if mention is None or mention.round > round else (self._version(mention),)
            return step(triple, "eq-ref", by)
        return self._by_chain(left, right, lambda hub: hub.round <= round)

    def _by_chain(self, left: int, right: int, usable: Callable[[Hub], bool]) -> Step:
        """That two terms are one, by the shortest chain of some hubs."""
        chain = self.forward.equalities.chain(left, right, usable)
        assert chain is not None, (left, right)
        links = tuple(self.link(hub, a, b) for a, hub, b in chain)
        return links[0] if len(links) == 1 else step((left, SAME_AS, right), "eq-trans", links)

    def _link(self, hub: Hub, left: int, right: int) -> Step:
        triple = (left, SAME_AS, right)
        if isinstance(hub.reason, Grouped):
            return self._grouped(hub, hub.reason, left, right)
        version: Version = hub.reason
        s, p, o = version.triple
        found = self._version(version)
        if p != SAME_AS:
            found = step((s, SAME_AS, o), "eq-rep-p", (self._named(p, hub), found))
        return found if (s, o) == (left, right) else step(triple, "eq-sym", (found,))

    def _named(self, predicate: int, hub: Hub) -> Step:
        """That a property is owl:sameAs, by hubs that were there before one that rests on it."""
        if self._is_asserted((predicate, SAME_AS, SAME_AS)):
            return self._leaf((predicate, SAME_AS, SAME_AS))
        equalities = self.forward.equalities
        before = {id(other) for other in equalities.hubs[: equalities.hubs.index(hub)]}
        return self._by_chain(predicate, SAME_AS, lambda other: id(other) in before)

    def _grouped(self, hub: Hub, grouped: Grouped, left: int, right: int) -> Step:
        """Both halves of a rule: those of the members, in the terms of the first."""
        body, halves = grouped.instance.body, grouped.halves
        shown: Mapping[int, tuple[Version | None, ...]] = dict(hub.members)
        of_left = dict(zip(halves.half, shown[left], strict=True))
        of_right = dict(zip(halves.half, shown[right], strict=True))
        binding: dict[str, int] = {}
        for index in halves.half:
            version = of_left[index]
            for i, term in enumerate(body.atoms[index]):
                if isinstance(term, str) and version is not None:
                    binding.setdefault(term, version.triple[i])
        assert body.head is not None
        binding.update({str(body.head[0]): left, str(body.head[2]): right})
        premises = tuple(
            self._premise(
                ground(atom, binding),
                of_right[halves.mirrored[i]] if i in halves.mirrored else of_left[i],
                grouped.round,
            )
            for i, atom in enumerate(body.atoms)
        )
        return step((left, SAME_AS, right), body.rule.name, premises, 1)

    def _premise(self, triple: Fact, witness: Version | None, round: int) -> Step:
        if witness is None:
            return self._given_equality(triple, round)
        return self._convert(witness, triple, round)

    def _given_equality(self, triple: Fact, round: int) -> Step:
        """An equality by the name that a property equal to owl:sameAs gives it."""
        s, p, o = triple
        if self._is_asserted(triple):
            return self._leaf(triple)
        found = self.equality(s, o, round)
        if p == SAME_AS:
            return found
        return step(triple, "eq-rep-p", (self.equality(SAME_AS, p, round), found))

    def _convert(self, version: Version, triple: Fact, round: int) -> Step:
        """A version put in the terms of a triple that equals it."""
        if self._is_asserted(triple):
            return self._leaf(triple)
        found, now = self._version(version), list(version.triple)
        for i, name in enumerate("spo"):
            if now[i] != triple[i]:
                equal = self.equality(now[i], triple[i], round)
                now[i] = triple[i]
                key = (now[0], now[1], now[2]), round
                if key not in self._converted:
                    self._converted[key] = step(key[0], f"eq-rep-{name}", (equal, found))
                found = self._converted[key]
        return found

    def _version(self, version: Version) -> Step:
        if version.reason is None:
            return self._leaf(version.triple)
        if id(version) not in self._versions:
            self._versions[id(version)] = self.firing(version.reason)
        return self._versions[id(version)]

    def _is_asserted(self, triple: Fact) -> bool:
        region = self.forward.region
        return triple in region.asserted_set(region.normal_fact(triple))

    def _leaf(self, triple: Fact) -> Step:
        if triple not in self._leaves:
            self._leaves[triple] = step(triple, ASSERTED, ())
        return self._leaves[triple]


def proof(root: Step, tokens: Mapping[int, str], leaves: Mapping[Fact, Proof]) -> Proof:
    """A step and what is below it with tokens for ids. leaves: of facts that are not asserted as they stand."""
    made: dict[int, Proof] = {}
    stack = [(root, False)]
    while stack:
        current, done = stack.pop()
        if id(current) in made:
            continue
        if not done:
            stack.append((current, True))
            stack.extend((premise, False) for premise in current.premises)
            continue
        triple = None
        if current.by == ASSERTED and current.triple is not None and current.triple in leaves:
            made[id(current)] = leaves[current.triple]
            continue
        if current.triple is not None:
            s, p, o = (tokens[i] for i in current.triple)
            triple = s, p, o
        lines: tuple[str, ...] = ()
        if current.instance is not None:
            rule, values = current.instance
            lines = conditions(rule, {name: tokens[i] for name, i in values.items()})
        premises = tuple(made[id(p)] for p in current.premises)
        made[id(current)] = Proof(triple, current.by, premises, current.depth, lines)
    return made[id(root)]


def ids_of(root: Step) -> set[int]:
    """Every id in a step and below it."""
    found = {i for part in _parts(root) for i in part.triple or ()}
    return found | {i for part in _parts(root) if part.instance for i in part.instance[1].values()}


def leaves_of(root: Step) -> list[Fact]:
    """The facts that a step rests on."""
    return sorted({part.triple for part in _parts(root) if part.by == ASSERTED and part.triple is not None})


def _parts(root: Step) -> Iterator[Step]:
    seen: set[int] = set()
    stack = [root]
    while stack:
        current = stack.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            stack.extend(current.premises)
