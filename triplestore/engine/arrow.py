"""Arrow columns from Python values, without `pyarrow.array`: that imports pandas where it is installed (0.3 s)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def int64s(values: Iterable[int] = ()) -> pa.Array:
    """An int64 column, without NULLs."""
    numbers = np.ascontiguousarray(values) if isinstance(values, np.ndarray) else np.fromiter(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def strings(values: Iterable[str] = ()) -> pa.Array:
    """A string column, without NULLs."""
    texts = [value.encode() for value in values]
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers).cast(pa.string())


def id_lists(values: Sequence[Sequence[int]] = ()) -> pa.Array:
    """A column of lists of int64, without NULLs."""
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum([len(items) for items in values], out=offsets[1:])
    items = int64s(item for row in values for item in row)
    buffers = [None, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(pa.list_(pa.int64()), len(values), buffers, children=[items])


def as_numpy(column: pa.ChunkedArray, copy: bool = True) -> npt.NDArray[np.int64]:
    """An int64 column without NULLs as one numpy array. copy: False for one that is only read."""
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype=np.int64, count=len(chunk), offset=8 * chunk.offset)
        for chunk in column.chunks
        if len(chunk)
    ]
    if len(parts) == 1 and not copy:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def binary_words(column: pa.ChunkedArray, words: int) -> npt.NDArray[np.int64]:
    """A column of byte strings of that many words of eight bytes each, without NULLs, as rows of words."""
    parts = []
    for chunk in column.chunks:
        if len(chunk):
            offsets = np.frombuffer(chunk.buffers()[1], dtype=np.int32)
            start, data = offsets[chunk.offset], chunk.buffers()[2]
            parts.append(np.frombuffer(data[start : start + 8 * words * len(chunk)], dtype=np.int64))
    return (np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)).reshape(-1, words)


def of_arity(columns: Callable[..., pa.Array], arity: int) -> Callable[..., pa.Array]:
    """A function of columns with as many parameters as it takes, 1 to 4, by name and type: engines count them."""

    def one(a: pa.Array) -> pa.Array:
        return columns(a)

    def two(a: pa.Array, b: pa.Array) -> pa.Array:
        return columns(a, b)

    def three(a: pa.Array, b: pa.Array, c: pa.Array) -> pa.Array:
        return columns(a, b, c)

    def four(a: pa.Array, b: pa.Array, c: pa.Array, d: pa.Array) -> pa.Array:
        return columns(a, b, c, d)

    return (one, two, three, four)[arity - 1]
