"""Objects of S3, Google Cloud Storage and Azure, by the package obstore."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from errno import EACCES, EEXIST, ENOENT
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from triplestore.model.errors import StorageError, UsageError, how_to_install
from triplestore.model.stopping import waited
from triplestore.model.thresholds import SIZES
from triplestore.objects.protocol import Entry

if TYPE_CHECKING:
    from obstore.store import ObjectStore

T = TypeVar("T")

log = logging.getLogger(__name__)

RETRIES: Final = 1 << 20
"""Times that a request is tried again: so many that it is the time that ends them."""

PAUSE: Final = 2.0
"""Seconds at most between two tries."""

QUIET: Final = 5.0
"""Seconds after which a warning says that there is no answer."""

_ENDPOINTS: Final = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "abfss": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""By the scheme of a URL, the variables of the environment that obstore takes the server's address from."""

_NO_BUCKET: Final = ("<Code>NoSuchBucket<", "<Code>ContainerNotFound<")
"""What an answer has that is about no object but about what they are in."""


class CloudObjects:
    """See `Objects`. store: of obstore."""

    def __init__(self, url: str, store: ObjectStore) -> None:
        self._url, self._store = url, store

    @contextmanager
    def _asking(self, name: str) -> Iterator[None]:
        """Raise the errors of an object store as those of a file of that name."""
        from obstore import exceptions

        shown = f"{self._url}/{name}"
        if os.getpid() != _process():
            raise UsageError(
                f"{shown} is asked for by a process that was forked from one that had asked an object store, which "
                'would wait for ever: start it by multiprocessing.set_start_method("spawn")'
            )
        try:
            with _panics(shown):
                yield
        except exceptions.AlreadyExistsError as error:
            raise FileExistsError(EEXIST, os.strerror(EEXIST), shown) from error
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise PermissionError(EACCES, f"access is refused ({_reason(error)})", shown) from error
        except ValueError as error:
            raise UsageError(f"{shown} is not a name of an object: {_reason(error)}") from error
        except (FileNotFoundError, exceptions.BaseError) as error:
            if "parsing Path" in str(error) or "empty path segment" in str(error):
                raise StorageError(
                    f"{shown}: something in it has a name that cannot be asked for ({_reason(error)}): rename it, or "
                    "name files one by one"
                ) from error
            if any(code in str(error) for code in _NO_BUCKET):
                raise StorageError(
                    f"{shown}: there is no such bucket ({_reason(error)}). See to its name and the address, or make it"
                ) from error
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(ENOENT, os.strerror(ENOENT), shown) from error
            raise StorageError(
                f"{shown}: {_reason(error)}. See to the network, the address and the credentials of the environment, "
                "and run it again"
            ) from error

    def get(self, name: str) -> bytes:
        """See `Objects`."""
        with self._asking(name):
            return self._warning(name, lambda: bytes(self._store.get(name).bytes()))

    def blocks(self, name: str) -> Iterator[bytes]:
        """See `Objects`."""
        with self._asking(name):
            for part in _heard(lambda: self._store.get(name)).stream(min_chunk_size=SIZES.download):
                yield bytes(part)

    def part(self, name: str, start: int, length: int) -> bytes:
        """See `Objects`."""
        with self._asking(name):
            return _heard(lambda: bytes(self._store.get_range(name, start=start, length=length)))

    def put(self, name: str, content: bytes | Path, absent: bool = False) -> None:
        """See `Objects`."""
        with self._asking(name):
            self._store.put(name, content, mode="create" if absent else "overwrite")

    def delete(self, name: str) -> None:
        """See `Objects`."""
        with self._asking(name):
            self._store.delete(name)

    def head(self, name: str) -> Entry:
        """See `Objects`."""
        with self._asking(name):
            return self._warning(name, lambda: _entry(self._store.head(name), name))

    def listed(self, folder: str) -> Iterator[Entry]:
        """See `Objects`."""
        with self._asking(folder):
            pages = iter(self._store.list(folder or None))
            while (some := self._warning(folder, lambda: next(pages, None))) is not None:
                for found in some:
                    if found["path"] != folder:  # else what tools put in place of a folder
                        yield _entry(found, found["path"])

    def sweep(self) -> None:
        """See `Objects`. An object store has no folders."""

    def _warning(self, name: str, question: Callable[[], T]) -> T:
        """The answer to a question that is answered at once, where anybody answers; a warning where it is not."""
        shown = f"{self._url}/{name}".rstrip("/")
        text = "%s: no answer for %.0f seconds. It is asked until a minute (or TRIPLAKE_PATIENCE, seconds) is over"
        timer = threading.Timer(QUIET, log.warning, (text, shown, QUIET))
        timer.daemon = True
        timer.start()
        try:
            return _heard(question)
        finally:
            timer.cancel()


