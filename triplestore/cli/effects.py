"""What changes did, or would do, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from triplestore.cli.options import counted

if TYPE_CHECKING:
    from triplestore.model.report import ClassDiff, ClassPart, UpdateReport, ViolationDiff


def outcome_line(report: UpdateReport, dry_run: bool = False) -> str:
    """What an update did, in a line; why, where the closure was computed from scratch although that was not asked."""
    d = "" if dry_run else "d"
    line = (
        f"{'would add' if dry_run else 'added'} {report.added:,} and delete{d} {report.deleted:,} stored facts, "
        f"merge{d} {report.merged:,}, split {counted(report.split, 'term')}, {report.seconds:.3f} s "
        f"by {report.algorithm}"
    )
    unasked = report.algorithm == "rematerialise" and report.reason != "asked for"
    return f"{line}: {report.reason}" if unasked else line


def effect_lines(report: UpdateReport) -> Iterator[str]:
    """What a dry run reports of classes of equal terms and of inconsistencies."""
    if report.classes is not None:
        yield from _class_lines(report.classes)
    if report.violations is not None:
        yield from _violation_lines(report.violations)


def _violation_lines(diff: ViolationDiff) -> Iterator[str]:
    """What a dry run reports of inconsistencies."""
    for would, count, some in (("make", diff.made, diff.makes), ("mend", diff.mended, diff.mends)):
        for one in some:
            triples = " ".join(" ".join(triple) + " ." for triple in one.triples)
            where = f" where {', '.join(map(_class, one.classes))}" if one.classes else ""
            yield f"would {would} an inconsistency: {one.rule}: {triples}{where}"
        if (more := count - len(some)) > 0:
            yield f"... and {more:,} more that it would {would}"


def _class_lines(diff: ClassDiff) -> Iterator[str]:
    """What a dry run reports of classes of equal terms."""

    def listed(parts: Sequence[ClassPart]) -> str:
        few = ", ".join(map(_class, parts[:10]))
        return few + (f" and {len(parts) - 10:,} more" if len(parts) > 10 else "")

    for merge in diff.merges:
        yield f"would make equal: {listed(merge)}"
    if (more := diff.merged - len(diff.merges)) > 0:
        yield f"... and {more:,} more merges"
    for split in diff.splits:
        yield f"would split {_class(split.whole)} into {listed(split.into)}"
    if (more := diff.split - len(diff.splits)) > 0:
        yield f"... and {more:,} more splits"


def _class(part: ClassPart) -> str:
    """The members of a class of equal terms, or a term that is alone."""
    more = part.members - len(part.names)
    return " = ".join((*part.names, *([f"{more:,} more"] if more else []))) if part.names else part.term
