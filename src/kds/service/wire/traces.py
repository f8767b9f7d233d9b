"""OpenTelemetry: a span for every request, and one for each step of its turn. Opt-in.

On where the variables of OpenTelemetry say so, which name the collector as well: else nothing is
imported, and nothing leaves this machine. A span has the method, the route as /openapi.json spells
it, the status and times. Never a text, a name, a token, an id or a query.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import entry_points
from threading import Thread
from typing import Any, Final

from starlette.datastructures import Headers

from kds.brain.errors import KdsError
from kds.brain.installation import kds_version, load_extra
from kds.brain.stages import WATCH
from kds.service.wire.errors import AsgiApp, Event, Receive, Scope, Send, at_start

COLLECTOR: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
EXPORTER: Final = "OTEL_TRACES_EXPORTER"
PURPOSE: Final = "send traces"

QUIET: Final = frozenset({"/livez", "/readyz", "/healthz", "/metrics"})
"""Asked by machines, again and again."""

METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

CLOSE_S: Final = 2.0
"""For the last spans to be sent: a collector that hangs must not hold up the end of a service."""

_CONTEXT: Final = ("traceparent", "tracestate")
"""What a caller may send to have its own span around ours."""


class Traces:
    """The spans of one service."""

    def __init__(self, exporters: Iterable[Any], environ: Mapping[str, str] = os.environ) -> None:
        """Send them by ``exporters``, in the background. Raises KdsError without the library."""
        sdk = load_extra("opentelemetry.sdk.trace", extra="otel", purpose=PURPOSE)
        export = load_extra("opentelemetry.sdk.trace.export", extra="otel", purpose=PURPOSE)
        resources = load_extra("opentelemetry.sdk.resources", extra="otel", purpose=PURPOSE)
        name = environ.get("OTEL_SERVICE_NAME") or "kds"
        what = {"service.name": name, "service.version": kds_version()}
        resource = resources.Resource.create(what)
        self._provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        for exporter in exporters:
            self._provider.add_span_processor(export.BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("kds")
        self._api: Any = load_extra("opentelemetry.trace", extra="otel", purpose=PURPOSE)
        self._callers: Any = load_extra(
            "opentelemetry.trace.propagation.tracecontext", extra="otel", purpose=PURPOSE
        ).TraceContextTextMapPropagator()

    @classmethod
    def wanted(
        cls, log: Callable[[str], None], environ: Mapping[str, str] = os.environ
    ) -> "Traces | None":
        """Begin where the variables ask for it; what is wrong with them is logged."""
        names = asked_for(environ)
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
                note = partial(self._note_status, span)
                await app(scope, receive, at_start(send, note))

        return traced

    def close(self) -> None:
        """Send what there is, unless that takes too long."""
        sending = Thread(target=self._provider.shutdown, name="kds-traces", daemon=True)
        sending.start()
        sending.join(CLOSE_S)

    @contextmanager
    def _request(self, scope: Scope) -> Iterator[Any]:
        """A span around a request, with the steps of its turn in it."""
        headers = Headers(scope=scope)
        carried = {name: headers[name] for name in _CONTEXT if name in headers}
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
        status = begun["status"]
        span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(self._api.StatusCode.ERROR)

    def _span(self, name: str, **how: Any) -> Any:
        # An exception's text may quote a message.
        return self._tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False, **how
        )


def asked_for(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the exporters that OpenTelemetry's variables name.

    >>> asked_for({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
    ('otlp',)
    >>> asked_for({"OTEL_TRACES_EXPORTER": "none"}), asked_for({})
    ((), ())
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    named = environ.get(EXPORTER, "").strip()
    if not named and any(environ.get(name, "").strip() for name in COLLECTOR):
        named = "otlp"
    return tuple(one.strip() for one in named.split(",") if one.strip() not in ("", "none"))


def _exporter(name: str) -> Any:
    """Make what a package has registered under a name. Raises KdsError when none has."""
    wanted = "otlp_proto_http" if name == "otlp" else name
    for one in entry_points(group="opentelemetry_traces_exporter", name=wanted):
        return one.load()()
    load_extra("opentelemetry.exporter.otlp.proto.http", extra="otel", purpose=PURPOSE)
    raise KdsError(
        f"no exporter '{name}' is installed", where=EXPORTER, hint="use otlp, console or none"
    )
