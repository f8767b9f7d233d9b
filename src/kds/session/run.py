"""One agent at work, in a thread of its own, so that whoever waits for it can leave.

A model that is slow, silent or dribbles for ever holds up its thread, never the conversation: the
answer ends when its time is up or when it is halted, with what had come until then.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Lock
from time import monotonic
from typing import Final, Literal

from kds.agents.model_error import ModelError
from kds.agents.reply import AgentReply
from kds.brain.errors import KdsError
from kds.brain.timeouts import BlockingQueue, Deadline, OutOfTimeError

Speech = Iterator[str | AgentReply]
"""What an agent says: pieces of text as they come, and at last the whole reply."""

GRACE_S: Final = 0.5
"""How long after its time is up a model may still explain itself, in its own words."""

LOADING_S: Final = 60.0
"""How long a model's client may take to load, which does not count as the model's time: some
seconds of imports, on a cold disk more."""

Outcome = Literal["running", "done", "halted", "failed"]


class AgentRun:
    """Runs ``speak`` in a thread while it is iterated over, which is done once, for the pieces.

    Its time begins when ``load`` has returned, in the same thread.
    """

    def __init__(
        self,
        speak: Callable[[], Speech],
        *,
        agent: str,
        timeout_s: float,
        load: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.agent = agent
        self.reply: AgentReply | None = None
        self.error: KdsError | None = None
        self._speak = speak
        self._timeout_s = timeout_s
        self._load = load
        self._deadline = Deadline(LOADING_S, clock=clock)
        self._inbox = BlockingQueue()
        self._said: list[str] = []
        self._outcome: Outcome = "running"
        self._lock = Lock()

    @property
    def outcome(self) -> Outcome:
        """How it ended, if it has."""
        return self._outcome

    @property
    def text(self) -> str:
        """What it has said so far."""
        return "".join(self._said)

    def __iter__(self) -> Iterator[str]:
        """Yield the pieces as they come, until the reply, an error, a halt or its time is up."""
        if self._outcome != "running":
            return
        try:
            yield from self._heard()
        except OutOfTimeError:
            message = f"{self.agent} had no answer after {self._timeout_s:g} s"
            self._end("failed", error=ModelError(message, kind="timeout"))
        except KdsError as error:
            self._end("failed", error=error)
        except Exception as error:  # noqa: BLE001  # foreign code: a model's client, a tool
            message = f"{self.agent} failed: {type(error).__name__}: {error}"
            self._end("failed", error=KdsError(message))

    def halt(self) -> bool:
        """Stop it; False when it had ended. What was said until now stays in ``text``."""
        halted = self._end("halted")
        self._inbox.end()  # wakes whoever waits
        return halted

    def _heard(self) -> Iterator[str]:
        with closing(self._deadline.each(self._items, self._inbox)) as items:
            for item in items:
                if isinstance(item, AgentReply):
                    self._end("done", reply=item)
                    return
                if not self._hear(item):
                    return
                if item:
                    yield item
        self._end("failed", error=KdsError(f"{self.agent} ended without a reply"))

    def _items(self) -> Speech:
        """What is said, in the thread; nothing more once it has ended."""
        self._load()
        self._deadline.renew(self._timeout_s + GRACE_S)
        yield ""  # whoever waits does so anew
        for item in self._speak():
            if self._outcome != "running":
                return  # the speech goes with it, and lets go of the connection
            yield item

    def _hear(self, piece: str) -> bool:
        """Take a piece in; False when it comes too late."""
        with self._lock:
            if self._outcome != "running":
                return False
            self._said.append(piece)
            return True

    def _end(
        self, outcome: Outcome, *, reply: AgentReply | None = None, error: KdsError | None = None
    ) -> bool:
        with self._lock:
            if self._outcome != "running":
                return False
            self._outcome, self.reply, self.error = outcome, reply, error
            return True
