"""Random ontologies, data and rules with plenty of equality, small enough for the oracle."""

from __future__ import annotations

from hypothesis import strategies as st

from triplake import rulesets
from triplake.rulesets import datalog
from triplestore.model.rule import Rule
from triplestore.model.terms import OWL, RDF, RDFS, XSD

Triple = tuple[str, str, str]


def ex(name: str) -> str:
    return f"<http://e/{name}>"


TYPE, SAME = f"<{RDF}type>", f"<{OWL}sameAs>"
CLASSES = [ex(f"C{i}") for i in range(4)]
PROPERTIES = [ex(f"p{i}") for i in range(4)]
THINGS = [ex(x) for x in "abcdef"] + ["_:f1_x"]
LITERALS = ['"v"', '"w"@en']
_CHARACTERISTICS = [f"<{OWL}{name}Property>" for name in ("Functional", "InverseFunctional", "Symmetric", "Transitive")]


def lists(name: str, members: list[str]) -> list[Triple]:
    """An rdf list that starts at _:name0."""
    nodes = [f"_:{name}{i}" for i in range(len(members))]
    found = []
    for i, member in enumerate(members):
        rest = nodes[i + 1] if i + 1 < len(members) else f"<{RDF}nil>"
        found += [(nodes[i], f"<{RDF}first>", member), (nodes[i], f"<{RDF}rest>", rest)]
    return found


def _one(*options: str) -> st.SearchStrategy[str]:
    return st.sampled_from(list(options))


_things, _classes, _properties = st.sampled_from(THINGS), st.sampled_from(CLASSES), st.sampled_from(PROPERTIES)
data = st.one_of(
    st.tuples(_things, _properties, _things),
    st.tuples(_things, _properties, _things),
    st.tuples(_things, st.just(TYPE), _classes),
    st.tuples(_things, _properties, st.sampled_from(LITERALS)),
)
equalities = st.one_of(
    st.tuples(_things, st.just(SAME), _things),
    st.tuples(_things, st.just(SAME), _things),
    st.tuples(_classes, st.just(SAME), _classes),
    st.tuples(_properties, st.just(SAME), _properties),
)
odd_equalities = st.one_of(
    st.tuples(_properties, st.just(SAME), _one(TYPE, f"<{RDFS}subClassOf>", f"<{OWL}inverseOf>")),
    st.tuples(_properties, st.just(f"<{RDFS}subPropertyOf>"), _one(SAME, TYPE, f"<{RDFS}subClassOf>")),
    st.tuples(st.just(SAME), st.just(f"<{RDFS}subPropertyOf>"), _properties),
    st.tuples(_things, st.just(SAME), _one(*CLASSES, *PROPERTIES)),
)
axioms = st.one_of(
    st.tuples(_classes, _one(f"<{RDFS}subClassOf>", f"<{OWL}equivalentClass>", f"<{OWL}disjointWith>"), _classes),
    st.tuples(
        _properties, _one(f"<{RDFS}subPropertyOf>", f"<{OWL}inverseOf>", f"<{OWL}equivalentProperty>"), _properties
    ),
    st.tuples(_properties, _one(f"<{RDFS}domain>", f"<{RDFS}range>"), _classes),
    st.tuples(_properties, st.just(TYPE), st.sampled_from(_CHARACTERISTICS)),
    st.tuples(_things, st.just(f"<{OWL}differentFrom>"), _things),
)


def restriction(node: str, prop: str, kind: str, filler: str) -> list[Triple]:
    return [(node, f"<{OWL}onProperty>", prop), (node, f"<{OWL}{kind}>", filler)]


