"""Object stores in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.buckets import Objects
from triplestore.storage import bucket, cache
from triplestore.storage.objects import CloudObjects


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache of files of object stores, the test's own."""
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def lake(cached: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Objects]:
    """Object stores in memory, by their URLs."""
    stores: dict[str, Objects] = {}
    monkeypatch.setattr(bucket, "opened", lambda url: CloudObjects(url, stores.setdefault(url, Objects())))  # type: ignore[arg-type]
    return stores
