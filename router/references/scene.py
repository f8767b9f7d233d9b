"""A message as the rules see it: analysed, with the discourse before it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from kds.brain.turn import Edit, Reference, Utterance
from kds.router.discourse.fitness import Slot, slot_of
from kds.router.discourse.history import Discourse
from kds.router.discourse.knowledge import Knowledge
from kds.router.discourse.mention import Mention, is_somebody
from kds.router.discourse.mentions import mentions_in, mood_of
from kds.router.discourse.newcomers import Read, newcomers
from kds.router.discourse.salience import Candidate, Need, margin, rank
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis, Role, Word
from kds.router.pattern import Pattern
from kds.router.references.decision import is_destructive
from kds.router.references.rendering import in_place_of
from kds.router.references.rule import AntecedentNeed, Rule

if TYPE_CHECKING:
    import regex

MOST_MENTIONS: Final = 200
"""Mentions that compete for one word: in the dev chats 61 at the 99th percentile, 170 at most."""

MOST_WEIGHED: Final = 20_000
"""Mentions weighed for all words of a message together: one that repeats "not that" 150 times after
ten of its kind took 17 s. A message of 100 words has all MOST_MENTIONS."""

SOLE_REACH: Final = 3
"""Messages back within which the only thing named is still what the talk is about."""

FAINT: Final = 0.2
"""Share of the best score below which a candidate is not a rival: "work" of "if it's not too much
work" beside the thing that is being built."""

SETTLED: Final = 0.8
"""Shown for what the form of the message settles, where no antecedents compete."""

_TEXTS: Final = words("nouns", "of_texts")
_CREATING: Final = words("verbs", "creating")

SEARCHES_KEPT: Final = 8192
"""Results of searches: about 100 patterns for each of the last ten messages of some contexts."""


