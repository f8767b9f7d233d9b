"""Who may ask a service that many people share, behind a load balancer; figures for Prometheus.

Each request has a token of `kds.brain.store.team`; what it sees and stores is that person's.
What reads files or opens pages of this machine is not there for others. ``/livez`` and ``/readyz``
ask for no token and tell nothing but yes or no; ``/metrics`` is for admins.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response

from kds.brain.errors import KdsError, OutageError
from kds.brain.installation import load_extra
from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import require
from kds.brain.store.team import Person, person_of
from kds.service.errors import error_response
from kds.service.security import (
    PERSON,
    WORKSPACE,
    AsgiApp,
    Event,
    Receive,
    Scope,
    Send,
    at_start,
    bearer,
)

BELIEVED_S: Final = 10.0
"""Seconds for which a token that was looked up is believed: revoking one takes as long. While the
database is away, those known before are believed on."""

KNOWN: Final = 10_000
"""Tokens whose person is kept; a stranger's guesses do not evict those in use."""

LONGEST: Final = 128
"""Characters of a token; ours have 47. Longer guesses are neither looked up nor remembered."""

OPEN: Final = re.compile(
    r"/(?:route|context|query|prompts(?:/.*)?|sessions(?:/.*)?|api/memory/(?:consent|metrics)"
    r"|openapi\.json)"
)
"""What there is for others: nothing that takes a path, a hook's transcript or an address."""

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: a turn takes 10 to 60 ms, and nothing may take longer than the limit of 5 s."""

Tell = Callable[[Mapping[str, object]], None]


def tell_nobody(_: Mapping[str, object]) -> None:
    """Requests are told of to nobody."""


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


class Passes:
    """Tells whose a token is, and asks the database as seldom as can be."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: OrderedDict[str, tuple[Person | None, float]] = OrderedDict()

    async def find(self, token: str) -> Person | None:
        """Return whose token it is; None: nobody's. Raises OutageError when nobody can tell."""
        if not 0 < len(token) <= LONGEST:
            return None
        known = self._known.get(token)
        if known is not None and time.monotonic() < known[1]:
            return known[0]
        try:
            person = await asyncio.to_thread(person_of, self._server, token)
        except OutageError:
            if known is None or known[0] is None:
                raise
            return known[0]
        self._known[token] = person, time.monotonic() + BELIEVED_S
        self._known.move_to_end(token)
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return person

    async def reachable(self) -> bool:
        """Tell whether the database answers, and has the tables that this KDS needs."""
        try:
            await asyncio.to_thread(require, self._server)
        except KdsError:
            return False
        return True


class TeamAuth:
    """ASGI layer of a shared listener: a person's token, then what there is for others."""

    def __init__(
        self, app: AsgiApp, passes: Passes, root: str, figures: Figures, tell: Tell = tell_nobody
    ) -> None:
        """``root`` is the workspace whose rules and prompts everybody uses.

        ``tell`` is told of every request: its kind, how it ended, whose it was. Never a text.
        """
        self._app = app
        self._passes = passes
        self._root = root
        self._figures = figures
        self._tell = tell
        self.draining = False
        """Whether the service is about to end: the balancer shall send nothing more."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or note the person and pass the request on."""
        begun = time.perf_counter()
        status, last = 500, self.draining

        def note(answer: Event) -> None:
            nonlocal status
            status = answer["status"]
            if last:
                answer["headers"] = [*answer.get("headers", ()), (b"connection", b"close")]

        answers = await self._reply(scope) or self._app
        await answers(scope, receive, at_start(send, note))
        known = OPEN.fullmatch(scope["path"]) is not None
        operation = scope["path"].split("/")[1] if known else "other"
        seconds = time.perf_counter() - begun
        self._figures.note(operation, status, seconds)
        person: Person | None = scope.get(PERSON)
        self._tell(
            {
                "operation": operation,
                "method": scope["method"],
                "status": status,
                "ms": round(seconds * 1000, 1),
                "organisation": person.organisation if person else None,
                "person": person.name if person else None,
            }
        )

    async def reachable(self) -> bool:
        """Tell whether there is a database that services can work with."""
        return await self._passes.reachable()

    async def _reply(self, scope: Scope) -> Response | None:
        """What is answered here; None: the request goes on to the app."""
        path = scope["path"]
        if path == "/livez":
            return PlainTextResponse("ok\n")
        if path == "/readyz":
            ready = not self.draining and await self.reachable()
            return PlainTextResponse("ok\n" if ready else "not ready\n", 200 if ready else 503)
        try:
            person = await self._passes.find(bearer(Headers(scope=scope)))
        except OutageError as error:
            return error_response(
                503, error.message, hint="try again", headers={"Retry-After": "1"}
            )
        if person is None:
            return error_response(
                401, "no valid token", where="Authorization",
                hint="send `Authorization: Bearer TOKEN`; `kds team add` makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )  # fmt: skip
        if path == "/metrics":
            return self._metrics(person)
        if not OPEN.fullmatch(path):
            return error_response(404, "a shared service does not have this", where=path)
        scope[PERSON], scope[WORKSPACE] = person, self._root
        return None

    def _metrics(self, person: Person) -> Response:
        if person.role != "admin":
            return error_response(403, "only an admin may see the figures", where="/metrics")
        return Response(self._figures.text(), media_type=self._figures.media_type)
