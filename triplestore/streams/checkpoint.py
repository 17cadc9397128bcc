"""Where a run stands, so that it can be taken up after it was killed.

A window is made of what is in the source, so its content is not written again: the checkpoint names, for each stream,
the byte from which the windows at hand can be read again, and the newest time for which each group of queries was
answered. It is replaced as a whole after each window, once its answers are durable. Answers that a file takes are cut
off at the place that the checkpoint names, so each window is in it once; whoever reads answers elsewhere may see those
of the last window twice. The store may have another version when the run is taken up: that version answers the windows
from then on.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Final

from triplestore.model.errors import UsageError
from triplestore.storage.durable import sync_folder, write_durably
from triplestore.streams.registration import StreamQuery

FILE: Final = "stream.json"


@dataclass(frozen=True, slots=True)
class Place:
    """From where a stream is read: a byte (of Structured Streaming: a batch), the newest time before it, the name of
    the file in a folder, the lines before it."""

    read: int = 0
    newest: int | None = None
    file: str = ""
    lines: int = 0


@dataclass(slots=True)
class State:
    """What a checkpoint says. version: of the store, by which the newest answers are. answered: of each group of
    queries, in order. written: bytes of the file of answers. batch: the newest of Structured Streaming. files: of the
    streams that are folders, in the order of reading."""

    version: int
    queries: str
    places: dict[str, Place] = field(default_factory=dict)
    answered: list[int | None] = field(default_factory=list)
    written: int = 0
    batch: int = -1
    files: dict[str, list[str]] = field(default_factory=dict)


class Trail:
    """The places of one stream from which its windows can be read again."""

    def __init__(self) -> None:
        self._chunks: deque[tuple[Place, int]] = deque()  # where a chunk begins, and when the last of it leaves

    def add(self, before: Place, leaves: int) -> None:
        """Take note of a chunk that was read."""
        self._chunks.append((before, leaves))

    def place(self, answered: int, end: Place) -> Place:
        """From where to read what windows after a time need. end: where reading stands."""
        while self._chunks and self._chunks[0][1] <= answered:
            self._chunks.popleft()
        return self._chunks[0][0] if self._chunks else end


class Checkpoint:
    """The checkpoint in a folder; `state` is that of the run before, if there was one."""

    def __init__(self, folder: str | Path, version: int, queries: Sequence[StreamQuery]) -> None:
        """version: of the store, which answers from now on; the answers before may be those of another. Raises
        UsageError where it is of other queries."""
        if Path(folder).exists() and not Path(folder).is_dir():
            raise UsageError(f"{folder} is not a folder, which a checkpoint is kept in")
        self._path = Path(folder, FILE)
        text = json.dumps([[q.text, q.operator, [[n, w.width, w.step] for n, w in q.windows]] for q in queries])
        self._queries, self._version = hashlib.sha256(text.encode()).hexdigest(), version
        self.state: State | None = None
        if self._path.is_file():
            try:
                found = json.loads(self._path.read_text(encoding="utf-8"))
                found["places"] = {name: Place(**place) for name, place in found["places"].items()}
                self.state = State(**found)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise UsageError(
                    f"{self._path} is not a checkpoint, or damaged: give another folder, or remove it"
                ) from None
            if self.state.queries != self._queries:
                raise UsageError(
                    f"the checkpoint in {folder} is of other queries: give it another folder, or remove it"
                )

    def save(
        self,
        places: Mapping[str, Place],
        answered: Sequence[int | None],
        written: int,
        batch: int = -1,
        files: Mapping[str, list[str]] | None = None,
    ) -> None:
        """Replace the checkpoint; on disk on return."""
        state = State(self._version, self._queries, dict(places), list(answered), written, batch, dict(files or {}))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_name(f".{FILE}.new")  # one that was cut short is replaced
        write_durably(draft, json.dumps(asdict(state)))
        os.replace(draft, self._path)
        sync_folder(self._path.parent)
        self.state = state


def taken_up(path: str | Path, state: State | None) -> IO[str]:
    """The file of answers, with those alone that a checkpoint knows of: none without a checkpoint. Raises UsageError
    where some of them are missing, and where there is no place for it."""
    written = 0 if state is None else state.written
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    if size < written:
        raise UsageError(
            f"{path} has {size:,} bytes of answers, and by the checkpoint {written:,}: give the file that was written "
            "with it, or begin with another checkpoint"
        )
    if not Path(path).absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no such folder; make it first")
    file = open(path, "r+" if size else "w", encoding="utf-8", newline="")  # noqa: SIM115
    if size:  # else it is new, or no file but a pipe or a device
        file.truncate(written)
        file.seek(written)
    return file


def durable(file: IO[str]) -> int:
    """Have what was written to a file on disk; its bytes. What goes to a pipe or a device is on its way then, and no
    bytes of a file."""
    file.flush()
    try:
        handle = file.fileno()
    except OSError:  # it is in memory
        return 0
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return 0
    os.fsync(handle)
    return file.tell()
