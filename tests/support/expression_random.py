"""Random expressions of SPARQL 1.1 (section 17) over terms of every kind, from a seed.

Expressions are typed: most operands are of a kind that the function takes, so that most values are no errors. Each is
a tree, so that a test can look for the least part that two engines value differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from triplestore.model.terms import XSD

INTEGERS = ["0", "1", "-1", "2", "3", "7", "10", "-5", "007", "+4", "-0", "100", "20000"]
LONG_INTEGERS = [
    "99999999999999999999",
    "100000000000000000001",
    "-100000000000000000002",
    "9" * 30,
    "9007199254740993",
]
DECIMALS = ["0.5", "-2.5", "1.0", "3.14", "2.50", "-0.0", ".5", "7.", "0.1", "1.5", "-1.5", "100.25"]
LONG_DECIMALS = ["0.1234567890123456789", "100000000000000000000.5", "-99999999999999999999.123456789012345678"]
DOUBLES = ["0", "-0.0", "1", "1e0", "0.1", "2.5E0", "-3", "1e6", "1.0E7", "1e-7", "1e21", "1e308", "NaN", "INF", "-INF"]
FLOATS = ["0", "-0", "0.1", "1.5", "16777217", "1e38", "1e39", "NaN", "INF", "-INF", "3", "-2.5e0", "1e-3"]
DERIVED = [
    ("byte", "7"),
    ("unsignedInt", "3"),
    ("nonNegativeInteger", "12"),
    ("long", "-8"),
    ("int", "-0"),
    ("unsignedLong", "18446744073709551615"),
    ("negativeInteger", "-2"),
]
STRINGS = ["", "a", "b", "abc", "Abc", "ABBA", "1", "-2.5", "1e3", "true", "false", "0", " 7 ", "a b", "é", "straße"]
STRINGS += [
    "x y\\tz",
    "http://e/a",
    "rel",
    "2020-02-29",
    "2020-01-01T00:00:00Z",
    "10:11:12",
    "P1D",
    "😀b",
    "a.b",
    "50%",
]
STRINGS += ["INF", "NaN", "+1", "1.", "01", "line\\nend", '\\"q\\"', "a\\\\b", "aXbXc", "/?#ü", "en", "PT36H", "P14M"]
TAGGED = ['"a"@en', '"a"@EN', '"abc"@en', '"b"@fr', '"é"@de-1996', '""@en', '"Abc"@en-basiceng', '"bc"@fr']
BOOLEANS = ["true", "false", "1", "0"]
DATE_TIMES = ["2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00", "2020-01-01T00:00:00", "2020-02-29T12:30:45.5Z"]
DATE_TIMES += [
    "2019-12-31T24:00:00Z",
    "1999-12-31T23:59:59.999-05:00",
    "12020-03-04T05:06:07Z",
    "-0044-03-15T00:00:00Z",
]
DATE_TIMES += ["2020-01-01T00:00:00.1234567Z", "2020-01-01T00:00:00.12345671Z", "2011-01-10T14:45:13.815-14:00"]
DATES = ["2020-01-01", "2020-01-01Z", "2020-02-29", "2021-01-01+02:00", "1999-12-31", "-0001-01-01", "12020-03-04Z"]
TIMES = ["10:11:12", "10:11:12Z", "23:59:59.5Z", "24:00:00", "00:00:00+01:00", "08:20:00-05:00"]
DAY_TIME = ["P1D", "PT24H", "PT0S", "-PT1.5S", "P3DT10H30M", "PT36H", "-P2D", "PT0.001S", "PT1H"]
YEAR_MONTH = ["P1Y", "P12M", "P0M", "-P1M", "P2Y11M", "P1M"]
DURATIONS = ["P1Y2M3DT4H5M6.7S", "P1Y", "PT24H", "-P1Y1D", "P0D"]
IRIS = ["<http://e/a>", "<http://e/b>", "<urn:x:y>", "<http://e/é>", f"<{XSD}integer>", f"<{XSD}string>"]
UNKNOWN = ['"a"^^<http://e/t>', '"b"^^<http://e/t>', f'"x"^^<{XSD}integer>', f'"2020-13-01"^^<{XSD}date>']
UNKNOWN += [
    f'"x"^^<{XSD}boolean>',
    f'"300"^^<{XSD}byte>',
    f'"-1"^^<{XSD}nonNegativeInteger>',
    f'"P"^^<{XSD}duration>',
    f'"1,5"^^<{XSD}decimal>',
]


def typed(name: str, texts: Sequence[str]) -> list[str]:
    return [f'"{text}"^^<{XSD}{name}>' for text in texts]


POOLS: dict[str, list[list[str]]] = {
    "number": [
        *(typed("integer", INTEGERS), typed("decimal", DECIMALS), typed("double", DOUBLES), typed("float", FLOATS)),
        [f'"{text}"^^<{XSD}{name}>' for name, text in DERIVED],
        typed("integer", LONG_INTEGERS) + typed("decimal", LONG_DECIMALS),
    ],
    "text": [[f'"{text}"' for text in STRINGS], TAGGED],
    "truth": [typed("boolean", BOOLEANS)],
    "time": [typed("dateTime", DATE_TIMES), typed("dateTime", DATE_TIMES), typed("date", DATES), typed("time", TIMES)],
    "duration": [
        *(typed("dayTimeDuration", DAY_TIME), typed("yearMonthDuration", YEAR_MONTH)),
        typed("duration", DURATIONS),
    ],
    "iri": [IRIS],
}
KINDS = list(POOLS)
VARIABLES = {"number": "nm", "text": "st", "truth": "b", "time": "de", "duration": "p", "iri": "i"}
"""The variables that have terms of a kind; ?x and ?y have any, ?u has none."""
CASTS = ["integer", "decimal", "double", "float", "string", "boolean", "dateTime", "date", "time", "dayTimeDuration"]
CASTS += ["yearMonthDuration", "duration", "long", "byte", "unsignedShort", "nonNegativeInteger", "positiveInteger"]
PATTERNS = ["^a", "b+$", "[a-c]+", "A.C", "\\\\d", "^\\\\s*\\\\w+$", "(a|b)c?", "x|y", "\\\\.", "[^a]", "é", "^$", "."]
PATTERNS += [
    "(.)\\\\1",
    "^(.).*\\\\1$",
    "(a)|b\\\\1",
    "\\\\p{{Lu}}",
    "^\\\\P{{L}}+$",
    "[^\\\\p{{L}}1-5]",
    "(?:b|c)+?$",
    "^a{{1,2}}b",
]


@dataclass(frozen=True)
class Tree:
    """An expression: text with a {} for each operand."""

    form: str
    operands: tuple[Tree, ...] = ()

    def __str__(self) -> str:
        return self.form.format(*self.operands) if self.operands else self.form

    def parts(self) -> Iterator[Tree]:
        """The expression and all below it, operands first."""
        for operand in self.operands:
            yield from operand.parts()
        yield self


def random_term(rng: Random, kind: str | None = None) -> str:
    """A literal or IRI of a kind, or of any."""
    if kind is None and rng.random() < 0.15:
        return rng.choice(UNKNOWN)
    return rng.choice(rng.choice(POOLS[kind or rng.choice(KINDS)]))


FORMS: dict[str, list[tuple[str, str]]] = {
    "number": [
        *((f"({{}} {operator} {{}})", "number number") for operator in "++--**//"),
        *((f"{name}({{}})", "number") for name in ("-", "+", "ABS", "CEIL", "FLOOR", "ROUND")),
        ("STRLEN({})", "text"),
        *((f"{name}({{}})", "time") for name in ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS")),
        ("({} / {})", "duration duration"),
        *((f"<{XSD}{name}>({{}})", "any") for name in CASTS if POOLS["number"] and name not in ("string", "boolean")),
        *((f"<{XSD}{name}>({{}})", "number") for name in ("integer", "decimal", "double", "float", "byte", "long")),
        ("STRDT({}, <" + XSD + "integer>)", "text"),
    ],
    "text": [
        *(("STR({})", kind) for kind in ("any", "number", "text", "time")),
        *(("LANG({})", "text"), ("UCASE({})", "text"), ("LCASE({})", "text"), ("ENCODE_FOR_URI({})", "text")),
        *(("SUBSTR({}, {})", "text number"), ("SUBSTR({}, {}, {})", "text number number")),
        *(("SUBSTR({}, 2)", "text"), ("SUBSTR({}, 0, 2)", "text"), ("SUBSTR({}, 1.5, 2.6)", "text")),
        *(("CONCAT({}, {})", "text text"), ("CONCAT({}, {}, {})", "text text text"), ("CONCAT()", "")),
        *(("STRBEFORE({}, {})", "text text"), ("STRAFTER({}, {})", "text text")),
        *(("STRLANG({}, 'en')", "text"), ("STRDT({}, {})", "text iri"), ("TZ({})", "time")),
        *((f"REPLACE({{}}, '{pattern}', 'Z')", "text") for pattern in ("a", "[b-d]", "B+", "\\\\s")),
        *(("REPLACE({}, '(.)\\\\1', '<$1>')", "text"), ("REPLACE({}, '\\\\p{{Ll}}', '$0$0')", "text")),
        *(("REPLACE({}, '(a)(b)?', '[$1-$2]')", "text"), ("REPLACE({}, 'A', '\\\\$', 'i')", "text")),
        *((f"<{XSD}string>({{}})", kind) for kind in ("any", "number", "number", "time", "duration", "truth")),
        *((f"{name}({{}})", "text") for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")),
    ],
    "truth": [
        *(
            (f"({{}} {operator} {{}})", f"{kind} {kind}")
            for operator in ("=", "!=", "<", ">", "<=", ">=")
            for kind in ("number", "number", "text", "time", "duration", "truth", "any")
        ),
        *(("({} && {})", "truth truth"), ("({} || {})", "truth truth"), ("(!{})", "truth"), ("(!{})", "any")),
        *(("({} && {})", "any truth"), ("({} || {})", "truth any")),
        *(
            (f"({{}} {operator} ({{}}, {{}}))", f"{kind} {kind} {kind}")
            for operator in ("IN", "NOT IN")
            for kind in ("number", "text", "time", "any")
        ),
        *((f"({{}} {operator} ({{}}, {{}}, {{}}))", "number number any number") for operator in ("IN", "NOT IN")),
        *((f"{name}({{}}, {{}})", "text text") for name in ("CONTAINS", "STRSTARTS", "STRENDS", "sameTerm")),
        *((f"{name}({{}})", "any") for name in ("isIRI", "isBLANK", "isLITERAL", "isNUMERIC")),
        *((f"REGEX({{}}, '{pattern}')", "text") for pattern in PATTERNS),
        *((f"REGEX({{}}, '{pattern}', '{flag}')", "text") for pattern in ("^A", "b.c", "b$", "a b") for flag in "ismx"),
        *(("langMatches(LANG({}), 'en')", "text"), ("langMatches(LANG({}), '*')", "text")),
        *(("langMatches({}, {})", "text text"), ("sameTerm({}, {})", "any any"), ("isNUMERIC({})", "number")),
        *((f"<{XSD}boolean>({{}})", kind) for kind in ("any", "number", "text")),
        *((f"BOUND(?{name})", "") for name in "nxu"),
    ],
    "time": [
        *((f"({{}} {operator} {{}})", "time duration") for operator in "+-"),
        *((f"<{XSD}{name}>({{}})", kind) for name in ("dateTime", "date", "time") for kind in ("time", "text")),
    ],
    "duration": [
        *((f"({{}} {operator} {{}})", "duration duration") for operator in "+-"),
        *((f"({{}} {operator} {{}})", "duration number") for operator in "*/"),
        *(("({} - {})", "time time"), ("TIMEZONE({})", "time"), ("-({})", "duration")),
        *((f"<{XSD}{name}Duration>({{}})", kind) for name in ("dayTime", "yearMonth") for kind in ("duration", "text")),
    ],
    "iri": [("IRI({})", "text"), ("URI({})", "iri"), ("DATATYPE({})", "any"), ("DATATYPE({})", "number")],
}
for _kind, _forms in FORMS.items():
    _forms += [("IF({}, {}, {})", f"truth {_kind} {_kind}"), ("COALESCE({}, {})", f"{_kind} {_kind}")]


def random_expression(rng: Random, depth: int, kind: str = "any") -> Tree:
    """An expression of a kind (number, text, truth, time, duration, iri), nested so deep at most."""
    if kind == "any" or rng.randrange(25) == 0:
        kind = rng.choice(KINDS)
    if depth == 0 or rng.randrange(8) == 0:
        if rng.randrange(12) == 0:
            return Tree(rng.choice(["?x", "?y", "?u"]))
        return Tree(f"?{rng.choice(VARIABLES[kind])}" if rng.random() < 0.7 else random_term(rng, kind))
    form, kinds = rng.choice(FORMS[kind])
    return Tree(form, tuple(random_expression(rng, depth - 1, operand) for operand in kinds.split()))


def random_rows(rng: Random, count: int) -> list[dict[str, str]]:
    """Terms for the variables, so many times."""
    named = [(name, kind) for kind, names in VARIABLES.items() for name in names]
    rows = [{name: random_term(rng, kind) for name, kind in named} for _ in range(count)]
    for row in rows:
        row |= {"x": random_term(rng), "y": rng.choice([*row.values(), "_:m"])}
    return rows


def unescaped(term: str) -> str:
    """The token of a term as the query writes it; its language tag as loaders write it."""
    if term[0] != '"':
        return term
    end = term.rindex('"')
    text = re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), term[1:end])
    return f'"{text}{term[end:].lower() if term[end + 1 : end + 2] == "@" else term[end:]}'
