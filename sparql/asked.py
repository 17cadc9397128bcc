"""A statement of a query, and who wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from triplake.sparql.constants import Constants
from triplake.sparql.to_sql import Compiler
from triplestore.engine.sql import Statement


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement, and the compilers that have written it; what these made beside it is dropped at the end."""

    sql: Statement
    compilers: list[Compiler]

    @property
    def constants(self) -> Constants:
        return self.compilers[-1].steps.constants

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for compiler in self.compilers:
            compiler.paths.scratch.__exit__(kind, error, trace)
