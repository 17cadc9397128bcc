"""Object stores for tests: in memory, with faults; and a server of S3 on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from obstore.exceptions import GenericError, PermissionDeniedError
from obstore.store import MemoryStore
from rdflib import OWL, RDF, RDFS, Namespace

from triplestore import Store
from triplestore.storage.verify import verify
from triplestore.storage.versions import Versions

E = Namespace("http://ex/")
KG = "s3://lake/kg"

WRITES = ("put", "delete")
ASKED = (*WRITES, "get", "head", "list", "get_range")


class Objects:
    """An object store in memory that counts what it is asked, and fails on request.

    fails: what to do at each question: nothing, or raise; it gets the number of the question, its kind and its name.
    """

    def __init__(self) -> None:
        self.kept = MemoryStore()
        self.asked: list[tuple[str, str]] = []
        self.fails: Callable[[int, str, str], None] = lambda number, kind, name: None
        self.answers_lost: Callable[[int, str, str], None] = lambda number, kind, name: None
        self._lock = threading.Lock()

    def __getattr__(self, kind: str) -> Any:
        found = getattr(self.kept, kind)
        if kind not in ASKED:
            return found

        def asked(*given: Any, **options: Any) -> Any:
            name = str(given[0]) if given else ""
            with self._lock:
                self.asked.append((kind, name))
                number = len(self.asked)
            self.fails(number, kind, name)
            answer = found(*given, **options)
            self.answers_lost(number, kind, name)
            return answer

        return asked

    def reset(self) -> None:
        """Count from the start, without faults."""
        self.asked.clear()
        self.fails = self.answers_lost = lambda number, kind, name: None

    def names(self, folder: str = "") -> set[str]:
        """The names of the objects there are."""
        return {found["path"] for some in self.kept.list(folder or None) for found in some}

    def flip(self, name: str) -> None:
        """Flip a bit of an object."""
        data = bytearray(bytes(self.kept.get(name).bytes()))
        data[len(data) // 2] ^= 4
        self.kept.put(name, bytes(data))


def winners(create: Callable[[int], None]) -> list[int]:
    """Of 64 threads that create one thing, each with its number, those for which it was not there."""
    won: list[int] = []

    def run(number: int) -> None:
        try:
            create(number)
        except FileExistsError:
            return
        won.append(number)

    threads = [threading.Thread(target=run, args=[number]) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def from_(number: int) -> Callable[[int, str, str], None]:
    """The network is gone from a question on, or with its answer."""

    def fails(asked: int, kind: str, name: str) -> None:
        if asked >= number:
            raise GenericError(f"error sending request for http://ex/{name}?X-Secret=opensesame")

    return fails


def at(number: int) -> Callable[[int, str, str], None]:
    """One question is not answered."""

    def fails(asked: int, kind: str, name: str) -> None:
        if asked == number:
            raise GenericError(f"error sending request for http://ex/{name}")

    return fails


class Asked:
    """The requests that a server got."""

    def __init__(self) -> None:
        self._number, self._one = 0, threading.Event()

    def __len__(self) -> int:
        return self._number

    def add(self) -> int:
        """One more; how many there are."""
        self._number += 1
        self._one.set()
        return self._number

    def wait(self) -> None:
        """Until there is one."""
        assert self._one.wait(60)


@contextmanager
def unavailable(times: int, status: int = 404, answer: str = "") -> Iterator[tuple[str, Asked]]:
    """The address of a server that is overloaded for so many requests, and then answers each by this."""
    asked = Asked()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503 if asked.add() <= times else status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *given: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read_only(number: int, kind: str, name: str) -> None:
    """Nothing may be written."""
    if kind in WRITES:
        raise PermissionDeniedError("The operation lacked the necessary privileges")


def changed(store: Store, number: int) -> None:
    store.update(add=[(E[f"x{number}"], RDF.type, E.A), (E[f"x{number}"], OWL.sameAs, E[f"y{number // 2}"])])


def made(path: str | Path, updates: int = 3) -> None:
    """A store of a few versions, with classes of equals."""
    with Store.create(path, ["owl2rl"], engine="duckdb") as store:
        store.update(add=[(E.A, RDFS.subClassOf, E.B), (E.a, RDF.type, E.A)])
        for number in range(updates):
            changed(store, number)


def content(path: str | Path, at: int | None = None, engine: str = "duckdb", **options: object) -> set[tuple[str, ...]]:
    with Store.open(path, at=at, engine=engine, **options) as store:  # type: ignore[arg-type]
        return {tuple(map(str, row)) for row in store.query("SELECT ?s ?p ?o { ?s ?p ?o }")}


def whole(path: str | Path) -> None:
    assert verify(Versions(path)).damages == ()
