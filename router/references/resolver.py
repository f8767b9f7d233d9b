"""Applies the reference rules to a message in its discourse, and replays a context."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from kds.brain.learning.examples import LearnedReference
from kds.brain.turn import ContextEntry, Edit, Reference
from kds.router.discourse.history import Discourse, Utterance, words_of
from kds.router.discourse.mentions import Mention, is_time, mentions_in
from kds.router.discourse.salience import Knowledge
from kds.router.language.analysis import ANALYSED_CHARS, Language
from kds.router.language.misspelling import Reading, Slip, as_typed, doubts, spelt
from kds.router.language.words import Analysis
from kds.router.references import ellipsis, implicit
from kds.router.references.caution import find_unresolved
from kds.router.references.nouns import find_nouns, find_ones
from kds.router.references.pairs import find_comparisons, find_pairs, main_thing
from kds.router.references.pronouns import find_places, find_pronouns
from kds.router.references.rendering import is_well_formed
from kds.router.references.ruleset import Rule, SignalKind
from kds.router.references.scene import Found, Mechanism, Scene, cued, search
from kds.router.references.taught import TAUGHT, find_taught, find_wordings

REPLAYED: Final = 128
"""Discourses kept: each new turn then replays only its own message."""

REACH: Final = 60
"""Utterances that are replayed at most; what was said before them is forgotten."""

_MARKS: Final = ".,;:!?()\"'"

_MECHANISMS: Final[Mapping[SignalKind, Mechanism]] = {
    "pronoun": find_pronouns,
    "demonstrative": find_pronouns,
    "noun": find_nouns,
    "one": find_ones,
    "both": find_pairs,
    "comparison": find_comparisons,
    "place": find_places,
    "repeat": ellipsis.find_repeats,
    "question": ellipsis.find_questions,
    "correction": ellipsis.find_corrections,
    "bare": ellipsis.find_bare_questions,
    "condition": ellipsis.find_conditions,
    "action": ellipsis.find_actions,
    "purpose": ellipsis.find_purposes,
    "attribute": implicit.find_implicit,
    "part": implicit.find_implicit,
    "relation": implicit.find_implicit,
    "constraint": implicit.find_implicit,
    "contrast": implicit.find_contrasts,
    "quality": implicit.find_qualities,
    "agreement": implicit.find_agreements,
    "pattern": find_wordings,
}
"""The kinds of rules. "focus" and "switch" refer to nothing."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the rules made of one message."""

    references: tuple[Reference, ...] = ()
    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()
    focus: Mention | None = None
    unresolved: tuple[str, ...] = ()
    """Words that point back although no rule could say to what."""


def apply_edits(message: str, edits: Iterable[Edit]) -> str:
    """The message with every edit applied.

    >>> apply_edits("Make it purple", [Edit(5, 7, "the FAB button")])
    'Make the FAB button purple'
    """
    out, at = [], 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        out += [message[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, message[at:]])


Known = Callable[[], Iterable[str]]
"""Returns what else the conversation has referred to, oldest first: a longer memory than the
context's, such as `kds.brain.memory.entities`."""


def nothing_known() -> tuple[str, ...]:
    """Without such a memory."""
    return ()


class _Said(NamedTuple):
    """Something said, and whether it is read as it was typed or with what it refers to."""

    text: str
    role: Literal["user", "assistant"] = "user"
    as_typed: bool = False


def _said(context: Sequence[ContextEntry], known: Iterable[str]) -> Iterator[_Said]:
    """The texts of a context in order, and the antecedents that have gone from it.

    What was read into a message, and not written, was not said: it counts as typed.
    """
    words: set[str] = set()
    told = {word for entry in context for word in _words(entry.user_message)}
    for antecedent in known:
        if told.isdisjoint(_words(antecedent)):
            words |= _words(antecedent)
            yield _Said(naming(antecedent))
    for entry in context:
        words |= _words(entry.user_message)
        if entry.context_ref and words.isdisjoint(_words(entry.context_ref)):
            words |= _words(entry.context_ref)
            yield _Said(naming(entry.context_ref))
        yield _Said(entry.user_message, as_typed=not entry.context_ref)


def _words(text: str) -> set[str]:
    return {word.strip(_MARKS) for word in text.lower().split()}


def naming(antecedent: str) -> str:
    """The shortest message that brings ``antecedent`` up: a name takes no article.

    >>> naming("login form"), naming("FAB button"), naming("React"), naming("src/a.py")
    ('Use the login form', 'Use the FAB button', 'Use React', 'Use src/a.py')
    """
    plain = " " in antecedent or (antecedent.islower() and antecedent.isalpha())
    return f"Use the {antecedent}" if plain else f"Use {antecedent}"


