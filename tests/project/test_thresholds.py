"""The library is tuned by few numbers, each of which says why it is what it is."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest

from tests.support.thresholds import classes, values

MOST = 60


def test_there_are_few() -> None:
    assert len(values()) <= MOST


@pytest.mark.parametrize("package", classes())
def test_each_has_a_reason(package: str) -> None:
    """A docstring after each field."""
    source = inspect.getsource(importlib.import_module(f"{package}.thresholds"))
    (one,) = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    following = dict(zip(one.body, one.body[1:], strict=False))
    for node in one.body:
        if isinstance(node, ast.AnnAssign):
            after = following.get(node)
            reason = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            assert len(str(reason).split()) > 5, ast.unparse(node)
