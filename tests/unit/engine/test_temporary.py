"""What a killed process leaves in the temporary folder, the next one removes, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from triplestore import Store
from triplestore.engine import temporary
from triplestore.model import processes

WORKS = """
import pathlib, sys, time
from triplestore.engine.duckdb import DuckDBEngine
engine = DuckDBEngine()
print(engine._folder, flush=True)
pathlib.Path(engine._folder, "spilled").write_bytes(bytes(1000))
sys.stdin.read()
"""


@pytest.fixture
def temporaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, empty."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_left_goes(temporaries: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.parent == temporaries
        Store.create(temporaries / "kg", engine="duckdb").close()
        assert folder.is_dir()
        process.send_signal(signal.SIGKILL)
        process.wait()
    temporary._tidy.cache_clear()
    Store.open(temporaries / "kg", engine="duckdb").close()
    assert [entry.name for entry in temporaries.iterdir()] == ["kg"]


def test_a_file_goes_too(temporaries: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    host = temporary._short(processes.host())
    left = temporaries / f"triplake-pipe-{host}-{int(ended.stdout)}-1-abc.txt"
    other = temporaries / f"triplake-pipe-00000000-{int(ended.stdout)}-1-abc.txt"
    theirs = temporaries / "triplake-notes"
    for path in (left, other, theirs):
        path.write_text("x")
    temporary.prefix("pipe")
    assert sorted(temporaries.iterdir()) == sorted([other, theirs])


def test_a_later_process_of_the_same_number_is_another(temporaries: Path) -> None:
    this = processes.this()
    earlier = temporaries / f"triplake-duckdb-{temporary._short(this.host)}-{this.pid}-1-abc"
    mine = Path(tempfile.mkdtemp(prefix=temporary.prefix("other")))
    earlier.mkdir()
    temporary._tidy.cache_clear()
    temporary.prefix("other")
    assert list(temporaries.iterdir()) == [mine]
