"""Long expressions, row by row in Python: an engine plans each operation for milliseconds, which a row takes
microseconds for.

`Program` makes the text of an expression over the tokens of its operands; `evaluated` gives the token of its value. The
operators are those of `OPERATORS`; what is built of anything else is an operand, computed by SQL.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions import terms
from triplestore.expressions.limits import within
from triplestore.expressions.terms import STRING, Term, TermError
from triplestore.expressions.thresholds import THRESHOLDS
from triplestore.model.expression import Call, Constant, Expression, Variable, walk
from triplestore.model.remembering import Remembered
from triplestore.model.thresholds import SIZES

ARITHMETIC: Final = frozenset("+-*/")
_COMPARISONS: Final = ("=", "!=", "<", ">", "<=", ">=", "SAMETERM")
OPERATORS: Final = ("&&", "||", "!", "IF", "COALESCE", "IN", "NOT IN", "CONCAT", "plus", "negate", *_COMPARISONS)

_WEIGHTS: Final = {"plus": 5, "negate": 5, "IF": 2, "CONCAT": 2, "COALESCE": 2, "&&": 0, "||": 0, "!": 0}


_VOLATILE: Final = ("RAND", "UUID", "STRUUID", "BNODE")


def is_volatile(expression: Expression) -> bool:
    """Whether an expression has another value each time that it is evaluated."""
    return any(isinstance(part, Call) and part.name in _VOLATILE for part in walk(expression))


def least(rows: float, dialect: Dialect) -> int:
    """The weight from which expressions over so many rows are evaluated here."""
    return THRESHOLDS.cheap if rows <= SIZES.objects or dialect.plans_slowly else THRESHOLDS.heavy


def is_operator(expression: Expression) -> bool:
    """Whether an expression is one of the operators here."""
    return isinstance(expression, Call) and (expression.name in OPERATORS or is_arithmetic(expression.name))


def is_arithmetic(name: str) -> bool:
    """Whether a name is that of arithmetic: an operator for each gap between the operands, from left to right. Long
    chains of operators are one call."""
    return name[:1] in ARITHMETIC and ARITHMETIC.issuperset(name)


def weight(expression: Expression) -> int:
    """How long an engine plans the operators at the top of an expression, in milliseconds, roughly; 0 if they are
    nested too deeply to be evaluated here."""
    found, level = 0, [expression]
    for _ in range(THRESHOLDS.deepest):
        calls = [one for one in level if isinstance(one, Call) and is_operator(one)]
        if not calls:
            return found
        for call in calls:
            many = len(call.arguments) - 1 if call.name in ("CONCAT", "COALESCE") or is_arithmetic(call.name) else 1
            found += many * (5 if is_arithmetic(call.name) else _WEIGHTS.get(call.name, 1))
        level = [argument for call in calls for argument in call.arguments]
    return 0


@dataclass(slots=True)
class Program:
    """Instructions, each with the numbers of those before it that it reads: a name of `OPERATORS` or of a chain of
    arithmetic; "const" with a token; "operand" with its place among `operands`; "bound" and "truth" of one before."""

    steps: list[list[str | int]] = field(default_factory=list)
    operands: list[Expression] = field(default_factory=list)
    _places: dict[Expression, int] = field(default_factory=dict)
    _known: dict[tuple[str | int, ...], int] = field(default_factory=dict)

    def add(self, expression: Expression) -> int:
        """The number of the instruction that gives an expression's value."""
        match expression:
            case Constant(token):
                return self.step("const", token)
            case Call(name, arguments) if is_operator(expression):
                return self.step(name, *(self.add(argument) for argument in arguments))
            case Call("BOUND", (Variable() as variable,)):
                return self.step("bound", self.add(variable))
        if is_volatile(expression):
            return self.step("operand", self._operand(expression))
        if expression not in self._places:
            self._places[expression] = self._operand(expression)
        return self.step("operand", self._places[expression])

    def _operand(self, expression: Expression) -> int:
        self.operands.append(expression)
        return len(self.operands) - 1

    def step(self, *step: str | int) -> int:
        """The number of an instruction, the same for the same one."""
        if step not in self._known:
            self._known[step] = len(self.steps)
            self.steps.append(list(step))
        return self._known[step]

    @property
    def text(self) -> str:
        """The program, packed: engines copy it for each row of a batch."""
        plain = json.dumps(self.steps, separators=(",", ":"))
        return base64.b85encode(zlib.compress(plain.encode())).decode()


def evaluated(program: str, operands: str) -> str | None:
    """The token of a program's value, None for an error. operands: their tokens, each with its length and ":" before
    it, or only ":" if it has no value."""
    found = _COMPILED[program](_Row(operands))
    return None if found is None else found.token


class _Row:
    """The operands of a row, and the values that were found for it."""

    __slots__ = ("found", "operands")

    def __init__(self, text: str) -> None:
        self.operands: list[Term | None] = []
        self.found: dict[int, Term | None] = {}
        place = 0
        while place < len(text):
            colon = text.index(":", place)
            size = int(text[place:colon] or 0)
            self.operands.append(terms.read(text[colon + 1 : colon + 1 + size]) if size else None)
            place = colon + 1 + size


Step = Callable[[_Row], Term | None]
"""The value for a row, None for an error."""