class Resolver:
    """Finds what a message refers to. Same message, same context, same result."""

    def __init__(
        self,
        language: Language,
        rules: Iterable[Rule],
        knowledge: Knowledge,
        *,
        taught: Sequence[LearnedReference] = (),
    ) -> None:
        self._language = language
        self._taught = tuple(taught)
        self.rules = tuple(sorted(rules, key=lambda rule: rule.priority))
        self.knowledge = knowledge
        self._memo: Callable[[tuple[_Said, ...]], Discourse] = lru_cache(maxsize=REPLAYED)(
            self._replay
        )

    def untaught(self) -> "Resolver":
        """The same with the rules alone."""
        return self.with_taught(())

    def with_taught(self, taught: Sequence[LearnedReference]) -> "Resolver":
        """The same with these descriptions taught."""
        same = tuple(taught) == self._taught
        return self if same else Resolver(self._language, self.rules, self.knowledge, taught=taught)

    def analyse(self, text: str) -> Analysis:
        """The shallow analysis of a text; one in capitals is read as the same in small letters."""
        small = text.lower() if text.isupper() and " " in text.strip() else text
        return self._language.analyse(small if len(small) == len(text) else text)

    def discourse(self, context: Sequence[ContextEntry], known: Iterable[str] = ()) -> Discourse:
        """The discourse that a context tells, each message as it was written in the end.

        What a message was taken to refer to counts as said before it, when no message that is
        left says so: the one that did has rotated out, or expired. So does what is ``known``.
        """
        return self._memo(tuple(_said(context, known))[-REACH:])

    def replay(self, history: Iterable[str | Utterance]) -> Discourse:
        """The discourse that a history tells, oldest first; plain texts are the user's.

        Each message is expanded in the light of the earlier ones.
        """
        said = tuple(_Said(*u) if isinstance(u, Utterance) else _Said(u) for u in history)
        return self._memo(said[-REACH:])

    def _replay(self, history: tuple[_Said, ...]) -> Discourse:
        if not history:
            return Discourse()
        before = self._memo(history[:-1])
        message, role, as_typed = history[-1]
        if role == "assistant":
            return before.answered(self.analyse(message))
        if self.switch(message, before):
            before = Discourse()
        resolution = Resolution() if as_typed else self._within_topic(message, before)
        expanded = apply_edits(message, resolution.edits)
        analysis = self.analyse(spelt(expanded, before.words).text)
        written = [one.target for one in resolution.references if one.target]
        focus = resolution.focus or self._moved_focus(analysis)
        return before.then(analysis, focus=focus, written=written)

    def _moved_focus(self, analysis: Analysis) -> Mention | None:
        """What a correction puts in the place of something else.

        A cue of the rule has a group ``type`` with a type noun: after "Wrong file! It is in a/b.py"
        the path is in focus.
        """
        for rule in self._of_kind("focus"):
            match = cued(rule, analysis.text)
            wanted = (match.groupdict().get("type") or "").lower() if match is not None else ""
            for mention in mentions_in(analysis, 0) if wanted else ():
                if mention.head != wanted and self.knowledge.is_a(mention, wanted):
                    return mention
        return None

    def _of_kind(self, kind: SignalKind) -> Iterator[Rule]:
        return (rule for rule in self.rules if rule.signal.kind == kind)

    def switch(self, message: str, discourse: Discourse) -> str | None:
        """Id of the rule that sees the topic change with ``message``, None when it goes on."""
        if not discourse:
            return None
        analysis = self.analyse(spelt(message, discourse.words).text)
        for rule in self._of_kind("switch"):
            barred = any(search(pattern, analysis.text) for pattern in rule.signal.unless)
            if not barred and cued(rule, analysis.text) and _names_new(analysis, discourse):
                return rule.id
        return None

    def resolve(
        self, message: str, discourse: Discourse, *, history: Sequence[Utterance] = ()
    ) -> Resolution:
        """References of ``message`` and the edits that make it stand alone.

        A message that changes the topic refers to nothing of the old one. ``history`` is
        what was said before, with the assistant's replies.
        """
        if self.switch(message, discourse):
            return Resolution()
        return self._within_topic(message, discourse, history)

    def _within_topic(
        self, message: str, discourse: Discourse, history: Sequence[Utterance] = ()
    ) -> Resolution:
        """The message as it reads with its slips mended.

        What a word that may be a slip would change, is left.
        """
        if not discourse:
            return self._resolved(message, discourse, history)
        said = discourse.words.union(*(words_of(one.text) for one in history))
        reading = spelt(message, said)
        found = self._read_as(reading, message, discourse, history)
        slips = doubts(message, said) if found.edits else ()
        if slips is None:
            return Resolution(notes=("left: many of its words are in no lexicon",))
        # not in what was taught or written as a rule, which is the user's own wording
        wordings = {rule.id for rule in self._of_kind("pattern")} | {TAUGHT}
        own = [range(one.start, one.end) for one in found.references if one.rule in wordings]
        for slip in slips:
            if any(slip.start in span for span in own):
                continue
            other = self._read_as(reading.with_slip(slip, message), message, discourse, history)
            if not _are_same(found, other, slip, message):
                said_as = message[slip.start : slip.end]
                return Resolution(notes=(f"left: '{said_as}' may be a slip of '{slip.meant}'",))
        return found

    def _read_as(
        self, reading: Reading, message: str, discourse: Discourse, history: Sequence[Utterance]
    ) -> Resolution:
        found = self._resolved(reading.text, discourse, history)
        if not reading.slips:
            return found
        references = reading.references(message, found.references)
        return replace(found, references=references, edits=reading.edits(found.edits))

    def _resolved(
        self, message: str, discourse: Discourse, history: Sequence[Utterance]
    ) -> Resolution:
        analysis = self.analyse(message)
        if message.endswith("."):  # the full stop behind a fragment ends no sentence
            bare = self.analyse(message.rstrip("."))
            analysis = bare if all(clause.verb is None for clause in bare.clauses) else analysis
        rules = self.rules if discourse else tuple(filter(_serves_first, self.rules))
        if not rules or not analysis.words:
            return Resolution()
        scene = Scene(analysis, discourse, self.knowledge, self.analyse, history)
        found = self._found(scene, rules)
        if len(message) > ANALYSED_CHARS:
            found = [one for one in found if not one.whole]
        everything = (0, len(analysis.text))
        return Resolution(
            references=tuple(f.reference for f in found if f.reference is not None),
            edits=tuple(
                Edit(0, len(message), e.text) if f.whole and (e.start, e.end) == everything else e
                for f in found
                for e in f.edits
            ),
            notes=tuple(f.note for f in found),
            focus=next((f.focus for f in found if f.focus is not None), None),
            unresolved=find_unresolved(scene, rules, found),
        )

    def _found(self, scene: Scene, rules: Iterable[Rule]) -> list[Found]:
        """Findings of all rules that do not overlap; a whole-message finding stands alone."""
        text, taken = scene.analysis.text, scene.taken
        taken += find_taught(scene, self._taught)
        settled = bool(taken)
        for rule in rules:
            mechanism = _MECHANISMS.get(rule.signal.kind)
            for found in mechanism(scene, rule) if mechanism else ():
                if not is_well_formed(text, apply_edits(text, found.edits)):
                    continue
                if found.whole and not settled:
                    return [found]
                if not any(_overlap(found, other) for other in taken):
                    taken.append(found)
        return sorted(taken, key=lambda f: f.edits[0].start if f.edits else -1)

    def feature_of(self, message: str) -> str | None:
        """What a message sets out to build ("FAB button"), None when it names nothing.

        The main object, else the first thing named.
        """
        named = [m for m in mentions_in(self.analyse(message), 0) if m.role != "poss"]
        main = main_thing(named, ("obj", "pobj", "subj", "none"))
        return main.text if main is not None else None


def _serves_first(rule: Rule) -> bool:
    """Whether it reads a message with nothing of the user before it."""
    wording = rule.signal.kind == "pattern" and bool(rule.render.text)
    return wording or rule.signal.kind == "agreement"


def _are_same(found: Resolution, other: Resolution, slip: Slip, message: str) -> bool:
    """Whether one thing is written, and the same where a word is a slip."""
    sole = len({reference.start for reference in found.references}) <= 1
    written, otherwise = (apply_edits(message, one.edits) for one in (found, other))
    return sole and as_typed(otherwise, slip, message) == written


def _overlap(a: Found, b: Found) -> bool:
    return any(
        (x.start < y.end and y.start < x.end) or (x.start == y.start and x.end == y.end)
        for x in a.edits
        for y in b.edits
    )


def _names_new(analysis: Analysis, discourse: Discourse) -> bool:
    """Whether a message names something that the context does not know."""
    known = [(m.head, {*m.modifiers}) for m in discourse.mentions()]
    roles = {"obj", "pobj", "none", "subj"}
    return any(
        not any(m.head == head and modifiers.issuperset(m.modifiers) for head, modifiers in known)
        and m.role in roles
        and not is_time(m)
        and not m.parts
        for m in mentions_in(analysis, 0)
    )
