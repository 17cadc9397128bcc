"""Ctrl-C inside an update: the same Store is used on, and nothing is lost (`tests.support.interrupted`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT


def interrupt(folder: Path, algorithm: str, stride: int, seconds: int) -> None:
    """Interrupt an update at every `stride`-th line, in a process that may take so many seconds."""
    command = [sys.executable, "-m", "tests.support.interrupted", str(folder), algorithm, str(stride)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("algorithm", "stride"), [("dred", 1409), ("backward-forward", 1613)])
@pytest.mark.sampled(each=2)
def test_an_interrupted_update_leaves_no_trace(tmp_path: Path, algorithm: str, stride: int) -> None:
    interrupt(tmp_path, algorithm, stride, 120)


@pytest.mark.long
@pytest.mark.parametrize(
    ("algorithm", "stride"), [("auto", 127), ("dred", 149), ("backward-forward", 167), ("fixpoint-update", 193)]
)
def test_at_many_lines(tmp_path: Path, algorithm: str, stride: int) -> None:
    """At each of them (a stride of 1) it takes a quarter of an hour and more for an algorithm."""
    interrupt(tmp_path, algorithm, stride, 800)
