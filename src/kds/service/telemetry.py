"""What the service says of itself: /healthz, figures for Prometheus, traces for OpenTelemetry.

None of it ever holds a text, a name, a token, an id or a query. Traces are opt-in: without the
variables of OpenTelemetry nothing is imported, and nothing leaves this machine.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from threading import Thread
from typing import Any, Final, Literal

from starlette.datastructures import Headers

from kds.brain.clock import WATCH, utc_now
from kds.brain.errors import KdsError
from kds.brain.installation import kds_version, load_extra
from kds.service.layers import AsgiApp, Event, Receive, Scope, Send, at_start
from kds.service.models import Reply
from kds.service.workspaces import Reload, ServedWorkspace, is_same

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: a turn takes 10 to 60 ms, and nothing may take longer than the limit of 5 s."""

COLLECTOR: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
EXPORTER: Final = "OTEL_TRACES_EXPORTER"

QUIET: Final = frozenset({"/livez", "/readyz", "/healthz", "/metrics"})
"""Asked by machines, again and again: no span is made."""

METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

CLOSE_S: Final = 2.0
"""For the last spans to be sent: a collector that hangs must not hold up the end of a service."""

_MEMORY: Final = Path("/proc/self/statm")
_load: Final = partial(load_extra, extra="otel", purpose="send traces")


class WorkspaceReply(Reply):
    """One served workspace."""

    root: str
    turns: int
    reload: Reload
    settings_error: str | None
    """Set while changed settings are wrong: those before stay in use."""
    warnings: list[str]


class HealthReply(Reply):
    """The service itself."""

    status: Literal["ok", "degraded"]
    """degraded: a changed file is wrong, and its earlier content stays in use."""
    version: str
    pid: int
    started_at: datetime
    uptime_s: float
    rss_bytes: int | None
    """Resident memory; null where the system does not tell."""
    turns: int
    workspaces: list[WorkspaceReply]


class Vitals:
    """The process: its version, age and memory."""

    def __init__(self) -> None:
        self.version = kds_version()
        self.pid = os.getpid()
        self.started_at = utc_now()
        self._started = time.monotonic()

    def uptime_s(self) -> float:
        """Seconds since the service began."""
        return round(time.monotonic() - self._started, 3)

    def report(
        self, workspaces: Iterable[ServedWorkspace], *, named: str | None = None
    ) -> HealthReply:
        """The reply of /healthz; the status is that of the ``named`` workspace, if any."""
        each = list(workspaces)
        asked = [one for one in each if named is None or is_same(one.root, named)]
        return HealthReply(
            status="degraded" if any(one.degraded for one in asked) else "ok",
            version=self.version,
            pid=self.pid,
            started_at=self.started_at,
            uptime_s=self.uptime_s(),
            rss_bytes=resident_bytes(),
            turns=sum(one.turns for one in each),
            workspaces=[WorkspaceReply.model_validate(one) for one in each],
        )


