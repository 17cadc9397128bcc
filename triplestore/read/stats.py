"""What a store holds, in numbers, and the axioms and imports that are not used."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from triplestore.closure import expand
from triplestore.closure.view import built_in
from triplestore.model.errors import UsageError
from triplestore.model.report import JsonObject, Report, UpdateReport
from triplestore.model.tables import ASSERTED, FACT, SAME_AS, TERM, VIOLATION
from triplestore.model.terms import BUILTIN_IRIS
from triplestore.ontology.imports import missing_imports as find_missing
from triplestore.ontology.profile import Finding, findings
from triplestore.read import graphs
from triplestore.read.reasoning import all_rules
from triplestore.read.session import Session


@dataclass(frozen=True, slots=True, eq=False)
class StoreStats(Report):
    """Counts of a version, and the report of the operation that made it; docs/commands.md explains each."""

    version: int
    engine_written: str
    ruleset: tuple[str, ...]
    equality: str
    terms: int
    asserted: int
    facts: int
    generalised: int
    inferred: int
    expanded: int
    classes: int
    largest_class: int
    violations: int
    bytes: int
    materialised: bool
    counting: bool
    default_graph: str
    named_graphs: int
    outside_profile: tuple[Finding, ...]
    last: UpdateReport

    def as_dict(self) -> JsonObject:
        """See `Report`."""
        found: JsonObject = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return found | {
            "ruleset": list(self.ruleset),
            "outside_profile": [asdict(finding) for finding in self.outside_profile],
            "last": self.last.as_dict(),
        }


def stats(session: Session) -> StoreStats:
    """See `Store.stats`."""
    manifest = session.manifest
    session.workspace.views(ASSERTED, FACT, SAME_AS, TERM)
    asserted, expanded = count(session, "asserted"), count(session, "all")
    ((generalised,),) = session.engine.rows(expand.GENERALISED_COUNT)
    return StoreStats(
        version=manifest.version,
        engine_written=manifest.engine,
        ruleset=tuple(r.name for r in manifest.rulesets),
        equality=manifest.equality.value,
        terms=manifest.files_of(TERM.name).rows - len(BUILTIN_IRIS),
        asserted=asserted,
        facts=manifest.files_of(FACT.name).rows,
        generalised=int(generalised),
        inferred=max(expanded - asserted, 0),
        expanded=expanded,
        classes=manifest.stats.get("classes", 0),
        largest_class=manifest.stats.get("largest_class", 0),
        violations=manifest.files_of(VIOLATION.name).rows,
        bytes=manifest.bytes,
        materialised=manifest.materialised,
        counting=manifest.counting,
        default_graph=manifest.default_graph.value,
        named_graphs=graphs.number(session),
        outside_profile=tuple(outside_profile(session)),
        last=UpdateReport.of(manifest.last),
    )


def count(session: Session, what: str) -> int:
    """See `Store.count`."""
    if what not in expand.WHAT:
        raise UsageError(f"no part '{what}' of a store; give one of {', '.join(expand.WHAT)}")
    given = session.manifest.files_of(ASSERTED.name).rows
    if what == "asserted":
        return given
    session.workspace.views(ASSERTED, FACT, SAME_AS, TERM)
    ((found,),) = session.engine.rows(expand.expanded_count_sql(session.view))
    return int(found) if what == "all" else max(int(found) - given, 0)


def outside_profile(session: Session) -> list[Finding]:
    """See `Store.outside_profile`."""
    session.workspace.views(ASSERTED, TERM)
    profile = any(ruleset.profile for ruleset in built_in(session.manifest))
    return findings(session.engine, all_rules(session.manifest), profile)


def missing_imports(session: Session) -> dict[str, list[str]]:
    """See `Store.missing_imports`."""
    session.workspace.views(ASSERTED, TERM)
    return find_missing(session.engine)
