"""What the BRAIN of a workspace has learned, and what may become of it: behind `kds learn`.

Corrections and clarifications are recorded as they happen; what they add up to is proposed, and
accepted by the user or, when it is very sure, by itself. What the user teaches counts at once.
All of it can be looked at and taken back.
"""

import os
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import MessageError
from kds.brain.learning.candidate import Candidate, find_candidates
from kds.brain.learning.event import Decision, LearningEvent
from kds.brain.learning.evidence import ASK_MIN, MIN_OCCURRENCES
from kds.brain.learning.learned_file import ITSELF, YOU, Learned, LearnedExample
from kds.brain.learning.phrase import (
    MAX_CHARACTERS,
    phrase_key,
    unlearnable,
    without_marks,
)
from kds.brain.learning.reference import LearnedReference
from kds.brain.message import clean_message
from kds.brain.secrets.redaction import storable
from kds.brain.visible import one_line
from kds.brain.workspace import Workspace
from kds.learning.example_guard import find_clashes
from kds.learning.learning_place import LearningPlace
from kds.learning.library import refused_examples
from kds.router.prompts.library import PromptLibrary

LIST: Final = "see `kds learn list`"
SWITCH_ON: Final = "KDS_LEARNING=on, or `learning: {enabled: true}`"
SHOWN: Final = 60
"""Characters that an error shows of a message that is too long."""


class LearningError(MessageError):
    """A message cannot be learned, or there is nothing of that name to decide about."""


