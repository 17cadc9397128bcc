"""Making a store, by one process at a time, so that what was made can be taken away again.

Whoever makes a store holds the lease `_versions/.making` until version 1 is published. A making that was killed leaves
its lease, which is dead then: so another may take up what it left. Files of data without a version and without that
lease are something else: a store that has lost its versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from triplestore.model.errors import ConflictError
from triplestore.storage import leases
from triplestore.storage.place import MARK, VERSIONS, Place

MAKING: Final = f"{VERSIONS}/.making"
"""The lease of whoever makes the store at a place."""


class Making:
    """A store without a version, with its mark (the text given), and the right to publish version 1.

    Raises ConflictError where another process has that, OSError.
    """

    def __init__(self, place: Place, mark: str) -> None:
        self._place, self._marked = place, False
        try:
            self._lease = self._taken()
        except OSError:
            place.clear()
            raise
        try:
            place.prepare_data()
            if place.entry(MARK) is None:
                self._marked = True
                place.replace(MARK, mark)
        except BaseException:
            self.undo(())
            raise

    def _taken(self) -> leases.Lease:
        """The lease, with what it needs."""
        for _ in range(100):
            self._place.prepare()
            try:
                lease = leases.take(self._place, MAKING)
            except FileNotFoundError:  # whoever was here before us is taking its folders away
                continue
            if lease is not None:
                return lease
            break
        raise ConflictError(
            f"another process is making a store at {self._place.path}; wait until it is done, then run the command "
            "again"
        )

    def done(self) -> None:
        """The store is made."""
        self._lease.end()

    def undo(self, stems: Sequence[str]) -> None:
        """Take away what was made: files of data whose names hold one of `stems`, the mark, the folders. Nothing that
        was there before goes, nor what another process has written."""
        self._place.discard(stems)
        if self._marked:
            with suppress(OSError):
                self._place.remove(MARK)
        self._place.clear_data()  # as long as nobody else may make one
        self._lease.end()
        self._place.clear()  # in folders that are not empty another process is at work
