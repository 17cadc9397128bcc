"""Rules as text: the rule language (`rulesets.datalog`) and the built-in rulesets (`*.dlog`, see README.md)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from triplake.rulesets import datalog
from triplestore.model.errors import UsageError
from triplestore.model.rule import Ruleset

_FILES: Final = {
    "owl2rl": ("owl2rl.dlog", "datatypes.dlog"),
    "rdfs-plus": ("rdfs_plus.dlog",),
    "rdfs": ("rdf.dlog", "rdfs.dlog"),
    "rdfs-axiomatic": ("rdf_axiomatic.dlog", "rdfs_axiomatic.dlog"),
    "rdf": ("rdf.dlog",),
    "rdf-axiomatic": ("rdf_axiomatic.dlog",),
    "datatypes": ("datatypes.dlog",),
    "equality": ("equality.dlog",),
    "none": (),
}

NAMES: Final[tuple[str, ...]] = tuple(_FILES)
"""The built-in rulesets, by the names that `--rules` takes."""

RESOURCES: Final = frozenset({"rdfs"})
"""The built-in rulesets by which every term is an rdfs:Resource (rdfs4a, rdfs4b), which the store answers by itself."""

WITH_DATATYPES: Final = frozenset({"owl2rl", "datatypes"})
"""The built-in rulesets with the datatype rules of OWL 2 RL (dt-*), which the store itself carries out."""


def named(name_or_path: str | Path) -> Ruleset:
    """A built-in ruleset by its name (see `NAMES`), or the rules of a user's file by its path.

    Raises UsageError for what is neither, InputError (file, line, column) for a file with faulty rules.
    """
    name = str(name_or_path)
    if name in _FILES:
        return _builtin(name)
    if Path(name_or_path).is_file():
        return datalog.read(name_or_path)
    raise unknown(name)


def unknown(name: str) -> UsageError:
    """What to say of a name that is neither a built-in ruleset's nor the path of a file."""
    if Path(name).suffix or Path(name).name != name:
        return UsageError(f"{name}: there is no such file of rules: check the path")
    return UsageError(f"no ruleset '{name}': give one of {', '.join(NAMES)}, or the path of a file of rules")


@cache
def _builtin(name: str) -> Ruleset:
    folder = files("triplake.rulesets")
    texts = {file: folder.joinpath(file).read_text(encoding="utf-8") for file in _FILES[name]}
    return Ruleset(name, tuple(r for file, text in texts.items() for r in datalog.parse(text, f"rulesets/{file}")))
