"""A version of a store: the manifest that names every file of every table, and its JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from triplestore.engine import WrittenFile
from triplestore.engine.protocol import Blocks
from triplestore.model.dataset import DefaultGraph
from triplestore.model.equality import Equality
from triplestore.model.errors import DamagedStoreError
from triplestore.model.prefixes import Prefix, Prefixes
from triplestore.model.tables import QUAD
from triplestore.storage.place import DATA, Place

FORMAT: Final = 9
"""The store format that this program writes. 2: terms carry ill_typed, canonical and value. 3: files have checksums. 4:
`double` of an xsd:float is single precision, integers out of their datatype's bounds are no numbers. 5: manifests may
have prefixes. 6: table `quad`, and what is the default graph. 7: files
may have another in the second order of their table. 8: large files have checksums of their blocks; the mark has one. 9:
table `object_type`."""

READABLE: Final = (2, 3, 4, 5, 6, 7, 8, 9)
"""The formats that it reads, every one since the second. A store of an older one is of this one with its next
version."""


@dataclass(frozen=True, slots=True)
class TableFiles:
    """A table of one version: the rows of `files` (disjoint) minus the rows of `tombstones` (a subset of them)."""

    files: tuple[WrittenFile, ...] = ()
    tombstones: tuple[WrittenFile, ...] = ()

    @property
    def rows(self) -> int:
        return sum(f.rows for f in self.files) - sum(f.rows for f in self.tombstones)

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.named)

    @property
    def read(self) -> tuple[WrittenFile, ...]:
        """Those that its rows are read from."""
        return (*self.files, *self.tombstones)

    @property
    def named(self) -> tuple[WrittenFile, ...]:
        """Every file of it."""
        return (*self.read, *(f.turned for f in self.files if f.turned is not None))

    def extend(self, before: TableFiles) -> bool:
        """Whether these are the files of `before` and more after them: so terms keep their ids."""
        return self.files[: len(before.files)] == before.files

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(f.path for f in self.named)


@dataclass(frozen=True, slots=True)
class RulesetText:
    """A ruleset of a store: a built-in one by name (text None), or a user's file with its text."""

    name: str
    text: str | None = None


_CHECKSUM: Final = "checksum"
"""The key for the checksum of what stands beside it, in manifests and in the mark."""

_CHECKED_FROM: Final = 8
"""The format since which both have it always."""

_EQUAL_VALUED: Final = "twins"
"""The key that manifests have for `Counters.equal_valued`."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Next free numbers: of each kind of term, and of input files (which scope blank nodes). Then, of the literals of
    the dictionary: how many equal an earlier one, and how many are ill-typed."""

    iri: int = 0
    blank: int = 0
    literal: int = 0
    files: int = 0
    equal_valued: int = 0
    ill_typed: int = 0
    triple: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a store. `materialised` says whether `fact` is the closure of `asserted` under `rulesets`;
    `counting` whether the derivations of facts are counted; `current_numbers` whether all files of `term` have the
    number columns of format 4; `default_graph` what the default graph is; `graphs` which named graphs (tokens) there
    are even where they are empty."""

    version: int
    rulesets: tuple[RulesetText, ...]
    equality: Equality
    engine: str
    created: str = ""
    counters: Counters = Counters()
    tables: dict[str, TableFiles] = field(default_factory=dict)
    materialised: bool = True
    stats: dict[str, int] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)
    counting: bool = False
    current_numbers: bool = False
    prefixes: Prefixes = field(default_factory=Prefixes)
    default_graph: DefaultGraph = DefaultGraph.UNION
    graphs: tuple[str, ...] = ()

    def files_of(self, table: str) -> TableFiles:
        return self.tables.get(table, TableFiles())

    @property
    def has_graphs(self) -> bool:
        """Whether a triple is in a named graph."""
        return self.files_of(QUAD.name).rows > 0

    @property
    def bytes(self) -> int:
        return sum(t.bytes for t in self.tables.values())

    @property
    def paths(self) -> frozenset[str]:
        """Those of all files of the version."""
        return frozenset(path for table in self.tables.values() for path in table.paths)

    @property
    def named(self) -> Iterator[tuple[str, WrittenFile]]:
        """Every file of the version, with the name of its table."""
        for name, table in self.tables.items():
            for f in table.named:
                yield name, f


def _counters(data: dict[str, int]) -> Counters:
    return Counters(equal_valued=data.pop(_EQUAL_VALUED, 0), **data)


def mark(retention: Mapping[str, Any]) -> str:
    """The text of `triplake.json`. retention: which versions are kept."""
    data = {"format": FORMAT, **({"keep": dict(retention)} if retention else {})}
    return json.dumps(signed(data))


def signed(data: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with its checksum."""
    data = {key: value for key, value in data.items() if key != _CHECKSUM}
    return {**data, _CHECKSUM: _checksum(data)}


