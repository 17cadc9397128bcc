"""Continuous queries: SPARQL with windows, as C-SPARQL and RSP-QL write them.

    REGISTER QUERY warm AS                            REGISTER ISTREAM <http://ex/warm> AS
    SELECT ?room                                      SELECT ?room
    FROM STREAM <http://ex/s> [RANGE 5m STEP 1m]      FROM NAMED WINDOW :w ON <http://ex/s> [RANGE PT5M STEP PT1M]
    WHERE { ?room a :Warm }                           WHERE { WINDOW :w { ?room a :Warm } }

What the registration says is taken out; the rest is a query of SPARQL. Its answer at a time is that over the windows'
triples and the background together. Where there are several windows and one has a name, each of that kind is by itself:
a WINDOW pattern sees it with the background, and what is outside sees the background, and the windows without a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triplestore.model.errors import UsageError
from triplestore.streams.times import Window, duration

WINDOW: Final = "urn:x-triplake:window:"
"""What the names begin with by which the text of a query asks for its windows."""

OPERATORS: Final = ("rstream", "istream", "dstream")

_IRI: Final = r"<[^<>\s]*>|[\w.-]*:[\w.-]*"
_NAME: Final = _IRI + r"|[\w.-]+"
_PASSED: Final = (
    r'"""(?:[^\\]|\\.)*?"""|'
    + r"'''(?:[^\\]|\\.)*?'''|"
    + r'"(?:[^"\\\n]|\\.)*"|'
    + r"'(?:[^'\\\n]|\\.)*'|"
    + r"#[^\n]*"
)
_WORD: Final = r"(?<![\w?$:.%-])"
"""What a keyword begins after: no part of a variable or a prefixed name."""

_REGISTER: Final = (
    rf"{_WORD}REGISTER\s+(?:(?P<operator>STREAM|QUERY|RSTREAM|ISTREAM|DSTREAM)\s+)?(?P<name>{_NAME})"
    r"(?:\s+COMPUTED\s+EVERY\s+(?P<every>\S+))?\s+AS\b"
)
_BRACKET: Final = r"\[(?P<{0}>[^\]]*)\]"
_FROM_STREAM: Final = rf"{_WORD}FROM\s+STREAM\s+(?P<stream>{_NAME})\s*" + _BRACKET.format("range1")
_FROM_WINDOW: Final = (
    rf"{_WORD}FROM\s+NAMED\s+WINDOW\s+(?P<window>{_NAME})\s+ON\s+(?P<on>{_NAME})\s*" + _BRACKET.format("range2")
)
_FROM: Final = rf"{_WORD}FROM\s+(?:(?P<named>NAMED)\s+(?!WINDOW\b)|(?!STREAM\b|NAMED\b)(?P<static>{_IRI}))"
_WINDOW: Final = rf"{_WORD}WINDOW\s+(?P<within>{_NAME})\s*(?=\{{)"
_PARTS: Final = re.compile(
    "|".join((_PASSED, _REGISTER, _FROM_STREAM, _FROM_WINDOW, _FROM, _WINDOW, r"<[^<>\s]*>")), re.I
)
_RANGE: Final = re.compile(
    r"\s*RANGE\s+(?P<range>\S+)\s*(?:(?:STEP|SLIDE)\s+(?P<step>\S+)|(?P<tumbling>TUMBLING))?\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """A continuous query.

    name: what it was registered as. text: the query of SPARQL. windows: of each stream (its name as written; "" is the
    only one) that it reads. operator: "rstream" answers all rows at each time, "istream" those that were not in the
    answer before, "dstream" those that were and are not any more. background: names of FROM clauses, all of which mean
    the store. parts: for each window the name by which the text asks for it as if it were an endpoint, or "".
    """

    name: str
    text: str
    windows: tuple[tuple[str, Window], ...]
    operator: str = "rstream"
    background: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, text: str, width: str | None = None, step: str | None = None, operator: str | None = None
    ) -> StreamQuery:
        """Read a query. width, step: of the window where the text has none. operator: in place of that of the text.
        Raises UsageError."""
        found = _Found()
        rest = _PARTS.sub(found.part, text)
        windows, parts = found.windows, found.parts
        if not windows:
            if width is None:
                raise UsageError(
                    "the query has no window: write FROM STREAM <iri> [RANGE 5m STEP 1m] after SELECT or CONSTRUCT, "
                    "or give --range and --step"
                )
            windows, parts = [("", Window.of(width, step))], [""]
        elif width is not None or step is not None:
            raise UsageError("the query says itself what its windows are: leave out --range and --step")
        if found.every is not None and {window.step for _, window in windows} != {duration(found.every)}:
            raise UsageError(f"COMPUTED EVERY {found.every} is not the step of all windows: leave it out, STEP says it")
        chosen = (operator or found.operator or "rstream").lower()
        if chosen not in OPERATORS:
            raise UsageError(f"no operator '{operator}': give one of {', '.join(OPERATORS)}")
        return cls(found.name, rest.strip(), tuple(windows), chosen, tuple(found.background), tuple(parts))


class _Found:
    """What the parts of a registration say."""

    def __init__(self) -> None:
        self.name, self.operator = "", ""
        self.every: str | None = None
        self.windows: list[tuple[str, Window]] = []
        self.background: list[str] = []
        self._names: list[str | None] = []  # of each window, as written

    @property
    def parts(self) -> list[str]:
        """For each window what the text asks for it by."""
        alone = len(self.windows) == 1
        return ["" if alone or name is None else f"{WINDOW}{place}" for place, name in enumerate(self._names)]

    def part(self, match: re.Match[str]) -> str:
        """Take note of a part; what of it is SPARQL."""
        if (name := match["name"]) is not None:
            self.name = name.strip("<>")
            kind = (match["operator"] or "").lower()
            self.operator = kind if kind in OPERATORS else self.operator
            self.every = match["every"]
        elif match["stream"] is not None:
            self._names.append(None)
            self.windows.append((match["stream"].strip("<>"), _window(match["range1"])))
        elif match["window"] is not None:
            if match["window"] in self._names:
                raise UsageError(f"two windows are called {match['window']}: give each a name of its own")
            self._names.append(match["window"])
            self.windows.append((match["on"].strip("<>"), _window(match["range2"])))
        elif match["named"] is not None:
            raise UsageError(
                "FROM NAMED of a graph is not for continuous queries, as their default graph would be empty: leave it "
                "out, GRAPH reads all graphs of the store"
            )
        elif match["static"] is not None:
            self.background.append(match["static"].strip("<>"))
        elif match["within"] is not None:
            if match["within"] not in self._names:
                raise UsageError(f"no window {match['within']}: name it by FROM NAMED WINDOW {match['within']} ON ..")
            part = self.parts[self._names.index(match["within"])]
            return f"SERVICE <{part}> " if part else ""
        else:
            return match[0]
        return ""


def _window(text: str) -> Window:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise UsageError(f"'[{text}]' is no window: write [RANGE 5m STEP 1m], or [RANGE 5m] for one that tumbles")
    return Window.of(found["range"], found["step"])


def streams_of(queries: Sequence[StreamQuery]) -> list[str]:
    """The names of the streams that queries read, in order."""
    return list(dict.fromkeys(name for query in queries for name, _ in query.windows))
