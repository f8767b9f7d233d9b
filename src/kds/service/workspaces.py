"""The workspaces of a service: the parts in use for each, and how their last reload went."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from kds.api.conversations import Conversations
from kds.api.turn_log import TurnLog, TurnRecord
from kds.brain.clock import utc_now
from kds.brain.context.conversations import Contexts
from kds.brain.errors import KdsError, MessageError
from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.message import clean_message
from kds.brain.store.team import Person
from kds.brain.turn import ContextEntry, Turn
from kds.brain.workspace import Workspace
from kds.query.query_service import EARLIER_SETTINGS, QueryService
from kds.service.callers import Callers
from kds.service.errors import ConflictError, NotServedError


@dataclass(frozen=True, slots=True)
class Reload:
    """How often prompts and rules were read anew, when last, and what is wrong with them now."""

    count: int = 0
    at: datetime | None = None
    error: str | None = None


@dataclass(slots=True)
class EmbeddingRecord:
    """What the background embedding has done since the service began."""

    embedded: int = 0
    failures: int = 0
    last_error: str | None = None
    """None when it works."""


class ServedWorkspace:
    """One workspace: its conversations, which a reload replaces in one assignment."""

    def __init__(
        self,
        conversations: Conversations,
        *,
        environ: Mapping[str, str] = os.environ,
        person: Person | None = None,
        look: Callable[[], object] = lambda: None,
    ) -> None:
        """``person``: whose messages these are, when not those of whoever runs the service.

        ``look`` reads rules and prompts anew if they have changed; a `Reloader` says how.
        """
        self.conversations = conversations
        self.person = person
        self.look = look
        self._answers_with = conversations.parts
        self.queries = QueryService(
            conversations.parts, rewriter=conversations.rewriter, environ=environ
        )
        """Answers questions about documents and remembered conversations."""
        self.people = People(self)
        """The same for others, who have tokens of their own."""
        self.callers = Callers(self.workspace, self.queries.memory.config)
        """Those that ask from an environment of their own."""
        self.embedding = EmbeddingRecord()
        self.reload = Reload()
        self.turns = 0
        self._reading = threading.Lock()

    @property
    def workspace(self) -> Workspace:
        """The workspace itself."""
        return self.conversations.workspace

    @property
    def memory(self) -> ConversationMemory:
        """The sessions of the workspace; opening its ``store`` makes the file."""
        return self.queries.memory

    def memory_if_any(self) -> MemoryStore | None:
        """The memory's store; None when nothing was ever remembered. Looking makes no file."""
        return self.memory.store if self.memory.exists else None

    def memory_for_writing(self) -> MemoryStore:
        """The memory's store, made when there is none.

        Raises ConflictError where it is off, ExposedError when git would commit what is stored.
        """
        if not self.memory.flags.enabled:
            raise ConflictError(
                "the memory is switched off",
                where="memory.enabled",
                hint="switch it on in kds-brain/settings.yaml, or with KDS_MEMORY=on",
            )
        return self.memory.store_for_writing

    def consent(self, purpose: str) -> None:
        """Note that a profile may be kept for a purpose. Raises ConflictError, as above, and
        MessageError without a purpose."""
        if not purpose.strip():
            raise MessageError(
                "consent needs a purpose", where="purpose", hint="say what the profile is for"
            )
        self.memory_for_writing().profile.grant(purpose)

    def revoke_consent(self) -> None:
        """Withdraw that, and erase the profile with its bytes in every file."""
        if (store := self.memory_if_any()) is not None:
            store.profile.revoke()

    @property
    def contexts(self) -> Iterator[Contexts]:
        """The contexts of all whose messages come here."""
        yield self.conversations.contexts
        for one in self.people.kept:
            yield one.conversations.contexts

    def close(self) -> None:
        """Let go of the stores."""
        self.people.close()
        self.queries.close()
        self.callers.close()
        self.conversations.contexts.close()
        self.conversations.turns.close()

    @property
    def root(self) -> str:
        """What a client calls it."""
        return str(self.workspace.root)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What every reply says until it is mended."""
        notes = []
        if broken := self.reload.error:
            notes.append(f"prompts and rules are those before the last change: {broken}")
        if wrong := self.settings_error:
            notes.append(f"{EARLIER_SETTINGS}: {wrong}")
        return (*self.conversations.warnings, *notes)

    @property
    def settings_error(self) -> str | None:
        """What is wrong with the settings as they are now; those before stay in use."""
        return self.queries.settings_fault

    @property
    def degraded(self) -> bool:
        """Whether something that was changed is wrong, and what was before it stays in use."""
        return self.reload.error is not None or self.settings_error is not None

    def route(self, message: str, *, by: Conversations | None = None, **how: Any) -> Turn:
        """Route a message, ``by`` these conversations or its own, and count it.

        ``how`` is what `Conversations.route` takes.
        """
        turn = (by or self.conversations).route(message, **how)
        self.turns += 1
        return turn

    def look_at_all(self) -> None:
        """See before a question what others have edited, and what was learned since."""
        self.look()
        parts = self.conversations.refreshed()
        if parts is not self._answers_with:
            self.queries.use(parts, rewriter=self.conversations.rewriter)
            self._answers_with = parts

    def entry(
        self, message: str, intent: str, *, context_ref: str | None, session_id: str | None
    ) -> ContextEntry:
        """Make the entry that `POST /context` logs.

        Raises MessageError when a text is empty, ServiceError when no agent has the intent.
        """
        return ContextEntry(
            timestamp=utc_now(),
            user_message=clean_message(message),
            intent=self.conversations.library.intent_named(intent),
            session_id=clean_message(session_id) if session_id else None,
            context_ref=clean_message(context_ref) if context_ref else None,
        )

    def read_anew(self) -> None:
        """Use rules and prompts as they are now from the next message on; raises as `open` does.

        One at a time: what was read before must not take the place of what was read after it.
        """
        with self._reading:
            self.reloaded(self.conversations.reloaded())

    def reloaded(self, conversations: Conversations) -> None:
        """Use a new set from the next message on."""
        self.conversations = conversations
        self._answers_with = conversations.parts
        self.queries.use(conversations.parts, rewriter=conversations.rewriter)
        self.reload = Reload(self.reload.count + 1, utc_now())
        self.people.reloaded()

    def kept(self, error: KdsError | str) -> None:
        """Remember that the new set is broken, and go on with the last good one."""
        told = "; ".join(line.strip() for line in str(error).splitlines())
        self.reload = replace(self.reload, at=utc_now(), error=told)


class People:
    """The people of a shared service, each with conversations, memory and settings of their own."""

    KEPT: Final = 500
    """That are kept ready; somebody else who asks takes the place of who has not for longest."""

    def __init__(self, base: ServedWorkspace) -> None:
        self._base = base
        self._kept: OrderedDict[Person, ServedWorkspace] = OrderedDict()

    def find(self, person: Person) -> ServedWorkspace:
        """Return what serves a person: the base's rules and prompts, and nothing else of it."""
        found = self._kept.get(person)
        if found is None:
            found = self._kept[person] = self._made(person)
            if len(self._kept) > self.KEPT:
                self._kept.popitem(last=False)[1].close()
        self._kept.move_to_end(person)
        return found

    @property
    def kept(self) -> tuple[ServedWorkspace, ...]:
        """Those that are kept ready."""
        return tuple(self._kept.values())

    def reloaded(self) -> None:
        """Have everybody use the rules and prompts that the base uses now."""
        for person, one in list(self._kept.items()):
            old = one.conversations
            fresh = self._conversations(person, turns=old.turns, contexts=old.contexts)
            one.reloaded(fresh)

    def close(self) -> None:
        """Let go of everybody's stores."""
        for one in self._kept.values():
            one.close()
        self._kept.clear()

    def _made(self, person: Person) -> ServedWorkspace:
        environ = environ_of(person)
        turns = TurnLog(self._base.workspace, environ=environ)
        return ServedWorkspace(
            self._conversations(person, turns=turns),
            environ=environ,
            person=person,
            look=lambda: self._base.look(),
        )

    def _conversations(
        self, person: Person, *, turns: TurnRecord, contexts: Contexts | None = None
    ) -> Conversations:
        base = self._base.conversations
        return base.under(environ_of(person), turns=turns, contexts=contexts)


