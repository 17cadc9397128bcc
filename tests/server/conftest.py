"""Stores of `students` and servers of them. A module with a store of its own defines its fixtures over these."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.server import serving, students


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that no test changes."""
    return students(tmp_path_factory.mktemp("template") / "kg")


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(template, tmp_path / "kg"))


@pytest.fixture(scope="module")
def steady(template: Path) -> Iterator[httpx.Client]:
    """One server for requests that change nothing."""
    with serving(template) as made:
        yield made


@pytest.fixture
def client(store: Path) -> Iterator[httpx.Client]:
    """A server of the copy."""
    with serving(store) as made:
        yield made
