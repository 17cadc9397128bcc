"""Canonical XML of literals of rdf:XMLLiteral: Exclusive XML Canonicalization, with comments, of what is in them.

The standard library's `C14NWriterTarget` takes the namespaces of an element for those of its later siblings, and looks
at all elements around each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from xml.parsers.expat import ExpatError, ParserCreate

_APART: Final = "\x01"
"""Between the parts of a name: no document has it."""
_XML: Final = "http://www.w3.org/XML/1998/namespace"
_IN_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
_IN_VALUE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
)


def canonical_xml(lexical: str) -> str | None:
    """The content in canonical form. None for what is not well-formed."""
    found = _Canonical()
    parser = ParserCreate(namespace_separator=_APART)
    parser.namespace_prefixes = parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = found.start, found.end
    parser.CharacterDataHandler, parser.CommentHandler = found.text, found.comment
    parser.ProcessingInstructionHandler = found.instruction
    try:
        parser.Parse(f"<r>{lexical}</r>", True)
    except (ExpatError, ValueError):
        return None
    return "".join(found.parts)[3:-4]


def _name(text: str) -> tuple[str, str, str]:
    """Namespace, local name and prefix of a name as the parser tells it."""
    parts = text.split(_APART)
    return ("", text, "") if len(parts) == 1 else (parts[0], parts[1], parts[2] if len(parts) == 3 else "")


def _written(local: str, prefix: str) -> str:
    return f"{prefix}:{local}" if prefix else local


class _Canonical:
    """Takes what a parser finds."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._declared = {"": "", "xml": _XML}
        """The namespaces that the text so far has declared, by their prefixes."""
        self._before: list[dict[str, str | None]] = []
        """Of each open element the prefixes that it declares, with what they were before it."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        uri, local, prefix = _name(tag)
        named = sorted((*_name(name), value) for name, value in attributes.items())
        used = {prefix: uri} | {other: space for space, _, other, _ in named if other}
        new = {name: space for name, space in used.items() if self._declared.get(name) != space}
        self._before.append({name: self._declared.get(name) for name in new})
        self._declared |= new
        written = [(f"xmlns:{name}" if name else "xmlns", space) for name, space in sorted(new.items())]
        written += [(_written(own, other), value) for _, own, other, value in named]
        listed = "".join(f' {name}="{value.translate(_IN_VALUE)}"' for name, value in written)
        self.parts.append(f"<{_written(local, prefix)}{listed}>")

    def end(self, tag: str) -> None:
        _, local, prefix = _name(tag)
        for name, before in self._before.pop().items():
            if before is None:
                del self._declared[name]
            else:
                self._declared[name] = before
        self.parts.append(f"</{_written(local, prefix)}>")

    def text(self, text: str) -> None:
        self.parts.append(text.translate(_IN_TEXT))

    def comment(self, text: str) -> None:
        self.parts.append(f"<!--{text}-->")

    def instruction(self, target: str, text: str) -> None:
        self.parts.append(f"<?{target} {text}?>" if text else f"<?{target}?>")
