"""The conversations that are open in the page: one session each, however many tabs show it.

An answer goes on without a listener: a thread of its own reads it, and every tab that shows the
conversation reads what there is of it. So a tab may be closed or opened in the middle of it.
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from time import perf_counter
from typing import Final, Unpack

from kds.activation import Entry
from kds.agents.agent import Agent
from kds.api.conversations import Records
from kds.brain.errors import KdsError
from kds.brain.turn import Turn
from kds.service.errors import describe_fault
from kds.service.requests import RouteRequest
from kds.service.routes.turns import routed
from kds.service.service_client import How, route_request
from kds.service.workspaces import ServedWorkspace
from kds.session.exchange import Answer, Exchange
from kds.session.memory import SessionMemory
from kds.session.session import Routes, Session

MOST_TALKS: Final = 32
"""Conversations that stay open; each holds its file open, and the oldest goes first."""

LOOK_S: Final = 0.05
"""How often it is looked whether more of an answer has come: twenty times a second reads as
typing."""

RESTS: Final = 4
"""How much longer an answer on its way is left alone than it took to make up what there is of it
and to send it to every tab: each time all of it becomes HTML anew, and hooks have to be served."""

LONGEST_REST_S: Final = 2.0
"""And no longer than this, whatever else the machine did in between."""

AT_ONCE_S: Final = 0.25
"""How long is waited for an answer that needs no model, so that it comes in one piece. A model is
never that quick, and the turn is to show as soon as it is known."""


class Telling:
    """An answer on its way. Looked at from the event loop, told in a thread."""

    def __init__(self, exchange: Exchange) -> None:
        self.id = uuid.uuid4().hex
        self.said = ""
        """What has come of it."""
        self.answer: Answer | None = None
        """The whole of it, when it is over."""
        self.error: KdsError | None = None
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._making = asyncio.Lock()
        self._told = self._shown = ""
        self._begun = 0.0
        Thread(target=self._run, args=[exchange], name="kds-telling", daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether nothing more comes."""
        return self._ended.is_set()

    async def wait(self, limit_s: float) -> bool:
        """Wait until it is over, or ``limit_s`` have passed; whether it is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._ended.wait()
        return self.over

    async def pieces(self, make: Callable[[str], str]) -> AsyncIterator[str]:
        """Yield what ``make`` makes of all that has come, whenever there is more of it.

        It is made up once for all who look, off the event loop.
        """
        shown = ""
        while not self.over:
            async with self._making:
                if shown == self._shown:
                    await self._make(make)
            if shown != self._shown:
                yield (shown := self._shown)

    async def _make(self, make: Callable[[str], str]) -> None:
        """Make up what has come once there is more of it, after a rest from the time before."""
        busy = perf_counter() - self._begun if self._told else 0.0  # with the sending to every tab
        await self.wait(min(max(LOOK_S, RESTS * busy), LONGEST_REST_S))
        while self.said == self._told and not await self.wait(LOOK_S):
            pass
        if not self.over:
            self._begun, self._told = perf_counter(), self.said
            self._shown = await asyncio.to_thread(make, self._told)

    def _run(self, exchange: Exchange) -> None:
        try:
            for piece in exchange.pieces():
                if isinstance(piece, Answer):
                    self.answer = piece
                else:
                    self.said += piece
        except KdsError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001  # the page says it; the service goes on
            self.error = KdsError(f"internal error: {describe_fault(error)}")
        finally:
            with suppress(RuntimeError):  # the service has ended meanwhile
                self._loop.call_soon_threadsafe(self._ended.set)


@dataclass(slots=True)
class Talk:
    """An open conversation."""

    session: Session
    made_of: tuple[object, object]
    """The prompts and the model's settings that it was opened with: either may change."""
    telling: Telling | None = None
    """The last answer, which may be on its way."""
    latest: Turn | None = None
    """What the router made of the last message, of those that this service has heard."""
    fits: Entry | None = None
    """The skill, agent, command or prompt file that the last message calls for."""
    ran: tuple[Agent, str] | None = None
    """Who has answered by such a file, and its text."""

    def begin(self, exchange: Exchange) -> Telling:
        """Have an exchange answered."""
        self.fits = self.ran = None
        self.latest, self.telling = exchange.plan.turn, Telling(exchange)
        return self.telling

    @property
    def at_once_s(self) -> float:
        """How long the answer is waited for before the turn is shown."""
        asked = self.latest is not None and self.latest.action == "route"
        return 0.0 if asked and self.session.model else AT_ONCE_S

    @property
    def running(self) -> bool:
        """Whether an answer is on its way."""
        return self.telling is not None and not self.telling.over


class Talks:
    """Every open conversation of a service. Used from the event loop; sessions from threads."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, str | None], Talk] = OrderedDict()
        self._opening = asyncio.Lock()

    async def find(self, served: ServedWorkspace, session: str | None) -> Talk:
        """The conversation with this id; None: that of the workspace. Raises KdsError."""
        key = (served.root, session)
        async with self._opening:
            talk = self._open.get(key)
            made_of = served.conversations, served.memory.config.settings.model
            if talk is None or (talk.made_of != made_of and not talk.running):
                opened = await self._opened(served, session)
                if talk is not None:
                    await asyncio.to_thread(talk.session.close)
                    talk.session, talk.made_of = opened, made_of
                self._open[key] = talk = talk or Talk(opened, made_of)
            self._open.move_to_end(key)
            idle = [key for key, one in self._open.items() if not one.running]
            for old in idle[: max(0, len(self._open) - MOST_TALKS)]:
                await asyncio.to_thread(self._open.pop(old).session.close)
        return talk

    def told(self, telling: str) -> tuple[Talk, Telling] | None:
        """The answer with this id, and its conversation; None when nobody knows it any more."""
        both = ((talk, talk.telling) for talk in self._open.values() if talk.telling)
        return next(((talk, one) for talk, one in both if one.id == telling), None)

    async def close(self, served: ServedWorkspace, session: str) -> None:
        """Let go of a conversation that is to be erased."""
        talk = self._open.pop((served.root, session), None)
        if talk is not None:
            await asyncio.to_thread(talk.session.close)

    def stop(self) -> None:
        """Halt every answer: the service ends."""
        for talk in self._open.values():
            Thread(target=talk.session.close, name="kds-halting", daemon=True).start()

    async def _opened(self, served: ServedWorkspace, session: str | None) -> Session:
        library, loop = served.conversations.library, asyncio.get_running_loop()

        def routed(memory: SessionMemory) -> tuple[Records, Routes]:
            records = Records(served.workspace, library, served.conversations.contexts, memory)
            return records, ServedRouterClient(served, loop, memory.known)

        return await asyncio.to_thread(
            lambda: Session.open(served.workspace, name=session, routed=routed)
        )


@dataclass(frozen=True, slots=True)
class ServedRouterClient:
    """Routes for a session in the process of the service, on the thread that routes.

    Called from other threads than that of the event loop.
    """

    served: ServedWorkspace
    loop: asyncio.AbstractEventLoop
    known: Callable[[str | None], Sequence[str]]
    alone = False

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``, as `POST /route` does."""
        known = self.known(how.get("conversation"))
        request = RouteRequest.model_validate(route_request(message, known, how))
        turn = routed(self.served, request)
        return asyncio.run_coroutine_threadsafe(turn, self.loop).result()
