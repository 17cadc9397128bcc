"""Validating a version against shapes: SHACL Core over the closure with all equalities expanded, as queries see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from triplake.loaders import quads_of, sources
from triplake.loaders.seeming import option
from triplestore.closure.view import built_in
from triplestore.model.errors import NonConformingError
from triplestore.model.terms import from_rdflib
from triplestore.read.query import graph
from triplestore.read.session import Session

if TYPE_CHECKING:
    from triplestore.shapes.model import Shape
    from triplestore.shapes.report import ValidationReport

_SIMPLE: Final = "<http://www.w3.org/ns/entailment/Simple>"
_RDFS: Final = "<http://www.w3.org/ns/entailment/RDFS>"
"""Entailment regimes that shapes may ask for: of any store, and of those with rulesets that have RDFS's rules."""


def read(
    session: Session, given: str | Path | Iterable[Any], format: str | None = None, says: str = ""
) -> tuple[Shape, ...]:
    """The shapes of files, or of an rdflib Graph (any triples of rdflib's terms); reports if none has a target. says:
    the option that says their format, for messages."""
    items = [given] if isinstance(given, str | Path) else list(given)
    if not items:
        return ()
    from triplake.sparql.parser import not_too_deep  # slow to import, for those who have no shape

    with not_too_deep("shape"), _advising(says):
        found = _read(items, format, (_SIMPLE, _RDFS) if _inherits(session) else (_SIMPLE,))
    if not found:
        session.notify("no shape has a target (sh:targetClass, sh:targetNode ..): nothing is validated")
    return found


@contextmanager
def _advising(says: str) -> Iterator[None]:
    token = option.set(says)
    try:
        yield
    finally:
        option.reset(token)


def _inherits(session: Session) -> bool:
    return any(ruleset.inherits for ruleset in built_in(session.manifest))


def _read(items: list[Any], format: str | None, regimes: tuple[str, ...]) -> tuple[Shape, ...]:
    from triplestore.shapes.reader import read_shapes

    if not all(isinstance(item, str | Path) for item in items):
        triples = [(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o, *_ in items]
        return read_shapes(triples, "the shapes", regimes)
    found = sources(items, format)
    quads = chain.from_iterable(quads_of(source, number) for number, source in enumerate(found))
    return read_shapes([(s, p, o) for s, p, o, *_ in quads], ", ".join(source.name for source in found), regimes)


def validate(session: Session, shapes: Sequence[Shape]) -> ValidationReport:
    """See `Store.validate`."""
    from triplake.sparql.parser import not_too_deep
    from triplake.sparql.stages import Stages
    from triplestore.shapes.report import report
    from triplestore.shapes.validate import Validation

    with not_too_deep("shape"), Stages(graph(session)) as stages:
        return report(Validation(stages, _inherits(session)).results(shapes))


NAMED: Final = 5
"""Results that the message of a refused change has."""


def guard(session: Session) -> None:
    """Raise NonConformingError where the version at hand, a draft, does not conform to the session's shapes: a change
    is refused then, and a dry run tells that it would be."""
    if not session.manifest.materialised:
        raise NonConformingError(
            "the change is refused, and was not committed: shapes guard the store, and its closure would not be up "
            "to date; leave out --no-materialise",
            None,
        )
    report = validate(session, session.shapes)
    if report.conforms:
        return
    lines = [result.line() for result in report.results[:NAMED]]
    if len(report.results) > NAMED:
        lines.append(f"... and {len(report.results) - NAMED:,} more")
    raise NonConformingError(
        "the change is refused, and was not committed: its result does not conform to the shapes\n  "
        + "\n  ".join(lines),
        report,
    )
