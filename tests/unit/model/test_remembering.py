"""What is kept of a function is bounded by the characters of its texts."""

from __future__ import annotations

from triplestore.model.remembering import Remembered


def test_it_begins_anew_where_it_is_full() -> None:
    asked: list[str] = []

    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    found = Remembered(length, 10)
    assert [found[text] for text in ("aaaa", "bbbbb", "aaaa", "bbbbb")] == [4, 5, 4, 5]
    assert asked == ["aaaa", "bbbbb"]
    assert [found[text] for text in ("cc", "aaaa", "cc")] == [2, 4, 2]
    assert asked == ["aaaa", "bbbbb", "cc", "aaaa"]
    assert [found["d" * 100], found["d" * 100], len(found)] == [100, 100, 1]
    assert [found["e"], len(found)] == [1, 1]
