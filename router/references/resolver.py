"""Applies the reference rules to a message in its discourse, and replays a context."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.reply import (
    as_command,
    closing_sentence,
    proposed,
    prose,
    without_purpose,
)
from kds.router.discourse.salience import Need
from kds.router.references.rule import AntecedentNeed, Rule
from kds.router.references.scene import Found, Scene, choose, search

if TYPE_CHECKING:
    import regex

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from kds.brain.learning.examples import LearnedReference
from kds.brain.turn import ContextEntry
from kds.router.discourse.history import Discourse, Utterance, words_of
from kds.router.discourse.knowledge import Knowledge
from kds.router.discourse.mention import Mention, is_time
from kds.router.discourse.mentions import mentions_in
from kds.router.language.analysis import ANALYSED_CHARS, Language
from kds.router.language.misspelling import Reading, Slip, as_typed, doubts, spelt
from kds.router.language.words import Analysis
from kds.router.references.caution import find_unresolved
from kds.router.references.ellipsis import (
    find_actions,
    find_bare_questions,
    find_comparisons,
    find_conditions,
    find_purposes,
)
from kds.router.references.enumerations import find_both, find_order, find_which
from kds.router.references.fragments import (
    find_corrections,
    find_questions,
    find_repeats,
)
from kds.router.references.implicit import (
    find_attributes,
    find_constraints,
    find_parts,
    find_qualities,
    find_relations,
)
from kds.router.references.nouns import find_nouns, find_ones
from kds.router.references.pronouns import find_demonstratives, find_places, find_pronouns
from kds.router.references.rendering import definite, is_well_formed
from kds.router.references.rule import SignalKind
from kds.router.references.scene import Mechanism, cued, used_by
from kds.router.references.taught import TAUGHT, find_taught, find_wordings

ACTION_WORDS: Final = 12
"""A longer offer is a plan: "yes" to it says more than one would write."""

_SCORE: Final = 0.9
"""Shown for answers: the reply says in so many words what is answered."""


_ASKED: Final = re.compile(r"\?+")

_ABOUT_IT: Final = (" for it", " to it", " with it")
"""Not "commit it", "delete it": what is committed or deleted is more than was named."""

_Span = tuple[int, int]


def find_agreements(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "yes", "go ahead", "do it", where the reply closes with an offer.

    A cue must match the whole message. Its group ``deed`` is replaced by what was offered, which
    otherwise follows the message, behind "and" where the group ``on`` ends it. A ``verb`` must be
    that of the offer, and what matches ``weak`` answers the only question of a reply.
    """
    action = _offered(scene.reply, rule) or _offered_for_it(scene)
    match = _whole(scene.analysis.text, rule) if action else None
    groups = match.groupdict() if match is not None else {}
    if match is None or not _is_answered(groups, action, scene.reply):
        return
    text = scene.analysis.text
    if groups.get("deed"):
        start, end = match.span("deed")
        yield _found(rule, text, (start, end), Edit(start, end, action), action)
        return
    end = len(text.rstrip(" .!,"))
    yield _found(rule, text, (0, end), Edit(end, end, _joined(groups.get("on"), action)), action)


def _joined(on: str | None, action: str) -> str:
    """ "yes, warm the cache", "go ahead and warm it"; "go ahead with the release" says it once."""
    if on and action.lower().startswith(f"{on.lower()} "):
        return action[len(on) :]
    return f" and {action}" if on else f", {action}"


def _is_answered(groups: Mapping[str, str | None], action: str, reply: str) -> bool:
    """ "Raise it" repeats the verb of what was offered; a mere "ok" answers the only question."""
    if verb := groups.get("verb"):
        return verb.lower() == action.partition(" ")[0].lower()
    asked = _ASKED.findall(prose(reply))
    return not groups.get("weak") or (len(asked) == 1 and closing_sentence(reply).endswith("?"))


