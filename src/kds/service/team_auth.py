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
from kds.brain.store.team import Person, is_token, persons_of
from kds.service.errors import ForbiddenError, NotServedError, UnauthorizedError
from kds.service.requests import PERSON, WORKSPACE, error_response
from kds.service.security import bearer

BELIEVED_S: Final = 10.0
"""Seconds for which a token that was looked up is believed: revoking one takes as long. While the
database is away, those known before are believed on."""

KNOWN: Final = 10_000
"""Tokens that are kept, wrong ones too: one that is sent again costs no transaction."""

ASK_S: Final = 0.05
"""Rest between two transactions that look tokens up: however many are guessed, there are no more
than twenty a second, and no thread more than one waits for them."""

READY_S: Final = 0.5
"""Seconds for which it is believed that the database answers: balancers ask as often."""

OPEN: Final = re.compile(
    r"/(?:route|context|query|prompts(?:/.*)?|sessions(?:/.*)?|documents(?:/.*)?|learned(?:/.*)?"
    r"|api/memory/(?:consent|metrics|profile|search)|openapi\.json|whoami)"
)
"""What there is for others: nothing that takes a path, a hook's transcript or an address."""

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: a turn takes 10 to 60 ms, and nothing may take longer than the limit of 5 s."""

Tell = Callable[[Mapping[str, object]], None]


class Passes:
    """Tells whose a token is, and asks the database as seldom as can be."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: OrderedDict[str, tuple[Person, float]] = OrderedDict()
        self._wrong: OrderedDict[str, float] = OrderedDict()
        self._asked: dict[str, asyncio.Future[Person | None]] = {}
        self._asking: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()
        self._ready, self._ready_until = False, 0.0

    async def find(self, token: str) -> Person | None:
        """Return whose token it is; None: nobody's. Raises OutageError when nobody can tell."""
        now = time.monotonic()
        known, until = self._known.get(token, (None, 0.0))
        if now < until or now < self._wrong.get(token, 0.0) or not is_token(token):
            return known
        try:
            person = await self._ask(token)
        except OutageError:
            if known is None:
                raise
            return known
        self._note(token, person, time.monotonic() + BELIEVED_S)
        return person

    def _note(self, token: str, person: Person | None, until: float) -> None:
        if person is None:
            self._known.pop(token, None)
            self._wrong[token] = until
        else:
            self._known[token] = person, until
            self._known.move_to_end(token)
        for tokens in (self._known, self._wrong):  # wrong ones push out no others
            if len(tokens) > KNOWN:
                tokens.popitem(last=False)

    async def _ask(self, token: str) -> Person | None:
        """Ask the database, together with all who wait."""
        asked = self._asked.setdefault(token, asyncio.get_running_loop().create_future())
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_all())
        return await asyncio.shield(asked)

    async def _ask_all(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, {}
            try:
                found = await asyncio.to_thread(persons_of, self._server, asked)
            except Exception as error:  # noqa: BLE001  # all that asked are told
                for one in asked.values():
                    one.set_exception(error)
            else:
                for token, one in asked.items():
                    one.set_result(found.get(token))
            await asyncio.sleep(ASK_S)
        self._asking = None

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
        self.passes = Passes(server)
        self.draining = False
        """Whether the service is about to end: the balancer shall send nothing more."""
        self._app = app
        self._root = root
        self._tell = tell
        self._project = project
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

    async def _reply(self, scope: Scope) -> Response | None:
        """What is answered here; None: the request goes on to the app. Raises KdsError."""
        path = scope["path"]
        if path == "/livez":
            return PlainTextResponse("ok\n")
        if path == "/readyz":
            ready = not self.draining and await self.passes.reachable()
            return PlainTextResponse("ok\n" if ready else "not ready\n", 200 if ready else 503)
        person = await self.passes.find(bearer(Headers(scope=scope)))
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
