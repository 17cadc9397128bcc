"""Run one job in a fresh process: its seconds, and the peak memory of it and of all the processes it starts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests import ROOT

POLL, SAMPLE = 0.02, 0.25  # seconds between looks whether a process has ended, and at its memory


@dataclass(frozen=True)
class Outcome:
    """What became of a job. `wall` is the life of the process, imports included; `result` is what it reported."""

    status: str  # ok, timeout or error
    wall: float
    peak_mb: float
    result: dict[str, Any] = field(default_factory=dict)
    message: str = ""


def run(job: dict[str, Any], limit: float) -> Outcome:
    """Run a job of `tests.bench.jobs`, and kill it and its children after `limit` seconds."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "job.json"), Path(folder, "result.json")
        given.write_text(json.dumps(job))
        command = [sys.executable, "-m", "tests.bench.jobs", str(given), str(made)]
        status, wall, peak, errors = supervise(command, limit)
        if status == "ok":
            return Outcome("ok", wall, peak, json.loads(made.read_text()))
        return Outcome(status, wall, peak, message=errors)


def supervise(command: list[str], limit: float) -> tuple[str, float, float, str]:
    """Run a command to its end or the limit: (status, seconds, peak megabytes, last line of what it said on stderr)."""
    with tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors)
        tree, peak, due = psutil.Process(process.pid), 0.0, start
        while process.poll() is None:
            if time.perf_counter() >= due:  # seldom: it takes a share of the cores that are being measured
                peak, due = max(peak, _memory(tree)), time.perf_counter() + SAMPLE
            if time.perf_counter() - start > limit:
                _kill(tree)
                process.wait()
                return "timeout", time.perf_counter() - start, peak, f"stopped after {limit:g} s"
            time.sleep(POLL)
        wall = time.perf_counter() - start
        errors.seek(0)
        said = errors.read().strip().splitlines()
    if process.returncode:
        return "error", wall, peak, said[-1] if said else f"exit code {process.returncode}"
    return "ok", wall, peak, ""


def _memory(root: psutil.Process) -> float:
    """Resident megabytes of a process and its descendants, each at its highest so far."""
    total = 0
    try:
        for process in [root, *root.children(recursive=True)]:
            try:
                total += _highest(process)
            except (psutil.Error, OSError):
                continue
    except psutil.Error:
        return 0.0
    return total / 1e6


def _highest(process: psutil.Process) -> int:
    """The most memory that a process has had so far, in bytes; where the system keeps no such mark, what it has."""
    status = Path("/proc", str(process.pid), "status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return int(process.memory_info().rss)


def _kill(root: psutil.Process) -> None:
    for process in [*root.children(recursive=True), root]:
        try:
            process.kill()
        except psutil.Error:
            continue
