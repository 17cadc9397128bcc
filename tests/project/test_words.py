"""The code, its messages and the documentation use the words of docs/glossary.md, and none that these replace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT

REFUSED: Final = {
    r"said|stated": "asserted (or: normalised, reported, defined)",
    r"fore(?:tell|tells|told|telling)": "estimate",
    r"portions?": "batch",
    r"dear(?:er|est)?|too_?dear\w*": "over budget",
    r"g(?:ive|ives|ave|iven|iving) up|giving_up|given_up": "abort",
    r"anew": "from scratch, or again",
    r"nought": "0",
    r"came|went": "added, removed",
    r"twins?": "equal-valued literals",
    r"regroup\w*": "class diff",
    r"is told|are told|was told|were told|be told": "is reported",
    r"go(?:es)? by": "depends on, uses",
    r"what there is": "the data",
    r"\d+ in all": "total",
    r"judges?": "checker",
}
"""Words, as regular expressions of whole words, and what to write instead."""

FOUND: Final = re.compile("|".join(rf"(?P<w{n}>(?<![\w-])(?:{word})(?![\w-]))" for n, word in enumerate(REFUSED)), re.I)
FILES: Final = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "rulesets/README.md",
    *(f for room in ("triplestore", "triplake", "sparql", "loaders", "rulesets") for f in (ROOT / room).rglob("*.py")),
]
SAYS_THEM: Final = (ROOT / "docs/glossary.md",)
KEYS: Final = re.compile(r"""[`"]twins[`"]""")
"""Names that stored manifests have, and that stay."""


def split(name: str) -> str:
    """Names as words: those of snake_case and CamelCase apart."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)


@pytest.mark.parametrize("file", sorted(set(FILES) - {*SAYS_THEM}), ids=lambda f: str(f.relative_to(ROOT)))
def test_words(file: Path) -> None:
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        for match in FOUND.finditer(split(KEYS.sub("", line))):
            better = list(REFUSED.values())[int(str(match.lastgroup)[1:])]
            found.append(f"{file.relative_to(ROOT)}:{number}: '{match.group()}': write {better}")
    assert not found, "\n".join(found)
