"""The addresses of SPARQL endpoints, as they are compared: a query asks only those that it is allowed to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import SplitResult, urlsplit

from triplestore.model.errors import UsageError

DEPTH: Final = "Triplake-Depth"
"""The header that says in how many queries of endpoints a query is nested."""

_PORTS = {"http": 80, "https": 443}


def normalised(url: str) -> str:
    """An address with scheme and host in lower case, without the scheme's own port, and with a path, "/" at least.

    Raises UsageError for what is no absolute address of http or https, or names a user or a fragment.
    """
    parts = _parts(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{host}{port}{parts.path or '/'}{query}"


def normalised_all(urls: Iterable[str]) -> tuple[str, ...]:
    """`normalised` of each, once. Raises UsageError."""
    return tuple(dict.fromkeys(map(normalised, urls)))


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        faulty = parts.scheme not in _PORTS or not parts.hostname or parts.port == 0
    except ValueError:
        faulty = True
    if faulty or any(character <= " " or character == "\x7f" for character in url):
        raise UsageError(f"{url!r} is not an address of an endpoint: give one as in http://example.org/sparql")
    if "@" in parts.netloc or "#" in url:
        raise UsageError(f"{url!r} names a user or a fragment, which an endpoint's address has not: leave it out")
    return parts