def _heard(question: Callable[[], T]) -> T:
    """The answer to a question that changes nothing, which may take as long as an outage: signals end it."""
    return waited(question, lambda: None)


@contextmanager
def _panics(shown: str) -> Iterator[None]:
    """Raise StorageError where obstore panics: what Python makes of that is no Exception, and has no name here."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise StorageError(
            f"{shown}: obstore failed ({_reason(error)}). See to the address and the environment, and run it again"
        ) from error


@cache
def _process() -> int:
    """The process that asked first: obstore's threads are in it, and in none that is forked from it."""
    return os.getpid()


def store_of(url: str, patience: int) -> ObjectStore:
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise UsageError(f"{url}: object stores need the package obstore: {how_to_install('cloud')}") from error
    backoff = {"init_backoff": timedelta(seconds=PAUSE / 20), "max_backoff": timedelta(seconds=PAUSE)}
    options: dict[str, Any] = {
        "retry_config": {"retry_timeout": timedelta(seconds=patience), "max_retries": RETRIES, "backoff": backoff}
    }
    if url.startswith("s3:"):
        if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3"):
            options["config"] = {"endpoint": endpoint}
        if "AWS_ACCESS_KEY_ID" not in os.environ and (provider := _profile()) is not None:
            options["credential_provider"] = provider
    _check_endpoints(url)
    try:
        with _panics(url):
            return from_url(url, **options)
    except (BaseError, ValueError) as error:
        raise UsageError(f"{url} cannot be opened: {_reason(error)}") from error


def _check_endpoints(url: str) -> None:
    """Raise UsageError where the address of a server is none, or may not be asked without TLS: obstore panics, or does
    not tell why."""
    for name in _ENDPOINTS.get(url.partition("://")[0], ()):
        given = os.environ.get(name, "https://")
        scheme, separator, _ = given.lower().partition("://")
        if not separator or scheme not in ("http", "https"):
            raise UsageError(f"{name} is '{given.rpartition('@')[2]}': give https://HOST:PORT, or http://HOST:PORT")
        allowing = f"{name.partition('_')[0]}_ALLOW_HTTP"
        if scheme == "http" and os.environ.get(allowing, "").lower() not in ("1", "true", "on", "yes", "y"):
            raise UsageError(f"{name} is an address without TLS, http://: set {allowing}=true, or give https://")


def _profile() -> Any:
    """The credentials that AWS's tools have for this user (profiles, single sign-on), where boto3 is installed."""
    try:
        import boto3
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        return None
    session = boto3.Session()
    return Boto3CredentialProvider(session) if session.get_credentials() is not None else None


def _entry(found: Any, name: str) -> Entry:
    return Entry(name, int(found["size"]), found["last_modified"].timestamp())


def _reason(error: BaseException) -> str:
    """What an object store says, in a line, without what an address may have that is secret. Of an answer in XML the
    code and the message count."""
    text = str(error)
    found = [re.search(f"<{name}>([^<]*)</{name}>", text) for name in ("Code", "Message")]
    told = ": ".join((re.split(": <|\n", text, maxsplit=1)[0], *(part[1] for part in found if part)))
    return re.sub(r"\?[^\s\"')]*|, max_retries: .*?(?= - )", "", told).strip().rstrip(".")
