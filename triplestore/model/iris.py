"""IRI references: what is absolute, and resolving what is not against a base (RFC 3986, section 5.2)."""

from __future__ import annotations

import re
from typing import Final

ABSOLUTE: Final = r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*'
"""An IRI with a scheme, as a regular expression that every engine reads alike."""

_TEXT: Final = r"[A-Za-z0-9._~!$&'()*+,;=:@/?-]*"
PLAIN: Final = rf"([A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~-]+(/{_TEXT})?|urn:[A-Za-z0-9]+:[A-Za-z0-9._:-]+)(#{_TEXT})?"
"""An IRI of which nothing more need be known, as a regular expression that every engine reads alike."""

_PARTS: Final = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)


def is_absolute(iri: str) -> bool:
    """Whether the text is an IRI with a scheme."""
    return re.fullmatch(ABSOLUTE, iri) is not None


def resolve(reference: str, base: str) -> str:
    """The IRI that a reference stands for where `base` is the base IRI."""
    scheme, authority, path, query, fragment = _split(reference)
    base_scheme, base_authority, base_path, base_query, _ = _split(base)
    if scheme is not None:
        return _joined(scheme, authority, _without_dots(path), query, fragment)
    if authority is not None:
        return _joined(base_scheme, authority, _without_dots(path), query, fragment)
    if not path:
        return _joined(base_scheme, base_authority, base_path, base_query if query is None else query, fragment)
    if not path.startswith("/"):
        if base_authority is not None and not base_path:
            path = f"/{path}"
        else:
            path = base_path[: base_path.rfind("/") + 1] + path
    return _joined(base_scheme, base_authority, _without_dots(path), query, fragment)


def _split(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    found = _PARTS.fullmatch(iri)
    assert found is not None, iri  # every text matches
    return found[1], found[2], found[3], found[4], found[5]


def _without_dots(path: str) -> str:
    """5.2.4: `.` and `..` taken out."""
    out: list[str] = []
    parts = path.split("/")
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if part == ".":
            out += [""] * last
        elif part == "..":
            if len(out) > 1 or (out and out[0]):
                out.pop()
            out += [""] * last
        else:
            out.append(part)
    return "/".join(out)


def _joined(scheme: str | None, authority: str | None, path: str, query: str | None, fragment: str | None) -> str:
    found = f"{scheme}:" if scheme is not None else ""
    found += f"//{authority}" if authority is not None else ""
    found += path
    found += f"?{query}" if query is not None else ""
    return found + (f"#{fragment}" if fragment is not None else "")
