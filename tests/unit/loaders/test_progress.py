"""How far files are read, for those who wait."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from tests.conftest import MakeStore
from triplake.loaders import Progress, progress

LINES = "".join(f'<http://e/s{i}> <http://e/p{i % 7}> "value {i}" .\n' for i in range(60_000)).encode()
PACKED = {".nt": LINES, ".ttl": LINES, ".ttl.gz": gzip.compress(LINES), ".nt.bz2": bz2.compress(LINES)}


@pytest.mark.long_on_spark(but=1)
@pytest.mark.parametrize("suffix", PACKED)
def test_a_file_is_read_to_its_end(
    make_store: MakeStore, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By bytes, as they lie on the disk, in whatever way they are read."""
    monkeypatch.setattr(progress, "TICK", 0.001)
    file = tmp_path / f"data{suffix}"
    file.write_bytes(PACKED[suffix])
    store, met = make_store(["none"]), list[Progress]()
    store.live = met.append
    store.load(file)
    assert (met[-1].done_bytes, met[-1].done_triples) == (len(PACKED[suffix]), 60_000)
    steps = {at.stage for at in met}
    assert steps <= {"", "unpack", "parse"}
    assert {at.file for at in met if at.stage} == {str(file)}
    assert {at.all_bytes for at in met} == {len(PACKED[suffix])}
    for step in steps:
        done = [at.done_bytes for at in met if at.stage == step]
        assert done == sorted(done)
        assert 0 <= done[0] <= done[-1] <= len(PACKED[suffix])
    if suffix != ".nt":  # Python reads it, or unpacks it, and lets the other thread look now and then
        assert any(0 < at.done_bytes <= at.all_bytes and at.seconds_left is not None for at in met)


def test_lines() -> None:
    known = Progress("parse", "a.nt", 0, 3.0, 410_000_000, 1_000_000_000, 120e6)
    assert known.line == "parse a.nt: 41% of 1.0 GB, 120 MB/s, 5 s left"
    assert Progress("parse", "a.ttl", 1000, 3.0, 0, 5_000, 0.0).line == "parse a.ttl: 0% of 5 kB, 1,000 triples"
    assert Progress("parse", "a.ttl", 0, 0.0).line == "parse a.ttl"
