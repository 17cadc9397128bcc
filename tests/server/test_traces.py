"""Spans of OpenTelemetry for requests, as a collector gets them."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.cli import command, run
from tests.support.server import PEOPLE

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a collector, and what it gets."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", got
        finally:
            server.shutdown()


@contextmanager
def serving(store: Path, endpoint: str) -> Iterator[httpx.Client]:
    """A client of a server that sends traces, and has ended well at the end."""
    environment = os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SERVICE_NAME": "graphs"}
    serve = command("serve", store, "--port", "0", "--traces")
    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr
            found = re.search(r"http://\S+", process.stderr.readline() + process.stderr.readline())
            assert found
            with httpx.Client(base_url=found.group(), timeout=30) as client:
                yield client
            process.send_signal(signal.SIGTERM)
            _, rest = process.communicate(timeout=60)
            assert process.returncode == 0
            assert "Traceback" not in rest
        finally:
            process.kill()


def spans_of(got: list[bytes]) -> list[tuple[str, Any]]:
    """(service, span) of what a collector got."""
    found = []
    for body in got:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = {a.key: a.value.string_value for a in resource.resource.attributes}["service.name"]
            found += [(service, span) for scope in resource.scope_spans for span in scope.spans]
    return found


def test_each_request_is_a_span(store: Path) -> None:
    with collector() as (endpoint, got):
        with serving(store, endpoint) as client:
            assert client.get("/sparql", params={"query": PEOPLE}).status_code == 200
            continued = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            assert client.get("/sparql", params={"query": "SELECT"}, headers=continued).status_code == 400
        spans = spans_of(got)
    assert [(service, span.name, span.kind) for service, span in spans] == [("graphs", "GET sparql", 2)] * 2
    first, second = ({a.key: a.value.int_value or a.value.string_value for a in span.attributes} for _, span in spans)
    assert first["http.response.status_code"] == 200
    assert (first["http.request.method"], first["url.path"], first["client.address"]) == ("GET", "/sparql", "127.0.0.1")
    assert all("people" not in str(value) for value in first.values())
    assert "triplake.query" not in first
    assert "line 1" in second["triplake.error"]
    assert (spans[0][1].trace_id.hex() != TRACE, spans[0][1].parent_span_id) == (True, b"")
    assert (spans[1][1].trace_id.hex(), spans[1][1].parent_span_id.hex()) == (TRACE, PARENT)
    assert all(0 < span.end_time_unix_nano - span.start_time_unix_nano < 60e9 for _, span in spans)


def test_nobody_collects(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")  # seconds; until then it is tried again, also at the end
    with serving(store, "http://127.0.0.1:9") as client:
        assert client.get("/health").status_code == 200


def test_without_the_packages(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "opentelemetry" else there(name))
    outcome = run("serve", store, "--port", "0", "--traces")
    assert outcome.code == 2
    assert "pip install 'triplake[traces]'" in outcome.err