@dataclass(frozen=True)
class Scene:
    """The message, its analysis, what was said before, and what the rules know."""

    analysis: Analysis
    discourse: Discourse
    knowledge: Knowledge
    used: frozenset[str] = frozenset()
    """Targets of other pronouns in the message: two pronouns name two things."""
    history: Sequence[Utterance] = ()
    """What was said before with the assistant's replies, where they are known."""
    read: Read | None = None
    """Analyses a reply."""

    @property
    def words(self) -> tuple[Word, ...]:
        """Words of the message."""
        return self.analysis.words

    def word(self, i: int) -> Word | None:
        """The word at ``i``, None outside."""
        return self.words[i] if 0 <= i < len(self.words) else None

    def lower(self, i: int) -> str:
        """Its text in lower case, "" outside."""
        word = self.word(i)
        return word.lower if word is not None else ""

    @property
    def reply(self) -> str:
        """What the assistant answered to the last message, "" where that is not known."""
        last = self.history[-1] if self.history else Utterance("")
        return last.text if last.role == "assistant" else ""

    @cached_property
    def is_destructive(self) -> bool:
        """Whether something is to be deleted, stopped or overwritten: no "delete button"."""
        inside = self.analysis.phrase_at
        return is_destructive(" ".join(w.lower for w in self.words if w.i not in inside))

    def newer(self, chosen: Mention, *, among: Callable[[Mention], bool] | None = None) -> str:
        """What a reply brought up since ``chosen`` was named and may be meant, "" for nothing.

        Where replies are mentions of the discourse itself, they compete there.
        """
        weighed = any(moment.replies for moment in self.discourse.moments)
        somebody = is_somebody(chosen) and not chosen.label  # "the API client" is nobody
        if self.read is None or not self.history or weighed or somebody:
            return ""
        strict = self.is_destructive
        several = chosen.number == "pl" and not strict
        found = newcomers(self.history, chosen, self.read, strict=strict)
        coloured = any(label == "COLOR" for _, _, label, _ in self.analysis.entities)
        fitting = (
            m for m in found
            if (not several or m.number == "pl") and not (coloured and m.head in _TEXTS)
        )  # fmt: skip
        return next((m.text for m in fitting if among is None or among(m)), "")

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """Mentions in the message itself."""
        return mentions_in(self.analysis, len(self.discourse.moments))

    def need_at(self, i: int, *, base: AntecedentNeed, role: Role | None = None) -> Need:
        """What the grammar around word ``i`` asks of an antecedent."""
        clause = self.analysis.clauses[self.analysis.clause_of(i)]
        verb = self._verb_with_particle(self._verb_of(i))
        here = role or self.role_at(i)
        return Need(
            number=None if base.number == "any" else base.number,
            person=base.person,
            role=here,
            verb=verb,
            complement=self._complement(i),
            mood=clause.mood,
            decay=base.decay,
            slot=self._slot_at(i, here, verb, clause.mood),
        )

    def _slot_at(self, i: int, role: Role, verb: str, mood: str) -> Slot:
        """Commands go on with things, whatever stands beside them: no slot there."""
        pronoun = self.words[i].pos == "PRON" and mood != "imperative"
        return slot_of(self.analysis, i, role, verb) if pronoun else ""

    def role_at(self, i: int) -> Role:
        """Grammatical role of a pronoun at word ``i``."""
        before = self.words[i - 1] if i else None
        if before is not None and before.pos == "ADP":
            return "of" if before.lower == "of" else "pobj"
        clause = self.analysis.clauses[self.analysis.clause_of(i)]
        if clause.verb is None:
            return "none"
        inverted = self.words[clause.verb].pos == "AUX" and clause.verb < i
        return "subj" if clause.verb > i or inverted else "obj"

    def is_sole(self, i: int, choice: "Choice") -> bool:
        """Whether a command changes the antecedent at word ``i``, and nothing else competed."""
        return self.is_commanded(i) and self.is_alone(choice)

    def is_commanded(self, i: int) -> bool:
        """Whether word ``i`` stands in a command, or in a condition of one."""
        clause = self.analysis.clauses[self.analysis.clause_of(i)]
        beside = self.analysis.clauses if clause.subordinate else (clause,)
        return any(mood_of(self.analysis, one) == "imperative" for one in beside)

    def is_alone(self, choice: "Choice") -> bool:
        """Whether the antecedent was named lately, and nothing else competed or came up since."""
        alone = choice.alone and choice.age <= SOLE_REACH
        if not alone or self.read is None:
            return alone
        strict = self.is_destructive
        return not any(newcomers(self.history, choice.mention, self.read, strict=strict))

    def _verb_of(self, i: int) -> int | None:
        clause = self.analysis.clauses[self.analysis.clause_of(i)]
        return clause.verb

    def _verb_with_particle(self, verb: int | None) -> str:
        if verb is None:
            return ""
        for word in self.words[verb + 1 : verb + 4]:
            if word.pos == "ADV" and word.lower in cc.PARTICLES:
                return f"{self.words[verb].lemma} {word.lower}"
        return self.words[verb].lemma

    def _complement(self, i: int) -> str:
        """ "nullable" of "make it nullable", "wide" of "it should be wider"."""
        for word in self.words[i + 1 : i + 5]:
            if word.pos == "ADJ":
                return word.lemma
            if word.pos in {"PUNCT", "ADP", "CCONJ"}:
                break
        return ""

    def candidates(
        self, need: Need, base: AntecedentNeed, *, among: Callable[[Mention], bool] | None = None
    ) -> list[Candidate]:
        """Antecedents by score, best first, within the rule's reach; of many the newest."""
        pool = (
            mention
            for mention in self.discourse.mentions()
            if self.discourse.age(mention) <= base.max_age
            and mention.text not in self.used
            and (among is None or among(mention))
        )
        most = min(MOST_MENTIONS, MOST_WEIGHED // len(self.words))
        return rank(islice(pool, most), need, self.discourse, self.knowledge)


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule makes of the message: references, the edits they need, the new focus."""

    references: tuple[Reference, ...]
    edits: tuple[Edit, ...]
    note: str
    focus: Mention | None = None
    whole: bool = False
    """True when the edits replace the whole message (ellipsis, corrections)."""
    left: str = ""
    """The words of a reference that no antecedent was good enough for, else ""."""


def used_by(taken: Iterable[Found], *, but: frozenset[str]) -> frozenset[str]:
    """What words of the message are taken for by rules, ``but`` for some of these."""
    references = (reference for found in taken for reference in found.references)
    return frozenset(one.target for one in references if one.text and one.rule not in but)


@dataclass(frozen=True, slots=True)
class Choice:
    """The antecedent chosen, its lead over the runner-up, and how old it is."""

    mention: Mention
    score: float
    margin: float
    age: int
    alone: bool = False
    """Nothing else competed, but for the place that it was put in."""


Mechanism = Callable[[Scene, Rule], Iterable[Found]]
"""Finds every signal of one kind in the scene and resolves it."""


def choose(
    scene: Scene,
    candidates: Sequence[Candidate],
    need: AntecedentNeed,
    *,
    among: Callable[[Mention], bool] | None = None,
) -> Choice | None:
    """The best candidate, or None when it is too weak, its lead too thin, or a reply brought up
    something newer (``among`` what can be meant): abstain."""
    if not candidates:
        return None
    best = candidates[0]
    lead = margin(candidates)
    if best.score < need.min_score or lead < need.min_margin:
        return None
    if scene.newer(best.mention, among=among):
        return None
    rivals = (one for one in candidates[1:] if one.score > FAINT * best.score)
    alone = all(_is_its_place(scene, one.mention, best.mention) for one in rivals)
    age = scene.discourse.age(best.mention)
    return Choice(best.mention, min(1.0, best.score), lead, age, alone)


def _is_its_place(scene: Scene, mention: Mention, chosen: Mention) -> bool:
    """ "The app" of "Add a date picker to the app": known before, and beside the new thing."""
    beside = mention.turn == chosen.turn and mention.start >= chosen.end
    known = mention.determiner == "the" and mention.role in {"pobj", "of"}
    return beside and known and chosen.role == "obj" and is_new(scene, chosen)


def is_new(scene: Scene, mention: Mention) -> bool:
    """Whether it was brought up by a command or a wish: "add a footer", "we need tooltips"."""
    same = (known for known in scene.discourse.mentions() if known.same_thing(mention))
    return any(_is_brought_up(known) for known in same)


def _is_brought_up(mention: Mention) -> bool:
    plain = mention.determiner == "" and mention.role == "obj" and mention.mood != "question"
    return mention.brought_up or (plain and mention.verb in _CREATING)


def replaced(
    scene: Scene, rule: Rule, span: tuple[int, int], text: str, target: str, score: float = SETTLED
) -> Found:
    """The characters ``span`` of the message written out as ``text``, which names ``target``."""
    start, end = span
    said = scene.analysis.text[start:end]
    return Found(
        (Reference(said, start, end, target, rule.id, score),),
        (Edit(start, end, in_place_of(said, text)),),
        f"'{said}' -> '{text}' ({rule.id}, score {score:.2f})",
    )


def rewritten(
    scene: Scene, rule: Rule, text: str, target: str, span: tuple[int, int] | None = None
) -> Found:
    """The whole message, which goes on with what was said before, written anew as ``text``.

    ``span`` is what in it refers to ``target``; None: all of it.
    """
    message = scene.analysis.text
    start, end = span or (0, len(message))
    if message[:1].isupper():
        text = text[:1].upper() + text[1:]
    return Found(
        (Reference(message[start:end], start, end, target, rule.id, SETTLED),),
        (Edit(0, len(message), text),),
        f"'{message}' goes on with what was said before ({rule.id}) -> '{text}'",
        whole=True,
    )


def cued(rule: Rule, text: str, *, at_start: bool = False) -> "regex.Match[str] | None":
    """Where the first cue of the rule that fits matches; ``at_start`` asks for the beginning."""
    found = (search(pattern, text) for pattern in rule.signal.cues)
    return next((m for m in found if m is not None and (m.start() == 0 or not at_start)), None)


def explain(text: str, choice: Choice, rule: Rule, target: str) -> str:
    """The line of `why` for one reference."""
    shown = f"'{text}'" if text else "left out"
    return (
        f"{shown} -> '{target}' ({rule.id}, {choice.mention.role}, "
        f"{choice.age + 1} turn(s) ago, score {choice.score:.2f}, margin {choice.margin:.2f})"
    )


def abstained(scene: Scene, text: str, candidates: Sequence[Candidate], rule: Rule) -> str:
    """The line of `why` for a reference that was left alone."""
    if not candidates:
        return f"'{text}' is left: nothing to refer to ({rule.id})"
    if newer := scene.newer(candidates[0].mention):
        return f"'{text}' is left: the reply brings up '{newer}' ({rule.id})"
    best = " or ".join(f"'{c.mention.text}' {min(1.0, c.score):.2f}" for c in candidates[:2])
    need = f"needs {rule.antecedent.min_score:.2f} and a lead of {rule.antecedent.min_margin:.2f}"
    return f"'{text}' is left: {best} is not clear enough ({rule.id}, {need})"


@lru_cache(maxsize=SEARCHES_KEPT)
def search(pattern: Pattern, text: str) -> "regex.Match[str] | None":
    """The first match. Kept, because each turn reads the ten messages before it again."""
    return pattern.search(text)


def covered(rule: Rule, text: str, start: int, end: int) -> bool:
    """True when an ``unless`` pattern of the rule covers the characters ``start`` to ``end``."""
    for pattern in rule.signal.unless:
        match = search(pattern, text)
        if match is not None and match.start() <= start and end <= match.end():
            return True
    return False
