"""The policy of maintenance, and how its joins are divided. They change the time of an update, never its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of maintenance. Work is in derivations of the closure in memory. The first six are the constants of the policy,
    fitted on `university`, `links`, `cliques` and their variants (docs/benchmarks.md)."""

    fact: int = 20
    """The work that an overdeleted or checked fact stands for: it is removed, another derivation of it is searched for
    (a quarter of the work), and most are inserted again. Each step searches for every shape of rule."""

    scratch: int = 2_500_000
    """The work of computing the closure from scratch however small it is: statements, comparison, files."""

    schema: int = 350
    """The work of closing one schema fact and specialising the rules by it."""

    share: int = 4
    """The engine makes so many derivations, by columns, for the work of one in memory."""

    bulk: int = 25_000
    """Triples of a change that only adds, up to which it is maintained over sorted keys: there a round costs
    microseconds for each fact, in tables 40 ms and more, but less for each fact. The two break even at about 25,000
    triples of LUBM."""

    sample: int = 16
    """One in so many facts is deleted first: the rest is then known well enough, and little is lost."""

    separate: int = 3
    """Variables that are not read in the end whose values are all joined with each other: a key of 24 properties with
    two values each takes 0.1 s, and does not end where all are joined."""

    room: int = 1 << 18
    """Rows that one step of a join makes at a time: 4,000 to 30,000 members of a group, or 18 million rows through a
    hub, take 20 MB a step."""

    pages: int = 16
    """Pages of a file that are read together, or counted for an estimate: to count all pages of 301 million facts was
    0.04 s of a deletion's 0.23, and with 16 a count is within a factor of two on 1,000 random layouts."""


THRESHOLDS: Final = Thresholds()
