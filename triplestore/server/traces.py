"""Traces of OpenTelemetry: a span for each request, in the trace of the client that sent `traceparent`.

Where they go, and under which name, the environment says, by the names that OpenTelemetry gives: OTEL_SERVICE_NAME,
OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER and others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_NAMED: Final = {
    "client": "client.address",
    "method": "http.request.method",
    "path": "url.path",
    "status": "http.response.status_code",
    "bytes": "http.response.body.size",
    "user": "user.name",
}
"""What OpenTelemetry's conventions call a field of the access log; others are `triplake.` and their name."""

_OMITTED: Final = ("time", "ms")
"""Fields that a span has by itself."""


class Traces:
    """Sends spans, a batch at a time, from a thread of its own."""

    def __init__(self) -> None:
        name = os.environ.get("OTEL_SERVICE_NAME", "triplake")
        self._provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("triplake.server")
        self._clients = TraceContextTextMapPropagator()

    def record(
        self, address: str, line: Mapping[str, Any], headers: Mapping[str, str], seconds: float, ended: int
    ) -> None:
        """A request that has ended, after so many seconds, `ended` nanoseconds after 1970. address: what it asked for,
        as metrics name it. line: of the access log."""
        span = self._tracer.start_span(
            f"{line['method']} {address}",
            context=self._clients.extract(headers),
            kind=SpanKind.SERVER,
            attributes={
                _NAMED.get(name, f"triplake.{name}"): value
                for name, value in line.items()
                if name not in _OMITTED and isinstance(value, str | int | float)
            },
            start_time=ended - int(seconds * 1e9),
        )
        if line["status"] >= 500 or not line["status"]:
            span.set_status(Status(StatusCode.ERROR, str(line.get("error", line.get("fault", "")))))
        span.end(ended)

    def close(self) -> None:
        """Send what is left, and no more."""
        self._provider.shutdown()