def _offered(reply: str, rule: Rule) -> str:
    """What the reply's last sentence offers to do; "" when it offers nothing that says enough."""
    closing = closing_sentence(reply) if reply else ""
    for pattern in rule.signal.offers:
        match = search(pattern, closing)
        if match is not None:
            offered = match.groupdict().get("action") or match.group()
            action = as_command(without_purpose(offered.strip(" .?!,")))
            return action if len(action.split()) <= ACTION_WORDS else ""
    return ""


def _offered_for_it(scene: Scene) -> str:
    """ "Want me to add tests for it?", where the user named one thing, and the reply no other."""
    action, need = proposed(scene.reply) if scene.reply else "", AntecedentNeed(number="sg")
    if not action.endswith(_ABOUT_IT) or len(action.split()) > ACTION_WORDS:
        return ""
    before = scene.reply[: scene.reply.rfind(closing_sentence(scene.reply))]
    told = replace(scene, history=(*scene.history[:-1], Utterance(before, "assistant")))
    pool = told.candidates(Need(number="sg", role="obj"), need, among=lambda m: m.brought_up)
    choice = choose(told, pool, need)
    if choice is None or not told.is_alone(choice):
        return ""
    return f"{action.removesuffix(' it')} {definite(choice.mention)}"


def _whole(text: str, rule: Rule) -> "regex.Match[str] | None":
    found = _first(text, rule)
    return found if found is not None and found.group().strip() == text.strip() else None


def _first(text: str, rule: Rule) -> "regex.Match[str] | None":
    matches = (search(pattern, text) for pattern in rule.signal.cues)
    return next((match for match in matches if match is not None), None)


def _found(rule: Rule, text: str, span: _Span, edit: Edit, target: str) -> Found:
    """``target`` is told, not kept: it is the assistant's."""
    start, end = span
    return Found(
        (Reference(text[start:end], start, end, "", rule.id, _SCORE),),
        (edit,),
        f"'{text[start:end]}' -> '{target}' ({rule.id}, from the end of the reply)",
        whole=True,
    )


REPLAYED: Final = 128
"""Discourses kept: each new turn then replays only its own message."""

_MARKS: Final = ".,;:!?()\"'"
REACH: Final = 60
"""Utterances that are replayed at most; what was said before them is forgotten."""

_MECHANISMS: Final[dict[SignalKind, Mechanism]] = {
    "question": find_questions,
    "correction": find_corrections,
    "repeat": find_repeats,
    "which": find_which,
    "pronoun": find_pronouns,
    "demonstrative": find_demonstratives,
    "noun": find_nouns,
    "relation": find_relations,
    "one": find_ones,
    "both": find_both,
    "order": find_order,
    "place": find_places,
    "attribute": find_attributes,
    "part": find_parts,
    "quality": find_qualities,
    "constraint": find_constraints,
    "bare": find_bare_questions,
    "condition": find_conditions,
    "action": find_actions,
    "purpose": find_purposes,
    "comparison": find_comparisons,
    "pattern": find_wordings,
    "agreement": find_agreements,
}


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


def naming(antecedent: str) -> str:
    """The shortest message that brings ``antecedent`` up: a name takes no article.

    >>> naming("login form"), naming("FAB button"), naming("React"), naming("src/a.py")
    ('Use the login form', 'Use the FAB button', 'Use React', 'Use src/a.py')
    """
    named = " " not in antecedent and not antecedent.islower()
    shaped = " " not in antecedent and not antecedent.isalpha()
    return f"Use {antecedent}" if named or shaped else f"Use the {antecedent}"


