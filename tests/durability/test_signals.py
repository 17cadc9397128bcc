"""A signal ends a command within a statement that would run for hours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.cli import working
from triplestore import Store

CROSS = "?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(CONCAT(STR(?a), STR(?c)) < STR(?e))"


EACH = pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["int", "term", "hup"],
)


def signalled(folder: Path, number: signal.Signals, *program: str) -> tuple[int, str, float]:
    """A query that would run for hours by `python PROGRAM`, once it gets a signal: the exit code, what it has said on
    standard error, and the seconds that it took to end."""
    (folder / "many.nt").write_text("".join(f"<u:s{i}> <u:p{i % 7}> <u:o{i % 97}> .\n" for i in range(3_000)))
    with Store.create(folder / "kg", rules=[], engine="duckdb") as made:
        made.load(folder / "many.nt")
    query = f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}"
    command = [sys.executable, *program, "query", str(folder / "kg"), query, "--engine", "duckdb"]
    (folder / "scratch").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "scratch")}
    running = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True)
    working(running, folder / "scratch")
    sent = time.monotonic()
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    return running.returncode, said, time.monotonic() - sent


@EACH
def test_a_signal_ends_a_large_join(tmp_path: Path, number: signal.Signals, code: int) -> None:
    ended_by, said, seconds = signalled(tmp_path, number, "-m", "triplestore.cli")
    assert (ended_by, "nothing was committed" in said) == (code, True), said
    assert seconds < 15


@EACH
def test_a_statement_that_no_interruption_ends(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """It ends with the process: its connection is busy, and takes no statement that would clear up."""
    program = "from triplestore.cli import main\nfrom triplestore.model import stopping\nstopping.GRACE = 0.0\nmain()\n"
    ended_by, said, seconds = signalled(tmp_path, number, "-c", program)
    assert (ended_by, "nothing was committed" in said) == (code, True), said
    assert len(said.splitlines()) == 1
    assert seconds < 15
    assert list((tmp_path / "scratch").iterdir()) == []


def ended(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """A process of `triplake` whose command is this text, executed."""
    program = (
        "from triplestore.cli import commands, main\ncommands.cli.main = lambda *_, **__: exec({body!r})\nmain()\n"
    )
    (folder / "program.py").write_text(program.format(body=body))
    command = [sys.executable, "-m", "program"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@EACH
def test_a_signal_while_modules_are_imported(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """Dataclasses execute a text; CPython takes a KeyboardInterrupt that passes through one for its own end."""
    found = ended(tmp_path, f"import os\nos.kill(os.getpid(), {int(number)})\nwhile True: pass")
    assert (found.returncode, "nothing was committed" in found.stderr) == (code, True), found.stderr
    assert "Traceback" not in found.stderr


def test_a_module_is_imported_to_its_end(tmp_path: Path) -> None:
    """A native one that meets an exception aborts the process."""
    (tmp_path / "native.py").write_text("import os\nos.kill(os.getpid(), 15)\nprint('imported')\n")
    found = ended(tmp_path, "import native, time\ntime.sleep(50)")
    assert (found.returncode, found.stdout) == (143, "imported\n"), found.stderr


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    """Also while the first is cleared up after."""
    kill = "os.kill(os.getpid(), 15)"
    assert ended(tmp_path, f"import os, time\ntry: {kill}\nfinally: {kill}, time.sleep(50)").returncode == 143


def test_a_signal_after_the_end_changes_nothing(tmp_path: Path) -> None:
    found = ended(tmp_path, "import atexit, os\natexit.register(os.kill, os.getpid(), 15)")
    assert (found.returncode, found.stderr) == (0, "")


def test_what_the_caller_ignores_stays_ignored(tmp_path: Path) -> None:
    """As for a shell's background job, and under nohup."""
    numbers = signal.SIGINT, signal.SIGHUP
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        found = ended(tmp_path, "import os\nos.kill(os.getpid(), 2)\nos.kill(os.getpid(), 1)")
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
    assert (found.returncode, found.stderr) == (0, "")
