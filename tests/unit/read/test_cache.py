"""`VersionCache`: a value is kept for the files that it was made of, and for no others."""

from __future__ import annotations

from triplestore.read.workspace import VersionCache


def test_a_value_is_made_once_for_the_same_files() -> None:
    cache, made = VersionCache(), list[str]()

    def make(name: str) -> str:
        made.append(name)
        return name

    assert cache.get("a", (1, 2), lambda: make("first")) == "first"
    assert cache.get("a", (1, 2), lambda: make("again")) == "first"
    assert cache.get("a", (1, 3), lambda: make("later")) == "later"
    assert cache.get("a", (1, 2), lambda: make("back")) == "back"
    assert made == ["first", "later", "back"]


def test_a_later_value_may_be_made_of_the_last() -> None:
    cache = VersionCache()
    assert cache.last("a") is None
    cache.put("a", 1, ["x"])
    assert cache.get("a", 2, lambda: [*(cache.last("a") or (0, []))[1], "y"]) == ["x", "y"]
    assert cache.last("a") == (2, ["x", "y"])


def test_keys_are_apart() -> None:
    cache = VersionCache()
    cache.put("a", 1, "of a")
    cache.put("b", 1, None)
    assert cache.has("b", 1)
    assert not cache.has("b", 2)
    cache.drop("a", "never put")
    assert not cache.has("a", 1)
    assert cache.get("b", 1, lambda: "made") is None
