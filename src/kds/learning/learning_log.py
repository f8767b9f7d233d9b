"""Records what routed turns say about intents, for `kds.learning.teaching`. Never stops a turn.

A turn that says nothing, nearly every one, costs a look at its words; no file is made, and not
even the settings are read. docs/learning.md has the figures.
"""

import logging
import os
from collections.abc import Callable, Mapping
from functools import cached_property

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import KdsError
from kds.brain.learning.event import LearningEvent
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.learning.signs import IntentNames, choice_in, sign_in
from kds.learning.teaching import Learning
from kds.router.prompts.library import PromptLibrary

logger = logging.getLogger(__name__)


class LearningLog:
    """What the conversations of one workspace teach, for any number of threads."""

    def __init__(
        self,
        workspace: Workspace,
        library: PromptLibrary,
        *,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._workspace = workspace
        self._library = library
        self._clock = clock
        self._environ = environ

    def note(self, turn: Turn, conversation: str | None = None) -> LearningEvent | None:
        """Record what the turn says about the one before; what goes wrong is logged.

        Returns that, None when it says nothing, or the same was said before.
        """
        return self._record(lambda: sign_in(turn, self._names, conversation))

    def chosen(self, asked: Turn, intent: str, conversation: str | None = None) -> None:
        """Record that the user chose ``intent`` in a form that asked about a message."""
        self._record(lambda: choice_in(asked, intent, conversation))

    def _record(self, look: Callable[[], LearningEvent | None]) -> LearningEvent | None:
        try:
            event = look()
            if event is not None and self._learning.enabled and self._learning.note(event):
                return event
        except (KdsError, OSError) as error:
            logger.warning("nothing was learned from the turn: %s", error)
        return None

    @cached_property
    def _learning(self) -> Learning:
        return Learning(self._workspace, clock=self._clock, environ=self._environ)

    @cached_property
    def _names(self) -> IntentNames:
        return IntentNames(self._library)
