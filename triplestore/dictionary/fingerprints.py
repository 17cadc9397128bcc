"""The dictionary in memory, for a process that changes a store again and again: token -> id, without its text.

Each token is known by the first half of its SHA-256, which no two texts share that anyone could find; so ids are found
with no look at the files, of which any few tokens may be anywhere. 24 bytes a term.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from triplestore.engine import Queries
from triplestore.engine.arrow import as_numpy, binary_words
from triplestore.model.tables import token_sql
from triplestore.model.thresholds import SIZES

WORDS: Final = 2
"""Words of eight bytes of a fingerprint."""

Words = npt.NDArray[np.int64]


class Fingerprints:
    """The ids of terms by their fingerprints: of those read, sorted; of those new since, by token."""

    def __init__(self, prints: Words, ids: Words) -> None:
        """prints: rows of WORDS; ids: of the same terms."""
        self._new: dict[str, int] = {}
        self._sort(prints, ids)

    def _sort(self, prints: Words, ids: Words) -> None:
        order = np.argsort(prints[:, 0])
        self._first, self._second, self._ids = prints[order, 0], prints[order, 1], ids[order]

    @classmethod
    def read(cls, engine: Queries) -> Fingerprints:
        """Those of every term of `term`: one scan, some 0.5 s for a million."""
        print_ = engine.dialect.binary(f"substr({engine.dialect.sha256(token_sql('t'))}, 1, {16 * WORDS})")
        rows = engine.query(f"SELECT t.id, {print_} AS print FROM term t")
        return cls(binary_words(rows.column(1), WORDS), as_numpy(rows.column(0)))

    def __len__(self) -> int:
        return len(self._ids) + len(self._new)

    def ids(self, tokens: Collection[str]) -> dict[str, int]:
        """The ids of those tokens that have one."""
        found = {token: self._new[token] for token in tokens if token in self._new}
        wanted = [token for token in tokens if token not in found]
        prints = fingerprints(wanted)
        order = np.argsort(prints[:, 0])  # neighbours are near each other in memory
        at = np.searchsorted(self._first, prints[order, 0])
        while len(order):  # twice at most, unless first words are shared
            inside = at < len(self._first)
            order, at = order[inside], at[inside]
            alike = self._first[at] == prints[order, 0]
            order, at = order[alike], at[alike]
            same = self._second[at] == prints[order, 1]
            found |= zip((wanted[i] for i in order[same]), self._ids[at[same]].tolist(), strict=True)
            order, at = order[~same], at[~same] + 1
        return found

    def add(self, new: Mapping[str, int]) -> None:
        """Know the ids of more tokens, which had none."""
        self._new.update(new)
        if len(self._new) > SIZES.loose:
            prints = np.concatenate((np.stack((self._first, self._second), axis=1), fingerprints(self._new)))
            ids = np.concatenate((self._ids, np.fromiter(self._new.values(), dtype=np.int64)))
            self._sort(prints, ids)
            self._new.clear()


def fingerprints(tokens: Collection[str]) -> Words:
    """The fingerprints of tokens, one row for each."""
    size = 8 * WORDS
    joined = b"".join(hashlib.sha256(token.encode()).digest()[:size] for token in tokens)
    return np.frombuffer(joined, dtype=np.int64).reshape(-1, WORDS)
