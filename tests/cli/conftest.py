"""Folders of files to run commands on, and stores of `tests.support.pets`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.cli import done
from tests.support.pets import FILES, PETS


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of PETS at version 2; tests work on copies."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "pets.ttl").write_text(PETS)
    done("load", folder / "kg", folder / "pets.ttl", "--quiet")
    return folder / "kg"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty but for the files to work with."""
    monkeypatch.chdir(tmp_path)
    for variable in ("SPARK_MASTER", "TRIPLAKE_ENGINE"):
        monkeypatch.delenv(variable, raising=False)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def kg(loaded: Path, here: Path) -> Path:
    """A store of PETS, `kg` in the current folder."""
    shutil.copytree(loaded, here / "kg")
    return here / "kg"
