"""The memory on a server does what every memory does."""

from conformance import StoreConformance


class TestPostgresStore(StoreConformance):
    """The whole suite, for the server."""
