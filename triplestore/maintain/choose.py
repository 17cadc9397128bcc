"""Which algorithm maintains the closure: by name, or `auto`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from triplestore.errors import UsageError
from triplestore.maintain import Outcome, Task, insertion, rematerialise

ALGORITHMS: Final[dict[str, Callable[[Task, str], Outcome]]] = {
    rematerialise.NAME: rematerialise.rematerialise,
}
"""Algorithms for changes that delete, by the name that `--maintain` takes."""

LARGE_SHARE: Final = 0.5
"""New facts as a share of the closure beyond which computing it anew is cheaper than extending it."""


def maintain(task: Task, algorithm: str = "auto") -> Outcome:
    """Run the algorithm of that name. With `auto`, or where nothing is deleted, say why in the outcome's `reason`."""
    if algorithm != "auto" and algorithm not in ALGORITHMS:
        names = ", ".join(["auto", *ALGORITHMS])
        raise UsageError(f"no maintenance algorithm '{algorithm}'; give one of {names}")
    change = task.change
    if algorithm != "auto":
        return ALGORITHMS[algorithm](task, "asked for")
    if change.minus:
        return rematerialise.rematerialise(task, f"{change.minus} asserted facts are deleted")
    if change.plus > LARGE_SHARE * change.facts:
        return rematerialise.rematerialise(task, f"{change.plus} new facts against a closure of {change.facts}")
    if obstacle := insertion.obstacle(task):
        return rematerialise.rematerialise(task, obstacle)
    return insertion.insert(task, "nothing is deleted")
