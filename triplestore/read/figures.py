"""What a store tells of itself: counts, classes of equal terms, axioms and imports that are not used, its versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from triplestore.closure import expand
from triplestore.dictionary import encoding
from triplestore.model.errors import DamagedStoreError, UsageError
from triplestore.model.tables import ASSERTED, FACT, SAME_AS, TERM, VIOLATION
from triplestore.model.terms import BUILTIN_IRIS, to_ntriples, to_rdflib
from triplestore.ontology.imports import missing_imports as find_missing
from triplestore.ontology.profile import Finding, findings
from triplestore.read.differences import Difference, difference
from triplestore.read.proofs import equality_source
from triplestore.read.reasoning import all_rules, equal_literals, named, twins
from triplestore.read.session import Session
from triplestore.storage.manifest import Manifest, Versions

if TYPE_CHECKING:
    from rdflib.term import Node


def stats(session: Session) -> dict[str, Any]:
    """See `Store.stats`."""
    manifest = session.manifest
    session.workspace.views(ASSERTED, FACT, SAME_AS, TERM)
    asserted, expanded = count(session, "asserted"), count(session, "all")
    ((generalised,),) = session.engine.rows(expand.GENERALISED_COUNT)
    return {
        "version": manifest.version,
        "engine_written": manifest.engine,
        "ruleset": [r.name for r in manifest.rulesets],
        "equality": manifest.equality,
        "terms": manifest.files_of(TERM.name).rows - len(BUILTIN_IRIS),
        "asserted": asserted,
        "facts": manifest.files_of(FACT.name).rows,
        "generalised": int(generalised),
        "inferred": max(expanded - asserted, 0),
        "expanded": expanded,
        "classes": manifest.stats.get("classes", 0),
        "largest_class": manifest.stats.get("largest_class", 0),
        "violations": manifest.files_of(VIOLATION.name).rows,
        "bytes": manifest.bytes,
        "materialised": manifest.materialised,
        "counting": manifest.counting,
        "outside_profile": [asdict(finding) for finding in outside_profile(session)],
        "last": dict(manifest.last),
    }


def count(session: Session, what: str) -> int:
    """See `Store.count`."""
    if what not in expand.WHAT:
        raise UsageError(f"no part '{what}' of a store; give one of {', '.join(expand.WHAT)}")
    manifest = session.manifest
    stated = manifest.files_of(ASSERTED.name).rows
    if what == "asserted":
        return stated
    session.workspace.views(ASSERTED, FACT, SAME_AS, TERM)
    literals = equal_literals(manifest)
    sql = expand.expanded_count_sql(manifest.equality, twins(manifest), named(manifest), literals)
    ((found,),) = session.engine.rows(sql)
    return int(found) if what == "all" else max(int(found) - stated, 0)


def outside_profile(session: Session) -> list[Finding]:
    """See `Store.outside_profile`."""
    session.workspace.views(ASSERTED, TERM)
    profile = any(r.name == "owl2rl" for r in session.manifest.rulesets)
    return findings(session.engine, all_rules(session.manifest), profile)


def missing_imports(session: Session) -> dict[str, list[str]]:
    """See `Store.missing_imports`."""
    session.workspace.views(ASSERTED, TERM)
    return find_missing(session.engine)


def equality_classes(session: Session, most: int, members: int) -> list[tuple[int, list[Node]]]:
    """See `Store.equality_classes`."""
    session.readable()
    session.workspace.views(SAME_AS, TERM)
    return _largest(session, SAME_AS.name, most, members)


def equality_stats(session: Session, most: int) -> dict[str, Any]:
    """See `Store.equality_stats`."""
    from triplestore.proof.causes import causes

    source = equality_source(session)
    found, pi = causes(source), source.same_as
    rows = session.engine.query(
        "SELECT size, count(*) AS classes FROM "
        f"(SELECT count(*) AS size FROM {pi} GROUP BY representative) c GROUP BY size ORDER BY size"
    ).to_pylist()
    sizes: dict[int, int] = {}
    for row in rows:
        bucket = 1 << (int(row["size"]).bit_length() - 1)
        sizes[bucket] = sizes.get(bucket, 0) + int(row["classes"])
    return {
        "classes": sum(int(row["classes"]) for row in rows),
        "members": sum(int(row["size"]) * int(row["classes"]) for row in rows),
        "sizes": [{"from": least, "to": 2 * least - 1, "classes": n} for least, n in sizes.items()],
        "largest": [
            {"size": size, "members": [term.n3() for term in terms]}
            for size, terms in _largest(session, str(pi), most, 5)
        ],
        "causes": [{"rule": c.rule, "on": [to_ntriples(t) for t in c.on], "links": c.links} for c in found.causes],
        "by_derived_facts": found.derived,
    }


def log(session: Session, version: int | None) -> list[Mapping[str, Any]]:
    """See `Store.log`."""
    return log_of(session.versions, version)


def log_of(versions: Versions, version: int | None) -> list[Mapping[str, Any]]:
    """The log of a store that need not be open. A version whose manifest cannot be read is listed as "damaged"."""
    if version is not None:
        return [_entry(versions.read(version))]
    entries = list[Mapping[str, Any]]()
    for number in versions.numbers() or [versions.read().version]:
        try:
            entries.append(_entry(versions.manifest(number)))
        except DamagedStoreError:
            unknown = {"created": "", "engine": "", "asserted": 0, "facts": 0, "bytes": 0}
            entries.append({"version": number, **unknown, "operation": "damaged"})
    return entries


def _entry(manifest: Manifest) -> Mapping[str, Any]:
    return {
        "version": manifest.version,
        "created": manifest.created,
        "engine": manifest.engine,
        "asserted": manifest.files_of(ASSERTED.name).rows,
        "facts": manifest.files_of(FACT.name).rows,
        "bytes": manifest.bytes,
        **manifest.last,
    }


@contextmanager
def log_facts(session: Session, version: int | None) -> Iterator[Difference]:
    """See `Store.log_facts`."""
    with session.turns.turn():
        try:
            number = session.versions.read().version if version is None else version
            with difference(session.engine, session.versions, number) as found:
                yield found
        finally:
            session.workspace.forget()


def _largest(session: Session, pi: str, most: int, members: int) -> list[tuple[int, list[Node]]]:
    """The largest classes of a table of representatives, as `Store.equality_classes` has them."""
    sizes = session.engine.query(
        f"SELECT representative, count(*) AS n FROM {pi} GROUP BY representative "
        f"ORDER BY n DESC, representative LIMIT {int(most)}"
    ).to_pylist()
    if not sizes:
        return []
    listed = ", ".join(str(row["representative"]) for row in sizes)
    rows = session.engine.query(
        f"SELECT term, representative FROM (SELECT term, representative, row_number() OVER "
        f"(PARTITION BY representative ORDER BY term) AS n FROM {pi} WHERE representative IN ({listed})) m "
        f"WHERE n <= {int(members)} ORDER BY term"
    ).to_pylist()
    tokens = encoding.decode(session.engine, (row["term"] for row in rows))
    found: dict[int, list[Node]] = {row["representative"]: [] for row in sizes}
    for row in rows:
        found[row["representative"]].append(to_rdflib(tokens[row["term"]]))
    return [(int(row["n"]), found[row["representative"]]) for row in sizes]
