"""The figures of a shared service, as Prometheus reads them: never a text, never a name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kds.brain.installation import load_extra

if TYPE_CHECKING:
    import prometheus_client

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: a turn takes 10 to 60 ms, and nothing may take longer than the limit of 5 s."""


class Figures:
    """Counts and times of requests, and how long the service runs."""

    def __init__(self, uptime_s: Callable[[], float]) -> None:
        """Raises KdsError when the library is not installed."""
        self._library: Any = load_extra(
            "prometheus_client", extra="postgres", purpose="count requests"
        )
        self._registry: prometheus_client.CollectorRegistry = self._library.CollectorRegistry()
        self._requests: prometheus_client.Histogram = self._library.Histogram(
            "kds_request_seconds",
            "Time from a request to the end of its answer.",
            ("operation", "status"),
            buckets=BUCKETS,
            registry=self._registry,
        )
        uptime: prometheus_client.Gauge = self._library.Gauge(
            "kds_uptime_seconds", "Since the service began.", registry=self._registry
        )
        uptime.set_function(uptime_s)
        self.media_type: str = self._library.CONTENT_TYPE_LATEST

    def note(self, operation: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(operation, str(status)).observe(seconds)

    def text(self) -> bytes:
        """Return all of it in the text format."""
        written: bytes = self._library.generate_latest(self._registry)
        return written