def _words(text: str) -> set[str]:
    return {word.strip(_MARKS) for word in text.lower().split()}


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
        self._switches = tuple(r for r in self.rules if r.signal.kind == "switch")
        self._focus = tuple(r for r in self.rules if r.signal.kind == "focus")
        self._first = tuple(r for r in self.rules if _serves_first(r))
        """Rules for a message with nothing of the user before it."""
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
        said = tuple(_said(context, known))
        return self._memo(said[-REACH:])

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
        focus = resolution.focus or moved_focus(analysis, self._focus, self.knowledge)
        return before.then(analysis, focus=focus)

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
        if not discourse:
            return self._resolved(message, discourse, history)
        said = discourse.words.union(*(words_of(one.text) for one in history))
        reading = spelt(message, said)
        found = self._read_as(reading, message, discourse, history)
        if not found.edits:
            return found
        slips = doubts(message, said)
        if slips is None:
            return Resolution(notes=("left: many of its words are in no lexicon",))
        own = self._in_own_words(found)
        for slip in (one for one in slips if one.start not in own):
            other = self._read_as(reading.with_slip(slip, message), message, discourse, history)
            if not _are_same(found, other, slip, message):
                said_as = message[slip.start : slip.end]
                return Resolution(notes=(f"left: '{said_as}' may be a slip of '{slip.meant}'",))
        return found

    def _in_own_words(self, found: Resolution) -> frozenset[int]:
        """Characters that the user's own wordings cover, taught or written as a rule."""
        own = {rule.id for rule in self.rules if rule.signal.kind == "pattern"} | {TAUGHT}
        spans = (range(one.start, one.end) for one in found.references if one.rule in own)
        return frozenset().union(*spans)

    def _read_as(
        self, reading: Reading, message: str, discourse: Discourse, history: Sequence[Utterance]
    ) -> Resolution:
        found = self._resolved(reading.text, discourse, history)
        if not reading.slips:
            return found
        return replace(
            found,
            references=reading.references(message, found.references),
            edits=reading.edits(found.edits),
        )

    def _resolved(
        self, message: str, discourse: Discourse, history: Sequence[Utterance]
    ) -> Resolution:
        analysis = self._read(message)
        rules = self.rules if discourse else self._first
        if not rules or not analysis.words:
            return Resolution()
        scene = Scene(analysis, discourse, self.knowledge, history=history, read=self.analyse)
        found = self._found(scene, rules)
        if len(message) > ANALYSED_CHARS:
            found = [f for f in found if not f.whole]
        read, given = len(analysis.text), len(message)
        edits = [
            replace(e, end=given) if f.whole and (e.start, e.end) == (0, read) else e
            for f in found
            for e in f.edits
        ]
        return Resolution(
            references=tuple(r for f in found for r in f.references),
            edits=tuple(edits),
            notes=tuple(f.note for f in found),
            focus=next((f.focus for f in found if f.focus is not None), None),
            unresolved=find_unresolved(scene, rules, found),
        )

    def _read(self, message: str) -> Analysis:
        """The analysis, without the full stop behind a fragment: it ends no sentence."""
        if message.endswith("."):
            bare = self.analyse(message.rstrip("."))
            if all(clause.verb is None for clause in bare.clauses):
                return bare
        return self.analyse(message)

    def switch(self, message: str, discourse: Discourse) -> str | None:
        """Id of the rule that sees the topic change with ``message``, None when it goes on."""
        analysis = self.analyse(spelt(message, discourse.words).text)
        return switches_topic(analysis, discourse, self._switches)

    def _found(self, scene: Scene, rules: Iterable[Rule]) -> list[Found]:
        """Findings of all rules that do not overlap; a whole-message finding stands alone."""
        text = scene.analysis.text
        taken = list(find_taught(scene, self._taught))
        settled = bool(taken)
        deeds = frozenset(r.id for r in rules if r.signal.kind in {"action", "purpose"})
        for rule in rules:
            mechanism = _MECHANISMS.get(rule.signal.kind)
            if rule.signal.kind == "pronoun" and taken:
                scene = replace(scene, used=used_by(taken, but=deeds))
            elif scene.used:
                scene = replace(scene, used=frozenset())
            for found in mechanism(scene, rule) if mechanism else ():
                if not is_well_formed(text, apply_edits(text, found.edits)):
                    continue
                if found.whole and not settled:
                    return [found]
                if rule.signal.kind == "demonstrative" and _again(found, taken, deeds):
                    continue  # "does it log that": two words, two things
                again = rule.signal.kind == "noun" and _is_named_twice(found, taken)
                if not again and not any(_overlap(found, other) for other in taken):
                    taken.append(found)
        return sorted(taken, key=lambda f: f.edits[0].start if f.edits else -1)

    def feature_of(self, message: str) -> str | None:
        """What a message sets out to build ("FAB button"), None when it names nothing."""
        mention = feature(self.analyse(message))
        return None if mention is None else mention.text


