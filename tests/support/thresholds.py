"""The numbers that the library is tuned by: found in the code, described in docs/constants.md, and set for a test."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = ROOT / "docs" / "constants.md"
FOLDERS: Final = {"triplestore": "", "sparql": "triplake.", "loaders": "triplake.", "rulesets": "triplake."}

Number = int | float


@dataclass(frozen=True, order=True)
class Constant:
    """A number at the top of a module. module: its dotted name."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module.removeprefix('triplestore.').removeprefix('triplake.')}.{self.name}"


@dataclass(frozen=True)
class Row:
    """A row of docs/constants.md: the value as it is written there, and how the number is used (`kind`)."""

    constant: Constant
    value: str
    kind: str


def modules() -> dict[str, Path]:
    """Every module of the library."""
    return {
        f"{prefix}{'.'.join(file.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')}": file
        for folder, prefix in FOLDERS.items()
        for file in sorted((ROOT / folder).rglob("*.py"))
    }


def constants() -> dict[Constant, str]:
    """Every module-level constant that is a number or numbers, and its value as the code writes it."""
    return {
        Constant(module, name): ast.unparse(value)
        for module, file in modules().items()
        for name, value in _assigned(ast.parse(file.read_text(encoding="utf-8")))
        if _is_number(value)
    }


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and target.id.isupper() and isinstance(value, ast.expr):
            yield target.id, value


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is arithmetic of numbers, or a tuple of them."""
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    nodes = [node for part in parts for node in ast.walk(part)]
    return (
        all(isinstance(node, allowed) for node in nodes)
        and any(isinstance(node, ast.Constant) and type(node.value) in (int, float) for node in nodes)
        and not any(isinstance(node, ast.Constant) and type(node.value) not in (int, float) for node in nodes)
    )


def rows() -> list[Row]:
    """The rows of docs/constants.md."""
    found = []
    package = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"## `([\w.]+)`.*", line):
            package = heading[1]
        if row := re.match(r"\| `([\w.]+)\.(\w+)` \| `([^`]+)` \| (\w+) \|", line):
            found.append(Row(Constant(f"{package}.{row[1]}", row[2]), row[3], row[4]))
    return found


def set_threshold(patch: pytest.MonkeyPatch, constant: Constant, value: Number) -> None:
    """Set a constant, in its module and wherever it was imported by name."""
    patch.setattr(importlib.import_module(constant.module), constant.name, value)
    for module, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == constant.module:
                for alias in node.names:
                    if alias.name == constant.name:
                        name = alias.asname or alias.name
                        patch.setattr(importlib.import_module(module), name, value, raising=False)
