"""Version 1 of a store: the built-in vocabulary, and the closure of nothing under the rules.

It is the same for all stores of the same rules and modes, so what the first of them in this process was given is kept
for the next ones, which programs that make many stores are glad of: 30 ms instead of 250.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, replace

from triplestore.engine import WrittenFile
from triplestore.engine.select import make_engine
from triplestore.model.thresholds import SIZES
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import Manifest, TableFiles
from triplestore.storage.versions import Versions
from triplestore.write.commit import commit
from triplestore.write.in_tables import initial
from triplestore.write.transaction import Transaction


@dataclass(frozen=True, slots=True)
class _Beginning:
    """A version 1, and the bytes of its files by their names."""

    manifest: Manifest
    files: dict[str, bytes]


_kept: dict[Hashable, _Beginning] = {}


def begin(versions: Versions, first: Manifest) -> None:
    """Publish version 1 of a store that is being made. first: what it has to be like."""
    key = (first.rulesets, first.equality, first.counting, first.default_graph)
    known = _kept.get(key)
    if known is not None:
        _copied(versions, known)
        return
    made = _computed(versions, first)
    if versions.place.remote or any(file.turned for _, file in made.named):
        return
    while _kept and made.bytes + sum(known.manifest.bytes for known in list(_kept.values())) > SIZES.batch:
        _kept.pop(next(iter(_kept)), None)
    _kept[key] = _Beginning(made, {file.path: b"".join(versions.place.blocks(file.path)) for _, file in made.named})


def _computed(versions: Versions, first: Manifest) -> Manifest:
    engine = make_engine("duckdb")
    try:
        workspace = Workspace(engine, versions, first)
        tx = Transaction(workspace, "init", lambda line: None)
        commit(tx, initial(tx))
        return workspace.manifest
    finally:
        engine.close()


def _copied(versions: Versions, known: _Beginning) -> None:
    """Publish a version 1 that is known, with files of new names."""
    began = time.monotonic()

    def copied(name: str, file: WrittenFile) -> WrittenFile:
        new = replace(file, path=f"{versions.new_stem(name)}.parquet")
        versions.place.keep(new.path, [known.files[file.path]])
        return new

    tables = {n: TableFiles(tuple(copied(n, file) for file in t.files)) for n, t in known.manifest.tables.items()}
    last = {**known.manifest.last, "seconds": time.monotonic() - began}
    versions.publish(replace(known.manifest, tables=tables, last=last))
