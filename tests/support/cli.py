"""Running the command line as a user does: in this process (quick), or as a process of its own."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests import ROOT
from triplestore.cli import main


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left: its exit code, what it wrote to stdout and to stderr."""

    code: int
    out: str
    err: str


def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
    """Run `triplake ARGUMENTS` in this process."""
    with _streams(stdin) as (out, err):
        try:
            main([str(a) for a in arguments])
            code: object = None  # main always raises SystemExit
        except SystemExit as stop:
            code = stop.code
    assert isinstance(code, int)
    assert "Traceback" not in err.getvalue().decode()
    return Outcome(code, out.getvalue().decode(), err.getvalue().decode())


def done(*arguments: str | Path, stdin: bytes = b"") -> str:
    """Run a command that must succeed; its stdout."""
    outcome = run(*arguments, stdin=stdin)
    assert outcome.code == 0, outcome
    return outcome.out


@contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    raw = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in raw)
    kept = sys.stdin, sys.stdout, sys.stderr
    loggers = [logging.getLogger(name) for name in ("triplake", "uvicorn")]
    logged = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"), out, err
    try:
        yield raw
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
        for logger, (handlers, propagate, level) in zip(loggers, logged, strict=True):
            logger.handlers, logger.propagate = handlers, propagate  # a server's write to what is gone now
            logger.setLevel(level)
        out.detach()
        err.detach()


def command(*arguments: str | Path) -> list[str]:
    """`triplake ARGUMENTS` as a process of its own."""
    return [sys.executable, "-m", "triplestore.cli", *map(str, arguments)]


def spawn(*arguments: str | Path, stdin: bytes = b"", timeout: float = 120) -> Outcome:
    """Run `triplake ARGUMENTS` in a process of its own, in the current folder."""
    found = subprocess.run(command(*arguments), input=stdin, capture_output=True, timeout=timeout, check=False)
    return Outcome(found.returncode, found.stdout.decode(), found.stderr.decode())


def working(process: subprocess.Popen[Any], scratch: Path) -> None:
    """Wait until a command, whose folder of temporary files this is, has an engine that computes: half a second."""
    ends, started = time.monotonic() + 60, None
    computed = psutil.Process(process.pid).cpu_times
    while started is None or computed().user < started + 0.5:
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < ends, "it computes nothing"
        if started is None and any(scratch.iterdir()):
            started = computed().user
        time.sleep(0.02)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, by its path: to see that nothing changed."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not os.path.islink(path)
    }


def refused(code: int, *arguments: str | Path, says: str, stdin: bytes = b"") -> Outcome:
    """Run a command that must fail with `code` and a message that matches `says`; nothing in the folder may change."""
    assert Path.cwd() != ROOT, "run it in a folder of its own: all files are read"
    before = contents(Path.cwd())
    outcome = run(*arguments, stdin=stdin)
    assert outcome.code == code, outcome
    assert re.search(says, outcome.err), outcome.err
    assert outcome.err.splitlines()[-1].strip(), "the message ends the output"
    assert contents(Path.cwd()) == before, "a refused command changes no file"
    return outcome
