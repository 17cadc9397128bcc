"""Functions and operators of SPARQL 1.2 on what RDF 1.2 adds."""

from __future__ import annotations

import pytest

from tests.support.sparql import make_graph
from tests.unit.sparql.test_sparql_functions import ERROR, FALSE, TRUE, integer
from triplake.sparql import query
from triplestore.engine import Engine
from triplestore.model.errors import UsageError
from triplestore.model.terms import RDF, XSD

PREFIX = f"PREFIX xsd: <{XSD}> PREFIX : <http://e/> "

CASES: dict[str, str | None] = {
    "LANG('a'@EN--ltr)": '"en"',
    "LANG(STRLANGDIR('a', 'EN', 'rtl'))": '"en"',
    "LANGDIR('a'@en--rtl)": '"rtl"',
    "LANGDIR('a'@en)": '""',
    "LANGDIR(:a)": ERROR,
    "hasLANG('a'@en--rtl)": TRUE,
    "hasLANG('a')": FALSE,
    "hasLANG(:a)": FALSE,
    "hasLANGDIR('a'@en--rtl)": TRUE,
    "hasLANGDIR('a'@en)": FALSE,
    "hasLANGDIR(1)": FALSE,
    "STRLANGDIR('a', 'EN-gb', 'ltr')": '"a"@en-gb--ltr',
    "STRLANGDIR('a', 'en', 'up')": ERROR,
    "STRLANGDIR('a'@en, 'en', 'ltr')": ERROR,
    "STRLANG('a', 'en--ltr')": ERROR,
    "DATATYPE('a'@en--ltr)": f"<{RDF}dirLangString>",
    "DATATYPE(STRLANGDIR('a', 'en', 'ltr'))": f"<{RDF}dirLangString>",
    "UCASE('a'@en--ltr)": '"A"@en--ltr',
    "DATATYPE(UCASE('a'@en--ltr))": f"<{RDF}dirLangString>",
    "CONCAT('a'@en--ltr, 'b'@en--ltr)": '"ab"@en--ltr',
    "CONCAT('a'@en--ltr, 'b'@en)": '"ab"',
    "'a'@en--ltr = 'a'@en": FALSE,
    "'a'@en--ltr = 'a'@en--ltr": TRUE,
    "'a'@en--ltr = 'a'@en--rtl": FALSE,
    "sameTerm('a'@en--ltr, 'a'@EN--ltr)": TRUE,
    "IF('a'@en--ltr, 1, 2)": integer("1"),
    "STR('a'@en--ltr)": '"a"',
    "STRLEN('abc'@en--ltr)": integer("3"),
}


def values(engine: Engine, expressions: list[str]) -> list[str | None]:
    """The values of expressions."""
    binds = " ".join(f"BIND({text} AS ?v{place})" for place, text in enumerate(expressions))
    facts = [("<http://e/s>", "<http://e/p>", "<http://e/o>")]
    names = " ".join(f"?v{place}" for place in range(len(expressions)))
    (row,) = query(make_graph(engine, facts), f"{PREFIX} SELECT {names} {{ :s :p ?o {binds} }}").tokens()
    return list(row)


def test_values(engine: Engine) -> None:
    found = dict(zip(CASES, values(engine, list(CASES)), strict=True))
    assert found == CASES


@pytest.mark.parametrize("text", ["LANGDIR()", "STRLANGDIR('a', 'en')", "'a'@en--LTR", "'a'@en--up"])
def test_what_is_refused(engine: Engine, text: str) -> None:
    with pytest.raises(UsageError, match="line 1, column"):
        values(engine, [text])
