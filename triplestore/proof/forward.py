"""Forwards over a slice, round by round, in the users' own ids: the first reason of each fact, and its round.

Round 0 is what is asserted. In each round equal terms stand for each other (a union-find over the equalities known by
then), so that replacing equals by equals costs nothing; a rule instance costs one round. The rounds are those of the
naive evaluation of the rules, hence the round of a fact is the smallest depth of its proofs.

A fact of the slice (normalised under the whole closure) may stand for several triples before its terms become equal:
its *versions*. Rule instances that mention no class have one version of everything and are not joined at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from triplestore.compile.backward import Body, Known, Triple
from triplestore.compile.schema import Fact
from triplestore.compile.symmetry import Halves, halves
from triplestore.model.terms import SAME_AS
from triplestore.proof.equalities import Equalities, Hub
from triplestore.proof.slices import Instance, Slice

Find = Callable[[int], int]
"""Under which term a term is looked up: equal ones under one."""


@dataclass(slots=True, eq=False)
class Version:
    """A triple in the users' ids, the round in which it became known, and why (None: it is asserted)."""

    triple: Fact
    round: int
    reason: Firing | None


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule instance with a user's term for each variable: what it derived in round `round` + 1.

    witnesses: for each atom of the body the version that matched it; None for an equality.
    """

    body: Body
    binding: dict[str, int]
    witnesses: tuple[Version | None, ...]
    round: int


class Forward:
    """One evaluation of a slice. `versions`: what is known of each fact; `equalities`: which terms are one, and why.

    apart: a class (its representative) of whose members every version is kept, also those that equal a known one.
    """

    def __init__(self, region: Slice, apart: int | None = None) -> None:
        self._apart = apart
        self.region = region
        self.equalities = Equalities(region.classes)
        self.versions: dict[Fact, list[Version]] = defaultdict(list)
        self.falsum: list[Firing] = []
        self.occurring: dict[int, int] = dict.fromkeys(region.occurring, 0)  # term -> round
        self.mention: dict[int, Version] = {}  # term -> by what it first occurs, where nothing asserted mentions it
        self._pending: list[Version] = []  # equalities whose predicate is not yet known to be owl:sameAs
        self._known: dict[Fact, tuple[int, dict[Fact, Version]]] = {}
        self._congruent = region.source.same_as is not None
        self._watchers: dict[Fact, list[Instance]] = defaultdict(list)
        self._eager: list[Instance] = []  # instances that need a term to occur
        self._exact: set[Instance] = set()
        self.round = 0
        for entry in (*region.entries.values(), region.falsum):
            for instance in entry.instances:
                watched = dict.fromkeys(instance.premises)
                for fact in (*instance.premises, *((instance.head,) if instance.head else ())):
                    watched.update(dict.fromkeys(region.classes_of(fact)))
                for fact in watched:
                    self._watchers[fact].append(instance)
                if any(p[1] == SAME_AS for p in instance.premises) and self._congruent:
                    self._eager.append(instance)

    def run(self, rounds: int | None, goal: Callable[[], bool]) -> None:
        """Evaluate until the goal is known, nothing is new, or that many rounds are done."""
        fresh: list[Version] = []
        for fact in self.region.entries:
            for triple in self.region.asserted.get(fact, ()):
                fresh.append(Version(triple, 0, None))
        changed = self._absorb(fresh, [])
        first = [i for e in (*self.region.entries.values(), self.region.falsum) for i in e.instances if not i.premises]
        while not goal() and (rounds is None or self.round < rounds):
            touched = dict.fromkeys(first)
            for fact in changed:
                touched.update(dict.fromkeys(self._watchers.get(fact, ())))
            touched.update(dict.fromkeys(self._eager))
            first = []
            found: list[Version] = []
            hubs: list[Hub] = []
            for instance in touched:
                self._fire(instance, found, hubs)
            self.round += 1
            changed = self._absorb(found, hubs)
            if not changed:
                return

    # -- what is known -----------------------------------------------------------------------------------------------

    def known(self, triple: Fact) -> Version | None:
        """The version that makes a triple known by now, itself or by equals."""
        fact = self.region.normal_fact(triple)
        versions = self.versions.get(fact)
        if not versions:
            return None
        if len(versions) == 1 and versions[0].triple == triple:
            return versions[0]
        stamp, table = self._known.get(fact, (-1, {}))
        if stamp != self.round:
            table = {}
            for version in versions:
                table.setdefault(self._under(version.triple), version)
            self._known[fact] = self.round, table
        return table.get(self._under(triple))

    def settled(self, fact: Fact) -> int | None:
        """The round by which every triple that the fact stands for was known; None if not yet."""
        versions = self.versions.get(fact)
        if self._congruent and fact[1] == SAME_AS and fact[0] == fact[2]:  # else: literals that are not one
            own = (self.equalities.joined if fact[0] in self.region.classes else self.occurring).get(fact[0])
        else:
            own = versions[0].round if versions else None
        for s, _, _ in self.region.classes_of(fact):
            joined = self.equalities.joined.get(s)
            own = None if own is None or joined is None else max(own, joined)
        return own

    def same(self, left: int, right: int) -> bool:
        return self.equalities.find(left) == self.equalities.find(right)

    def occurs(self, term: int) -> bool:
        """Whether a triple that is known by now mentions the term."""
        return term in self.occurring

    def _under(self, triple: Fact) -> Fact:
        find = self.but_apart
        return find(triple[0]), find(triple[1]), find(triple[2])

    def but_apart(self, term: int) -> int:
        """The term under which a term is looked up, where the members of one class are kept apart."""
        return term if self._apart == self.region.normal(term) else self.equalities.find(term)

    # -- rounds ------------------------------------------------------------------------------------------------------

    def _absorb(self, fresh: Sequence[Version], hubs: Sequence[Hub]) -> list[Fact]:
        """Make versions and equalities known; the facts about which something is new."""
        changed: dict[Fact, None] = {}
        links = self._pending
        self._pending = []
        for version in fresh:
            fact = self.region.normal_fact(version.triple)
            s, p, o = fact
            if version.round == 0 or self.known(version.triple) is None:
                self.versions[fact].append(version)
                self._known.pop(fact, None)
                changed[fact] = None
                if self._congruent and p == SAME_AS and s == o and s in self.region.classes:
                    links.append(version)
            self._occurs(version)
        for hub in hubs:
            if isinstance(hub.reason, Version):  # else its members occur in what matched
                self._occurs(hub.reason)
            for representative in self.equalities.add(hub, self.round):
                changed[representative, SAME_AS, representative] = None
        while True:
            waiting: list[Version] = []
            before = len(links)
            for version in links:
                s, p, o = version.triple
                if p != SAME_AS and not self.same(p, SAME_AS):
                    waiting.append(version)
                elif s != o:
                    hub = Hub(self.round, version, [(s, ()), (o, ())])
                    for representative in self.equalities.add(hub, self.round):
                        changed[representative, SAME_AS, representative] = None
            links = waiting
            if len(waiting) in (0, before):
                break
        self._pending = links
        if any(fact[1] == SAME_AS for fact in changed):
            self._known.clear()
        return list(changed)

    def _occurs(self, version: Version) -> None:
        """Note the terms that a triple is the first to mention."""
        for term in version.triple:
            if term not in self.occurring:
                self.occurring[term] = self.round
                if version.reason is not None:
                    self.mention[term] = version

    def _fire(self, instance: Instance, found: list[Version], hubs: list[Hub]) -> None:
        if not self._possible(instance):
            return
        head = instance.head
        if self._congruent and head is not None and head[1] == SAME_AS and head[0] in self.region.classes:
            self._link(instance, found, hubs)
            return
        seen: set[Fact] = set()
        finds = [self.equalities.find] if self._apart is None else [self.but_apart, self.equalities.find]
        atoms = range(len(instance.premises))
        matches = ((find, *match) for find in finds for match in self._join(instance, atoms, find))
        for find, env, witnesses in matches:
            firing = self._firing(instance, env, witnesses, find)
            if firing is None:
                continue
            if instance.body.head is None:
                if not self.falsum:
                    self.falsum.append(firing)
                return
            triple = ground(instance.body.head, firing.binding)
            if triple not in seen and self.known(triple) is None:
                seen.add(triple)
                found.append(Version(triple, self.round + 1, firing))

    def _possible(self, instance: Instance) -> bool:
        return all(
            bool(self.versions.get(p)) or (self._congruent and p[1] == SAME_AS)
            for p in dict.fromkeys(instance.premises)
        )

    def _link(self, instance: Instance, found: list[Version], hubs: list[Hub]) -> None:
        """An instance whose head is an equality: a hub for each group of terms that it makes one.

        Rules with two like halves (prp-fp, prp-ifp, prp-key ...) are joined by halves and grouped by what the halves
        share: k terms of a group are k edges of one hub, never k^2 pairs.
        """
        finds: list[tuple[Find, bool]] = [(self.equalities.find, False)]
        if instance not in self._exact:  # what is equal as it was asserted, whatever else is equal
            self._exact.add(instance)
            finds.insert(0, (itself, True))
        for find, exact in finds:
            for reason in self.linking(instance, find, itself if exact else self.equalities.find):
                if isinstance(reason, Version) and not self.same(reason.triple[1], SAME_AS):
                    found.append(reason)
                else:
                    hubs.append(reason if isinstance(reason, Hub) else hub_of(reason))

    def linking(self, instance: Instance, find: Find, apart: Find) -> Iterator[Version | Hub]:
        """What an instance with an equality as its head makes one, where `apart` says that it is not one already:
        a hub for each group, or the triple that it derives. Terms that are one under `find` match."""
        body = instance.body
        assert body.head is not None
        s, p, _ = body.head
        found = halves(body) if p == SAME_AS else None
        if found is None:
            for env, witnesses in self._join(instance, range(len(body.atoms)), find):
                firing = self._firing(instance, env, witnesses, find)
                if firing is None:
                    continue
                triple = ground(body.head, firing.binding)
                if apart(triple[0]) != apart(triple[2]) or not self.same(triple[1], SAME_AS):
                    yield Version(triple, self.round + 1, firing)
            return
        left = str(s)
        groups: dict[tuple[tuple[str, int], ...], dict[int, tuple[Version | None, ...]]] = {}
        for env, witnesses in self._join(instance, found.half, find):
            key = tuple(sorted((name, value) for name, value in env.items() if name != left))
            term = self._own(instance, found.half, witnesses, env)[left]
            groups.setdefault(key, {}).setdefault(term, witnesses)
        for members in groups.values():
            if len({apart(term) for term in members}) > 1:
                yield Hub(self.round + 1, Grouped(instance, found, self.round), list(members.items()))

    def _own(
        self, instance: Instance, atoms: Iterable[int], witnesses: Sequence[Version | None], env: dict[str, int]
    ) -> dict[str, int]:
        """The user's term of each variable: as its first witness has it."""
        found: dict[str, int] = {}
        for index, version in zip(atoms, witnesses, strict=True):
            if version is not None:
                for term, value in zip(instance.body.atoms[index], version.triple, strict=True):
                    if isinstance(term, str):
                        found.setdefault(term, value)
        return {name: found.get(name, value) for name, value in env.items()}

    def _firing(
        self, instance: Instance, env: dict[str, int], witnesses: tuple[Version | None, ...], find: Find
    ) -> Firing | None:
        """A match with a user's term for each variable; None where a filter fails."""
        binding = self._own(instance, range(len(witnesses)), witnesses, env)
        for name, term in instance.body.seen:
            if find(binding.get(name, term)) != find(term):
                return None
            binding[name] = term
        for left, right in instance.body.equal:
            if not self.same(value(left, binding), value(right, binding)):
                return None
            if isinstance(right, str):
                binding[right] = value(left, binding)
            elif isinstance(left, str):
                binding[left] = right
        for left, right in instance.body.unequal:
            if value(left, binding) == value(right, binding):
                other = self.equalities.other(value(right, binding))
                if other is None:
                    return None
                if isinstance(right, str):
                    binding[right] = other
                elif isinstance(left, str):
                    binding[left] = other
                else:
                    return None
        return Firing(instance.body, binding, witnesses, self.round)

    # -- matching a body -------------------------------------------------------------------------------------------

    def _join(
        self, instance: Instance, atoms: Iterable[int], find: Find
    ) -> Iterator[tuple[dict[str, int], tuple[Version | None, ...]]]:
        """Matches of some atoms of a body over the versions of its premises: (variable -> term under `find`, the
        version of each atom, in their order)."""
        listed = list(atoms)
        stored = [i for i in listed if not (self._congruent and instance.premises[i][1] == SAME_AS)]
        stored.sort(key=lambda i: (len(self.versions[instance.premises[i]]), i))
        partial: list[tuple[dict[str, int], dict[int, Version]]] = [({}, {})]
        bound: set[str] = set()
        for index in stored:
            atom = instance.body.atoms[index]
            probes = [i for i, t in enumerate(atom) if not isinstance(t, str) or t in bound]
            table: dict[tuple[int, ...], list[tuple[Fact, Version]]] = {}
            for version in self.versions[instance.premises[index]]:
                triple = find(version.triple[0]), find(version.triple[1]), find(version.triple[2])
                rows = table.setdefault(tuple(triple[i] for i in probes), [])
                if not rows or rows[-1][0] != triple:
                    rows.append((triple, version))
            extended = []
            for env, used in partial:
                key = tuple(env[t] if isinstance(t := atom[i], str) else find(t) for i in probes)
                rows = table.get(key, [])
                for number, (triple, version) in enumerate(rows, 1):
                    # A list has an atom for each member: where there is one match, nothing is copied.
                    more, witnesses = (env, used) if number == len(rows) else (dict(env), dict(used))
                    if all(
                        not isinstance(t, str) or more.setdefault(t, x) == x for t, x in zip(atom, triple, strict=True)
                    ):
                        witnesses[index] = version
                        extended.append((more, witnesses))
            if not extended:
                return
            partial = extended
            bound.update(t for t in atom if isinstance(t, str))
        matched = set(stored)
        equalities = [i for i in listed if i not in matched]
        for env, used in partial:
            for more, witnesses in self._equal(instance, equalities, env, used, find):
                yield more, tuple(witnesses.get(i) for i in listed)

    def _equal(
        self, instance: Instance, atoms: Sequence[int], env: dict[str, int], used: dict[int, Version], find: Find
    ) -> Iterator[tuple[dict[str, int], dict[int, Version]]]:
        """Extend bindings by matches of atoms `[?x, owl:sameAs, ?y]`: two terms that are one by now, or one that
        occurs. By a property that owl:sameAs equals in the end, a match may be a triple like others."""
        if not atoms:
            yield env, used
            return
        number, left = atoms[0], atoms[1:]
        atom = instance.body.atoms[number]
        for more in self._one_or_occurring(instance, number, env, find):
            yield from self._equal(instance, left, more, used, find)
        if SAME_AS not in self.region.classes:
            return
        for version in self.versions[instance.premises[number]]:
            found = self._bound(atom, tuple(map(find, version.triple)), env, find)
            if found is not None:
                yield from self._equal(instance, left, found, {**used, number: version}, find)

    def _one_or_occurring(
        self, instance: Instance, number: int, env: dict[str, int], find: Find
    ) -> Iterator[dict[str, int]]:
        """Bindings by which an atom says that two terms are one that are, or one that occurs."""
        atom, same = instance.body.atoms[number], find(SAME_AS)
        s, p, o = (env.get(t) if isinstance(t, str) else find(t) for t in atom)
        if p not in (None, same):
            return
        known = s if s is not None else o
        normal = instance.premises[number][0]
        terms = self.region.classes.get(normal, (normal,)) if known is None else (known,)
        for term in dict.fromkeys(map(find, terms)):
            if term in self.occurring or any(t in self.occurring for t in self.equalities.members(term)):
                found = self._bound(atom, (term, same, term), env, find)
                if found is not None:
                    yield found

    @staticmethod
    def _bound(atom: Triple, triple: Sequence[int], env: dict[str, int], find: Find) -> dict[str, int] | None:
        """Bindings with those by which an atom is a triple of terms under `find`; None where it is not."""
        more = dict(env)
        for term, found in zip(atom, triple, strict=True):
            if (more.setdefault(term, found) if isinstance(term, str) else find(term)) != found:
                return None
        return more


@dataclass(frozen=True, slots=True)
class Grouped:
    """Why the members of a hub are one: an instance of a rule with like halves, matched in round `round`."""

    instance: Instance
    halves: Halves
    round: int


def hub_of(version: Version) -> Hub:
    """The hub of an equality that was derived."""
    s, _, o = version.triple
    return Hub(version.round, version, [(s, ()), (o, ())])


def itself(term: int) -> int:
    """No two terms are one."""
    return term


def value(term: Known, binding: dict[str, int]) -> int:
    """The id of a variable or a constant."""
    return binding[term] if isinstance(term, str) else term


def ground(atom: tuple[Known, Known, Known], binding: dict[str, int]) -> Fact:
    """The triple that an atom is under a binding."""
    s, p, o = (value(t, binding) for t in atom)
    return s, p, o
