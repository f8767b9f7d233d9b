"""Traces: where the user asked for them, with what happened and never what was said."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kds.service import telemetry as module
from kds.service.server import ServiceOptions
from kds.service.telemetry import Traces
from kds.service.workspaces import ServedWorkspace

from .conftest import Running, running

pytest.importorskip("opentelemetry.sdk", reason="the extra 'otel' is not installed")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

Start = Callable[[], Running]

STEPS = ["load", "resolve", "expand", "classify", "dispatch", "log"]
SECRET = "walrus"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def begun(new_workspace: Callable[[], Path]) -> Callable[[], AbstractContextManager[Running]]:
    """Starts a service in a folder of its own."""
    return lambda: running(new_workspace(), options=ServiceOptions())


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Where the spans go instead of to a collector."""
    found = InMemorySpanExporter()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(module, "_exporter", lambda _: found)
    return found


def ask(service: Running, **headers: str) -> None:
    """Route a message, ask for a session that is not there, and look whether it lives."""
    with service.client() as client:
        said = {"message": f"I want to add a {SECRET} button", "conversation": SECRET}
        assert client.post("/route", json=said, headers=headers).status_code == 200
        assert client.get(f"/sessions/{SECRET}", params={"limit": 7}).status_code == 404
        assert client.get(f"/{SECRET}").status_code == 404
        assert client.get("/healthz").status_code == 200


def test_a_request_has_a_span_with_one_for_each_step_of_its_turn(
    begun: Callable[[], AbstractContextManager[Running]], exported: InMemorySpanExporter
) -> None:
    with begun() as service:
        ask(service, traceparent=PARENT)
    spans = exported.get_finished_spans()
    route, session, unknown = (span for span in spans if span.kind.name == "SERVER")
    assert [one.name for one in (route, session, unknown)] == [
        "POST /route", "GET /sessions/{session:path}", "GET",
    ]  # fmt: skip
    assert route.attributes == {
        "http.request.method": "POST", "http.route": "/route", "http.response.status_code": 200,
    }  # fmt: skip
    assert f"{route.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{route.parent.span_id:016x}" == PARENT.split("-")[2]
    steps = [one for one in spans if one.parent and one.parent.span_id == route.context.span_id]
    assert [one.name for one in steps if one.name in STEPS] == STEPS
    assert all(one.start_time >= route.start_time and not one.attributes for one in steps)
    assert SECRET not in "".join(one.to_json() for one in spans)
    assert "limit" not in "".join(one.to_json() for one in spans)
    assert spans[0].resource.attributes["service.name"] == "kds"


def test_a_failure_is_told_without_its_text(
    begun: Callable[[], AbstractContextManager[Running]],
    exported: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"it was about a {SECRET}")

    monkeypatch.setattr(ServedWorkspace, "route", fail)
    with begun() as service, service.client() as client:
        assert client.post("/route", json={"message": SECRET}).status_code == 500
    (span,) = exported.get_finished_spans()
    assert span.status.status_code.name == "ERROR"
    assert SECRET not in span.to_json()


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector that keeps what it is sent: its address, and path and content of each."""
    sent: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            sent.append((self.path, content))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", sent
        server.shutdown()
        thread.join()


def test_a_real_collector_gets_them_when_the_service_ends_at_the_latest(
    begun: Callable[[], AbstractContextManager[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        address, sent = stack.enter_context(collector())
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "router")
        with begun() as service:
            ask(service)
    assert {path for path, _ in sent} == {"/v1/traces"}
    (told,) = [ExportTraceServiceRequest.FromString(content) for _, content in sent]
    (resource,) = told.resource_spans
    names = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert names["service.name"] == "router"
    (scope,) = resource.scope_spans
    assert {"POST /route", *STEPS} <= {span.name for span in scope.spans}
    assert SECRET.encode() not in sent[0][1]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    ],
    ids=str,
)
def test_nobody_who_did_not_ask_gets_any(variables: dict[str, str]) -> None:
    told: list[str] = []
    assert Traces.wanted(told.append, variables) is None
    assert told == []


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("opentelemetry.sdk.trace", "'opentelemetry' is needed to send traces"),
        ("opentelemetry.exporter.otlp.proto.http", "the extra 'otel' of KDS"),
    ],
)
def test_without_the_library_the_log_names_the_extra_and_the_service_goes_on(
    missing: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def imported(name: str) -> Any:
        if name == missing:
            raise ModuleNotFoundError(name=name)
        return __import__(name, fromlist=["_"])

    monkeypatch.setattr("kds.brain.installation.importlib.import_module", imported)
    monkeypatch.setattr(module, "entry_points", lambda **_: ())
    told: list[str] = []
    assert Traces.wanted(told.append, {"OTEL_TRACES_EXPORTER": "otlp"}) is None
    (line,) = told
    assert line.startswith("warning: there are no traces: ")
    assert said in line


def test_an_exporter_that_is_not_there_is_named() -> None:
    told: list[str] = []
    assert Traces.wanted(told.append, {"OTEL_TRACES_EXPORTER": "jaeger"}) is None
    assert "no exporter 'jaeger' is installed" in told[0]
