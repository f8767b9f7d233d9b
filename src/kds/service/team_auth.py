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
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kds.brain.errors import KdsError, OutageError
from kds.brain.installation import load_extra
from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import require
from kds.brain.store.team import Person, is_token, person_of
from kds.service.errors import ForbiddenError, NotServedError, UnauthorizedError
from kds.service.requests import PERSON, WORKSPACE, error_response
from kds.service.security import bearer

BELIEVED_S: Final = 10.0
"""Seconds for which a token that was looked up is believed: revoking one takes as long. While the
database is away, those known before are believed on."""

KNOWN: Final = 10_000  # tokens that are kept

READY_S: Final = 0.5
"""Seconds for which it is believed that the database answers: balancers ask as often."""

OPEN: Final = re.compile(
    r"/(?:route|context|query|prompts|sessions(?:/.*)?|documents"
    r"|calls/.*|api/memory/(?:consent|metrics)|openapi\.json|whoami)"
)
"""What there is for others: nothing that takes a path, a hook's transcript or an address."""

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: a turn takes 10 to 60 ms, and nothing may take longer than the limit of 5 s."""

Tell = Callable[[Mapping[str, object]], None]


class Passes:
    """Tells whose a token is. Guesses wait for one another, people who are known not for them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: OrderedDict[str, tuple[Person, float]] = OrderedDict()
        self._asking, self._renewing, self._looking = (asyncio.Lock() for _ in range(3))
        self._ready, self._ready_until = False, 0.0

    async def find(self, token: str) -> Person | None:
        """Return whose token it is; None: nobody's. Raises OutageError when nobody can tell."""
        known, until = self._known.get(token, (None, 0.0))
        if time.monotonic() < until or not is_token(token):
            return known
        async with self._renewing if known else self._asking:
            if (found := self._known.get(token)) and time.monotonic() < found[1]:
                return found[0]  # asked for by another request meanwhile
            try:
                person = await asyncio.to_thread(person_of, self._server, token)
            except OutageError:
                if known is None:
                    raise
                return known
            self._known.pop(token, None)
            if person is not None:
                self._known[token] = person, time.monotonic() + BELIEVED_S
            if len(self._known) > KNOWN:
                self._known.popitem(last=False)
            return person

    async def reachable(self) -> bool:
        """Tell whether the database answers, and has the tables that this KDS needs."""
        async with self._looking:
            if time.monotonic() >= self._ready_until:
                try:
                    await asyncio.to_thread(require, self._server)
                    self._ready = True
                except KdsError:
                    self._ready = False
                self._ready_until = time.monotonic() + READY_S
            return self._ready


class TeamAuth:
    """ASGI layer of a shared listener: a person's token, then what there is for others."""

    def __init__(
        self, app: ASGIApp, server: Server, root: str, tell: Tell, *, project: str = ""
    ) -> None:
        """``root`` is the workspace whose rules and prompts everybody uses.

        ``tell`` is told of every request: its kind, how it ended, whose it was. Never a text.
        Raises KdsError when Prometheus' library is not installed.
        """
        self.draining = False
        """Whether the service is about to end: the balancer shall send nothing more."""
        self._passes = Passes(server)
        self._app, self._root, self._tell, self._project = app, root, tell, project
        self._prometheus: Any = load_extra(
            "prometheus_client", extra="postgres", purpose="count requests"
        )
        self._registry = self._prometheus.CollectorRegistry()
        self._seconds = self._prometheus.Histogram(
            "kds_request_seconds", "Time from a request to the end of its answer.",
            ("operation", "status"), buckets=BUCKETS, registry=self._registry,
        )  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or note the person and pass the request on."""
        begun, status, last = time.perf_counter(), 500, self.draining

        async def noted(event: Message) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
                if last:
                    event["headers"] = [*event.get("headers", ()), (b"connection", b"close")]
            await send(event)

        try:
            answer = await self._reply(scope)
        except KdsError as error:
            answer = error_response(error, owner=False)
        try:
            await (answer or self._app)(scope, receive, noted)
        finally:
            self._count(scope, status, time.perf_counter() - begun)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        path, person = scope["path"], scope.get(PERSON)
        operation = path.split("/")[1] if OPEN.fullmatch(path) else "other"
        self._seconds.labels(operation, str(status)).observe(seconds)
        told = {"operation": operation, "method": scope["method"], "status": status}
        who = {"organisation": person.organisation, "person": person.name} if person else {}
        self._tell({**told, "ms": round(seconds * 1000, 1), **who})

    async def _reply(self, scope: Scope) -> Response | None:
        """What is answered here; None: the request goes on to the app. Raises KdsError."""
        path = scope["path"]
        if path == "/livez":
            return PlainTextResponse("ok\n")
        if path == "/readyz":
            ready = not self.draining and await self._passes.reachable()
            return PlainTextResponse("ok\n" if ready else "not ready\n", 200 if ready else 503)
        person = await self._passes.find(bearer(Headers(scope=scope)))
        if person is None:
            raise UnauthorizedError(
                "no valid token",
                where="Authorization",
                hint="send `Authorization: Bearer TOKEN`; `kds team add` makes one",
            )
        if path == "/metrics":
            if person.role != "admin":
                raise ForbiddenError("only an admin may see the figures", where=path)
            text = self._prometheus.generate_latest(self._registry)
            return Response(text, media_type=self._prometheus.CONTENT_TYPE_LATEST)
        if path == "/whoami":
            told = {"organisation": person.organisation, "person": person.name}
            return JSONResponse({**told, "role": person.role, "project": self._project})
        if not OPEN.fullmatch(path):
            raise NotServedError("a shared service does not have this", where=path)
        scope[PERSON], scope[WORKSPACE] = person, self._root
        return None