def _are_same(found: Resolution, other: Resolution, slip: Slip, message: str) -> bool:
    """Whether one thing is written, and the same where a word is a slip."""
    written, else_ = (apply_edits(message, one.edits) for one in (found, other))
    sole = len({reference.start for reference in found.references}) <= 1
    return sole and as_typed(else_, slip, message) == written


def _serves_first(rule: Rule) -> bool:
    answers = rule.signal.kind == "agreement"
    return answers or (rule.signal.kind == "pattern" and bool(rule.render.text))


def _again(found: Found, taken: Sequence[Found], deeds: frozenset[str]) -> bool:
    """Whether another word of the message is taken for the same thing already."""
    used = used_by(taken, but=deeds)
    return any(reference.target in used for reference in found.references)


def _is_named_twice(found: Found, taken: Iterable[Found]) -> bool:
    """ "Move it to the page" behind "Add a map view": the page is not "it", whatever its kind."""
    other = [
        one.target for one in found.references if one.text.split()[-1] != one.target.split()[-1]
    ]
    return not used_by(taken, but=frozenset()).isdisjoint(other)


def _overlap(a: Found, b: Found) -> bool:
    return any(
        (x.start < y.end and y.start < x.end) or (x.start == y.start and x.end == y.end)
        for x in a.edits
        for y in b.edits
    )


def switches_topic(analysis: Analysis, discourse: Discourse, rules: tuple[Rule, ...]) -> str | None:
    """The id of the rule that sees a switch in the message, or None."""
    if not discourse:
        return None
    for rule in rules:
        if any(search(p, analysis.text) for p in rule.signal.unless):
            continue
        if any(search(p, analysis.text) for p in rule.signal.cues) and _something_new(
            analysis, discourse
        ):
            return rule.id
    return None


def _something_new(analysis: Analysis, discourse: Discourse) -> bool:
    known = {m.head for m in discourse.mentions()}
    mentions = [m for m in mentions_in(analysis, 0) if not is_time(m) and not m.parts]
    roles = {"obj", "pobj", "none", "subj"}
    return any(m.head not in known for m in mentions if m.role in roles)


def moved_focus(
    analysis: Analysis, rules: tuple[Rule, ...], knowledge: Knowledge
) -> Mention | None:
    """What a correction puts in the place of something else.

    A cue of the rule has a group ``type`` with a type noun: after "Wrong file! It is in a/b.py" the
    path is in focus.
    """
    mentions = mentions_in(analysis, 0)
    for rule in rules:
        match = cued(rule, analysis.text)
        wanted = (match.groupdict().get("type") or "").lower() if match is not None else ""
        meant = (m for m in mentions if m.head != wanted and knowledge.is_a(m, wanted))
        if wanted and (found := next(meant, None)) is not None:
            return found
    return None


def feature(analysis: Analysis) -> Mention | None:
    """What a message sets out to build: the main object, else the first thing named."""
    mentions = [
        m for m in mentions_in(analysis, 0) if not is_time(m) and not m.parts and m.role != "poss"
    ]
    for wanted in ("obj", "pobj", "subj", "none"):
        for mention in mentions:
            if mention.role == wanted and not mention.subordinate:
                return mention
    return mentions[0] if mentions else None
