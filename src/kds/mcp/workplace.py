"""The workspace as the MCP server sees it: its desk, its prompts and its conversations.

Prompts and rules are read again when their files change; a set that does not load leaves the
one before in place, with a warning, as the resident service does.
"""

import logging
import threading
from typing import Final

from kds.api.turn_log import TurnLog
from kds.brain.context.conversations import Contexts, conversation_path
from kds.brain.context.journal import Journal
from kds.brain.errors import ConfigError, KdsError
from kds.brain.message import clean_message
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.learning.learning_log import LearningLog
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile
from kds.service.desk import Desk, open_desk
from kds.service.fingerprint import Fingerprint, fingerprint

logger = logging.getLogger(__name__)

NAMES_KEPT: Final = 100
"""Conversation names remembered for completion: as many values as one answer may hold (MCP
2025-11-25, completion)."""

_WARM_UP: Final = "hello"
"""Any message will do: routing one loads all that routing needs."""


class Workplace:
    """What every tool, prompt and resource of the server works on. Threads may share it."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._reading = threading.RLock()
        self._routing = threading.Lock()
        self._desk: Desk = open_desk(workspace)
        self._proven: Desk | None = None
        self._library: PromptLibrary | None = None
        self._trouble: ConfigError | None = None
        self._seen: Fingerprint | None = None
        self._names: dict[str, None] = {}
        self._contexts = Contexts(workspace)
        self.edition = 0
        """Counts the sets of prompts and rules that took the place of another."""

    def route(self, message: str, *, conversation: str | None, log: bool) -> Turn:
        """Route ``message``; `kds.api.conversations.Conversations.route` says how.

        Raises MessageError when it is empty or too long, or the conversation's
        name cannot be one; ConfigError when no set of rules and prompts has loaded so far; and
        what routing raises.
        """
        clean_message(message)
        if conversation is not None:
            conversation_path(self.workspace, conversation)
        self.library()
        with self._routing:  # a desk's first call loads the router, which is to happen once
            turn = self._route(message, conversation, log=log)
        self._remember(conversation)
        return turn

    def warm(self) -> None:
        """Load what routing needs, in a thread that nobody waits for.

        Not where there is no `kds-brain` yet: a client may start servers in any folder, and
        loading makes one.
        """
        if not self.workspace.brain.is_dir():
            return
        threading.Thread(target=self._warm, name="kds-warm-up", daemon=True).start()

    def library(self) -> PromptLibrary:
        """The prompts as their files are now, or as they last loaded.

        Raises ConfigError when they have never loaded.
        """
        with self._reading:
            self.refresh()
            if self._library is not None:
                return self._library
            raise self._trouble or RuntimeError("refresh() leaves a library or the trouble with it")

    def refresh(self) -> int:
        """Read the prompts again if a file of the set changed; returns the edition in use."""
        with self._reading:
            found = fingerprint(self.workspace)
            if found != self._seen:
                self._seen = found
                self._reload()
            return self.edition

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the files of the workspace while an earlier set is in use."""
        return () if self._trouble is None else (str(self._trouble),)

    def journal(self, conversation: str | None) -> Journal:
        """The context of a conversation; without a name, that of the workspace.

        Raises MessageError when the name cannot be one.
        """
        if conversation is not None:
            self._remember(conversation)
        return self._contexts.journal(conversation)

    def clear(self, conversation: str | None) -> int:
        """Forget the context of a conversation, and what it referred to; returns the entries."""
        count = self.journal(conversation).clear()
        TurnLog(self.workspace).forget(conversation)
        return count

    def learn(self, asked: Turn, intent: str, *, conversation: str | None) -> None:
        """Note which intent the user chose for a message; never fails."""
        LearningLog(self.workspace, self.library()).chosen(asked, intent, conversation)

    def conversations(self) -> tuple[str, ...]:
        """The names of conversations that are known: used here, or read off their files.

        A file name holds a shortened name and a hash; where the short one has the same hash,
        it is the whole name.
        """
        found = dict(self._names)
        for path in sorted(self.workspace.conversations_dir.glob("*.jsonl")):
            name = path.stem.rpartition("-")[0]
            if name and conversation_path(self.workspace, name) == path:
                found[name] = None
        return tuple(sorted(found))

    def intents(self) -> tuple[str, ...]:
        """Every intent that has an agent, by priority."""
        return tuple(agent.intent for agent in self.library().agents() if agent.intent)

    def agent_of(self, intent: str) -> PromptFile:
        """The agent of an intent, however it is cased. Raises DispatchError with a near one."""
        return self.library().agent_of(intent)

    def _reload(self) -> None:
        replaces = self._library is not None
        try:
            self._library = PromptLibrary.load(self.workspace.prompts_dir)
        except ConfigError as error:
            self._note(error)
            return
        self._trouble = None
        if replaces:
            self.edition += 1
            self._desk = open_desk(self.workspace)
            if self._proven is not None:  # it has been needed, and will be again
                self.warm()

    def _route(self, message: str, conversation: str | None, *, log: bool) -> Turn:
        desk = self._desk
        try:
            turn = desk.route(message, conversation=conversation, log=log)
        except ConfigError as error:  # files that `refresh` does not check, or changed since
            if self._proven is None:
                raise
            self._note(error)
            self._desk = self._proven
            return self._proven.route(message, conversation=conversation, log=log)
        self._proven = desk
        return turn

    def _note(self, error: ConfigError) -> None:
        self._trouble = error
        kept = self._library is not None or self._proven is not None
        state = "the prompts and rules before stay in use" if kept else "nothing can be routed yet"
        logger.warning("%s: %s", state, error)

    def _warm(self) -> None:
        try:
            self.route(_WARM_UP, conversation=None, log=False)
        except KdsError as error:
            logger.warning("not ready yet: %s", error)

    def _remember(self, conversation: str | None) -> None:
        if conversation is not None:
            self._names.pop(conversation, None)
            self._names[conversation] = None
            while len(self._names) > NAMES_KEPT:
                del self._names[next(iter(self._names))]