def read_mark(text: str) -> dict[str, Any]:
    """What the text of `triplake.json` says. Raises ValueError where that is not what was written."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")
    _check_checksum(data)
    return data


def _check_checksum(data: dict[str, Any]) -> None:
    """Take the checksum out of a JSON object. Raises ValueError where it is not that of the rest."""
    checksum = data.pop(_CHECKSUM, None)
    if checksum is None:
        if data.get("format") in READABLE and data["format"] >= _CHECKED_FROM:
            raise ValueError("it is not what was written: it has no checksum")
    elif checksum != _checksum(data):
        raise ValueError("it is not what was written: its checksum differs")


def check_format(number: object, path: Path | str, marked: str) -> None:
    """Raise DamagedStoreError where the format of the store at a path, as the file `marked` says, cannot be read."""
    if not isinstance(number, int):
        raise DamagedStoreError(f"{marked} holds no format number; restore it from a copy")
    if number > FORMAT:
        raise DamagedStoreError(
            f"{path} is of store format {number}, this program reads up to {FORMAT}; install a newer Triplake"
        )
    if number not in READABLE:
        raise DamagedStoreError(
            f"{path} is of store format {number}, this program reads from {READABLE[0]} on; export its asserted "
            "triples with the Triplake that made it (`triplake export --what asserted`), and load those"
        )


def to_json(manifest: Manifest) -> dict[str, Any]:
    """A version as JSON takes it."""
    data = json.loads(json.dumps(manifest, default=_fields))
    data["prefixes"] = data["prefixes"]["declarations"]
    data["counters"][_EQUAL_VALUED] = data["counters"].pop("equal_valued")
    return signed({"format": FORMAT, **data})


def _fields(found: Any) -> dict[str, Any]:
    """The fields of a dataclass; that a file has no second one, and no checksums of blocks, is left out."""
    fields = {name: getattr(found, name) for name in found.__dataclass_fields__}
    if isinstance(found, WrittenFile):
        return {name: value for name, value in fields.items() if value is not None}
    return fields


def _file(data: dict[str, Any]) -> WrittenFile:
    turned, blocks = data.pop("turned", None), data.pop("blocks", None)
    return WrittenFile(
        **data,
        turned=None if turned is None else _file(turned),
        blocks=None if blocks is None else Blocks(**blocks),
    )


def _checksum(data: Mapping[str, Any]) -> str:
    """Of a manifest, or the mark, without it: the SHA-256 of the JSON, keys sorted, without white space."""
    return sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def from_json(data: dict[str, Any]) -> Manifest:
    _check_checksum(data)
    if data["format"] > FORMAT:
        raise DamagedStoreError(f"version {data['version']} was written by a newer Triplake; install that one")
    del data["format"]
    tables = {
        name: TableFiles(*(tuple(map(_file, table[part])) for part in ("files", "tombstones")))
        for name, table in data.pop("tables").items()
    }
    rulesets = tuple(RulesetText(**r) for r in data.pop("rulesets"))
    equality, counters = Equality(data.pop("equality")), _counters(data.pop("counters"))
    prefixes = Prefixes(tuple(Prefix(**found) for found in data.pop("prefixes", ())))
    graphs, default = tuple(data.pop("graphs", ())), DefaultGraph(data.pop("default_graph", DefaultGraph.UNION))
    return Manifest(
        rulesets=rulesets,
        equality=equality,
        counters=counters,
        tables=tables,
        prefixes=prefixes,
        default_graph=default,
        graphs=graphs,
        **data,
    )


def summed(manifest: Manifest, sum_of: Callable[[str], str]) -> Manifest:
    """A version with a checksum of each file, also of those that were written without. sum_of: of a file by its name
    in `DATA`."""

    def one(file: WrittenFile) -> WrittenFile:
        sha256 = file.sha256 or sum_of(file.path)
        return replace(file, sha256=sha256, turned=None if file.turned is None else one(file.turned))

    def of(files: tuple[WrittenFile, ...]) -> tuple[WrittenFile, ...]:
        return tuple(map(one, files))

    tables = {name: TableFiles(of(t.files), of(t.tombstones)) for name, t in manifest.tables.items()}
    return replace(manifest, tables=tables)


def damaged(place: Place, path: str, table: str, manifest: Manifest, what: str) -> DamagedStoreError:
    """The message about a file of a version that is not as it was written."""
    shown = place.at(f"{DATA}/{path}")
    return DamagedStoreError(f"{shown} (table {table}, version {manifest.version}) {what}; {remedy(place)}")


def remedy(place: Place) -> str:
    """What to do about a damaged file of a store, as the end of a message."""
    return (
        f"`triplake verify {place.path}` tells which versions are whole, `triplake restore {place.path} --to VERSION` "
        "goes back to one (--at reads it); or restore the file from a copy"
    )
