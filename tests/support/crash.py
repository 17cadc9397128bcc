"""Killing a command at a moment, at each step that it takes in the store's folder, or in each phase of an update: for
the tests of durability."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

    from triplestore.storage.manifest import Manifest

from tests import ROOT
from tests.support.cli import command

_WARM = multiprocessing.get_context("forkserver")
"""Starts a command in a fork of a process that has imported what commands do, and has no threads."""
_WARM.set_forkserver_preload(
    [
        "tests.support.crash",
        "triplestore.cli.commands",
        "triplestore.engine.duckdb",
        "triplestore.expressions.vectorised",
        "triplestore.store",
        "triplestore.write.request",
    ]
)

_STEPS = frozenset({"open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir"})
"""Audit events of Python that touch files (https://docs.python.org/3/library/audit_events.html). What DuckDB writes by
itself is none of them, but each of its files is opened afterwards to be synced."""


def _process(target: Callable[..., None], args: tuple[object, ...]) -> ForkServerProcess:
    with contextlib.chdir(ROOT):  # what starts them once imports what is there
        forkserver.ensure_running()
    return _WARM.Process(target=target, args=args)


def start(*arguments: str | Path) -> ForkServerProcess:
    """Begin `triplake ARGUMENTS` in a process of its own, which has imported all already: for races."""
    return started(_run, 0, [str(a) for a in arguments])


def started(target: Callable[..., None], *args: object) -> ForkServerProcess:
    """Run a function of a module in a process of its own, which has imported all already."""
    process = _process(target, args)
    process.start()
    return process


def kill_after(seconds: float, arguments: Sequence[str | Path], scratch: Path) -> float | None:
    """Run `triplake ARGUMENTS` and kill -9 it after so many seconds.

    Returns the seconds it took if it had ended by itself (it must have succeeded), None if it was killed.
    """
    process = _process(_run, (0, [str(a) for a in arguments], None, str(scratch)))
    started = time.perf_counter()
    process.start()
    process.join(seconds)
    taken = time.perf_counter() - started
    process.kill()
    process.join()
    return None if _killed(process) else taken


def kill_all_after(seconds: float, arguments: Sequence[str | Path], scratch: Path) -> float | None:
    """As `kill_after`, of a command that starts processes, as Spark's Java: it starts from nothing, and all die."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command(*arguments),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    try:
        _, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    assert process.returncode == 0, err.decode()
    return time.perf_counter() - started


def kill_at_step(step: int, arguments: Sequence[str | Path], folder: Path, scratch: Path) -> bool:
    """Run `triplake ARGUMENTS` and kill -9 it just before step number `step` (from 1) that it takes in `folder`.

    Returns whether it was killed; else it took fewer steps, and has succeeded.
    """
    process = _process(_run, (step, [str(a) for a in arguments], str(folder), str(scratch)))
    process.start()
    process.join()
    return _killed(process)


def kill_in_phase(phase: str, calls: int, arguments: Sequence[str | Path], scratch: Path) -> bool:
    """Run `triplake ARGUMENTS` and kill -9 it in a phase of its transaction (as the figures name them, or "publish"),
    after so many calls of Python functions in it, or at its end where it makes fewer.

    Returns whether it was killed; else it has no such phase, and has succeeded.
    """
    process = _process(_run_into, (phase, calls, [str(a) for a in arguments], str(scratch)))
    process.start()
    process.join()
    return _killed(process)


def _killed(process: ForkServerProcess) -> bool:
    assert process.exitcode in (0, -signal.SIGKILL), f"exit code {process.exitcode}"
    return process.exitcode != 0


def _run_into(phase: str, calls: int, arguments: list[str], scratch: str) -> None:
    from triplestore.cli import main
    from triplestore.materialise.figures import Phases
    from triplestore.storage.versions import Versions

    os.environ["TMPDIR"] = scratch
    left = calls

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        left -= event == "call"
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def deadly() -> Iterator[None]:
        sys.setprofile(profile)
        try:
            yield
        finally:
            os.kill(os.getpid(), signal.SIGKILL)

    timed = Phases.timed
    Phases.timed = lambda self, name: deadly() if name == phase else timed(self, name)  # type: ignore[method-assign]

    publish = Versions.publish

    def published(versions: Versions, manifest: Manifest) -> Manifest:
        with deadly():
            return publish(versions, manifest)

    if phase == "publish":
        Versions.publish = published  # type: ignore[method-assign]
    main([*arguments, "--quiet"])


def _run(step: int, arguments: list[str], folder: str | None = None, scratch: str | None = None) -> None:
    """Run a command, up to a step in a folder, if there is one."""
    from triplestore.cli import main

    if scratch is not None:
        os.environ["TMPDIR"] = scratch
    taken = 0

    def hook(event: str, details: tuple[Any, ...]) -> None:
        nonlocal taken
        if event in _STEPS and str(details[0]).startswith(str(folder)):
            taken += 1
            if taken == step:
                os.kill(os.getpid(), signal.SIGKILL)

    if folder is not None:
        sys.addaudithook(hook)
    main([*arguments, "--quiet"])
