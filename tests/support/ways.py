"""The algorithms, modes and bounds under which maintenance is tested."""

from __future__ import annotations

import pytest

from triplestore.maintain.policy import COUNTING, DELETING, OVERDELETION

WAYS = [
    *(pytest.param("rewrite", name, False, id=f"rewrite-{name}") for name in DELETING if name not in COUNTING),
    *(pytest.param(mode, name, True, id=f"{mode}-{name}") for mode in ("axioms", "off") for name in DELETING),
    *(pytest.param(mode, OVERDELETION, mode != "rewrite", id=f"{mode}-auto") for mode in ("rewrite", "axioms", "off")),
]
"""Each mode with the algorithms that it has; counts are kept where they can be."""

_OFTEN = {f"rewrite-{name}" for name in DELETING} | {f"axioms-{name}" for name in COUNTING}
FEW = [way if way.id in _OFTEN else pytest.param(*way.values, id=way.id, marks=pytest.mark.long) for way in WAYS]
"""All of them; but for each algorithm in one mode, they are `long`."""
