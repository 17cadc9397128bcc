"""The wheel, installed beside other people's modules called as folders of this repository are."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import triplake
import triplestore
from tests import ROOT

NAMES = ("loaders", "rulesets", "sparql")

USER = """
import importlib.util, loaders, rulesets, sys
assert loaders.MINE and rulesets.MINE
assert importlib.util.find_spec("sparql").origin == sys.argv[1] + "/sparql.py"  # which does not run any more
from triplake import InputError, Store, __version__
with Store.create("people", ["owl2rl"]) as store:
    store.load("people.ttl")
    print(store.query("ASK { <http://e/a> <http://e/knows> <http://e/c> }").boolean, __version__)
    try:
        store.load("wrong.ttl")
    except InputError as error:
        print(error.line)
ours = [name for name, module in sys.modules.items() if str(getattr(module, "__file__", "")).startswith(sys.argv[1])]
assert {name.partition(".")[0] for name in ours} == {"triplake", "triplestore"}, ours
"""

PEOPLE = """
@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:knows a owl:TransitiveProperty . :a :knows :b . :b :knows :c .
"""


def test_triplake_offers_what_triplestore_has() -> None:
    assert triplake.Store is triplestore.Store
    assert [name for name in triplake.__all__ if not hasattr(triplake, name)] == []
    assert triplake.__version__.count(".") == 2
    with pytest.raises(ImportError, match="Shop"):
        from triplake import Shop  # type: ignore[attr-defined]  # noqa: F401


def test_every_error_is_offered() -> None:
    from triplestore.model import errors

    named = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert {name for name in named if name.endswith("Error")} <= set(triplake.__all__)


@pytest.mark.long
def test_a_wheel_takes_no_other_names(tmp_path: Path) -> None:
    """A script beside folders of these names, with sparql-client's module `sparql` installed, uses a store."""
    source, wheels, lib, here = (tmp_path / name for name in ("source", "wheels", "lib", "here"))
    away = shutil.ignore_patterns(".*", "tests", "build", "node_modules", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, symlinks=True, ignore=away)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, source], check=True)
    (wheel,) = wheels.glob("*.whl")
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"triplake", "triplestore"}
    subprocess.run([*pip, "install", "--no-deps", "--target", lib, wheel, "sparql-client"], check=True)
    assert (lib / "sparql.py").exists()
    for name in NAMES[:2]:
        (here / name).mkdir(parents=True)
        (here / name / "__init__.py").write_text("MINE = True\n", encoding="utf-8")
    (here / "people.ttl").write_text(PEOPLE, encoding="utf-8")
    (here / "wrong.ttl").write_text("\n\n<a> nonsense", encoding="utf-8")
    (here / "script.py").write_text(USER, encoding="utf-8")
    paths = [str(lib), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    start = f"import sys, runpy; sys.path[:0] = {[str(here)]!r}; sys.path += {paths!r}"
    run = f"{start}; sys.argv[1:] = [{str(lib)!r}]; runpy.run_path('script.py')"
    ended = subprocess.run([sys.executable, "-ES", "-c", run], cwd=here, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["True", triplake.__version__, "3"]


def test_a_store_is_opened_without_spark(tmp_path: Path) -> None:
    """Nor with what reads object stores: both are extras, and slow to import."""
    program = """
import sys
from triplestore.store import Store
import triplestore.cli.entry
with Store.create(sys.argv[1], ["none"], engine="duckdb"):
    pass
print([name for name in ("pyspark", "py4j", "obstore") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "kg")], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
