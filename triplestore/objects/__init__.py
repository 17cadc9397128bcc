"""Objects below a URL: of S3, Google Cloud Storage and Azure by the package obstore, and files of HDFS, whose client
PySpark has. Stores are kept in them (`triplestore.storage.bucket`), and files are loaded from them."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from glob import has_magic
from io import BufferedReader
from itertools import takewhile
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from triplestore.model.errors import UsageError
from triplestore.model.thresholds import SIZES
from triplestore.objects.protocol import Entry, Objects, Ranges

__all__ = [
    "PATIENCE",
    "Entry",
    "Objects",
    "Ranges",
    "as_file",
    "is_remote",
    "matching",
    "normal",
    "of_hadoop",
    "opened",
    "split",
]

PATIENCE: Final = "TRIPLAKE_PATIENCE"
"""The variable of the environment with the seconds in which a request that fails is tried again, by default 60."""

_SCHEMES: Final = {"s3": "s3", "s3a": "s3", "gs": "gs", "az": "az", "hdfs": "hdfs"}
"""Those of the URLs, and what each is here."""

_NAMED: Final = {
    "hdfs": "name node: give hdfs://HOST:PORT/PATH",
    "az": "account and container: give az://ACCOUNT/CONTAINER/PATH",
}
"""What the first part of a URL names, where that is no bucket."""

_HADOOP: Final = {"s3": "s3a"}
"""Schemes that Hadoop's file systems name otherwise."""


def is_remote(path: str) -> bool:
    """Whether this is a URL of objects."""
    scheme, separator, _ = path.partition("://")
    return bool(separator) and scheme.lower() in _SCHEMES


def normal(url: str) -> str:
    """A URL of objects as it is written here. Raises UsageError for one with what is secret, or that names nothing."""
    scheme, parts = url.partition("://")[0].lower(), split(url)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"give {scheme}://{parts.netloc.rpartition('@')[2]}{parts.path} without a user, a password or options: "
            "credentials are taken from the environment"
        )
    if not parts.netloc or (scheme == "az" and not parts.path.strip("/")):
        named = _NAMED.get(scheme, f"bucket: give {scheme}://BUCKET/PATH")
        raise UsageError(f"{url} names no {named}")
    if not {"", ".", ".."}.isdisjoint(unquote(parts.path).rstrip("/").split("/")[1:]):
        raise UsageError(f"{url} has a part that is empty, . or .., by which no object can be asked for: leave it out")
    return f"{_SCHEMES[scheme]}{url[len(scheme) :]}".rstrip("/")


def split(url: str) -> SplitResult:
    """The parts of a URL. Raises UsageError for what is none."""
    try:
        return urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{url} is not a URL: {error}") from error


def of_hadoop(url: str) -> str:
    """A URL of objects, as Hadoop's file systems write it."""
    scheme, _, rest = normal(url).partition("://")
    if scheme == "az":
        account, container, *path = rest.split("/")
        return "/".join([f"abfss://{container}@{account}.dfs.core.windows.net", *path])
    return f"{_HADOOP.get(scheme, scheme)}://{rest}"


def divided(url: str) -> tuple[str, str]:
    """A URL of objects as that of the bucket (container, name node) and the name of what it names in it."""
    scheme, _, rest = normal(url).partition("://")
    parts = rest.split("/")
    root = 2 if scheme == "az" else 1
    return f"{scheme}://{'/'.join(parts[:root])}", "/".join(parts[root:])


def matching(url: str) -> list[str]:
    """The URLs of the objects that one means: an object, all in a folder, or, where its parts have wildcards (`*`,
    `[]`), those that match."""
    root, name = divided(url)
    objects, parts = opened(root), name.split("/")
    if not has_magic(name):
        try:
            objects.head(name)
        except FileNotFoundError:
            return sorted(f"{root}/{entry.name}" for entry in objects.listed(name) if not entry.name.endswith("/"))
        return [f"{root}/{name}"]
    above = "/".join(takewhile(lambda part: not has_magic(part), parts))
    names = [entry.name for entry in objects.listed(above)]
    return sorted(
        f"{root}/{found}"
        for found in names
        if found.count("/") == len(parts) - 1 and all(map(fnmatchcase, found.split("/"), parts))
    )


def as_file(url: str) -> BufferedReader:
    """An object, open to be read. Raises FileNotFoundError."""
    root, name = divided(url)
    objects = opened(root)
    return BufferedReader(Ranges(objects, name, objects.head(name).bytes), SIZES.download)


def opened(url: str) -> Objects:
    """The objects below a URL. Raises UsageError where a package is missing, or it stands for nothing."""
    text = os.environ.get(PATIENCE, "60")
    if not text.isdecimal() or len(text) > 8:  # no timer waits for longer than years
        raise UsageError(f"{PATIENCE} is '{text}': give a number of seconds")
    url = normal(url)
    if url.startswith("hdfs:"):
        from triplestore.objects.hadoop import HadoopObjects

        return HadoopObjects(url, int(text))
    from triplestore.objects.cloud import CloudObjects, store_of

    # obstore takes the account of an az: URL for the container.
    return CloudObjects(url, store_of(of_hadoop(url) if url.startswith("az:") else url, int(text)))
