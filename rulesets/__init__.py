"""Rules as text: the rule language (`rulesets.datalog`) and the built-in rulesets (`*.dlog`, see README.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from triplake.rulesets import datalog
from triplestore.model.errors import UsageError
from triplestore.model.rule import Ruleset

_OWL: Final = "http://www.w3.org/ns/entailment/OWL-RDF-Based"
_RDFS: Final = "http://www.w3.org/ns/entailment/RDFS"
_SIMPLE: Final = "http://www.w3.org/ns/entailment/Simple"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A built-in ruleset, a row of `BUILT_IN`. What else depends on which rulesets a store has is decided by these
    fields.

    files: its rules, in this folder. parent: another built-in ruleset that it has all rules of ("": none).
    description: a line for people. regime: the entailment regime (an IRI) that a service with this ruleset names.
    axiomatic: the ruleset of axiomatic triples that `--axiomatic` adds ("": another ruleset decides).
    inherits: an instance of a class is one of the classes above it. profile: these are the rules of OWL 2 RL, so axioms
    outside the profile are looked for, and class axioms are equivalences.
    """

    files: tuple[str, ...]
    description: str
    parent: str = ""
    regime: str = ""
    axiomatic: str = ""
    inherits: bool = False
    profile: bool = False

    @property
    def datatypes(self) -> bool:
        """Whether the datatype rules of OWL 2 RL (dt-*) are among its rules, which the store itself carries out."""
        return "datatypes.dlog" in self.files

    @property
    def resources(self) -> bool:
        """Whether every term is an rdfs:Resource by its rules (rdfs4a, rdfs4b), which the store answers by itself."""
        return "rdfs.dlog" in self.files

    @property
    def vocabulary(self) -> bool:
        """Whether the axiomatic triples of RDFS hold."""
        return "rdfs_axiomatic.dlog" in self.files


BUILT_IN: Final = {
    "owl2rl": BuiltIn(
        ("owl2rl.dlog", "datatypes.dlog"),
        "OWL 2 RL/RDF, the rules of the W3C profile (the default)",
        parent="datatypes",
        regime=_OWL,
        axiomatic="rdfs-axiomatic",
        inherits=True,
        profile=True,
    ),
    "rdfs-plus": BuiltIn(
        ("rdfs_plus.dlog",),
        "RDFS on data, with transitive and inverse properties and owl:sameAs",
        regime=_RDFS,
        axiomatic="rdfs-axiomatic",
        inherits=True,
    ),
    "rdfs": BuiltIn(
        ("rdf.dlog", "rdfs.dlog"),
        "RDFS: subclasses, subproperties, domains and ranges",
        parent="rdf",
        regime=_RDFS,
        axiomatic="rdfs-axiomatic",
        inherits=True,
    ),
    "rdfs-axiomatic": BuiltIn(
        ("rdf_axiomatic.dlog", "rdfs_axiomatic.dlog"),
        "the axiomatic triples about the vocabulary of RDF and RDFS",
        parent="rdf-axiomatic",
        axiomatic="rdfs-axiomatic",
    ),
    "rdf": BuiltIn(("rdf.dlog",), "RDF: each property in use is an rdf:Property", axiomatic="rdf-axiomatic"),
    "rdf-axiomatic": BuiltIn(("rdf_axiomatic.dlog",), "the axiomatic triples about the vocabulary of RDF"),
    "datatypes": BuiltIn(("datatypes.dlog",), "literals are values: the datatypes of OWL 2 RL, to add to others"),
    "equality": BuiltIn(("equality.dlog",), "equality as ordinary rules, those of --equality axioms"),
    "none": BuiltIn((), "the closure is what was asserted", regime=_SIMPLE),
}
"""The built-in rulesets, by the names that `--rules` takes: the one place that lists them."""

NAMES: Final[tuple[str, ...]] = tuple(BUILT_IN)


def named(name_or_path: str | Path) -> Ruleset:
    """A built-in ruleset by its name (see `NAMES`), or the rules of a user's file by its path.

    Raises UsageError for what is neither, InputError (file, line, column) for a file with faulty rules.
    """
    name = str(name_or_path)
    if name in BUILT_IN:
        return _builtin(name)
    if Path(name_or_path).is_file():
        return datalog.read(name_or_path)
    raise unknown(name)


def axiomatic_of(names: Iterable[str]) -> str:
    """The ruleset of axiomatic triples that `--axiomatic` adds to those with these names: RDF's beside RDF's rules
    alone, else RDFS's."""
    wanted = {BUILT_IN[name].axiomatic for name in names if name in BUILT_IN} - {""}
    return "rdf-axiomatic" if wanted == {"rdf-axiomatic"} else "rdfs-axiomatic"


def unknown(name: str) -> UsageError:
    """What to say of a name that is neither a built-in ruleset's nor the path of a file."""
    if Path(name).suffix or Path(name).name != name:
        return UsageError(f"{name}: there is no such file of rules: check the path")
    return UsageError(f"no ruleset '{name}': give one of {', '.join(NAMES)}, or the path of a file of rules")


@cache
def _builtin(name: str) -> Ruleset:
    folder = files("triplake.rulesets")
    texts = {file: folder.joinpath(file).read_text(encoding="utf-8") for file in BUILT_IN[name].files}
    return Ruleset(name, tuple(r for file, text in texts.items() for r in datalog.parse(text, f"rulesets/{file}")))
