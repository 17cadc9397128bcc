"""Whether rules may use a function: one that expressions know, and that gives the same answer whenever it is asked."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions import Expressions, stored
from triplestore.expressions.staging import Staging
from triplestore.model.errors import UnsupportedError, UsageError
from triplestore.model.expression import Call

_CHANGING: Final = ("NOW", "RAND", "UUID", "STRUUID", "BNODE")


def fault(call: Call) -> str:
    """Why a call of a function or operator has no place in a rule, or nothing."""
    if call.name in _CHANGING:
        return f"{call.name} gives another answer each time, and a rule must not"
    try:
        Expressions(
            Dialect(), defaultdict(int), lambda name: stored(lambda part: part, token=False), Staging().stage
        ).value(call)
    except (UnsupportedError, UsageError) as error:
        return str(error)
    return ""