def _unpacked(text: str) -> str:
    """The text of a program as it was before it was packed. Raises ValueError for what is none."""
    try:
        return zlib.decompress(base64.b85decode(text)).decode()
    except zlib.error as error:
        raise ValueError(text) from error


def _compiled(text: str) -> Step:
    program = json.loads(_unpacked(text))
    read: dict[int, int] = {}
    for name, *parts in program:
        if name not in ("const", "operand"):
            for part in parts:
                read[part] = read.get(part, 0) + 1
    steps: list[Step] = []
    for number, (name, *parts) in enumerate(program):
        step = _step(name, parts, steps)
        steps.append(_once(number, step) if read.get(number, 0) > 1 and name not in ("const", "operand") else step)
    return steps[-1]


_COMPILED: Final = Remembered(_compiled, THRESHOLDS.programs)


def _once(number: int, step: Step) -> Step:
    """A step that several read: it is evaluated once for a row."""

    def remembered(row: _Row) -> Term | None:
        if number not in row.found:
            row.found[number] = step(row)
        return row.found[number]

    return remembered


def _step(name: str, parts: Sequence[int | str], before: Sequence[Step]) -> Step:
    if name == "const":
        constant = terms.read(str(parts[0]))
        return lambda row: constant
    if name == "operand":
        place = int(parts[0])
        return lambda row: row.operands[place]
    steps = [before[int(part)] for part in parts]
    if is_arithmetic(name):
        return _chain(name, steps)
    match name:
        case "&&" | "||":
            return _logic(name == "||", steps)
        case "IF":
            return _if(*steps)
        case "COALESCE":
            return lambda row: next((found for step in steps if (found := step(row)) is not None), None)
        case "IN" | "NOT IN":
            return _among(name == "IN", *steps)
        case "bound":
            return lambda row: terms.boolean(steps[0](row) is not None)
        case "CONCAT":
            return _total(_concat, steps)
    return _total(_FUNCTIONS[name], steps)


def _total(function: Callable[..., Term], steps: Sequence[Step]) -> Step:
    """A function of values that an error in any makes an error."""

    def apply(row: _Row) -> Term | None:
        values = [step(row) for step in steps]
        if None in values:
            return None
        try:
            return function(*values)
        except (TermError, ValueError, ArithmeticError, LookupError):
            return None

    return apply


def _chain(operators: str, steps: Sequence[Step]) -> Step:
    first, *others = steps
    pairs = list(zip(operators, others, strict=True))

    def apply(row: _Row) -> Term | None:
        found = first(row)
        try:
            for operator, step in pairs:
                other = step(row)
                if found is None or other is None:
                    return None
                found = terms.computed(operator, found, other)
        except (TermError, ValueError, ArithmeticError, LookupError):
            return None
        return found

    return apply


def _truth(step: Step, row: _Row) -> bool | None:
    """The effective boolean value, None for an error."""
    found = step(row)
    try:
        return None if found is None else terms.effective(found)
    except TermError:
        return None


def _logic(decisive: bool, steps: Sequence[Step]) -> Step:
    """|| (where a true one decides) or &&."""

    def apply(row: _Row) -> Term | None:
        failed = False
        for step in steps:
            truth = _truth(step, row)
            if truth is decisive:
                return terms.boolean(decisive)
            failed |= truth is None
        return None if failed else terms.boolean(not decisive)

    return apply


def _if(condition: Step, yes: Step, no: Step) -> Step:
    def apply(row: _Row) -> Term | None:
        truth = _truth(condition, row)
        return None if truth is None else yes(row) if truth else no(row)

    return apply


def _among(wanted: bool, left: Step, *members: Step) -> Step:
    """IN and NOT IN: an error where none is equal, and one could not be compared."""

    def apply(row: _Row) -> Term | None:
        value, failed = left(row), False
        if value is None:
            return None
        for member in members:
            other = member(row)
            try:
                if other is not None and terms.equal(value, other):
                    return terms.boolean(wanted)
                failed |= other is None
            except TermError:
                failed = True
        return None if failed else terms.boolean(not wanted)

    return apply


def _concat(*values: Term) -> Term:
    if any(not value.lang and value.datatype != STRING for value in values):
        raise TermError
    text = "".join(value.lexical for value in values)
    text = within(text, "CONCAT") if len(values) > 1 else text
    languages = {value.lang for value in values}
    if len(languages) == 1 and "" not in languages:
        return Term(text, values[0].datatype, values[0].lang)
    return Term(text, STRING)


_FUNCTIONS: Final[dict[str, Callable[..., Term]]] = {
    "!": lambda a: terms.boolean(not terms.effective(a)),
    "truth": lambda a: terms.boolean(terms.effective(a)),
    "plus": terms.itself,
    "negate": terms.negated,
    "SAMETERM": lambda a, b: terms.boolean(terms.same(a, b)),
    "=": lambda a, b: terms.boolean(terms.equal(a, b)),
    "!=": lambda a, b: terms.boolean(not terms.equal(a, b)),
    "<": lambda a, b: terms.boolean(terms.less(a, b)),
    ">": lambda a, b: terms.boolean(terms.less(b, a)),
    "<=": lambda a, b: terms.boolean(terms.less(a, b, or_equal=True)),
    ">=": lambda a, b: terms.boolean(terms.less(b, a, or_equal=True)),
}
