"""Teaching KDS which intent a message has, and which thing a description means.

What the user says counts at once and above everything that ships; it is refused only where it
contradicts what the same user taught before. All of it can be looked at and taken back.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import MessageError, OutageError, StoreError, WorkspaceError
from kds.brain.learning.events import FILE_NAME as EVENTS
from kds.brain.learning.events import EventLog, LearningEvent, example_id, reference_id
from kds.brain.learning.examples import (
    FILE_NAME,
    YOU,
    Learned,
    LearnedExample,
    LearnedFile,
    LearnedFileError,
    LearnedReference,
)
from kds.brain.learning.phrases import (
    MAX_CHARACTERS,
    phrase_key,
    thing,
    unlearnable,
    unteachable,
    without_article,
    without_marks,
)
from kds.brain.message import clean_message, one_line
from kds.brain.secrets.redaction import storable
from kds.brain.settings import Config, LiveConfig, load_settings
from kds.brain.workspace import Workspace, open_texts
from kds.router.prompts.library import PromptLibrary

LIST: Final = "see `kds learn list`"
SHOWN: Final = 60
"""Characters that an error shows of a message that is too long."""


class LearningError(MessageError):
    """A message cannot be learned, or nothing of that name was learned."""


@dataclass(frozen=True, slots=True)
class Taught:
    """What was taught, as it is learned now; ``redacted`` when a secret in it was marked.

    ``new`` unless it was learned before. ``instead_of`` is the intent that a message was taught
    before, "" if none.
    """

    learned: Learned
    new: bool
    redacted: bool = False
    instead_of: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What was taught and counts; ``warnings`` name what does not, and why."""

    examples: tuple[LearnedExample, ...] = ()
    references: tuple[LearnedReference, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Message and intent of each example, as a model takes them."""
        return [(one.text, one.intent) for one in self.examples]


def learned_in(config: Config) -> tuple[tuple[Learned, ...], str | None]:
    """What was taught in a workspace, and why nothing of it is used, in one line.

    Nothing while learning is off. Raises OutageError where a server does not answer.
    """
    if not config.settings.learning.enabled:
        return (), None
    text = open_texts(config.workspace, environ=config.environ)(FILE_NAME)
    try:
        return LearnedFile(text).entries() if text.exists else (), None
    except OutageError:
        raise
    except (LearnedFileError, StoreError) as error:
        return (), f"nothing learned is used: {error.where}: {error.message}"


def known_in(config: Config, library: PromptLibrary) -> Known:
    """What was taught in a workspace; nothing while learning is off.

    A file that does not load is a warning: routing goes on as shipped. So is an example of an
    intent that no prompt of the ``library`` has. Raises OutageError where a server does not answer.
    """
    learned, problem = learned_in(config)
    if problem:
        return Known(warnings=(problem,))
    examples = [one for one in learned if isinstance(one, LearnedExample)]
    return Known(
        tuple(one for one in examples if library.for_intent(one.intent)),
        tuple(one for one in learned if isinstance(one, LearnedReference)),
        tuple(
            f"{FILE_NAME}:{one.line}: '{one.text}' is not used: no prompt file has the "
            f"intent {one.intent}"
            for one in examples
            if not library.for_intent(one.intent)
        ),
    )


def teach(
    workspace: Workspace,
    message: str,
    intent: str | None = None,
    *,
    means: str | None = None,
    force: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> Taught:
    """Let ``message`` be an example of ``intent`` from now on, for messages like it too; or, where
    it is a description ("the button"), mean a thing ("FAB button") that was mentioned.

    It counts at once, in a running service as well, until `Learning.undo` takes it back. Its
    secrets are marked before anything is stored. Of several things that were taught for a
    description, the one taught last counts first.

    Raises LearningError when learning is off, when the message cannot be learned, or was taught
    as another intent (``force`` replaces that); DispatchError for an unknown intent, MessageError
    for an empty message, WorkspaceError and StoreError when nothing can be kept there.
    """
    if not workspace.root.is_dir():
        hint = "make it, or name another one"
        raise WorkspaceError("no such folder", where=str(workspace.root), hint=hint)
    learning = Learning(workspace, environ=environ)
    if (means is None) == (intent is None):
        hint = "kds prompts list shows the intents"
        raise MessageError("name an INTENT, or what it means (--means THING)", hint=hint)
    if means is not None:
        return _teach_reference(learning, message, means)
    library = PromptLibrary.sound(workspace.prompts_dir)[0]
    name = library.intent_named(intent or "")
    text = storable(clean_message(message))
    plain = without_marks(text)
    if reason := unlearnable(plain):
        shown = storable(plain)
        shown = shown if len(shown) <= MAX_CHARACTERS else f"{shown[:SHOWN]} ..."
        hint = "write it as an example or as an exact pattern into the prompt file of the intent"
        raise LearningError(f"'{shown}' cannot be learned: {reason}", hint=hint)
    redacted, text = plain != text, one_line(text)
    learning.check_enabled()
    one = LearnedExample(example_id(text, name), text, name, YOU)
    before = known_in(LiveConfig(workspace, environ=environ).current(), library)
    same = [old for old in before.examples if phrase_key(old.text) == phrase_key(text)]
    instead_of = next((old.intent for old in same if old.intent != name), "")
    if same and not instead_of:
        return Taught(same[-1], new=False, redacted=redacted, warnings=before.warnings)
    if instead_of and not force:
        undo = ", ".join(f"kds learn undo {old.id}" for old in same)
        hint = f"add --force to replace that, or take it back: {undo}"
        raise LearningError(f"you taught '{text}' as {instead_of}", hint=hint)
    workspace.ensure()
    for old in same:
        learning.undo(old.id)
    learning.take_in(one)
    return Taught(one, True, redacted, instead_of, before.warnings)


def _teach_reference(learning: "Learning", description: str, antecedent: str) -> Taught:
    said, meant = one_line(description), without_article(one_line(antecedent))
    if reason := unteachable(said, meant):
        hint = "name a thing as it was mentioned: kds learn teach 'the button' --means 'FAB button'"
        raise LearningError(f"that cannot be learned: {reason}", hint=hint)
    learning.check_enabled()
    one = LearnedReference(reference_id(said, meant), said, meant, YOU)
    known = [other for other in learning.references() if thing(other.text) == thing(said)]
    if known and known[-1].id == one.id:
        return Taught(known[-1], new=False)
    if any(other.id == one.id for other in known):
        learning.undo(one.id)  # the one taught last is the last in the file
    learning.workspace.ensure()
    learning.take_in(one)
    return Taught(one, new=True)


def offer(event: LearningEvent) -> str:
    """How a correction that was said in passing becomes an example, in one line."""
    command = f"kds learn teach {shlex.quote(event.text)} {event.intent}"
    return f"'{event.text}' as {event.intent}; so that it counts from now on: {command}"


@dataclass(frozen=True, slots=True)
class LearnedSoFar:
    """All that was learned, and what was corrected in passing and not taught."""

    enabled: bool
    examples: tuple[LearnedExample, ...]
    references: tuple[LearnedReference, ...]
    corrections: tuple[LearningEvent, ...]
    place: str
    warnings: tuple[str, ...] = ()


class Learning:
    """What was taught in one workspace, and what was corrected in passing. Looking makes no file.

    Methods raise StoreError when a file or the server cannot be used, LearnedFileError when the
    learned file does not load.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Raises SettingsError when the settings may name a server and are wrong."""
        self.workspace = workspace
        texts = open_texts(workspace, environ=environ)
        self.file, self.events = LearnedFile(texts(FILE_NAME)), EventLog(texts(EVENTS))
        self._clock = clock
        self._environ = environ

    @property
    def enabled(self) -> bool:
        """Whether the user leaves learning on. Raises SettingsError."""
        return load_settings(self.workspace, environ=self._environ).learning.enabled

    def check_enabled(self) -> None:
        """Raise LearningError when learning is off."""
        if not self.enabled:
            hint = "KDS_LEARNING=on, or `learning: {enabled: true}`"
            raise LearningError("learning is off", hint=hint)

    def examples(self) -> tuple[LearnedExample, ...]:
        """What was taught, or written by hand."""
        return self.file.load()

    def references(self) -> tuple[LearnedReference, ...]:
        """What descriptions mean here."""
        return self.file.references()

    def corrections(self) -> tuple[LearningEvent, ...]:
        """What was corrected in passing and not taught or taken back since, the newest first."""
        taught = {phrase_key(one.text) for one in self.examples()}
        open_ones: dict[str, LearningEvent] = {}
        for event in self.events.load().events:
            if event.is_correction and event.key not in taught:
                open_ones[event.key] = event
            elif not event.is_correction and event.antecedent is None:
                open_ones.pop(event.key, None)
        return tuple(reversed(open_ones.values()))

    def so_far(self) -> LearnedSoFar:
        """All of it."""
        warnings = tuple(self.events.load().warnings)
        examples, described = self.examples(), self.references()
        corrections = self.corrections()
        place = str(self.file.text)
        return LearnedSoFar(self.enabled, examples, described, corrections, place, warnings)

    def note(self, event: LearningEvent) -> bool:
        """Keep a correction; False when it repeats the last one: it is offered once."""
        said = [one for one in self.events.load().events if one.key == event.key]
        if said and said[-1].id == event.id and said[-1].kind != "undone":
            return False
        self.workspace.ensure()
        self.events.append([event])
        return True

    def take_in(self, one: Learned) -> None:
        """Add to the file what is learned."""
        now = self._clock()
        if self.file.add(one, now=now):
            self.events.append([_event(now, one)])

    def undo(self, learned_id: str) -> Learned:
        """Take back an example, or what a description means."""
        found = [one for one in self.file.entries() if one.id.startswith(learned_id)]
        if len(found) != 1 or not learned_id:
            raise LearningError(f"no learned example with the id '{learned_id}'", hint=LIST)
        one = found[0]
        self.file.remove(one.id)
        self.events.append([replace(_event(self._clock(), one), kind="undone")])
        return one

    def undo_last(self) -> Learned:
        """Take back what was taught last."""
        present = {one.id for one in self.file.entries()}
        for event in reversed(self.events.load().events):
            if event.kind in ("accepted", "adopted", "meant") and event.id in present:
                return self.undo(event.id)
        raise LearningError("there is nothing to undo", hint=LIST)


def _event(now: datetime, one: Learned) -> LearningEvent:
    if isinstance(one, LearnedReference):
        return LearningEvent(now, "meant", one.text, "", antecedent=one.antecedent)
    return LearningEvent(now, "accepted", one.text, one.intent)
