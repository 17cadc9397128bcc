"""Regular expressions against an oracle that matches by trying, on random patterns."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from tests.support.regex_random import found, random_pattern, random_replacement, random_text, replaced
from tests.support.seeds import seeds
from triplestore.expressions.regex import read, replacement
from triplestore.model.errors import UsageError


@pytest.mark.parametrize("seed", seeds(range(100), 2))
def test_matches_of_random_patterns(seed: int) -> None:
    rng = Random(seed)
    matched = 0
    for _ in range(100):
        flags = "".join(flag for flag in "ismx" if rng.random() < 0.3)
        pattern, _ = random_pattern(rng, flags)
        texts = [random_text(rng) for _ in range(6)]
        wanted = [found(pattern, text, flags) for text in texts]
        assert read(str(pattern), flags).matches(pa.array(texts)).to_pylist() == wanted, (str(pattern), flags, texts)
        matched += sum(wanted)
    assert 40 < matched < 560  # so that both answers are tested


@pytest.mark.parametrize("seed", seeds(range(100), 2))
def test_replacements_of_random_patterns(seed: int) -> None:
    rng = Random(seed)
    changed = 0
    for _ in range(100):
        flags = "".join(flag for flag in "ismx" if rng.random() < 0.3)
        pattern, groups = random_pattern(rng, flags)
        new, parts = random_replacement(rng, groups)
        texts = [random_text(rng) for _ in range(6)]
        if found(pattern, "", flags):
            with pytest.raises(UsageError, match="matches the empty text"):
                replacement(str(pattern), new, flags)
            continue
        wanted = [replaced(pattern, text, parts, flags) for text in texts]
        made = replacement(str(pattern), new, flags).of(pa.array(texts)).to_pylist()
        assert made == wanted, (str(pattern), new, flags, texts)
        changed += sum(one != text for one, text in zip(wanted, texts, strict=True))
    assert changed > 40
