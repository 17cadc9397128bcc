"""Where timed triples come from: lines `TIME TRIPLE .`, JSON lines, tuples; files, folders, pipes.

A line is a time, spaces or tabs, and a triple of N-Triples:

    1700000000000 <http://ex/room1> <http://ex/temperature> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
    2023-11-14T22:13:20Z <http://ex/room1> a <http://ex/Warm> .

A line of JSON has "time" and either "triple", as N-Triples, or "s", "p" and "o" (or "subject", "predicate" and
"object"), each as N-Triples.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BufferedReader, TextIOBase
from pathlib import Path
from typing import IO, Any, Final

from triplake.loaders.bounds import BOM
from triplake.loaders.compression import compression, opened
from triplestore.model.errors import InputError, UsageError
from triplestore.model.stopping import check
from triplestore.model.terms import from_rdflib, to_ntriples
from triplestore.model.thresholds import SIZES
from triplestore.streams.times import time_of

SHORT: Final = 18
"""Digits that are a time without a further look."""

LONGEST: Final = 1 << 24
"""Bytes of a line, at most."""

POLL: Final = 0.2
"""Seconds between two looks at a file or folder that is followed."""

FIRST: Final = 5
"""Malformed lines that are reported one by one."""

NOTHING: Final = "a time without a triple"
SEVERAL: Final = "more than a line in a triple"

_A: Final = b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@dataclass(slots=True)
class LeftOut:
    """Lines that cannot be read: how many, and what is wrong with the first of them."""

    count: int = 0
    first: list[InputError] = field(default_factory=list)

    def add(self, error: InputError) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < FIRST:
            self.first.append(error)


@dataclass(slots=True)
class Chunk:
    """Some timed triples in the order of the source: times, and lines of N-Triples, whose triples may still be
    malformed; numbers: of these lines in the source. bad: lines of which not even a time can be read. source: what
    errors call the source. read, ended: bytes, and lines, of the file up to the chunk's end. file: its name in a
    folder."""

    times: list[int] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    bad: LeftOut = field(default_factory=LeftOut)
    source: str = "the stream"
    read: int = 0
    ended: int = 0
    file: str = ""


def chunks(
    source: Any, follow: bool = False, skip: int = 0, begin: str = "", order: Sequence[str] = (), line: int = 0
) -> Iterator[Chunk]:
    """The chunks of a source: the path of a file or a folder of files (by name; plain or compressed), "-" for standard
    input, an open binary file, an iterable of (time, (s, p, o)), terms of rdflib, or what has `chunks` itself. follow:
    wait for more of a file or folder at its end (a compressed file has one). skip: bytes of a file to pass over.
    begin, order: of a folder the file in which to go on ("": the first), and those that were read before, in order.
    line: how many lines are passed over. Raises UsageError, InputError."""
    if isinstance(source, str) and source == "-":
        yield from _of_file(sys.stdin.buffer, "standard input", False, skip, line)
    elif isinstance(source, str | Path):
        path = there(source)
        if path.is_dir():
            yield from _of_folder(path, follow, skip, begin, order, line)
        else:
            grows = follow and compression(str(path)) is None
            with open(path, "rb") if grows else opened(str(path), str(path)) as file:
                yield from _of_file(file, str(path), grows, skip, line)
    elif hasattr(source, "chunks"):
        yield from source.chunks()
    elif isinstance(source, TextIOBase):
        raise UsageError("the stream's file is open as text: open it as bytes, by open(path, 'rb')")
    elif hasattr(source, "read"):
        yield from _of_file(source, getattr(source, "name", "the stream"), False, skip, line)
    elif isinstance(source, Iterable):
        yield from _of_tuples(source)
    else:
        raise UsageError(f"{type(source).__name__} is not a source of a stream: give a path, a file or an iterable")


def there(source: str | Path) -> Path:
    """The path of a file or folder. Raises UsageError where there is none."""
    if not (path := Path(source)).exists():
        raise UsageError(f"there is no file {path}: give the stream's file or folder, or - for standard input")
    return path


def _of_file(file: IO[bytes] | BufferedReader, name: str, follow: bool, skip: int, line: int) -> Iterator[Chunk]:
    read_some: Callable[[int], bytes] = getattr(file, "read1", file.read)
    rest, number, done = b"", line + 1, skip
    if skip:
        _go_to(file, skip, name)
        if not line:  # the checkpoint of an older version, which counts no lines
            name = f"{name}, from byte {skip:,} on"
    while True:
        block = read_some(SIZES.download)
        if not block:
            if follow:
                check()
                _check_longer(file, name, done)
                time.sleep(POLL)
                continue
            break
        lines = (rest + (block if done else block.removeprefix(BOM))).split(b"\n")
        rest = lines.pop()
        done += len(block)
        if len(rest) > LONGEST:
            raise InputError(f"a line of more than {LONGEST >> 20} MB", name, number + len(lines))
        if lines:
            yield cut(lines, name, number, done - len(rest))
            number += len(lines)
    if rest:
        yield cut([rest], name, number, done)


def _go_to(file: IO[bytes] | BufferedReader, place: int, name: str) -> None:
    """Pass over the bytes before a place. Raises InputError where there are fewer."""
    if file.seekable():
        file.seek(place - 1)
    else:  # zstd
        left = place - 1
        while left and (passed := len(file.read(min(left, SIZES.download)))):
            left -= passed
    if not file.read(1):
        raise _shorter(name, place)


def _check_longer(file: IO[bytes] | BufferedReader, name: str, read: int) -> None:
    """Raise InputError where a file that grows has become shorter than what was read of it."""
    if os.fstat(file.fileno()).st_size < read:
        raise _shorter(name, read)


def _shorter(name: str, read: int) -> InputError:
    return InputError(
        f"{read:,} bytes of it were read, and it has fewer now: it was cut off, or is another; begin with it as it is, "
        "and with another checkpoint",
        name,
    )


def _of_folder(path: Path, follow: bool, skip: int, begin: str, order: Sequence[str], line: int) -> Iterator[Chunk]:
    """The files of a folder, those read before in their order, then others in that of their names, each as it is when
    its turn comes; one that is written should be moved there when it is whole."""
    at = order.index(begin) if begin else 0
    done, again = set(order[:at]), order[at:]
    while True:
        fresh = again or sorted(f for f in os.listdir(path) if f not in done and not f.startswith((".", "_")))
        for name in fresh:
            done.add(name)
            with opened(str(there(path / name)), str(path / name)) as file:
                for chunk in _of_file(file, str(path / name), False, skip, line):
                    chunk.file = name
                    yield chunk
            skip = line = 0
        if again:
            again = ()
            continue
        if not follow:
            return
        check()
        if not fresh:
            time.sleep(POLL)


def cut(lines: list[bytes], name: str, number: int = 1, read: int = 0) -> Chunk:
    """Lines cut into times and triples. number: of the first in its source, which errors call by `name`."""
    chunk = Chunk(source=name, read=read, ended=number + len(lines) - 1)
    times, triples, numbers = chunk.times, chunk.lines, chunk.numbers
    for at, line in enumerate(lines, number):
        parts = line.rstrip(b"\r\n").split(None, 1)
        if not parts or parts[0][:1] == b"#":
            continue
        head = parts[0]
        try:
            if head[:1] == b"{":
                moment, tail = _of_json(line)
            else:
                moment = int(head) if len(head) < SHORT and head.isdigit() else time_of(head.decode())
                if len(parts) == 1:
                    raise ValueError(NOTHING)
                tail = _without_a(parts[1])
            if b"\r" in tail or b"\n" in tail:  # ends of lines to the parser
                raise ValueError(SEVERAL)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError, ArithmeticError) as error:
            chunk.bad.add(InputError(_told(error, head), name, at, 1))
            continue
        times.append(moment)
        triples.append(tail)
        numbers.append(at)
    return chunk


def _told(error: Exception, head: bytes) -> str:
    if isinstance(error, KeyError):
        return f"a JSON line without {error}: it has time, and triple or s, p, o"
    if str(error) in (NOTHING, SEVERAL):
        return f"{error}: a line is TIME TRIPLE ."
    if head[:1] == b"{":
        return f"a line of JSON that cannot be read: {error}"
    text = head[:40].decode(errors="replace")
    return f"'{text}' is not a time: a line is TIME TRIPLE ., the time a number or as 2024-05-01T12:00:00Z"


def _without_a(line: bytes) -> bytes:
    """The triple, `a` as a predicate spelled out."""
    parts = line.split(None, 2)
    return b" ".join((parts[0], _A, parts[2])) if len(parts) == 3 and parts[1] == b"a" else line


def _of_json(line: bytes) -> tuple[int, bytes]:
    found = json.loads(line, parse_float=str)
    moment = found["time"]
    moment = time_of(moment if isinstance(moment, int) and not isinstance(moment, bool) else str(moment))
    if "triple" in found:
        text = str(found["triple"]).strip().removesuffix(".")
    else:
        text = " ".join(str(found[short] if short in found else found[long]) for short, long in _KEYS)
    return moment, f"{text} .".encode()


_KEYS: Final = (("s", "subject"), ("p", "predicate"), ("o", "object"))


def _of_tuples(source: Iterable[Any]) -> Iterator[Chunk]:
    """An item at a time, since the next may be long in coming; lists at once."""
    many = 10_000 if isinstance(source, list | tuple) else 1
    chunk = Chunk()
    for number, item in enumerate(source, 1):
        try:
            moment, (s, p, o) = item
            chunk.times.append(time_of(moment if isinstance(moment, int) else moment.isoformat()))
        except (TypeError, ValueError, AttributeError):
            raise UsageError(f"'{item}' is not a timed triple: give (time, (subject, predicate, object))") from None
        tokens = (from_rdflib(s), from_rdflib(p), from_rdflib(o))
        chunk.lines.append((" ".join(map(to_ntriples, tokens)) + " .").encode())
        chunk.numbers.append(number)
        if len(chunk.times) == many:
            yield chunk
            chunk = Chunk()
    if chunk.times:
        yield chunk
