"""A signal ends a command within a statement that would run for hours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from triplestore import Store

CROSS = "?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(CONCAT(STR(?a), STR(?c)) < STR(?e))"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"])
def test_a_signal_ends_a_large_join(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "many.nt").write_text("".join(f"<u:s{i}> <u:p{i % 7}> <u:o{i % 97}> .\n" for i in range(3_000)))
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as made:
        made.load(tmp_path / "many.nt")
    query = f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}"
    command = [sys.executable, "-m", "triplestore.cli", "query", str(tmp_path / "kg"), query, "--engine", "duckdb"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ}, text=True)
    time.sleep(4)
    sent = time.monotonic()
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert (running.returncode, "nothing was committed" in said) == (code, True), said
    assert time.monotonic() - sent < 15
