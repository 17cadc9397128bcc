"""Canonical XML of literals of rdf:XMLLiteral, in time that their length bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from xml.etree.ElementTree import C14NWriterTarget, ParseError, XMLParser

STEPS: Final = 30
"""Looks at declared namespaces, or at elements that may declare some, for each character of a literal: elements that
are hundreds deep have more, as each looks at all around it."""


def canonical_xml(lexical: str) -> str | None:
    """The content in canonical form; as it is where that takes more than `STEPS`. None for what is not well-formed."""
    content = f"<r>{lexical}</r>"
    target = _Canonical(STEPS * len(content))
    try:
        _parse(content, target)
    except _TooManyStepsError:
        try:
            _parse(content, _WellFormed())
        except (ParseError, ValueError):
            return None
        return lexical
    except (ParseError, ValueError):
        return None
    return "".join(target.parts)[3:-4]


def _parse(content: str, target: _Canonical | _WellFormed) -> None:
    parser = XMLParser(target=target)
    parser.feed(content)
    parser.close()


class _TooManyStepsError(Exception):
    """Canonical XML takes too long."""


class _WellFormed:
    """Takes whatever a parser finds."""

    def close(self) -> None:
        """Nothing has been kept."""


class _Canonical(C14NWriterTarget):
    """Canonical XML, comments included, in so many steps."""

    def __init__(self, most: int) -> None:
        self.parts: list[str] = []
        super().__init__(self.parts.append, with_comments=True)
        self._left, self._around = most, 0

    def start_ns(self, prefix: str, uri: str) -> None:
        self._around += 1
        super().start_ns(prefix, uri)

    def start(self, tag: str, attrs: Mapping[str, str]) -> None:
        self._around += 1
        self._left -= self._around * (1 + len(attrs))
        if self._left < 0:
            raise _TooManyStepsError
        super().start(tag, attrs)

    def end(self, tag: str) -> None:
        self._around -= 1
        super().end(tag)
