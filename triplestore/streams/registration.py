"""Continuous queries: SPARQL with windows, as C-SPARQL and RSP-QL write them.

    REGISTER QUERY warm AS                            REGISTER ISTREAM <http://ex/warm> AS
    SELECT ?room                                      SELECT ?room
    FROM STREAM <http://ex/s> [RANGE 5m STEP 1m]      FROM NAMED WINDOW :w ON <http://ex/s> [RANGE PT5M STEP PT1M]
    WHERE { ?room a :Warm }                           WHERE { WINDOW :w { ?room a :Warm } }

The registration is removed, and the rest is a SPARQL query. Its answer at a time is that over the windows' triples and
the background together. A window with a name is seen only by its WINDOW patterns, together with the background; what is
outside of them sees the background and the windows without a name.

Names of windows and streams are IRIs: `<w>`, `:w` and `<http://ex/w>` are the same name where the prologue says so. A
relative IRI without a BASE, a prefixed name whose prefix nobody declares, and a plain word (`FROM STREAM s`) stand for
themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from triplake.sparql.algebra import Bgp, GraphPattern, PathPattern, Query, Service
from triplake.sparql.cursor import Cursor
from triplake.sparql.parser import parse_query
from triplestore.expressions.functions import is_known
from triplestore.model.errors import UsageError
from triplestore.model.expression import Call, walk
from triplestore.model.terms import is_absolute
from triplestore.streams.times import Window, duration

WINDOW: Final = "urn:x-triplake:window:"
"""Prefix of the names by which the text of a query asks for its windows."""

OPERATORS: Final = ("rstream", "istream", "dstream")

_PLAIN: Final = re.compile(r"[\w.-]+")
"""A name that is neither an IRI nor prefixed."""

_WORD: Final = re.compile(r"\s*(\S+)")
_BRACKET: Final = re.compile(r"\s*\[([^\]]*)\]")
_RANGE: Final = re.compile(
    r"\s*RANGE\s+(?P<range>\S+)\s*(?:(?:STEP|SLIDE)\s+(?P<step>\S+)|(?P<tumbling>TUMBLING))?\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """A continuous query.

    name: what it was registered as. text: the query of SPARQL. windows: of each stream (its IRI; "" is the only one)
    that it reads. operator: "rstream" answers all rows at each time, "istream" those that were not in the answer
    before, "dstream" those that were and are not any more. background: names of FROM clauses, all of which mean the
    store. parts: for each window the name by which the text asks for it as if it were an endpoint, or "". written: how
    the text writes the name of each window's stream.
    """

    name: str
    text: str
    windows: tuple[tuple[str, Window], ...]
    operator: str = "rstream"
    background: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        text: str,
        width: str | None = None,
        step: str | None = None,
        operator: str | None = None,
        prefixes: Mapping[str, str] | None = None,
    ) -> StreamQuery:
        """Read a query. width, step: of the window where the text has none. operator: in place of that of the text.
        prefixes: those that the text need not declare. Raises UsageError."""
        found = _Registration(text, prefixes or {})
        rest = found.rest()
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
        background, written = tuple(found.background), tuple(found.written)
        return cls(found.name, rest.strip(), tuple(windows), chosen, background, tuple(parts), written)

    def simplified(self, parsed: Query) -> StreamQuery:
        """The same query, a single named window made the default graph where nothing outside of its WINDOW patterns
        reads any triples: then nobody can tell the difference, and no closure of the background alone is needed.
        parsed: the algebra of its text."""
        if len(self.parts) != 1 or not self.parts[0] or _reads_triples(parsed):
            return self
        return replace(self, text=self.text.replace(_asked_by(self.parts[0]), ""), parts=("",))


def check_functions(parsed: Query) -> None:
    """Raise UsageError for a function that does not exist: in a continuous query it would leave answers empty for good,
    without a word."""
    for part in walk(parsed):
        if isinstance(part, Service):
            check_functions(parse_query(f"{part.prologue} SELECT * WHERE {part.text}"))
        elif isinstance(part, Call) and ":" in part.name and not is_known(part.name):
            tip = ""
            if part.name.endswith("timestamp"):
                tip = ". Windows do not keep the times of triples: add each time to the stream, as a triple of its own"
            raise UsageError(f"the query calls <{part.name}>, but there is no such function{tip}")


def _reads_triples(parsed: Query) -> bool:
    """Whether a query reads triples outside of its SERVICE patterns."""
    return parsed.kind == "describe" or any(
        isinstance(part, PathPattern | GraphPattern) or (isinstance(part, Bgp) and len(part.triples) > 0)
        for part in walk(parsed)
    )


def _asked_by(part: str) -> str:
    """What stands in the text for WINDOW and the name of a window."""
    return f"SERVICE <{part}> "


class _Registration:
    """Reads a text: what its registration says, and the query that is left."""

    def __init__(self, text: str, prefixes: Mapping[str, str]) -> None:
        self.name, self.operator = "", ""
        self.every: str | None = None
        self.windows: list[tuple[str, Window]] = []
        self.written: list[str] = []
        self.background: list[str] = []
        self._names: list[str | None] = []  # of each window
        self._at = Cursor(text, known=prefixes)

    @property
    def parts(self) -> list[str]:
        """For each window what the text asks for it by."""
        return ["" if name is None else f"{WINDOW}{place}" for place, name in enumerate(self._names)]

    def rest(self) -> str:
        """Read all of it; the text of the query."""
        at, kept, done = self._at, list[str](), 0
        registered: int | None = None  # the offset of the query's name, whose prefix may be declared behind it
        while at.peek().kind != "end":
            start, replaced = at.peek().start, None
            if at.is_("PREFIX", "BASE"):
                at.prologue()
                continue
            if at.accept("REGISTER"):
                registered, replaced = self._register(), ""
            elif at.accept("FROM"):
                replaced = self._from()
            elif at.accept("WINDOW"):
                replaced = self._window_pattern()
            else:
                at.next()
            if replaced is not None:
                kept += [at.text[done:start], replaced]
                done = at.at
        end = at.text[done:]
        if registered is not None:
            at.jump(registered)
            self.name, _ = self._iri()
        return "".join((*kept, end))

    def _register(self) -> int:
        """REGISTER kind name COMPUTED EVERY duration AS; the offset of the name."""
        at = self._at
        if at.is_("STREAM", "QUERY", *(operator.upper() for operator in OPERATORS)):
            kind = at.next().text.lower()
            self.operator = kind if kind in OPERATORS else self.operator
        named = at.peek().start
        self._iri()
        if at.accept("COMPUTED"):
            at.expect("EVERY")
            self.every = self._raw(_WORD)
        at.expect("AS")
        return named

    def _from(self) -> str | None:
        """A clause behind FROM; what of it is SPARQL."""
        at = self._at
        if at.accept("STREAM"):
            self._reads(None)
        elif at.accept("NAMED"):
            if not at.accept("WINDOW"):
                raise UsageError(
                    "FROM NAMED of a graph is not for continuous queries, as their default graph would be empty: leave "
                    "it out, GRAPH reads all graphs of the store"
                )
            name, written = self._iri()
            if name in self._names:
                raise UsageError(f"two windows are called {written}: give each a name of its own")
            at.expect("ON")
            self._reads(name)
        else:
            self.background.append(self._iri()[0])
        return ""

    def _reads(self, name: str | None) -> None:
        """A stream and its window, which has this name."""
        stream, written = self._iri()
        self._names.append(name)
        self.windows.append((stream, _window(self._raw(_BRACKET))))
        self.written.append(written)

    def _window_pattern(self) -> str | None:
        """The name behind WINDOW; what stands for both in SPARQL."""
        at = self._at
        if at.peek().kind == "variable":
            at.fail("WINDOW needs the name of a window, not a variable")
        name, written = self._iri()
        if not at.is_("{"):
            return None
        if name not in self._names:
            raise UsageError(f"no window {written}: declare it by FROM NAMED WINDOW {written} ON ..")
        return _asked_by(self.parts[self._names.index(name)])

    def _iri(self) -> tuple[str, str]:
        """A name, and how it is written."""
        at = self._at
        word = at.peek()
        if word.kind == "iri" and (at.base is not None or is_absolute(word.text[1:-1])):
            return at.iri(), word.text
        if word.kind == "iri":
            return at.next().text[1:-1], word.text
        if word.kind == "name" and not word.text.startswith("_:"):
            prefix = word.text.partition(":")[0]
            return at.iri() if prefix in at.prefixes or prefix in at.known else at.next().text, word.text
        found = _PLAIN.match(at.text, word.start)
        if found is None:
            at.fail("expected a name: an IRI in angle brackets, a prefixed name or a word")
        at.jump(found.end())
        return found[0], found[0]

    def _raw(self, pattern: re.Pattern[str]) -> str:
        """What a pattern finds here."""
        at = self._at
        found = pattern.match(at.text, at.at)
        if found is None:
            at.fail("expected a window, as in [RANGE 5m STEP 1m]")
        at.jump(found.end())
        return found[1]


def _window(text: str) -> Window:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise UsageError(f"'[{text}]' is not a window: write [RANGE 5m STEP 1m], or [RANGE 5m] for one that tumbles")
    return Window.of(found["range"], found["step"])


def streams_of(queries: Sequence[StreamQuery]) -> list[str]:
    """The IRIs of the streams that queries read, in order."""
    return list(dict.fromkeys(name for query in queries for name, _ in query.windows))


def stream_called(name: str, queries: Sequence[StreamQuery]) -> str | None:
    """The IRI of the stream that is called so: by its IRI, with or without brackets, or as all queries that use the
    name write it. None where no query reads one, or the name is ambiguous."""
    streams, iri = streams_of(queries), name.removeprefix("<").removesuffix(">")
    if iri in streams:
        return iri
    found = {
        stream
        for query in queries
        for (stream, _), text in zip(query.windows, query.written, strict=False)  # nothing is written of --range
        if text in (name, f"<{name}>")
    }
    return found.pop() if len(found) == 1 else None


def by_stream(sources: Mapping[str, Any], queries: Sequence[StreamQuery]) -> dict[str, Any]:
    """Sources by the IRIs of their streams; "" is that of the only stream. Raises UsageError for a name that no query
    reads, and for a stream with two sources."""
    streams, found = streams_of(queries), dict[str, Any]()
    for name, source in sources.items():
        alone = len(sources) == len(streams) == 1
        stream = streams[0] if alone else stream_called(str(name), queries)
        if stream is None:
            raise UsageError(
                f"no query reads a stream {name or 'without a name'}: they read "
                + ", ".join(one or "one without a name" for one in streams)
            )
        if stream in found:
            raise UsageError(f"the stream {stream} has two sources: give it one")
        found[stream] = source
    return found
