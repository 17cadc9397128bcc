"""The sizes and thresholds that the library is tuned by, and how a test sets them."""

from __future__ import annotations

import importlib
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from triplestore.model.thresholds import Sizes

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = {"triplestore": "", "sparql": "triplake.", "loaders": "triplake.", "rulesets": "triplake."}


def modules() -> dict[str, Path]:
    """Every module of the library, by its dotted name."""
    return {
        f"{prefix}{'.'.join(file.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')}": file
        for folder, prefix in FOLDERS.items()
        for file in sorted((ROOT / folder).rglob("*.py"))
    }


def classes() -> dict[str, type]:
    """The dataclass of each module called `thresholds`, by the dotted name of its package."""
    packages = [name.removesuffix(".thresholds") for name in modules() if name.endswith(".thresholds")]
    return {
        package: Sizes
        if package == "triplestore.model"
        else importlib.import_module(f"{package}.thresholds").Thresholds
        for package in packages
    }


def values() -> dict[str, int | float]:
    """Every field as `package.field`, and its value."""
    return {f"{package}.{f.name}": f.default for package, one in classes().items() for f in fields(one)}


def set_fields(patch: pytest.MonkeyPatch, of: type, **fields: float) -> None:
    """Give fields of the one instance of a class other values: instances with slots read the class where it says."""
    for name, value in fields.items():
        patch.setattr(of, name, value)
