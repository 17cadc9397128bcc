"""Which negative rule instances run when (`triplestore.compile.strata`): a run goes up the levels one by one.

All other instances run from the start. At a fixpoint, the negative ones of the lowest level that waits begin to run,
and from then on what they read through NOT or AGGREGATE is `guarded`: nothing may derive it any more. The program can
change under way, since rules derive schema: if new instances lead to what is guarded, the run was in the wrong order.
It starts again, knowing what those schema facts lead to; if that closes a cycle, the rules have no meaning together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from triplestore.compile import strata
from triplestore.compile.dependency import ALL, Node, fact_node
from triplestore.compile.plan import K, Row, Shape
from triplestore.compile.program import Program
from triplestore.compile.schema import Constants, Fact
from triplestore.compile.specialise import Specialiser
from triplestore.compile.strata import EQUALITY, OCCURRING, Step, Strata, UnstratifiableError
from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError
from triplestore.model.rule import Aggregate, Atom, Not, Rule
from triplestore.model.terms import SAME_AS

SCHEMA = "schema"
"""The name of the edges from schema facts to what the instances that they give rise to derive."""

Instances = dict[Shape, dict[Row, str]]


def both(some: Instances, others: Instances) -> Instances:
    """Instances of either."""
    return {shape: some.get(shape, {}) | others.get(shape, {}) for shape in {**some, **others}}


def equalities(instances: Instances, first: int = 0) -> Instances:
    """Those of the instances that may derive an equality; with `first`, that name its two ends, neither below that."""

    found = {}
    for shape, rows in instances.items():
        s, p, o = shape.output
        fitting = {row: name for row, name in rows.items() if not isinstance(p, K) or row[p.number] == SAME_AS}
        if first:
            ends = [slot.number for slot in (s, o) if isinstance(slot, K)]
            fitting = {r: name for r, name in fitting.items() if len(ends) == 2 and min(r[i] for i in ends) >= first}
        if fitting:
            found[shape] = fitting
    return found


class ReorderError(Exception):
    """A relation grew after it was read through NOT or AGGREGATE; the run knows better when it starts again."""


class Stages:
    """The levels of one run. `known`: steps that earlier attempts found. `unsettled`: an equality may depend on a NOT
    or AGGREGATE, so that what these read has to be verified."""

    def __init__(self, engine: Engine, rules: Sequence[Rule], equality: Equality) -> None:
        self.engine, self.rules, self.equality = engine, rules, equality
        self.known: set[Step] = set()
        self.unsettled = False
        self.restart()

    def restart(self) -> None:
        """Begin at level 0 again."""
        self.level = 0
        self.guarded: set[Node] = set()
        self._running: set[tuple[Shape, Row]] = set()

    def runs(self, shape: Shape, row: Row) -> bool:
        """Whether an instance runs at the level reached."""
        return not shape.negative or (shape, row) in self._running

    def running(self, instances: Mapping[Shape, Mapping[Row, str]]) -> Instances:
        """Those of the instances that run at the level reached."""
        kept = {s: {row: name for row, name in rows.items() if self.runs(s, row)} for s, rows in instances.items()}
        return {shape: rows for shape, rows in kept.items() if rows}

    def advance(self, program: Program, constants: Constants) -> Instances:
        """At a fixpoint: the instances that run from now on. Raises InputError for rules without strata."""
        waiting = {
            (shape, row): name
            for shape, rows in program.instances.items()
            for row, name in rows.items()
            if not self.runs(shape, row)
        }
        if not waiting:
            return {}
        equal = self._equal()
        levels = self._strata(program, constants, equal).levels
        self.level = min(levels[instance] for instance in waiting)
        fresh: Instances = {}
        for (shape, row), name in waiting.items():
            if levels[shape, row] == self.level:
                fresh.setdefault(shape, {})[row] = name
                self._running.add((shape, row))
        self.guarded |= strata.negated(((s, row) for s, rows in fresh.items() for row in rows), self.equality, equal)
        return fresh

    def enter_all(self, program: Program, constants: Constants) -> Strata:
        """Let all instances run, as in a closure that is complete."""
        equal = self._equal()
        found = self._strata(program, constants, equal)
        self._running = set(found.levels)
        self.level = max(found.levels.values(), default=0)
        self.guarded = strata.negated(self._running, self.equality, equal)
        return found

    def obstacle(self, program: Program, constants: Constants, new: Iterable[tuple[int, int]]) -> str | None:
        """What the arrival of facts (predicate, object) may disturb in a closure that is complete, or nothing."""
        graph = self.enter_all(program, constants)
        if any(kind == OCCURRING for _, kind in self.guarded):
            return "a NOT asks whether a term occurs"
        reached = graph.reached({fact_node(p, o) for p, o in new})
        disturbed = sorted(reached & self.guarded)
        if disturbed:
            tokens = encoding.decode(self.engine, {i for i in disturbed[0] if i >= 0})
            return f"the change can reach {_text(disturbed[0], tokens)}, which a NOT or AGGREGATE reads"
        vocabulary = constants.vocabulary
        if any(vocabulary.has(*node) for node in reached):
            return "the change can reach the schema, and there are rules with NOT or AGGREGATE"
        return None

    def check(
        self,
        program: Program,
        constants: Constants,
        fresh: Mapping[Shape, Iterable[Row]],
        facts: Iterable[Fact],
        schema: Iterable[Fact],
    ) -> None:
        """After the program changed: whether new instances and facts leave alone what is guarded.

        schema: the facts that changed it. Raises ReorderError, or InputError where there is no order.
        """
        if not self.guarded:
            return
        graph = self._strata(program, constants, self._equal())
        written = strata.heads(fresh) | {fact_node(p, o) for _, p, o in facts}
        guarded = self.guarded - ({(SAME_AS, ALL)} if self.unsettled else set())
        harmful = {n for n in written if not graph.reached([n], not self.unsettled).isdisjoint(guarded)}
        if harmful:
            more = {Step(fact_node(p, o), node, SCHEMA, False) for _, p, o in schema for node in harmful}
            if more <= self.known:
                raise InputError("these rules change what NOT or AGGREGATE has read, whatever the order they run in")
            self.known |= more
            raise ReorderError

    def _strata(self, program: Program, constants: Constants, equal: Mapping[int, int]) -> Strata:
        schema_rules = Specialiser(self.rules, self.equality).under(constants).schema_rules
        known = sorted(self.known, key=repr)
        try:
            found = strata.stratify(program, schema_rules, constants, self.equality, equal, known)
        except UnstratifiableError as error:
            raise self._explained(error) from None
        if found.unsettled and not self.unsettled:
            self.unsettled = True
            if self._running:  # what has been read so far was not noted down
                raise ReorderError
        return found

    def _equal(self) -> dict[int, int]:
        """With equality `axioms`: term -> the smallest of its class."""
        if self.equality != Equality.AXIOMS:
            return {}
        table = self.engine.query(f"SELECT s, min(o) AS o FROM fact WHERE p = {SAME_AS} GROUP BY s").to_pydict()
        return {s: min(s, o) for s, o in zip(table["s"], table["o"], strict=True)}

    def _explained(self, error: UnstratifiableError) -> InputError:
        """The cycle, a line for each step, with names, files and lines of rules."""
        steps = [step for step in error.steps if step.rule]
        ids = {i for step in steps for node in (step.body, step.head) for i in node if i >= 0}
        tokens = encoding.decode(self.engine, ids)
        places = [_rule_of(step, self.rules, tokens) for step in steps]
        lines = [
            f"  {_text(s.head, tokens)} depends on {_read(s, tokens)} ({_by(s.rule, rule)})"
            for s, rule in zip(steps, places, strict=True)
        ]
        first = places[0]
        return InputError(
            "the rules cannot be put in an order (stratified): a fact would depend on the absence, or on an aggregate, "
            "of what depends on it\n"
            + "\n".join(lines)
            + "\nbreak the cycle: take out one of these rules, or let it derive something else",
            first.source if first else None,
            first.line if first else None,
        )


def _text(node: Node, tokens: Mapping[int, str]) -> str:
    p, o = node
    if p < 0:
        return "any fact"
    predicate = tokens.get(p, str(p))
    if o == OCCURRING:
        return f"whether {predicate} occurs"
    return predicate if o == ALL else f"rdf:type {tokens.get(o, 'any class' if o < 0 else str(o))}"


def _read(step: Step, tokens: Mapping[int, str]) -> str:
    return f"{'NOT or AGGREGATE of ' if step.negative else ''}{_text(step.body, tokens)}"


def _rule_of(step: Step, rules: Iterable[Rule], tokens: Mapping[int, str]) -> Rule | None:
    """The rule that a step is of: of several with its name, the first that can derive the one node from the other."""
    named = [rule for rule in rules if rule.name == step.rule]

    def fits(atom: Atom, node: Node) -> bool:
        pairs = zip((atom.p, atom.o), node, strict=True)
        return all(not isinstance(term, str) or i < 0 or tokens.get(i) == term for term, i in pairs)

    def makes(rule: Rule) -> bool:
        parts = [e for e in rule.body if isinstance(e, Not | Aggregate)] if step.negative else [rule]
        read = [e for part in parts for e in part.body if isinstance(e, Atom)]
        return any(fits(head, step.head) for head in rule.heads) and any(fits(atom, step.body) for atom in read)

    return next(filter(makes, named), named[0] if named else None)


def _by(name: str, rule: Rule | None) -> str:
    if name == EQUALITY:
        return "equality: equal terms stand for each other in every fact"
    if name == SCHEMA:
        return "through the schema that it adds to"
    return f"rule {name}, {rule.source}:{rule.line}" if rule else f"rule {name}"
