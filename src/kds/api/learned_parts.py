"""What a tenant has learned, laid over the parts that a process shares.

A turn sees in the transaction of its context whether another service has learned something since
(`kds.brain.context.conversations`); only then is anything read anew, and nothing is fitted. What
the guard has yet to try is left out, and tried: here and now, or in the background of a service.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock, Thread
from typing import Final

from kds.api.workspace_parts import Parts
from kds.brain.context.conversations import Marks
from kds.brain.errors import KdsError
from kds.learning.learning_place import LearningPlace
from kds.learning.library import Tried, tried, with_learned

logger = logging.getLogger(__name__)

Later = Callable[[Callable[[], object]], None]
"""Sees to work that takes seconds."""

_ONE_AT_A_TIME: Final = Lock()
"""For the guard: each run is a core for three seconds, and some 100 MB."""


def at_once(work: Callable[[], object]) -> None:
    """Do it now: whoever asks waits, as for what was learned in files."""
    work()


def in_background(work: Callable[[], object]) -> None:
    """Do it on a thread of its own, one after the other: others have messages meanwhile."""

    def quietly() -> None:
        with _ONE_AT_A_TIME:
            try:
                work()
            except KdsError as error:
                logger.warning("what was learned has not been tried: %s", error)

    Thread(target=quietly, name="kds-guard", daemon=True).start()


class LearnedParts:
    """The parts of a workspace for one tenant, as of the last message. For any threads."""

    def __init__(
        self, base: Parts, *, environ: Mapping[str, str] = os.environ, later: Later = at_once
    ) -> None:
        """``base`` is without anything that a tenant learned; in files there is none of that."""
        self.now = base
        """What was known when it was last looked."""
        self._base = base
        self._environ = environ
        self._later = later
        self._marks: Marks | None = None
        self._lock = Lock()

    def at(self, marks: Marks | None) -> Parts:
        """Return the parts as they are at these marks; None: as they were, nobody knows more."""
        if marks is None or marks == self._marks:
            return self.now
        with self._lock:
            try:
                self.now = self._read()
                self._marks = marks
            except KdsError as error:  # what was learned so far still counts
                logger.warning("what was learned is not read anew: %s", error)
        return self.now

    def _read(self) -> Parts:
        place = LearningPlace.of(self._base.workspace, environ=self._environ)
        found = tried(self._base.library, place)
        if found.untried:
            self._later(self.try_out)
            found = tried(self._base.library, place)
        return _laid_over(self._base, found)

    def try_out(self) -> None:
        """Have the guard try what it has not seen, and keep what it finds: some seconds."""
        workspace = self._base.workspace
        with_learned(self._base.library, workspace, may_write=True, environ=self._environ)


def _laid_over(base: Parts, found: Tried) -> Parts:
    if found == Tried():
        return base
    return replace(
        base,
        model=base.model.with_own([(one.text, one.intent) for one in found.examples]),
        resolver=base.resolver.with_taught(found.references),
        warnings=(*base.warnings, *found.warnings),
    )
