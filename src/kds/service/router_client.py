"""Routing for a surface: by the running service of the workspace, else in this very process."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, Unpack

from kds.brain.clock import Clock, utc_now
from kds.brain.environment import switch, variables_set
from kds.brain.errors import KdsError
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace, own_settings_path
from kds.service.freshness import Installation
from kds.service.service_client import (
    SWITCHED_OFF,
    How,
    ServiceClient,
    ServiceDeclinedError,
    ServiceUnavailableError,
    reach,
)

if TYPE_CHECKING:  # the router and the memory: a client of a service needs neither
    from kds.api.conversations import Conversations
    from kds.api.turn_log import TurnRecord

INSTALLATION: Final = Installation()
"""What this process was started from."""

LOADING: Final = "loading rules, prompts and the intent model"

Tell = Callable[[str], None]
Watch = Callable[[str], AbstractContextManager[object]]
"""Is told what may take a while, for as long as it does."""


class RouterClient:
    """Asks the service at each call, and does the work here when there is none."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        turns: "TurnRecord | None" = None,
        clock: Clock = utc_now,
        tell: Tell = lambda _: None,
        watch: Watch = lambda _: nullcontext(),
    ) -> None:
        """``turns`` stands in for the memory of the workspace, ``tell`` hears warnings.

        With a ``clock`` of the caller's own no service is asked: it goes by the time of day.
        """
        self._workspace = workspace
        self._turns = turns
        self._clock = clock
        self._tell = tell
        self._watch = watch
        self._own: Conversations | None = None
        self.alone = False
        """Whether a message found no service that might have answered it."""

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``; see `kds.api.conversations.Conversations.route`.

        What cannot be remembered is refused before anything is loaded.
        """
        if (client := self.find()) is not None:
            turns, conversation = self._turns, how.get("conversation")
            known = None if turns is None else list(turns.known(conversation)())
            try:
                with self._watch("waiting for the service"):
                    return client.route(message, known=known, tell=self._tell, **how)
            except ServiceUnavailableError:
                self.alone = True  # the next command finds a new one
            except ServiceDeclinedError as error:
                if error.where != SWITCHED_OFF:  # the user did that
                    self._tell(f"{error.message}; routing without it")
        if how.get("log", True):
            self._workspace.check()  # before all is loaded, which takes seconds
        with self._watch(LOADING if self._own is None else "routing"):
            return self.own().route(message, **how)

    def own(self) -> "Conversations":
        """What routes in this process; loaded when it is first needed.

        Raises ConfigError when rules, prompts or settings do not load, KdsError when KDS was
        updated meanwhile: its files are not those of the code that runs here.
        """
        if self._own is None:
            if INSTALLATION.is_replaced():
                raise KdsError(
                    "KDS was updated while this program was running",
                    hint="start it again, or start the service that it asks: kds service start",
                )
            from kds.api.conversations import Conversations  # 1.2 s of CPU

            files = (self._workspace.settings_path, own_settings_path())
            if variables_set(os.environ) or any(path.exists() for path in files):
                from kds.brain.settings import load_settings  # 0.3 s of CPU

                load_settings(self._workspace)
            self._own = Conversations.open(self._workspace, clock=self._clock, turns=self._turns)
            for warning in self._own.warnings:
                self._tell(warning)
        return self._own

    def find(self) -> ServiceClient | None:
        """The service, where one runs that is to be asked."""
        if switch("KDS_SERVICE") is False or self._clock is not utc_now:
            return None
        client = reach(self._workspace)
        self.alone = client is None
        return client
