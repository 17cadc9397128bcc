"""Answers of continuous queries, and what has become of a stream."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import IO, Any, Final, TypeGuard

from triplestore.model.errors import InputError, UsageError
from triplestore.model.terms import to_ntriples, to_rdflib

Row = tuple[str | None, ...]

_MADE: Final = re.compile(r"(?<![\w:])_:c([0-9a-f]{16}_[0-9]+)_([0-9]+)(?![\w:.-])")
"""A blank node of a template: the number of the solution, and which of the template it is."""

FORMATS: Final = ("jsonl", "csv", "nt")


@dataclass(slots=True)
class StreamStats:
    """What has become of a stream so far. triples: read, malformed lines left out. windows: answered, by all queries.
    late: triples that arrived too late for one of their windows, if not for others. malformed: lines left out; bad: the
    first of them. size: triples in the windows now. facts: of the
    closures. busy: seconds of work. slowest: seconds of the slowest slide. lag: seconds from reading the newest lines
    to their answers. switched: why IMaRS is not (or no longer) used, if that is so. notes: what else there is to know
    about the answers."""

    triples: int = 0
    late: int = 0
    malformed: int = 0
    windows: int = 0
    size: int = 0
    facts: int = 0
    algorithm: str = ""
    switched: str = ""
    busy: float = 0.0
    slowest: float = 0.0
    lag: float = 0.0
    bad: list[InputError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a query at a time. kind: select, construct, describe or ask. begin, time: the window has the times
    after `begin` up to `time`, of the widest window where there are several. rows: tokens, None where a variable is
    unbound; of ASK there is one row if the answer is yes."""

    query: str
    kind: str
    operator: str
    begin: int
    time: int
    variables: tuple[str, ...]
    rows: list[Row]

    def bindings(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries of rdflib terms, of the variables that are bound."""
        for row in self.rows:
            yield {v: to_rdflib(token) for v, token in zip(self.variables, row, strict=True) if token is not None}

    def as_json(self) -> dict[str, Any]:
        """It as JSON: terms as N-Triples writes them."""
        found: dict[str, Any] = {"query": self.query} if self.query else {}
        found |= {"time": self.time, "after": self.begin, "operator": self.operator}
        if self.kind == "ask":
            return {**found, "boolean": bool(self.rows)}
        names = self.variables
        rows = [{v: to_ntriples(t) for v, t in zip(names, row, strict=True) if t is not None} for row in self.rows]
        return {**found, "rows": rows}


def labelled(rows: Sequence[Row]) -> list[Row]:
    """Triples of CONSTRUCT, the blank nodes of its template labelled by what the answer says of them: those of another
    solution are others, also in another answer, and what recurs is of the same."""
    uses: dict[str, list[str]] = {}
    for row in rows:
        blanks = {made[1] for token in row if _may_have(token) for made in _MADE.finditer(token)}
        for blank in blanks:
            uses.setdefault(blank, []).append(" ".join(_relabelled(token, lambda made: made[2]) or "" for token in row))
    labels, seen = dict[str, str](), Counter[str]()
    for blank, texts in uses.items():
        digest = blake2b("\n".join(sorted(texts)).encode(), digest_size=12).hexdigest()
        labels[blank] = f"{digest}_{seen[digest]}"
        seen[digest] += 1
    return [tuple(_relabelled(token, lambda made: f"_:c{labels[made[1]]}_{made[2]}") for token in row) for row in rows]


def _may_have(token: str | None) -> TypeGuard[str]:
    return token is not None and token.startswith(("_:", "<<"))


def _relabelled(token: str | None, label: Callable[[re.Match[str]], str]) -> str | None:
    return _MADE.sub(label, token) if _may_have(token) else token


class Writer:
    """Answers as text: a line of JSON for each, the rows as CSV, or those of CONSTRUCT as a stream."""

    def __init__(self, file: IO[str], format_: str, queries: int, headed: bool = False) -> None:
        """queries: how many there are. headed: the file has its first line. Raises UsageError."""
        if format_ not in FORMATS:
            raise UsageError(f"no format '{format_}' for answers: give one of {', '.join(FORMATS)}")
        if format_ == "csv" and queries > 1:
            raise UsageError("--format csv is for one query: leave it out")
        self._file, self._format, self._headed = file, format_, headed
        self._csv = csv.writer(file, lineterminator="\n")

    def write(self, answer: Answer) -> None:
        """Write one. Raises UsageError where the format does not take it."""
        if self._format == "jsonl":
            self._file.write(json.dumps(answer.as_json(), ensure_ascii=False) + "\n")
            return
        rows: Sequence[list[str | None]] = [[None if t is None else to_ntriples(t) for t in row] for row in answer.rows]
        if self._format == "csv":
            if not self._headed:
                self._csv.writerow(["time", *answer.variables])
            self._headed = True
            self._csv.writerows([answer.time, *row] for row in rows)
        elif answer.kind not in ("construct", "describe"):
            raise UsageError(f"--format nt is for CONSTRUCT, not for {answer.kind.upper()}: leave it out")
        else:
            self._file.writelines(f"{answer.time} {' '.join(map(str, row))} .\n" for row in rows)