@st.composite
def constructs(draw: st.DrawFn) -> list[Triple]:
    """A class expression, chain or key, with its lists."""
    number = draw(st.integers(0, 3))
    name = f"l{number}"
    node = draw(st.sampled_from([*CLASSES, f"_:r{number}"]))
    kind = draw(_one("int", "union", "one", "some", "all", "has", "max", "chain", "key", "different"))
    classes = draw(st.lists(_classes, min_size=1, max_size=3))
    properties = draw(st.lists(_properties, min_size=1, max_size=2))
    if kind in ("int", "union", "one"):
        members = draw(st.lists(_things, min_size=1, max_size=2)) if kind == "one" else classes
        word = {"int": "intersectionOf", "union": "unionOf", "one": "oneOf"}[kind]
        return [(node, f"<{OWL}{word}>", f"_:{name}0"), *lists(name, members)]
    if kind == "some":
        return restriction(node, properties[0], "someValuesFrom", draw(_one(*CLASSES, f"<{OWL}Thing>")))
    if kind == "all":
        return restriction(node, properties[0], "allValuesFrom", classes[0])
    if kind == "has":
        return restriction(node, properties[0], "hasValue", draw(_things))
    if kind == "max":
        number_ = draw(_one("0", "1"))
        return restriction(node, properties[0], "maxCardinality", f'"{number_}"^^<{XSD}nonNegativeInteger>')
    if kind == "chain":
        return [(properties[0], f"<{OWL}propertyChainAxiom>", f"_:{name}0"), *lists(name, properties)]
    if kind == "key":
        return [(node, f"<{OWL}hasKey>", f"_:{name}0"), *lists(name, properties)]
    all_different = [(f"_:d{number}", TYPE, f"<{OWL}AllDifferent>"), (f"_:d{number}", f"<{OWL}members>", f"_:{name}0")]
    return all_different + lists(name, draw(st.lists(_things, min_size=2, max_size=3, unique=True)))


_USER_RULES = datalog.parse(
    """
    PREFIX : <http://e/>
    @rule two-steps   [?x, :p3, ?z] :- [?x, :p0, ?y], [?y, :p1, ?z] .
    @rule triangle    [?x, a, :C3] :- [?x, :p0, ?y], [?y, :p0, ?z], [?z, :p0, ?x] .
    @rule unequal     [?y, :p2, ?z] :- [?x, :p1, ?y], [?x, :p1, ?z], FILTER(?y != ?z) .
    @rule equal-too   [?x, :p3, ?y] :- [?x, owl:sameAs, ?y], [?x, a, :C0] .
    @rule any         [?p, a, :C2] :- [:a, ?p, ?y], [?y, a, :C1] .
    @rule two-heads   [?x, owl:sameAs, :b], [?x, a, :C0] :- [?x, :p2, :a] .
    @rule self        [?x, :p2, ?x] :- [?x, owl:sameAs, ?x], [?x, :p2, :c] .
    @rule everything  [?x, :p0, :all] :- [?x, owl:sameAs, ?x], [:c, :p3, :d] .
    @rule clash       false :- [?x, :p0, ?y], [?x, owl:differentFrom, ?y] .
    @rule other       [?x, :p1, ?y] :- [?x, ?q, ?y], [?q, :p3, ?z] .
    """,
    "random",
)
_BY_NAME = {rule.name: rule for rule in _USER_RULES}
programs = st.builds(
    lambda base, own: (base, *own),
    st.sampled_from(["owl2rl", "owl2rl", "rdfs-plus", "none"]),
    st.lists(st.sampled_from(sorted(_BY_NAME)), max_size=3, unique=True),
)
"""A built-in ruleset and some of the rules above, by name."""


@st.composite
def facts(draw: st.DrawFn, odd: bool = True) -> list[Triple]:
    """A data set: data, equalities, axioms and constructs. odd: now and then equate the vocabulary itself (which can
    make everything equal, and the oracle slow)."""
    found = draw(st.lists(data, min_size=1, max_size=12))
    found += draw(st.lists(equalities, max_size=3))
    found += draw(st.lists(axioms, max_size=6))
    if odd and draw(st.integers(0, 3)) == 0:
        found += draw(st.lists(odd_equalities, max_size=1))
    for part in draw(st.lists(constructs(), max_size=3)):
        found += part
    return sorted(set(found))


def rules_of(program: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules of a program."""
    return (*rulesets.named(program[0]).rules, *(_BY_NAME[name] for name in program[1:]))


def rules_for(rules: tuple[Rule, ...], equality: str) -> tuple[Rule, ...]:
    """The rules that the library runs in a mode: with `axioms`, those of equality too."""
    return rules + (rulesets.named("equality").rules if equality == "axioms" else ())
