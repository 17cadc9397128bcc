"""What the methods of a store refuse to be given, for what would be a false answer or a fault within an engine."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from triplestore.model.errors import UsageError


def check_whole(what: str, given: Any, least: int = 0, none: str = "") -> None:
    """Raise UsageError for what is no whole number of at least that. none: what None stands for; "" where it is
    refused."""
    if (given is None and none) or (isinstance(given, int) and not isinstance(given, bool) and given >= least):
        return
    also = f", or None for {none}" if none else ""
    raise UsageError(f"{what} is a whole number, {least} or more{also}: not {given!r}")


def check_text(what: str, given: Any) -> None:
    """Raise UsageError for what is no text."""
    if not isinstance(given, str):
        advice = "; read the file first, path.read_text()" if isinstance(given, PurePath) else ""
        raise UsageError(f"{what} is a text: not {shortened(repr(given))}{advice}")


def shortened(text: str, most: int = 100) -> str:
    """A text for a message, its beginning if it is long."""
    return text if len(text) <= most else f"{text[:most]} ..."
