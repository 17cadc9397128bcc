"""What a server counts, in the form that Prometheus reads (https://prometheus.io/docs/instrumenting/exposition_formats/).

Of each request: how many there were, by address, method and status, and the seconds that they took. Of each store: its
version, what runs and what waits, the room on its disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Upper ends of the classes of seconds in which requests are counted."""

_ADDRESSES: Final = frozenset(
    ("sparql", "data", "health", "stats", "metrics", "api", "streams", "static", "openapi.json", "admin")
)


class Observed(Protocol):
    """A store as `/metrics` sees it."""

    def figures(self) -> dict[str, float]:
        """What is so now, by the names of the figures without `triplake_`."""


def address_of(path: str) -> str:
    """What a request is counted as by its path."""
    root, _, first = path.partition("/")
    first = root or first.partition("/")[0]  # what is not a path, as that of `OPTIONS *`, has no root
    return first if first in _ADDRESSES else "page" if not first else "other"


class Metrics(Collector):
    """The counts of a server with these stores, by their names ("" where there is one)."""

    def __init__(self, stores: Mapping[str, Observed]) -> None:
        self._stores = stores
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "triplake_requests", "Requests answered.", ["store", "address", "method", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "triplake_request_seconds",
            "Seconds from a request to the end of its answer.",
            ["store", "address"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._registry.register(self)

    def count(self, store: str, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request that has ended. status: 0 where it was cut off before an answer."""
        address = address_of(path)
        known = method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else "other"
        self._requests.labels(store, address, known, str(status) if status else "cut").inc()
        self._seconds.labels(store, address).observe(seconds)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """What is so now."""
        figures = {
            "version": "The newest version that is read.",
            "reading": "Queries that run.",
            "waiting": "Requests that wait.",
            "writing": "Whether an update runs.",
            "continuous_queries": "Continuous queries.",
            "disk_free_bytes": "Room on the disk of the store.",
            "last_backup_timestamp_seconds": "When the newest scheduled backup ended, in seconds since 1970; 0: never.",
        }
        found = {name: served.figures() for name, served in self._stores.items()}
        for figure, about in figures.items():
            family = GaugeMetricFamily(f"triplake_{figure}", about, labels=["store"])
            for name, now in found.items():
                if figure in now:
                    family.add_metric([name], now[figure])
            yield family

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self._registry)


def room(path: str | Path) -> int | None:
    """Bytes that are free on the disk of a folder; None where the store is elsewhere."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None
