"""Changes read from files: plain triples to add or delete, and RDF Patch.

RDF Patch (https://afs.github.io/rdf-patch/, https://jena.apache.org/documentation/rdf-patch)
has one row a line, ended by a dot: `TX`, `TC`, `TA` (begin, commit, abort), `A` and `D` (add, delete a triple or quad),
`PA` and `PD` (prefixes), `H` (header). Terms are as in N-Triples; prefixed names, with prefixes of `PA` rows, are taken
too. Blank nodes are the store's own: `_:label` or `<_:label>` is the node that the store calls so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from triplake.loaders.documents import document
from triplake.loaders.lines import batches_of_lines, parse_lines
from triplake.loaders.sources import Source, Syntax
from triplake.loaders.tokens import Scope
from triplestore.model.dataset import Quad, QuadOperation
from triplestore.model.errors import InputError
from triplestore.model.prefixes import Prefix
from triplestore.model.terms import XSD


def quads_of(source: Source, first_file: int | None, declared: list[Prefix] | None = None) -> list[Quad]:
    """The quads of one source, in memory, for small files.

    first_file: the file's number; None keeps blank node labels as they are. declared: takes the prefixes that it
    declares. Raises InputError at the first error.
    """
    if not source.syntax.by_line:
        spaces: dict[str, str] = {}
        quads = list(document(source, Scope(first_file, anonymous=True, graph=source.graph), spaces))
        if declared is not None:
            declared += [Prefix(*found, Path(source.name).name) for found in spaces.items()]
        return quads
    scope = Scope(first_file, anonymous=False, graph=source.graph)
    found: list[Quad] = []
    for first, lines in batches_of_lines(source):
        parsed = parse_lines(lines, source.syntax, scope)
        if parsed.bad:
            bad = parsed.bad[0]
            raise InputError(bad.reason, source.name, first + bad.index, bad.column)
        found += parsed.quads
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """One transaction: quads that are added and deleted, in order. It is not netted here: whether deleting a triple
    deletes it from all graphs is the store's to say.

    prefixes: of its PA and PD rows, those without an IRI for PD.
    """

    operations: Sequence[QuadOperation]
    prefixes: Sequence[Prefix] = ()


_PIECE: Final = re.compile(
    r"""[ \t]*(?:
      (?P<blank> <_:[^<>"{}|^`\\\x00-\x20]+> )
    | (?P<triple> <<\( (?: "(?:[^"\\]++|\\.)*+" | <[^<>"]*> | [^"<>)]++ | \) | <<\( | \)>> )* \)>> )
    | (?P<verbatim> <[^<>"{}|^`\x00-\x20]*> | _:[^\s<>",;.]+(?:\.+[^\s<>",;.]+)* )
    | (?P<literal> "(?:[^"\\]++|\\.)*+" )
      (?: (?P<language> @[A-Za-z0-9-]+ ) | \^\^ (?: (?P<iri> <[^>]*> ) | (?P<type> [\w.-]*:[\w-]+ ) ) )?
    | (?P<number> [+-]?(?:\d+\.\d+|\.?\d+)(?:[eE][+-]?\d+)? )
    | (?P<name> (?: [^\W\d_][\w.-]*)?: (?:[\w:%](?:[\w:%.-]*[\w:%-])?)? )
    | (?P<word> [A-Za-z][\w-]* )
    | (?P<dot> \. )
    | (?P<comment> \#.* | $ )
    )""",
    re.VERBOSE | re.DOTALL,
)
_PREFIX_ROW: Final = {"PA": 2, "PD": 1}


@dataclass(slots=True)
class _Row:
    """A row: its operation, its items as N-Triples writes them (words and prefixes as they are), where they stand."""

    operation: str
    items: list[str]
    line: int
    columns: list[int]

    def column(self, written: int | None) -> int:
        """The column of the item that holds a column of the items written with one space between."""
        places = [1]
        for item in self.items:
            places.append(places[-1] + len(item) + 1)
        index = sum(place <= (written or 1) for place in places) - 1
        return self.columns[min(index, len(self.columns) - 1)]


@dataclass(slots=True)
class _Transaction:
    """The changes since TX, one operation for rows of one kind that follow each other."""

    operations: list[tuple[bool, list[Quad]]] = field(default_factory=list)
    prefixes: list[Prefix] = field(default_factory=list)

    def apply(self, operation: str, quad: Quad) -> None:
        """A row A or D."""
        insert = operation == "A"
        if not self.operations or self.operations[-1][0] != insert:
            self.operations.append((insert, []))
        self.operations[-1][1].append(quad)


def read_patch(path: str | Path, name: str | None = None) -> list[Change]:
    """The transactions of an RDF Patch file (compressed or not), in order; aborted and empty ones are left out.

    Rows outside TX..TC count as one transaction, where the first of them stands. name: what messages call the file.
    Raises InputError with the place of the first error; a transaction that is neither committed nor aborted is one.
    """
    source = Source(str(path), Syntax.NQUADS, name or str(path))
    done: list[_Transaction] = []
    outside: _Transaction | None = None
    current: _Transaction | None = None
    began = 0
    waiting: list[Prefix] = []  # of rows outside a transaction: they are of the next that is committed
    for row, quad in _checked(source):
        match row.operation:
            case "TX":
                if current is not None:
                    raise InputError(
                        f"TX inside the transaction begun on line {began}: end it with TC or TA",
                        source.name,
                        row.line,
                        1,
                    )
                current, began = _Transaction(), row.line
            case "TC" | "TA":
                if current is None:
                    raise InputError(f"{row.operation} without TX before it", source.name, row.line, 1)
                if row.operation == "TC":
                    current.prefixes[:0], waiting = waiting, []
                    done.append(current)
                current = None
            case "PA" | "PD":
                iri = row.items[1][1:-1] if row.operation == "PA" else ""
                declared = Prefix(_named(row.items[0]), iri, Path(source.name).name)
                (waiting if current is None else current.prefixes).append(declared)
            case "A" | "D":
                if current is None and outside is None:
                    outside = _Transaction()
                    done.append(outside)
                target = current or outside
                assert target is not None
                assert quad is not None
                target.apply(row.operation, quad)
    if outside is not None:
        outside.prefixes += waiting
    if current is not None:
        raise InputError("the transaction is not ended: add a row `TC .` (or `TA .`)", source.name, began, 1)
    return [Change(each.operations, tuple(each.prefixes)) for each in done if each.operations]


def _checked(source: Source) -> Iterator[tuple[_Row, Quad | None]]:
    """Rows, checked by the N-Quads parser, with the tokens of their quad (A and D)."""
    prefixes: dict[str, str] = {}
    for first, lines in batches_of_lines(source):
        rows: list[_Row] = []
        failure: InputError | None = None
        try:
            for number, line in enumerate(lines, first):
                row = _row(line, source.name, number, prefixes)
                if row is not None:
                    rows.append(row)
        except InputError as error:
            failure = error  # After the errors of the rows before it.
        changes = [row for row in rows if row.operation in "AD"]
        parsed = parse_lines(
            [f"{' '.join(row.items)} .".encode() for row in changes], Syntax.NQUADS, Scope(None, False)
        )
        if parsed.bad:
            wrong = parsed.bad[0]
            row = changes[wrong.index]
            raise InputError(wrong.reason, source.name, row.line, row.column(wrong.column))
        if failure is not None:
            raise failure
        quads = iter(parsed.quads)
        for row in rows:
            yield row, next(quads) if row.operation in "AD" else None


def _row(line: bytes, file: str, number: int, prefixes: dict[str, str]) -> _Row | None:
    """The row on a line, None for blank lines and comments; PA and PD rows change `prefixes`."""

    def wrong(reason: str, column: int) -> InputError:
        return InputError(reason, file, number, column)

    try:
        text = line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError as error:
        raise wrong(f"not UTF-8 ({error.reason})", error.start + 1) from error
    text = text.removeprefix("\ufeff")
    items: list[str] = []
    columns: list[int] = []
    ended = False
    place = 0
    while place < len(text):
        piece = _PIECE.match(text, place)
        column = len(text) - len(text[place:].lstrip(" \t")) + 1
        if piece is None:
            raise wrong("expected an IRI, a blank node, a literal or `.`", column)
        kind = piece.lastgroup
        place = piece.end()
        if kind == "comment":
            break
        if ended:
            raise wrong("only one row a line: nothing but a comment may follow the dot", column)
        if kind == "dot":
            ended = True
            continue
        columns.append(column)
        items.append(_item(piece, bool(items) and items[0] in ("A", "D"), prefixes, wrong, column))
    if not items:
        if ended:
            raise wrong("a dot without a row before it", 1)
        return None
    operation, *rest = items
    if operation not in ("A", "D", "TX", "TC", "TA", "PA", "PD", "H"):
        raise wrong(f"unknown row {operation!r}: expected A, D, TX, TC, TA, PA, PD or H", 1)
    if not ended:
        raise wrong("the row does not end with a dot", len(text) + 1)
    if operation in ("A", "D") and len(rest) not in (3, 4):
        raise wrong(f"row {operation} takes a triple or a quad, not {len(rest)} terms", 1)
    if operation in ("TX", "TC", "TA") and rest:
        raise wrong(f"row {operation} takes no terms", 1)
    if operation in _PREFIX_ROW:
        if len(rest) not in (_PREFIX_ROW[operation], _PREFIX_ROW[operation] + 1):
            raise wrong(f"row {operation} takes a prefix{' and an IRI' if operation == 'PA' else ''}", 1)
        prefix = _named(rest[0])
        if operation == "PA":
            prefixes[prefix] = rest[1][1:-1]
        else:
            prefixes.pop(prefix, None)
    return _Row(operation, rest, number, columns[1:])


def _named(item: str) -> str:
    """The prefix that an item of a PA or PD row names."""
    return item.strip('"').removesuffix(":")


def _item(
    piece: re.Match[str], term: bool, prefixes: dict[str, str], wrong: Callable[[str, int], InputError], column: int
) -> str:
    """A piece as N-Triples writes it; in rows that hold no terms (term false) names and words stay as they are."""

    def expanded(name: str) -> str:
        prefix, _, local = name.partition(":")
        if prefix not in prefixes:
            raise wrong(f"unknown prefix `{prefix}:`: declare it with a PA row before", column)
        return f"<{prefixes[prefix]}{local}>"

    text = piece.group().strip(" \t")
    if piece["blank"]:
        return text[1:-1]
    if piece["type"]:
        return f"{piece['literal']}^^{expanded(piece['type'])}"
    if not term:
        return text
    if piece["number"]:
        kind = "double" if "e" in text.lower() else "decimal" if "." in text else "integer"
        return f'"{text}"^^<{XSD}{kind}>'
    if piece["name"]:
        return expanded(text)
    if piece["word"]:
        if text in ("true", "false"):
            return f'"{text}"^^<{XSD}boolean>'
        raise wrong(f"expected a term, found {text!r}", column)
    return text
