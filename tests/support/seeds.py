"""Seeds of random tests: a few for `make test`, and more for `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def seeds(every: Iterable[Any], few: int) -> list[Any]:
    """The values of a parameter that repeats one case, as seeds do: those after the first `few` are `long`."""
    return [one if n < few else long(one) for n, one in enumerate(every)]


def long(one: Any) -> Any:
    """The parameter, or the tuple of parameters, as one of `make test-all` only."""
    return pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.long)
