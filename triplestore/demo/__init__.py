"""`triplake demo`: the main job, end to end, on the museum example that the package brings along.

Each step shows the command that does the same, then its result. Nothing is prepared: the store is made, reasoned
over, queried and changed before the reader's eyes.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from triplestore.engine import temporary
from triplestore.model.errors import UsageError
from triplestore.store import Store

DATA: Final = ("ontology.ttl", "rijksmuseum.ttl", "mauritshuis.ttl", "links.ttl")
UPDATE: Final = "1-part-the-brothers.rdfp"

PREFIXES: Final = {
    "http://example.org/museum/rijksmuseum/": "rijks:",
    "http://example.org/museum/mauritshuis/": "maurits:",
    "http://example.org/museum/vocabulary#": "v:",
    "http://www.w3.org/2002/07/owl#": "owl:",
}

FIGURES: Final = {
    "asserted": "asserted triples",
    "facts": "stored facts",
    "expanded": "closure, every equality expanded",
    "classes": "classes of equal terms",
    "largest_class": "terms in the largest",
    "violations": "inconsistencies",
}
"""Keys of `Store.stats` that the update changes, and what to call them."""


def run(folder: str | None, engine_options: Mapping[str, Any], console: Console | None = None) -> None:
    """Run the demo and show it on stdout. The store is made in `folder` and kept, or is temporary with None.

    engine_options: as for `Store.create` (engine, master, memory_limit). Raises UsageError where `folder` is in use.
    """
    museum = Path(str(files("triplestore.demo"))) / "museum"
    console = console or Console(highlight=False)
    if folder is not None:
        Demo(_free(folder), shlex.quote(str(Path(folder).resolve())), museum, engine_options, console).show()
        console.print(f"The store is kept in {escape(folder)}.", soft_wrap=True)
        return
    with temporary.folder("demo") as scratch:
        Demo(str(Path(scratch) / "kg"), "kg", museum, engine_options, console).show()
    console.print("The store was temporary: `triplake demo FOLDER` keeps it.")


def _free(folder: str) -> str:
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{folder} is not empty; give `triplake demo` a folder that is new or empty, or none at all")
    return folder


class Demo:
    """One showing, with the store made in `folder`; the commands shown call it `name`. `museum`: where the data is."""

    def __init__(
        self, folder: str, name: str, museum: Path, engine_options: Mapping[str, Any], console: Console
    ) -> None:
        self.folder, self.name, self.museum = folder, name, museum
        self.options, self.console = engine_options, console
        self.steps = 0

    def show(self) -> None:
        """All steps, in order."""
        began = time.perf_counter()
        with Store.create(self.folder, **self.options) as store:
            self._load(store)
            self._inferred(store)
            self._equality(store)
            self._inconsistency(store)
            before = store.stats()
            self._update(store, before)
            version = store.version
        with Store.open(self.folder, at=version - 1, **self.options) as old:
            self._versions(old)
        self.console.print(f"\n[bold]Done in {time.perf_counter() - began:.1f} s.[/bold]")

    # -- the steps -----------------------------------------------------------------------------------------------------

    def _load(self, store: Store) -> None:
        self.console.print(
            "[bold]Two museums describe the same painters, each under names of its own.[/bold] Try it yourself:",
            f"[cyan]cd {escape(shlex.quote(str(self.museum)))}[/cyan]",
            soft_wrap=True,
        )
        self._step("Load both catalogues, an ontology, and links between them", f"load {self.name} {' '.join(DATA)}")
        report = store.load(*(self.museum / name for name in DATA))
        last = store.stats()["last"]
        self._say(
            f"{report.triples} triples of {report.files} files, read and reasoned over "
            f"in {last['seconds']:.2f} s on {store.engine_name}"
        )

    def _inferred(self, store: Store) -> None:
        self._step("What follows from them", f"stats {self.name}")
        figures = store.stats()
        self._say(f"{figures['asserted']} asserted triples give a closure of {figures['expanded']}.")
        self._step("Nobody is asserted to be a master: it follows from who was whose pupil", self._query("masters.rq"))
        self._answers(store, "masters.rq")

    def _equality(self, store: Store) -> None:
        figures = store.stats()
        self._step("Who painted The Goldfinch? One painter, by all of his names", self._query("goldfinch.rq"))
        self._answers(store, "goldfinch.rq")
        self._step("One row for each class of equal terms", f"{self._query('goldfinch.rq')} --same-as canonical")
        self._answers(store, "goldfinch.rq", "canonical")
        self._say(
            f"{figures['classes']} classes of equal terms, the largest of {figures['largest_class']}; "
            f"{figures['facts']} stored facts stand for {figures['expanded']}."
        )

    def _inconsistency(self, store: Store) -> None:
        self._step("But the data contradicts itself: Barent and Carel Fabritius were brothers", f"check {self.name}")
        for violation in store.check(by=True):
            self._say(f"{violation.rule}:")
            for triple in violation.because:
                because = "" if triple in violation.at_fault else "because "
                self._say(f"  {because}{' '.join(map(_short, triple))}")

    def _update(self, store: Store, before: Mapping[str, Any]) -> None:
        self._step("Take the wrong link away: the class splits", f"update {self.name} updates/{UPDATE}")
        (last,) = store.update_files(self.museum / "updates" / UPDATE)
        self._say(f"{last['split']} term split off in {last['seconds']:.2f} s by {last['algorithm']}")
        after = store.stats()
        table = _table("", "before", "after")
        for key, name in FIGURES.items():
            table.add_row(name, str(before[key]), str(after[key]))
        self.console.print(table)
        self._step("Carel's alone now, in both catalogues", self._query("goldfinch.rq"))
        self._answers(store, "goldfinch.rq")

    def _versions(self, old: Store) -> None:
        self._step("Every change was a version of its own", f"log {self.name}")
        table = _table("version", "operation", "asserted", "facts")
        for entry in old.log():
            table.add_row(*(str(entry[key]) for key in ("version", "operation", "asserted", "facts")))
        self.console.print(table)
        self._step("The past can still be asked", f"{self._query('goldfinch.rq')} --at {old.version}")
        self._answers(old, "goldfinch.rq")

    # -- how they look -------------------------------------------------------------------------------------------------

    def _step(self, title: str, command: str) -> None:
        self.steps += 1
        engine = self.options.get("engine", "auto")
        flag = "" if engine == "auto" else f" --engine {engine}"
        self.console.print(f"\n[bold]{self.steps}. {escape(title)}[/bold]", soft_wrap=True)
        self.console.print(f"[cyan]$ triplake {escape(command + flag)}[/cyan]", soft_wrap=True)

    def _say(self, line: str) -> None:
        self.console.print(f"   {escape(line)}", soft_wrap=True)

    def _query(self, name: str) -> str:
        return f"query {self.name} -f queries/{name}"

    def _answers(self, store: Store, query: str, same_as: str = "expand") -> None:
        result = store.query((self.museum / "queries" / query).read_text(encoding="utf-8"), same_as)
        for row in result:
            self._say("  ".join("" if term is None else _short(term.n3()) for term in row))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3))
    for column in columns:
        table.add_column(column, justify="left" if column in ("", "operation") else "right")
    return table


def _short(token: str) -> str:
    """A term as N-Triples, with the prefixes of the example."""
    for start, prefix in PREFIXES.items():
        if token.startswith(f"<{start}"):
            return prefix + token[len(start) + 1 : -1]
    return token
