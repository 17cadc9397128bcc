"""Lines of N-Triples as tokens: the plainly clean ones by the engine, the others one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from triplake.loaders.lines import parse_lines
from triplake.loaders.ntriples import cut
from triplake.loaders.sources import Syntax
from triplake.loaders.tokens import Scope
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s, strings
from triplestore.model.errors import InputError
from triplestore.streams.maintainers import TRIPLES
from triplestore.streams.source import LeftOut

FEW: Final = 2_000
"""Lines up to which they are parsed here: the engine takes longer to plan that."""


def tokens_of(engine: Engine, lines: Sequence[bytes], ends: Sequence[int], scope: int) -> tuple[pa.Table, LeftOut]:
    """A table of tokens (s, p, o) and ends (e) of lines, and what is wrong with those that cannot be read, which are
    left out. scope: the number of the file that blank nodes are of."""
    if len(lines) <= FEW:
        return _strictly(lines, ends, scope)
    try:
        text = pa.array(lines, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:  # some are not UTF-8
        return _strictly(lines, ends, scope)
    with engine.scratch() as scratch:
        table = pa.table({"file": pa.array(np.zeros(len(lines), np.int32)), "line": text, "e": int64s(ends)})
        found = engine.query(cut(engine.dialect, Syntax.NTRIPLES, scratch.load("line", table), scope, kept="e"))
    found = found.select(["s", "p", "o", "e"]).cast(TRIPLES)
    odd = pc.equal(found["s"], "")
    if not pc.any(odd).as_py():
        return found, LeftOut()
    rest = found.filter(odd)
    others, bad = _strictly([line.encode() for line in rest["o"].to_pylist()], rest["e"].to_pylist(), scope)
    return pa.concat_tables([found.filter(pc.invert(odd)), others]), bad


def _strictly(lines: Sequence[bytes], ends: Sequence[int], number: int) -> tuple[pa.Table, LeftOut]:
    rows, bad, scope = list[tuple[str, str, str, int]](), LeftOut(), Scope(number, anonymous=False)
    whole = parse_lines(lines, Syntax.NTRIPLES, scope)
    if not whole.bad and len(whole.quads) == len(lines):  # else some are comments, or wrong
        rows = [(s, p, o, end) for (s, p, o, *_), end in zip(whole.quads, ends, strict=True)]
        lines = ends = ()
    for line, end in zip(lines, ends, strict=True):
        parsed = parse_lines([line], Syntax.NTRIPLES, scope)
        rows += [(s, p, o, end) for s, p, o, *_ in parsed.quads]
        shown = line[:60].decode(errors="replace")
        for found in parsed.bad:
            bad.add(InputError(f"{found.reason}, in a triple of the stream: {shown}"))
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    table = pa.table({**{c: strings(columns[place]) for place, c in enumerate("spo")}, "e": int64s(columns[3])})
    return table.cast(TRIPLES), bad
