"""Object stores in memory, and a server of S3."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.buckets import Objects
from triplestore.objects.cloud import CloudObjects
from triplestore.storage import bucket, cache

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret-of-the-test",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache of files of object stores, the test's own."""
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def lake(cached: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Objects]:
    """Object stores in memory, by their URLs."""
    stores: dict[str, Objects] = {}
    monkeypatch.setattr(bucket, "opened", lambda url: CloudObjects(url, stores.setdefault(url, Objects())))  # type: ignore[arg-type]
    return stores


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    """The address of a server of S3 in this process."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server: str, cached: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket's URL, with what the environment has to say of it."""
    import boto3

    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": s3_server}.items():
        monkeypatch.setenv(name, value)
    name = f"lake-{time.monotonic_ns()}"
    boto3.client("s3", endpoint_url=s3_server).create_bucket(Bucket=name)
    return f"s3://{name}"
