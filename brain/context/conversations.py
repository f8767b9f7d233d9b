"""The conversation contexts of a workspace: in its files, or on the server that the user named."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import ContextJournal, Journal
from kds.brain.errors import MessageError
from kds.brain.workspace import SharedDatabase, Workspace, shared_database

if TYPE_CHECKING:
    from kds.brain.context.postgres_journal import PostgresContexts

Marks = frozenset[tuple[str, int]]
"""What tells one state of what a tenant has learned from another."""

NAME_LIMIT: Final = 128
"""Longest name of a conversation in characters; clients use UUIDs of 36."""

_SPELLED: Final = 40
"""Characters of the name that stand in its file name, for people; the hash tells them apart."""

_UNSAFE: Final = re.compile(r"[^a-z0-9]+")


class Contexts:
    """The context of the workspace, shared by its windows, and those of single conversations."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Raises SettingsError when the settings may name a server and are wrong."""
        self._workspace = workspace
        self._clock = clock
        shared = shared_database(workspace, environ=environ)
        self._server: PostgresContexts | None = None if shared is None else _on(shared, clock)

    def journal(self, conversation: str | None = None, *, origin: str | None = None) -> Journal:
        """Return the context of a conversation; without a name, that of the workspace.

        With an ``origin`` what is out of its reach is not loaded (`kds.brain.context.origin`).

        Raises MessageError when the name cannot be one.
        """
        path = self._workspace.context_path
        if conversation is not None:
            path = conversation_path(self._workspace, conversation)
        if self._server is not None:
            return self._server.journal(path.stem, origin=origin)
        return ContextJournal(path, clock=self._clock, origin=origin, check=self._check)

    def _check(self) -> None:
        from kds.brain.git import keep_private  # `subprocess` is for messages that are kept

        keep_private(self._workspace)

    def marks(self, *, look: bool) -> Marks | None:
        """What the last turn saw of what was learned; None in files, and while nobody knows.

        With ``look`` it is asked for now, as far as the server answers.
        """
        return None if self._server is None else self._server.marks(look=look)

    @property
    def late(self) -> bool:
        """Whether a server is yet to be told what this process heard while it was away."""
        return self._server is not None and bool(self._server.late)

    def catch_up(self) -> None:
        """Tell it. Raises OutageError while it is away still."""
        if self._server is not None:
            self._server.catch_up()

    def close(self) -> None:
        """Let go of the server, if there is one. Closing twice is fine."""
        if self._server is not None:
            self._server.close()


def conversation_path(workspace: Workspace, conversation: str) -> Path:
    """Where the context of a conversation is kept, whatever its name is made of.

    Raises MessageError when the name is empty or longer than NAME_LIMIT.
    """
    if not conversation.strip() or len(conversation) > NAME_LIMIT:
        raise MessageError(
            f"a conversation's name has 1 to {NAME_LIMIT} characters, not {len(conversation)}",
            hint="use the session id of the client",
        )
    digest = hashlib.sha256(conversation.encode(errors="surrogatepass")).hexdigest()[:16]
    spelled = _UNSAFE.sub("-", conversation.lower())[:_SPELLED].strip("-")
    return workspace.conversations_dir / f"{spelled}-{digest}.jsonl"


def _on(shared: SharedDatabase, clock: Clock) -> "PostgresContexts":
    from kds.brain.context.postgres_journal import PostgresContexts

    return PostgresContexts.of(shared, clock=clock)
