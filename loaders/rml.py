"""RML, R2RML and YARRRML mappings, which morph-kgc carries out in a Python of its own.

The versions of DuckDB and pyoxigraph that it needs are older than ours, so that the two cannot be in one environment:
it runs as a process, and what it makes is read as N-Quads.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from triplestore.engine import temporary
from triplestore.engine.disk import naming
from triplestore.model.errors import InputError, UsageError
from triplestore.model.stopping import check

PYTHON: Final = "TRIPLAKE_MORPH_KGC"
"""The environment variable that names the Python that has morph-kgc."""

_EVERY: Final = 0.1
"""Seconds between two looks at whether this was stopped."""

_PROBE: Final = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('morph_kgc') else 1)"
_ADVICE: Final = (
    "make an environment with it, and name its Python:\n"
    '  python -m venv ~/.morph-kgc && ~/.morph-kgc/bin/pip install "morph-kgc[sqlite]"\n'
    f"  export {PYTHON}=~/.morph-kgc/bin/python"
)


def mapped(mapping: str, database: str = "") -> str:
    """Carry out a mapping (RML or R2RML in Turtle `.ttl`, YARRRML `.yml` or `.yaml`); the path of the file of N-Quads
    that it gives, which is the caller's. database: the URL of the one that its tables are in, as SQLAlchemy writes it
    ("": it names files). Paths within the mapping are relative to the folder of this process.

    Raises UsageError where morph-kgc is not found, InputError for a mapping that fails, StoppedError."""
    python = _python()
    if not os.path.isfile(mapping):
        raise InputError("there is no such file: check the path", mapping)
    if "\n" in database:
        raise UsageError("a database's URL has no line breaks")
    folder = tempfile.mkdtemp(prefix=temporary.prefix("rml"))
    try:
        copy = Path(folder, "mapping").with_suffix(Path(mapping).suffix or ".ttl")
        with naming(copy):
            copy.write_bytes(Path(mapping).read_bytes())
        made, configuration = Path(folder, "made.nq"), Path(folder, "configuration.ini")
        tables = f"db_url = {database.replace('$', '$$')}\n" if database else ""
        text = f"[CONFIGURATION]\noutput_file = {made}\noutput_format = N-QUADS\n[mapping]\nmappings = {copy}\n{tables}"
        with naming(configuration):
            configuration.write_text(text, encoding="utf-8")
        _run(python, str(configuration), mapping, str(Path(folder, "log")))
        handle, path = tempfile.mkstemp(prefix=temporary.prefix("rml"), suffix=".nq")
        os.close(handle)
        if made.exists():  # there is none where nothing was made
            shutil.move(made, path)
        return path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _python() -> str:
    """The Python that has morph-kgc. Raises UsageError."""
    named = os.path.expanduser(os.environ.get(PYTHON, ""))
    if not named:
        raise UsageError(f"mappings are carried out by morph-kgc, and {PYTHON} is not set: {_ADVICE}")
    try:
        found = subprocess.run([named, "-c", _PROBE], capture_output=True, check=False).returncode == 0
    except OSError as error:
        raise UsageError(f"{PYTHON} is {named}, which cannot be run ({error.strerror}): {_ADVICE}") from error
    if not found:
        raise UsageError(f"{PYTHON} is {named}, which has no morph-kgc: {_ADVICE}")
    return named


def _run(python: str, configuration: str, name: str, log: str) -> None:
    """Run morph-kgc. log: the path of a file for what it says."""
    command = [python, "-m", "morph_kgc", configuration]
    with open(log, "wb") as words:
        process = subprocess.Popen(command, stdout=words, stderr=words, start_new_session=True)
        try:
            while process.poll() is None:
                check()
                try:
                    process.wait(_EVERY)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                _kill(process)
    if process.returncode:
        lines = Path(log).read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), f"it ended with {process.returncode}")
        raise InputError(f"morph-kgc cannot carry it out: {last}", name)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it made."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
