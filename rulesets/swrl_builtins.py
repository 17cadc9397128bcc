"""The built-ins of SWRL (section 8 of the submission) that SPARQL has an operator or function for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from triplestore.model.expression import Call, Expression, Variable, variables_of
from triplestore.model.rule import Bind, Holds, Var

NAMESPACE: Final = "http://www.w3.org/2003/11/swrlb#"


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in atom: a condition, or a result that is a condition too where it has a value already."""

    name: str
    expression: Expression
    result: Expression | None = None

    def element(self, known: set[str], made: set[str]) -> Bind | Holds | None:
        """What it is where the variables `known` have values, `made` of them by BINDs; None if that is not enough."""
        pairs = [(self.expression, self.result)]
        if self.name == "equal" and isinstance(self.expression, Call):
            left, right = self.expression.arguments
            pairs = [(left, right), (right, left)]
        for expression, result in pairs:
            if not variables_of(expression) <= known:
                continue
            if result is None:
                return Holds(expression)
            if variables_of(result) <= known:
                return Holds(Call("=", (result, expression)))
            if isinstance(result, Variable):
                return Bind(expression, Var(result.name))
        return None


def _function(name: str) -> Callable[..., Expression]:
    return lambda *arguments: Call(name, arguments)


def _chain(operator: str) -> Callable[..., Expression]:
    def build(first: Expression, *others: Expression) -> Expression:
        for other in others:
            first = Call(operator, (first, other))
        return first

    return build


def _texts(name: str) -> Callable[..., Expression]:
    """A function of the texts of terms."""
    return lambda *arguments: Call(name, tuple(Call("STR", (a,)) for a in arguments))


def _lower(name: str) -> Callable[..., Expression]:
    """A function of texts in which case makes no difference."""
    return lambda *arguments: Call(name, tuple(Call("LCASE", (a,)) for a in arguments))


_MANY: Final = 100
_CONDITIONS: Final[dict[str, tuple[Callable[..., Expression], int, int]]] = {
    "equal": (_function("="), 2, 2),
    "notEqual": (_function("!="), 2, 2),
    "lessThan": (_function("<"), 2, 2),
    "lessThanOrEqual": (_function("<="), 2, 2),
    "greaterThan": (_function(">"), 2, 2),
    "greaterThanOrEqual": (_function(">="), 2, 2),
    "stringEqualIgnoreCase": (_lower("="), 2, 2),
    "contains": (_function("CONTAINS"), 2, 2),
    "containsIgnoreCase": (_lower("CONTAINS"), 2, 2),
    "startsWith": (_function("STRSTARTS"), 2, 2),
    "endsWith": (_function("STRENDS"), 2, 2),
    "matches": (_function("REGEX"), 2, 2),
}
_RESULTS: Final[dict[str, tuple[Callable[..., Expression], int, int]]] = {
    "add": (_chain("+"), 2, _MANY),
    "subtract": (_function("-"), 2, 2),
    "multiply": (_chain("*"), 2, _MANY),
    "divide": (_function("/"), 2, 2),
    "unaryPlus": (_function("plus"), 1, 1),
    "unaryMinus": (_function("negate"), 1, 1),
    "abs": (_function("ABS"), 1, 1),
    "ceiling": (_function("CEIL"), 1, 1),
    "floor": (_function("FLOOR"), 1, 1),
    "round": (_function("ROUND"), 1, 1),
    "booleanNot": (_function("!"), 1, 1),
    "stringConcat": (_texts("CONCAT"), 1, _MANY),
    "substring": (_function("SUBSTR"), 2, 3),
    "stringLength": (_function("STRLEN"), 1, 1),
    "upperCase": (_function("UCASE"), 1, 1),
    "lowerCase": (_function("LCASE"), 1, 1),
    "substringBefore": (_function("STRBEFORE"), 2, 2),
    "substringAfter": (_function("STRAFTER"), 2, 2),
    "replace": (_function("REPLACE"), 3, 3),
}
"""Their first argument is the result."""

NAMES: Final = (*_CONDITIONS, *_RESULTS)
"""The built-ins that have a counterpart, without their namespace."""


def built_in(iri: str, arguments: Sequence[Expression]) -> Builtin | str:
    """The built-in of an IRI (a token) applied, or why there is none."""
    if not iri.startswith(f"<{NAMESPACE}"):
        return f"{iri} is not a built-in of SWRL's ({NAMESPACE})"
    name = iri[len(NAMESPACE) + 1 : -1]
    for table, results in ((_CONDITIONS, 0), (_RESULTS, 1)):
        if name in table:
            build, least, most = table[name]
            given = len(arguments) - results
            if not least <= given <= most:
                wanted = f"{least + results}" if least == most else f"{least + results} or more"
                return f"swrlb:{name} takes {wanted} arguments, not {len(arguments)}"
            made = build(*arguments[results:])
            return Builtin(name, made, arguments[0] if results else None)
    return f"swrlb:{name} has no counterpart in the rule language"
