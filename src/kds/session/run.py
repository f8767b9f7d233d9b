"""One agent at work, in a thread of its own, so that whoever waits for it can leave.

A model that is slow, silent or dribbles for ever holds up its thread, never the conversation: the
answer ends at its deadline or when it is halted, with what had come until then.
"""

import contextvars
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Final, Literal

from kds.agents.model_error import ModelError
from kds.agents.reply import AgentReply
from kds.brain.errors import KdsError

Speech = Iterator[str | AgentReply]
"""What an agent says: pieces of text as they come, and at last the whole reply."""

GRACE_S: Final = 0.5
"""How long after its deadline a model may still explain itself, in its own words."""

LOADING_S: Final = 60.0
"""How long a model's client may take to load, which does not count as the model's time: some
seconds of imports, on a cold disk more."""

Outcome = Literal["running", "done", "halted", "failed"]


class AgentRun:
    """Runs ``speak`` in a thread from the moment it is made; iterate it once for the pieces.

    Its time begins when ``load`` has returned, in the same thread.
    """

    def __init__(
        self,
        speak: Callable[[], Speech],
        *,
        agent: str,
        timeout_s: float,
        load: Callable[[], object] = lambda: None,
    ) -> None:
        self.agent = agent
        self.reply: AgentReply | None = None
        self.error: KdsError | None = None
        self._speak = speak
        self._timeout_s = timeout_s
        self._load = load
        self._deadline = monotonic() + LOADING_S
        self._said: list[str] = []
        self._outcome: Outcome = "running"
        self._lock = Lock()
        self._queue: SimpleQueue[str | AgentReply | KdsError | None] = SimpleQueue()
        context = contextvars.copy_context()
        name = f"kds-agent-{agent}"
        Thread(target=context.run, args=(self._work,), name=name, daemon=True).start()

    @property
    def outcome(self) -> Outcome:
        """How it ended, if it has."""
        return self._outcome

    @property
    def text(self) -> str:
        """What it has said so far."""
        return "".join(self._said)

    def __iter__(self) -> Iterator[str]:
        """Yield the pieces as they come, until the reply, an error, a halt or the deadline."""
        while self._outcome == "running":
            item = self._next()
            if isinstance(item, str):
                if self._hear(item):
                    yield item
            elif isinstance(item, AgentReply):
                self._end("done", reply=item)
            elif isinstance(item, KdsError):
                self._end("failed", error=item)

    def halt(self) -> bool:
        """Stop it; False when it had ended. What was said until now stays in ``text``."""
        halted = self._end("halted")
        self._queue.put(None)  # wakes whoever waits
        return halted

    def _hear(self, piece: str) -> bool:
        """Take a piece in; False when it comes too late."""
        with self._lock:
            if self._outcome != "running":
                return False
            self._said.append(piece)
            return True

    def _next(self) -> str | AgentReply | KdsError | None:
        try:
            return self._queue.get(timeout=max(self._deadline - monotonic(), 0.0))
        except Empty:
            message = f"{self.agent} had no answer after {self._timeout_s:g} s"
            return ModelError(message, kind="timeout")

    def _end(
        self, outcome: Outcome, *, reply: AgentReply | None = None, error: KdsError | None = None
    ) -> bool:
        with self._lock:
            if self._outcome != "running":
                return False
            self._outcome, self.reply, self.error = outcome, reply, error
            return True

    def _work(self) -> None:
        try:
            self._load()
            self._deadline = monotonic() + self._timeout_s + GRACE_S
            self._queue.put(None)  # whoever waits reads the new deadline
            self._listen()
        except KdsError as error:
            self._queue.put(error)
        except Exception as error:  # noqa: BLE001  # foreign code: a model's client, a tool
            self._queue.put(KdsError(f"{self.agent} failed: {type(error).__name__}: {error}"))

    def _listen(self) -> None:
        speech = self._speak()
        try:
            for item in speech:
                if self._outcome != "running":
                    return
                self._queue.put(item)
                if isinstance(item, AgentReply):
                    return
        finally:
            if close := getattr(speech, "close", None):
                close()  # lets go of the connection
        self._queue.put(KdsError(f"{self.agent} ended without a reply"))
