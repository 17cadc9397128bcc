"""Which kind of place a path, or a URL, means."""

from __future__ import annotations

import os
import re
from errno import ENAMETOOLONG
from typing import Final

from triplestore.model.errors import UsageError
from triplestore.objects import is_remote, normal, split
from triplestore.storage.folder import Folder
from triplestore.storage.place import Place

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")

_BEGINS: Final = re.compile(r"(s3a?|gs|az|hdfs|file):", re.IGNORECASE)
"""As a URL of a store does."""


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a store is named by a URL."""
    return _URL.match(os.fspath(path)) is not None


def place_of(path: str | os.PathLike[str]) -> Place:
    """Where the store of a path, or a URL, is. Raises UsageError for what is not a path, one that is empty or too long,
    a URL of another kind, or one with what is secret."""
    if not isinstance(path, str | os.PathLike) or not isinstance(text := os.fspath(path), str):
        raise UsageError(f"{path!r} is not a path of a store: give a text, or a pathlib.Path")
    if not text:
        raise UsageError("the path of the store is empty: give a folder; . is the current one")
    if text == ":memory:":
        raise UsageError("a store is a folder, not in memory: for a temporary one write Store() without a path")
    found = _URL.match(text)
    if found is None:
        if _BEGINS.match(text) and not os.path.exists(text):
            raise UsageError(f"{text} is not a URL, which has :// after its scheme, and there is no such folder")
        try:
            os.stat(path)
        except OSError as error:
            if error.errno == ENAMETOOLONG:
                raise UsageError(f"{path}: {error.strerror}; give a shorter path of the store") from error
        return Folder(path)
    scheme, parts = found[1].lower(), split(text)
    if scheme == "file":
        from urllib.request import url2pathname  # slow to import, and rarely needed

        return Folder(url2pathname(parts.path))
    if not is_remote(text):
        raise UsageError(f"no store can be at a URL of {scheme}: give a folder, or s3://, gs://, az:// or hdfs://")
    url = normal(text)
    from triplestore.storage.bucket import Bucket

    return Bucket(url)
