"""Sizes by which every package chooses between two ways to one result, or how much it does at a time. Thresholds of
only one package are in its own module of this name. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    """One field for each cost of the machine or of an engine, whatever depends on it. All are at least 1, but for
    `share` and `small`, which may be 0."""

    small: int = 10_000
    """Rows that are handled in memory in the time that an engine takes to plan and start a statement."""

    inline: int = 100
    """Values that are written into a statement: an engine plans a list of them quickly, but does not join by it."""

    much: int = 4
    """How many times more rows are much more: a detour that avoids them is worth its own cost."""

    look_ups: int = 16
    """Elements of an array that are handled in the time of looking up one in a dict."""

    loose: int = 20_000
    """Changes that are kept beside a large sorted array before they are merged into it."""

    share: float = 0.2
    """The changed part of a table beyond which the whole is written, counted or compressed again."""

    one_thread: int = 1_000_000
    """Rows that one thread sorts, or indexes in memory, in about a second."""

    in_memory: int = 20_000_000
    """Rows that one process holds in memory for a single computation: 40 bytes each make 800 MB."""

    resident: int = 1 << 26
    """Facts of a store up to which its tables are held in memory: some 3 GB."""

    part: int = 4
    """A cache or a join may take one part in so many of the memory limit."""

    rows: int = 100_000
    """Rows of a table that are handed over at a time."""

    objects: int = 1_000
    """Objects of Python (terms, solutions, ids in a list) that are made at a time."""

    batch: int = 16 << 20
    """Bytes of texts that are handed over, or made by one call, at a time: with 200,000 rows of 20 kB, a stream took
    4.6 GB without this."""

    block: int = 1 << 20
    """Bytes of a file or a document that are read at a time."""

    piece: int = 1 << 16
    """Bytes of a request or of an answer that are handled at a time, between those of other clients."""

    download: int = 4 << 20
    """Bytes that one request to an object store brings, or that are read from a stream at a time."""

    remembered: int = 10_000
    """Entries of a memo: terms, constants, files."""

    text: int = 4_000
    """Characters of the longest text that a memo keeps as a key."""

    texts: int = 1 << 21
    """Characters of all texts whose results a memo keeps: some 15 MB."""


SIZES: Final = Sizes()
