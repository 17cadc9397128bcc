"""Batches of a streamed answer: bounded by rows and by bytes."""

from __future__ import annotations

import pyarrow as pa

from triplestore.engine import written


def test_by_rows_and_bytes() -> None:
    texts = ["a"] * 7 + ["b" * 400] * 6 + ["c" * 5_000] + ["d"] * 2
    small = [pa.record_batch([pa.array([text])], names=["x"]) for text in texts]
    found = list(written.gathered(small, 5, 1_000))
    assert [value for batch in found for value in batch.column(0).to_pylist()] == texts
    assert [batch.num_rows for batch in found] == [5, 4, 2, 2, 1, 2]
    assert list(written.gathered([])) == []