def resident_bytes() -> int | None:
    """Memory that the process occupies now; None where the system does not say it simply."""
    try:
        pages = int(_MEMORY.read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") if sys.platform != "win32" else None


class Figures:
    """Counts and times of the requests to a shared service, for Prometheus."""

    def __init__(self, uptime_s: Callable[[], float]) -> None:
        """Raises KdsError when the library is not installed."""
        library: Any = load_extra("prometheus_client", extra="postgres", purpose="count requests")
        registry = library.CollectorRegistry()
        about = "Time from a request to the end of its answer."
        self._requests = library.Histogram(
            "kds_request_seconds", about, ("operation", "status"), buckets=BUCKETS,
            registry=registry,
        )  # fmt: skip
        uptime = library.Gauge("kds_uptime_seconds", "Since the service began.", registry=registry)
        uptime.set_function(uptime_s)
        self.text: Callable[[], bytes] = partial(library.generate_latest, registry)
        self.media_type: str = library.CONTENT_TYPE_LATEST

    def note(self, operation: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(operation, str(status)).observe(seconds)


class Traces:
    """A span for every request of one service, and one for each step of its turn."""

    def __init__(self, exporters: Iterable[Any], environ: Mapping[str, str] = os.environ) -> None:
        """Send them by ``exporters``, in the background. Raises KdsError without the library."""
        sdk = _load("opentelemetry.sdk.trace")
        export = _load("opentelemetry.sdk.trace.export")
        resources = _load("opentelemetry.sdk.resources")
        name = environ.get("OTEL_SERVICE_NAME") or "kds"
        what = {"service.name": name, "service.version": kds_version()}
        resource = resources.Resource.create(what)
        self._provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        for exporter in exporters:
            self._provider.add_span_processor(export.BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("kds")
        self._api: Any = _load("opentelemetry.trace")
        context = _load("opentelemetry.trace.propagation.tracecontext")
        self._callers: Any = context.TraceContextTextMapPropagator()

    @classmethod
    def wanted(
        cls, log: Callable[[str], None], environ: Mapping[str, str] = os.environ
    ) -> "Traces | None":
        """Begin where the variables ask for it; what is wrong with them is logged."""
        names = exporters_named(environ)
        if not names:
            return None
        try:
            return cls(map(_exporter, names), environ)
        except (KdsError, ValueError) as error:
            log(f"warning: there are no traces: {' '.join(str(error).split())}")
            return None

    def around(self, app: AsgiApp) -> AsgiApp:
        """Return ``app`` with a span around each request."""

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"] in QUIET:
                return await app(scope, receive, send)
            with self._request(scope) as span:
                await app(scope, receive, at_start(send, partial(self._note_status, span)))

        return traced

    def close(self) -> None:
        """Send what there is, unless that takes too long."""
        sending = Thread(target=self._provider.shutdown, name="kds-traces", daemon=True)
        sending.start()
        sending.join(CLOSE_S)

    @contextmanager
    def _request(self, scope: Scope) -> Iterator[Any]:
        carried = {
            name: value for name, value in Headers(scope=scope).items()
            if name in ("traceparent", "tracestate")
        }  # fmt: skip
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        with self._span(
            method, context=self._callers.extract(carried), kind=self._api.SpanKind.SERVER
        ) as span:
            span.set_attribute("http.request.method", method)
            token = WATCH.set(self._span)
            try:
                yield span
            finally:
                WATCH.reset(token)
                if (route := getattr(scope.get("route"), "path", None)) is not None:
                    span.update_name(f"{method} {route}")
                    span.set_attribute("http.route", route)

    def _note_status(self, span: Any, begun: Event) -> None:
        span.set_attribute("http.response.status_code", begun["status"])
        if begun["status"] >= 500:
            span.set_status(self._api.StatusCode.ERROR)

    def _span(self, name: str, **how: Any) -> Any:
        # An exception's text may quote a message.
        return self._tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False, **how
        )


def exporters_named(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the exporters that OpenTelemetry's variables name.

    >>> exporters_named({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
    ('otlp',)
    >>> exporters_named({"OTEL_TRACES_EXPORTER": "none"}), exporters_named({})
    ((), ())
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    named = environ.get(EXPORTER, "").strip()
    if not named and any(environ.get(name, "").strip() for name in COLLECTOR):
        named = "otlp"
    return tuple(one.strip() for one in named.split(",") if one.strip() not in ("", "none"))


def _exporter(name: str) -> Any:
    """Make the exporter that a package registered under a name. Raises KdsError for none."""
    wanted = "otlp_proto_http" if name == "otlp" else name
    for one in entry_points(group="opentelemetry_traces_exporter", name=wanted):
        return one.load()()
    _load("opentelemetry.exporter.otlp.proto.http")
    raise KdsError(
        f"no exporter '{name}' is installed", where=EXPORTER, hint="use otlp, console or none"
    )
