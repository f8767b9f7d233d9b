"""What a model answered when it was asked to rewrite, kept for when it would be asked again."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Final

KEPT: Final = 512
"""Answers that are kept: a message asked about again in the same place costs nothing."""

Key = tuple[object, ...]
"""All that an answer depends on: model and prompt, message, the rules' expansion, history."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The outcome of one question to the model: its answer, or why there is none."""

    answer: str | None
    ms: float = 0.0
    reason: str | None = None
    note: str = ""


class Answers:
    """Answers by key, the least recently used dropped first. For any threads.

    What was asked ahead of its turn is beside them, to be taken once: failures too.
    """

    def __init__(self, *, limit: int = KEPT) -> None:
        self._limit = limit
        self._lock = Lock()
        self._kept: OrderedDict[Key, str] = OrderedDict()
        self._ahead: OrderedDict[Key, Asked] = OrderedDict()

    def keep(self, key: Key, answer: str) -> None:
        """Keep an answer."""
        with self._lock:
            self._kept[key] = answer
            self._kept.move_to_end(key)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)

    def kept(self, key: Key) -> str | None:
        """Return the answer from before, None when there is none."""
        with self._lock:
            answer = self._kept.get(key)
            if answer is not None:
                self._kept.move_to_end(key)
            return answer

    def put_ahead(self, key: Key, asked: Asked) -> None:
        """Hold what was asked before the turn that needs it."""
        with self._lock:
            self._ahead[key] = asked
            while len(self._ahead) > self._limit:
                self._ahead.popitem(last=False)

    def take_ahead(self, key: Key) -> Asked | None:
        """Take what was asked ahead; None when nothing was."""
        with self._lock:
            return self._ahead.pop(key, None)
