"""The memory that bodies of requests take while they are held: so much in all, and part of it for one address."""

from __future__ import annotations

from collections import Counter
from typing import Final

from triplestore.model.thresholds import SIZES
from triplestore.server.faults import HttpError

ROOM: Final = 256 << 20
"""Bytes of all bodies that are held at a time, where no single one may have more."""


class Room:
    """The bytes that all requests of a server hold. most: of them in all."""

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0
        self.of: Counter[str] = Counter()


class Held:
    """What the request of an address holds of a room. Free it when the request has ended."""

    def __init__(self, room: Room, address: str) -> None:
        self._room, self._address = room, address
        self._size = self._counted = 0

    def add(self, size: int, share: bool) -> None:
        """Hold so many bytes more. share: the address may have half of the room, not all of it. Raises HttpError
        (503) where there is no room."""
        self._size += size
        more = max(self._size - SIZES.piece, 0) - self._counted
        room = self._room
        own = room.of[self._address] + more
        if more and (room.taken + more > room.most or (share and own > room.most // 2)):
            message = "the requests that the server holds leave no room for this body"
            raise HttpError(503, f"{message}: try again later, or send less at a time", {"Retry-After": "5"})
        self._counted += more
        room.taken += more
        room.of[self._address] = own

    def free(self) -> None:
        """Give all of it back."""
        room = self._room
        room.taken -= self._counted
        room.of[self._address] -= self._counted
        if not room.of[self._address]:
            del room.of[self._address]
        self._size = self._counted = 0