class Learning:
    """The events and examples of one workspace. Looking makes no file.

    Methods raise StoreError when a file or the server cannot be used, LearnedFileError when the
    learned examples do not load.
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
        self.place = LearningPlace.of(workspace, environ=environ)
        self.events, self.file = self.place.events, self.place.file
        self._clock = clock

    @property
    def enabled(self) -> bool:
        """Whether the user leaves learning on. Raises SettingsError."""
        return self.place.enabled

    def candidates(self) -> tuple[Candidate, ...]:
        """Everything that was said, added up; the surest first."""
        return self._candidates(self.events.load().events)

    def examples(self) -> tuple[LearnedExample, ...]:
        """What was accepted, or written by hand."""
        return self.file.load()

    def references(self) -> tuple[LearnedReference, ...]:
        """What descriptions mean here."""
        return self.file.references()

    def tell(self, message: str, intent: str, library: PromptLibrary) -> Candidate:
        """Note that the user says which intent a message has: one event like any other.

        Raises LearningError when the message can be no example, DispatchError for an unknown
        intent.
        """
        name = library.intent_named(intent)
        _check_learnable(message)
        event = LearningEvent(self._clock(), "told", message, name)
        return self.record(event, cautious=confirmed_intents(library))

    def teach(self, message: str, intent: str, library: PromptLibrary) -> Candidate:
        """Make a message an example of an intent at once: the user says so outright.

        Its secrets are marked before anything is stored, and the guard looks at it as at any
        other. What is learned already stays as it is. ``library`` is without any learned example.

        Raises LearningError when learning is off, when the message can be no example, would do
        harm, or is learned as another intent; DispatchError for an unknown intent; MessageError
        for an empty message.
        """
        name = library.intent_named(intent)
        text = storable(clean_message(message))
        _check_learnable(without_marks(text))
        if not self.enabled:
            raise LearningError("learning is off", hint=SWITCH_ON)
        event = LearningEvent(self._clock(), "told", one_line(text), name)
        said = [one for one in self.events.load().events if one.key == event.key]
        one = next(one for one in self._candidates([*said, event]) if one.id == event.id)
        if not self._is_taught(event):
            self._check_harmless([one], library, else_="say it in other words")
            self.take_in([one], by=YOU, said=[event])
        return self._named(one.id)

    def record(self, event: LearningEvent, *, cautious: Collection[str] = ()) -> Candidate:
        """Store what was said, and act on what it adds up to; returns its candidate.

        A candidate above ACT_MIN is accepted by itself, unless its intent is one of ``cautious``;
        the guard looks at it before it is used. One that was accepted by itself and has fallen
        below ASK_MIN is taken back.
        """
        self.workspace.ensure()
        said = [one for one in self.events.append([event]) if one.key == event.key]
        about = self._candidates(said)
        acted = [self._act_on(one, cautious) for one in about]
        unchanged = [one for one in about if one.id == event.id and not any(acted)]
        return unchanged[0] if unchanged else self._named(event.id)

    def proposals(self) -> tuple[Candidate, ...]:
        """What the user is asked about; also what is sure enough, yet never accepted by itself."""
        return tuple(one for one in self.candidates() if one.state in ("proposed", "due"))

    def accept(self, ids: Iterable[str], library: PromptLibrary) -> tuple[Candidate, ...]:
        """Make proposals examples, all or none. ``library`` is without any learned example.

        Raises LearningError when too little was said for one, or when it would do harm.
        """
        chosen = [self._named(one) for one in dict.fromkeys(ids)]
        for one in chosen:
            _check_acceptable(one)
        self._check_harmless(chosen, library, else_="kds learn reject {id}")
        self.take_in(chosen, by=YOU)
        return tuple(chosen)

    def reject(self, ids: Iterable[str]) -> tuple[Candidate, ...]:
        """Never propose these again. What is accepted has to be undone first."""
        chosen = [self._named(one) for one in dict.fromkeys(ids)]
        for one in chosen:
            if one.state == "learned":
                raise LearningError(f"{one.id} is learned", hint=f"kds learn undo {one.id}")
        self.events.append([_decision(self._clock(), "rejected", one) for one in chosen])
        return tuple(chosen)

    def undo(self, learned_id: str) -> Learned:
        """Take back an example, or what a description means: what was said no longer counts."""
        found = [one for one in self.file.entries() if one.id.startswith(learned_id)]
        if len(found) != 1 or not learned_id:
            raise LearningError(f"no one learned example is called '{learned_id}'", hint=LIST)
        self._take_out(found[0], "undone")
        return found[0]

    def undo_last(self) -> tuple[Learned, ...]:
        """Take back what was accepted last, all that one command did."""
        present = {one.id for one in self.file.entries()}
        accepted = [
            event
            for event in self.events.load().events
            if event.kind in ("accepted", "adopted", "meant") and event.id in present
        ]
        if not accepted:
            raise LearningError("there is nothing to undo", hint=LIST)
        group = accepted[-1].group
        ids = [event.id for event in accepted if event.group == group]
        return tuple(self.undo(one) for one in reversed(list(dict.fromkeys(ids))))

    def _is_taught(self, event: LearningEvent) -> bool:
        """Whether it is learned as the event has it. Raises LearningError if as another intent."""
        present = [one for one in self.examples() if phrase_key(one.text) == event.key]
        for one in present:
            if one.intent != event.intent:
                message = f"'{one.text}' is learned as {one.intent}"
                raise LearningError(message, hint=f"kds learn undo {one.id} first")
        return bool(present)

    def _check_harmless(
        self, chosen: Sequence[Candidate], library: PromptLibrary, *, else_: str
    ) -> None:
        """Ask the guard about new examples, with those that are there; ``else_``: what to do."""
        new = [LearnedExample(one.id, one.text, one.intent, YOU, 0) for one in chosen]
        self.workspace.ensure()
        refusals = find_clashes(library.prompts(), new) or refused_examples(
            library, [*self.examples(), *new], self.place, may_write=True
        )
        for one in chosen:
            if reason := refusals.get(one.id):
                raise LearningError(
                    f"'{one.text}' is not learned as {one.intent}: {reason}",
                    hint=f"{else_.format(id=one.id)}, or change the prompt file of {one.intent}",
                )

    def _candidates(self, events: Iterable[LearningEvent]) -> tuple[Candidate, ...]:
        return find_candidates(events, now=self._clock())

    def _named(self, candidate_id: str) -> Candidate:
        found = [one for one in self.candidates() if one.id.startswith(candidate_id)]
        if len(found) != 1 or not candidate_id:
            raise LearningError(f"no one candidate is called '{candidate_id}'", hint=LIST)
        return found[0]

    def _act_on(self, one: Candidate, cautious: Collection[str]) -> bool:
        """Accept or take back by itself what has become sure or doubtful; whether it did."""
        if one.state == "due" and one.intent not in cautious:
            self.take_in([one], by=ITSELF)
        elif one.state == "learned" and one.adopted and one.confidence < ASK_MIN:
            self._take_out(one, "withdrawn")
        else:
            return False
        return True

    def take_in(
        self,
        chosen: Sequence[Candidate | LearnedReference],
        *,
        by: str,
        said: Sequence[LearningEvent] = (),
    ) -> None:
        """Add what is learned to the file, and write down that, and what was ``said`` for it."""
        now, group = self._clock(), uuid.uuid4().hex[:12]
        blocks = self.file.add(chosen, by=by, now=now)
        kind: Decision = "accepted" if by == YOU else "adopted"
        taken = [
            replace(_decision(now, kind, one), block=block, group=group)
            for one in chosen
            if (block := blocks.get(one.id)) is not None
        ]
        self.events.append([*said, *taken])

    def _take_out(self, one: Candidate | Learned, kind: Decision) -> None:
        blocks = [event.block for event in self.events.load().events if event.id == one.id]
        self.file.remove(one.id, next((block for block in reversed(blocks) if block), None))
        self.events.append([_decision(self._clock(), kind, one)])


def _decision(now: datetime, kind: Decision, one: Candidate | Learned) -> LearningEvent:
    if isinstance(one, LearnedReference):
        meant = "meant" if kind == "accepted" else kind
        return LearningEvent(now, meant, one.text, "", antecedent=one.antecedent)
    return LearningEvent(now, kind, one.text, one.intent)


def confirmed_intents(library: PromptLibrary) -> frozenset[str]:
    """The intents that are never acted on without a question: nothing is accepted by itself."""
    return frozenset(agent.intent for agent in library.agents() if agent.intent and agent.confirm)


def standing_of(one: Candidate) -> str:
    """What is known of a candidate, and what follows from it, in one line."""
    outcome = {
        "waiting": "nothing changes yet: kds learn teach makes it count at once",
        "proposed": "proposed: kds learn review",
        "due": "proposed: kds learn review",
        "learned": f"learned; kds learn undo {one.id} takes it back",
        "rejected": "rejected before, and not proposed again",
        "refused": "it would do harm, and is not used",
    }
    said = f"said {_times(one)} so far, confidence {one.confidence:.2f}"
    return f"'{one.text}' as {one.intent}, {said}; {outcome[one.state]}"


def _check_learnable(message: str) -> None:
    if reason := unlearnable(message):
        text = storable(message)
        shown = text if len(text) <= MAX_CHARACTERS else f"{text[:SHOWN]} ..."
        raise LearningError(
            f"'{shown}' cannot be learned: {reason}",
            hint="write it as an example or as an exact pattern into the prompt file of the intent",
        )


def _times(one: Candidate) -> str:
    return "once" if one.occurrences == 1 else f"{one.occurrences} times"


def _check_acceptable(one: Candidate) -> None:
    if one.state in ("proposed", "due", "refused"):
        return
    reasons = {
        "learned": ("is learned already", f"kds learn undo {one.id}"),
        "rejected": ("was rejected", "write it into a prompt file of yours"),
        "waiting": (
            f"was said {_times(one)} at confidence {one.confidence:.2f}; it takes "
            f"{MIN_OCCURRENCES} and {ASK_MIN:.2f}",
            "one event changes nothing: it waits until it was said again, at another time",
        ),
    }
    message, hint = reasons[one.state]
    raise LearningError(f"{one.id} ('{one.text}' as {one.intent}) {message}", hint=hint)
