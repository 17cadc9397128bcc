"""One way through the house: imports go from right to left of LAYERS only, also those inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests import ROOT

PARTS = ("rulesets", "loaders", "sparql")
"""Folders at the top of the repository that are imported, and installed, as subpackages of `triplake`."""

LAYERS: tuple[tuple[str, ...], ...] = (
    ("triplestore.model",),
    ("triplestore.engine",),
    ("triplestore.objects",),
    ("triplake.rulesets", "triplake.loaders", "triplestore.storage"),
    ("triplestore.dictionary",),
    ("triplestore.expressions",),
    ("triplestore.compile",),
    ("triplestore.materialise", "triplestore.closure"),
    ("triplestore.maintain", "triplake.sparql"),
    ("triplestore.ontology", "triplestore.proof", "triplestore.shapes"),
    ("triplestore.read",),
    ("triplestore.write",),
    ("triplestore.streams",),
    ("triplestore.store",),
    ("triplestore.demo", "triplestore.notebook", "triplestore.rdflib_plugin", "triplestore.server"),
    ("triplestore.cli",),
)
"""What is in one layer may import from the layers above it in this list, and from itself; not from its neighbours."""

ONLY: dict[str, tuple[str, ...]] = {
    "triplestore.model": (),
    "triplestore.engine": tuple(
        f"triplestore.model.{part}" for part in ("errors", "processes", "stopping", "thresholds")
    ),
    "triplake.rulesets": ("triplestore.model",),
    "triplestore.expressions": ("triplestore.model", "triplestore.dictionary", "triplestore.engine"),
    "triplestore.compile": ("triplestore.model", "triplestore.expressions", "triplestore.engine.dialect"),
}
"""Closer bounds: the engine knows nothing of RDF; rules and plans are made without an engine."""

FRONT_DOORS = ("triplake", "triplestore")
"""They offer `Store` by a lazy import; nothing inside goes through them."""

ENGINE_BY_NAME = {("triplestore/read/version.py", "table_df")}
"""Functions that may ask which engine it is: a DataFrame of a table is a thing of Spark's, and offered as such."""


def modules() -> dict[str, Path]:
    """Every module of the library, by its dotted name."""
    found = {"triplake": ROOT / "triplake" / "__init__.py"}
    for folder in ("triplestore", *PARTS):
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[f"triplake.{name}" if folder in PARTS else name] = file
    return found


MODULES = modules()


def home(module: str) -> str:
    """The entry of LAYERS that a module belongs to."""
    homes = [entry for layer in LAYERS for entry in layer if module == entry or module.startswith(f"{entry}.")]
    assert homes, f"{module} is in no layer: put it into LAYERS, where it belongs"
    return homes[0]


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """The modules of ours that a file imports, wherever in it, and the lines."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else str(node.module) for name in whole]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] in FRONT_DOORS)


def level(entry: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if entry in layer)


@pytest.mark.parametrize("module", [m for m in MODULES if m not in FRONT_DOORS])
def test_imports_go_one_way(module: str) -> None:
    here = home(module)
    for line, name in imported(MODULES[module]):
        place = f"{MODULES[module].relative_to(ROOT)}:{line} imports {name}"
        assert name not in FRONT_DOORS, f"{place}: import the module that has it"
        there = home(name)
        if there == here:
            continue
        assert level(there) < level(here), f"{place}: {there} is not above {here} in LAYERS"
        assert any(name == o or name.startswith(f"{o}.") for o in ONLY.get(here, (name,))), f"{place}: not allowed to"


def test_no_import_cycle() -> None:
    """Also none by imports inside functions, or for type checking only."""
    graph = {module: {name for _, name in imported(file) if name != module} for module, file in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' <- '.join(error.args[1])}")


def test_the_front_door_opens_on_the_store_only() -> None:
    assert {name for _, name in imported(MODULES["triplestore"])} == {"triplestore.store"}
    doors = {"triplestore.store", "triplestore.model.errors", "triplestore.model.arguments", "triplestore.notebook"}
    assert {name for _, name in imported(MODULES["triplake"])} == doors


def test_parts_are_imported_as_subpackages() -> None:
    """A plain `import sparql` reads whatever module of this name is beside the user's script, or a second copy."""
    for file in (
        *MODULES.values(),
        *sorted((ROOT / "tests").rglob("*.py")),
        *sorted((ROOT / "datasets").rglob("*.py")),
    ):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                names = [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {*PARTS}, f"{file}:{node.lineno}: import it of triplake"


def test_each_layer_is_there() -> None:
    """No entry of LAYERS has outlived its module."""
    assert [entry for layer in LAYERS for entry in layer if entry not in MODULES] == []


def test_the_library_needs_neither_tests_nor_data() -> None:
    """Only the demo reads `datasets`, as files."""
    for file in MODULES.values():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else [str(node.module)]
                assert not {n.split(".")[0] for n in names} & {"tests", "datasets"}, f"{file}:{node.lineno}"


def functions(tree: ast.AST, name: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node below `tree`, with the name of the function around it."""
    for child in ast.iter_child_nodes(tree):
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else name
        yield inner, child
        yield from functions(child, inner)


def asks_for_the_engine(node: ast.AST) -> bool:
    """Whether an expression compares an engine's name: `engine.name == ...`, `engine_name in ...`; or its class."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        return any("Engine" in ast.unparse(argument) for argument in node.args[1:])
    if not isinstance(node, ast.Compare):
        return False
    sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
    return any(side.endswith(("engine.name", "engine_name", "dialect.name")) for side in sides)


def test_no_branch_on_the_engine_outside_it() -> None:
    found = {
        (str(file.relative_to(ROOT)), function)
        for name, file in MODULES.items()
        if home_or_none(name) != "triplestore.engine"
        for function, node in functions(ast.parse(file.read_text(encoding="utf-8")))
        if asks_for_the_engine(node)
    }
    assert found == ENGINE_BY_NAME


def home_or_none(module: str) -> str | None:
    return None if module in FRONT_DOORS else home(module)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("if self._engine.name == 'spark': pass", True),
        ("x = 'duckdb' != store.engine_name", True),
        ("isinstance(engine, SparkEngine)", True),
        ("if term.name == 'x': pass", False),
        ("isinstance(term, Var)", False),
    ],
)
def test_what_counts_as_a_branch_on_the_engine(text: str, asks: bool) -> None:
    assert any(asks_for_the_engine(node) for _, node in functions(ast.parse(text))) == asks


def test_nothing_is_printed() -> None:
    """Results go through `click.echo` or a stream that is given; the library itself says nothing."""
    for file in MODULES.values():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "breakpoint"), f"{file}:{node.lineno}"
