"""How many wrong passwords and tokens one address may try: a few at once, then one every few seconds."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from triplestore.server.faults import HttpError

BURST: Final = 10
"""Wrong credentials that an address may send at once."""

SECONDS: Final = 6.0
"""Seconds after which it may send one more."""

ADDRESSES: Final = 10_000
"""Addresses that are remembered; beyond these, the one whose last attempt is the longest ago is forgotten."""


class _Address:
    """What is known of one address. spent: attempts, each of which counts for `SECONDS`; at: when that was so."""

    __slots__ = ("at", "lock", "spent")

    def __init__(self, now: float) -> None:
        self.spent, self.at = 0.0, now
        self.lock = asyncio.Lock()


class Attempts:
    """The attempts of all addresses to prove who they are."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Address] = OrderedDict()

    def __len__(self) -> int:
        """How many addresses are remembered."""
        return len(self._known)

    def check(self, address: str) -> None:
        """Raise HttpError (429) for an address that has sent too many wrong credentials. What it sends now is not
        looked at, even if it is right: otherwise it could go on guessing."""
        found = self._known.get(network_of(address))
        if found is None:
            return
        self._refresh(found)
        if found.spent > BURST - 1:
            seconds = math.ceil((found.spent - BURST + 1) * SECONDS)
            raise HttpError(
                429,
                f"too many wrong passwords or tokens from this address: try again in {seconds} s",
                {"Retry-After": str(seconds)},
            )

    @asynccontextmanager
    async def counted(self, address: str) -> AsyncIterator[None]:
        """An attempt, which counts as wrong until `right` is called: so those that are looked at together count, too.
        Attempts of one address wait for each other, so that they do not delay those of others. Raises what `check`
        raises."""
        self.check(address)
        network = network_of(address)
        found = self._known.setdefault(network, _Address(time.monotonic()))
        self._known.move_to_end(network)
        found.spent += 1
        while len(self._known) > ADDRESSES:
            self._known.popitem(last=False)
        async with found.lock:
            yield

    def right(self, address: str) -> None:
        """The attempt that was counted last was right after all."""
        network = network_of(address)
        found = self._known.get(network)
        if found is not None:
            found.spent = max(found.spent - 1, 0.0)
            self._refresh(found)
            if not found.spent and not found.lock.locked():
                del self._known[network]

    @staticmethod
    def _refresh(found: _Address) -> None:
        now = time.monotonic()
        found.spent, found.at = max(found.spent - (now - found.at) / SECONDS, 0.0), now


def network_of(address: str) -> str:
    """Whose attempts are counted together: an IPv4 address, or the /64 of an IPv6 address, all of which one machine may
    have."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return address
