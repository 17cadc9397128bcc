"""As much of a notebook as the extension needs."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class Shell:
    """As much of IPython's shell as an extension uses."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magic: dict[str, Callable[[str, str], Any]] = {}
        self.shown: dict[type, Callable[[Any], str]] = {}
        html = SimpleNamespace(for_type=self.shown.__setitem__)
        self.display_formatter = SimpleNamespace(formatters={"text/html": html})

    def register_magic_function(self, function: Callable[[str, str], Any], kind: str, name: str) -> None:
        assert kind == "cell"
        self.magic[name] = function