def environ_of(person: Person) -> dict[str, str]:
    """Return the environment in which a person's rows of the server are found."""
    return {
        **os.environ,
        "KDS_DATABASE_ORGANISATION": person.organisation,
        "KDS_DATABASE_PERSON": person.name,
    }


class Workspaces:
    """Every workspace of the service, by its root."""

    def __init__(self, served: Iterable[ServedWorkspace]) -> None:
        self._by_root = {one.root: one for one in served}
        if not self._by_root:
            raise ValueError("a service needs a workspace")

    def __iter__(self) -> Iterator[ServedWorkspace]:
        """In the order in which they were given."""
        return iter(self._by_root.values())

    def find(self, root: str | None, *, default: str | None = None) -> ServedWorkspace:
        """The workspace of that ``root``, else the ``default``, else the first.

        Raises NotServedError when the service has no such workspace.
        """
        if root is None:
            return self._by_root[default] if default else next(iter(self))
        if (named := self._by_root.get(root)) is not None:
            return named
        place = _resolved(root)
        for one in self:
            if place is not None and place in map(_resolved, (one.root, str(one.workspace.brain))):
                return one
        raise NotServedError(
            "this workspace is not served here",
            where=root,
            hint="start it with `kds serve --workspace DIR`, or leave out the workspace",
        )


def _resolved(path: str) -> Path | None:
    try:
        return Path(path).resolve()
    except (OSError, ValueError, RuntimeError):  # a zero byte, a loop of links
        return None
