"""What writes a file names it where that fails: the operating system's error has no name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.project.test_layers import MODULES

WRITING = {"write_text", "write_bytes", "write_table", "NamedTemporaryFile", "copyfile"}
ELSEWHERE = {
    "triplestore.cli.export": "one handler for all that is written names the output",
    "triplestore.cli.standard": "it opens the null device",
    "triplestore.engine.spark.session": "Java's own words, which the error has",
    "triplestore.streams.checkpoint": "its caller writes the answers, and names them",
    "triplake.loaders.rml": "the words of another process",
}


def is_writing(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in ("open", "fdopen", *WRITING):
        return False
    if isinstance(call.func, ast.Name) and len(call.args) > 1 and not isinstance(call.args[1], ast.Constant):
        return True
    modes = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return name in WRITING or any(set(mode) & set("wxa+") and set(mode) <= set("rwxabt+") for mode in modes)


def unnamed(tree: ast.AST, named: bool = False) -> Iterator[int]:
    """The lines that write outside of `naming`."""
    for node in ast.iter_child_nodes(tree):
        inside = named
        if isinstance(node, ast.With | ast.AsyncWith):
            first = node.items[0].context_expr
            inside |= any("naming(" in ast.unparse(item.context_expr) for item in node.items[:-1])
            inside |= ast.unparse(first).startswith("naming(")
        if isinstance(node, ast.Call) and is_writing(node) and not inside:
            yield node.lineno
        yield from unnamed(node, inside)


def test_every_file_that_is_written_is_named() -> None:
    found = {name: list(unnamed(ast.parse(file.read_text(encoding="utf-8")))) for name, file in MODULES.items()}
    assert {name: lines for name, lines in found.items() if lines and name not in ELSEWHERE} == {}
    assert [name for name in ELSEWHERE if not found[name]] == []
