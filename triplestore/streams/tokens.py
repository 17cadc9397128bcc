"""Lines of N-Triples as tokens: the plainly clean ones by the engine, the others one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from triplake.loaders.lines import parse_lines
from triplake.loaders.ntriples import cut
from triplake.loaders.sources import Syntax
from triplake.loaders.tokens import Scope
from triplestore.engine import Engine
from triplestore.engine.arrow import as_numpy, int64s, strings
from triplestore.engine.sets import Ids
from triplestore.model.dataset import Quad
from triplestore.model.thresholds import SIZES
from triplestore.streams.source import NOTHING
from triplestore.streams.window_closure import TRIPLES


def tokens_of(engine: Engine, lines: Sequence[bytes], scope: int) -> tuple[pa.Table, dict[int, str]]:
    """(a table of tokens, s, p and o, and the index of each triple's line, e, in order; index -> what is wrong with the
    others). scope: the number of the file that blank nodes are of."""
    if len(lines) <= SIZES.small:
        return _strictly(lines, np.arange(len(lines)), scope)
    try:
        text = pa.array(lines, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:  # some are not UTF-8
        return _strictly(lines, np.arange(len(lines)), scope)
    with engine.scratch() as scratch:
        columns = {"file": pa.array(np.zeros(len(lines), np.int32)), "line": text, "e": int64s(range(len(lines)))}
        read = cut(engine.dialect, Syntax.NTRIPLES, scratch.load("line", pa.table(columns)), scope, kept="e")
        found = engine.query(read)
    found = found.select(["s", "p", "o", "e"]).cast(TRIPLES)
    odd = pc.equal(found["s"], "")
    bad = dict[int, str]()
    if found.num_rows < len(lines):  # comments, which hold no triple
        bad = dict.fromkeys(np.setdiff1d(np.arange(len(lines)), as_numpy(found["e"])).tolist(), NOTHING)
    if pc.any(odd).as_py():
        rest = found.filter(odd).sort_by("e")
        others, wrong = _strictly([line.encode() for line in rest["o"].to_pylist()], as_numpy(rest["e"]), scope)
        found, bad = pa.concat_tables([found.filter(pc.invert(odd)), others]), dict(sorted({**bad, **wrong}.items()))
    return found.sort_by("e"), bad


def _strictly(lines: Sequence[bytes], places: Ids, number: int) -> tuple[pa.Table, dict[int, str]]:
    """The same by the parser. places: the indices of the lines."""
    scope, bad, kept, quads = Scope(number, anonymous=False), dict[int, str](), places.tolist(), list[Quad]()
    whole = parse_lines(lines, Syntax.NTRIPLES, scope)
    if not whole.bad and len(whole.quads) == len(lines):
        quads = whole.quads
    else:  # some are wrong, or hold no triple
        kept = []
        for line, place in zip(lines, places.tolist(), strict=True):
            parsed = parse_lines([line], Syntax.NTRIPLES, scope)
            if len(parsed.quads) == 1 and not parsed.bad:
                quads += parsed.quads
                kept.append(place)
            else:
                bad[place] = parsed.bad[0].reason if parsed.bad else NOTHING
    columns = list(zip(*((s, p, o) for s, p, o, *_ in quads), strict=True)) or [(), (), ()]
    table = pa.table({**{c: strings(columns[place]) for place, c in enumerate("spo")}, "e": int64s(kept)})
    return table.cast(TRIPLES), bad
