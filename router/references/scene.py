"""A message as the rules see it, analysed and with the discourse before it, and what they find."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from kds.brain.turn import Edit, Reference, Utterance
from kds.router.discourse.history import Discourse
from kds.router.discourse.mentions import Mention, is_somebody, mentions_in, mood_of
from kds.router.discourse.newcomers import Read, newcomers
from kds.router.discourse.salience import Candidate, Knowledge, Need, margin, rank, slot_of
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis, Clause, Role, Word
from kds.router.pattern import Pattern
from kds.router.references.decision import is_destructive
from kds.router.references.rendering import bare, definite, in_place_of
from kds.router.references.ruleset import AntecedentNeed, Rule

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

SEARCHES_KEPT: Final = 8192
"""Results of searches: about 100 patterns for each of the last ten messages of some contexts."""

_TEXTS: Final = words("nouns", "of_texts")
_CREATING: Final = words("verbs", "creating")

Span = tuple[int, int]
Among = Callable[[Mention], bool]


@dataclass(frozen=True, slots=True)
class Choice:
    """The antecedent chosen, its lead over the runner-up, and how old it is."""

    mention: Mention
    score: float
    margin: float
    age: int
    alone: bool
    """Nothing else competed, but for the place that it was put in."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule makes of some words: what they refer to, and the edits that this needs."""

    reference: Reference | None
    edits: tuple[Edit, ...]
    note: str
    focus: Mention | None = None
    """What later messages then talk about."""
    whole: bool = False
    """True when the edits replace the whole message (ellipsis, corrections)."""
    left: str = ""
    """The words of a reference that no antecedent was good enough for, else ""."""


@dataclass(frozen=True)
class Scene:
    """The message, its analysis, what was said before, and what the rules know."""

    analysis: Analysis
    discourse: Discourse
    knowledge: Knowledge
    read: Read
    """Analyses a reply."""
    history: Sequence[Utterance] = ()
    """What was said before with the assistant's replies, where they are known."""
    taken: list[Found] = field(default_factory=list)
    """What the rules have found so far."""

    @property
    def words(self) -> tuple[Word, ...]:
        """Words of the message."""
        return self.analysis.words

    def lower(self, i: int) -> str:
        """The word at ``i`` in lower case, "" outside."""
        return self.words[i].lower if 0 <= i < len(self.words) else ""

    def pos(self, i: int) -> str:
        """The part of speech of the word at ``i``, "" outside."""
        return self.words[i].pos if 0 <= i < len(self.words) else ""

    def clause(self, i: int) -> Clause:
        """The clause of the word at ``i``."""
        return self.analysis.clauses[self.analysis.clause_of(i)]

    def chars(self, start: int, end: int) -> Span:
        """The characters of the words from ``start`` to before ``end``."""
        return self.words[start].start, self.words[end - 1].end

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

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """Mentions in the message itself."""
        return mentions_in(self.analysis, len(self.discourse.moments))

    @property
    def used(self) -> frozenset[str]:
        """What the edits found so far name: two pronouns name two things."""
        named = ((f.reference, e.text) for f in self.taken for e in f.edits if f.reference)
        return frozenset(one.target for one, text in named if one.text and one.target in text)

    def newer(self, chosen: Mention, among: Among | None = None) -> str:
        """What a reply brought up since ``chosen`` was named and may be meant, "" for nothing.

        Where replies are mentions of the discourse itself, they compete there.
        """
        somebody = is_somebody(chosen) and not chosen.label  # "the API client" is nobody
        if somebody or any(moment.replies for moment in self.discourse.moments):
            return ""
        coloured = any(label == "COLOR" for _, _, label, _ in self.analysis.entities)
        for one in self._newcomers(chosen):
            fits = one.number == chosen.number or self.is_destructive
            if fits and not (coloured and one.head in _TEXTS) and (among is None or among(one)):
                return one.text
        return ""

    def _newcomers(self, chosen: Mention) -> Iterable[Mention]:
        if not self.history:
            return ()
        return newcomers(self.history, chosen, self.read, strict=self.is_destructive)

    def need_at(self, i: int, base: AntecedentNeed, *, role: Role | None = None) -> Need:
        """What the grammar around word ``i`` asks of an antecedent.

        Commands go on with things, whatever stands beside them.
        """
        clause, role = self.clause(i), role or self.role_at(i)
        verb = self._verb(clause)
        asks = self.words[i].pos == "PRON" and clause.mood != "imperative"
        return Need(
            number=None if base.number == "any" else base.number,
            person=base.person,
            role=role,
            verb=verb,
            complement=self._complement(i),
            mood=clause.mood,
            decay=base.decay,
            slot=slot_of(self.analysis, i, role, verb) if asks else "",
        )

    def _verb(self, clause: Clause) -> str:
        """The lemma of its verb, with a particle."""
        if clause.verb is None:
            return ""
        verb, behind = self.words[clause.verb], self.words[clause.verb + 1 : clause.verb + 4]
        particles = (w.lower for w in behind if w.pos == "ADV" and w.lower in cc.PARTICLES)
        return " ".join([verb.lemma, *islice(particles, 1)])

    def _complement(self, i: int) -> str:
        """ "nullable" of "make it nullable", "wide" of "it should be wider"."""
        for word in self.words[i + 1 : i + 5]:
            if word.pos == "ADJ":
                return word.lemma
            if word.pos in {"PUNCT", "ADP", "CCONJ"}:
                break
        return ""

    def role_at(self, i: int) -> Role:
        """Grammatical role of a pronoun at word ``i``."""
        if self.pos(i - 1) == "ADP":
            return "of" if self.lower(i - 1) == "of" else "pobj"
        verb = self.clause(i).verb
        if verb is None:
            return "none"
        return "subj" if verb > i or self.words[verb].pos == "AUX" else "obj"

    def is_commanded(self, i: int) -> bool:
        """Whether word ``i`` stands in a command, or in a condition of one."""
        clause = self.clause(i)
        beside = self.analysis.clauses if clause.subordinate else (clause,)
        return any(mood_of(self.analysis, one) == "imperative" for one in beside)

    def is_sole(self, i: int, choice: Choice) -> bool:
        """Whether a command changes the antecedent at word ``i``, and nothing else competed."""
        return self.is_commanded(i) and self.is_alone(choice)

    def is_alone(self, choice: Choice) -> bool:
        """Whether the antecedent was named lately, and nothing else competed or came up since."""
        lately = choice.alone and choice.age <= SOLE_REACH
        return lately and not any(self._newcomers(choice.mention))

    def candidates(
        self, need: Need, base: AntecedentNeed, among: Among = lambda _: True
    ) -> list[Candidate]:
        """Antecedents by score, best first, within the rule's reach; of many the newest."""
        age = self.discourse.age
        pool = (m for m in self.discourse.mentions() if age(m) <= base.max_age and among(m))
        most = min(MOST_MENTIONS, MOST_WEIGHED // len(self.words))
        return rank(islice(pool, most), need, self.discourse, self.knowledge)

    def chosen(
        self, need: Need, base: AntecedentNeed, among: Among = lambda _: True
    ) -> Choice | None:
        """The best of the candidates, None when none is good enough (`choose`)."""
        return choose(self, self.candidates(need, base, among), base)


Mechanism = Callable[[Scene, Rule], Iterable[Found]]
"""Finds every signal of one kind in the scene and resolves it."""


def choose(
    scene: Scene,
    candidates: Sequence[Candidate],
    need: AntecedentNeed,
    among: Among | None = None,
) -> Choice | None:
    """The best candidate, or None when it is too weak, its lead too thin, or a reply brought up
    something newer (``among`` what can be meant): abstain."""
    if not candidates:
        return None
    best = candidates[0]
    # "Its text is too harsh / soften it": the dialog does not compete with the dialog's text
    candidates = [c for c in candidates if not best.mention.text.startswith(f"{c.mention.text}'s ")]
    lead = margin(candidates)
    if best.score < need.min_score or lead < need.min_margin or scene.newer(best.mention, among):
        return None
    rivals = (one.mention for one in candidates[1:] if one.score > FAINT * best.score)
    alone = all(_is_its_place(scene, one, best.mention) for one in rivals)
    age = scene.discourse.age(best.mention)
    return Choice(best.mention, min(1.0, best.score), lead, age, alone)


def _is_its_place(scene: Scene, mention: Mention, chosen: Mention) -> bool:
    """ "The app" of "Add a date picker to the app": known before, and beside the new thing."""
    beside = mention.turn == chosen.turn and mention.start >= chosen.end
    known = mention.determiner == "the" and mention.role in {"pobj", "of"}
    return beside and known and chosen.role == "obj" and is_new(scene, chosen)


def is_new(scene: Scene, mention: Mention) -> bool:
    """Whether it was brought up by a command or a wish: "add a footer", "we need tooltips"."""
    for known in scene.discourse.mentions():
        plain = known.determiner == "" and known.role == "obj" and known.mood != "question"
        new = known.brought_up or (plain and known.verb in _CREATING)
        if new and known.same_thing(mention):
            return True
    return False


def written(
    scene: Scene,
    rule: Rule,
    span: Span,
    text: str,
    target: str = "",
    *,
    choice: Choice | None = None,
    score: float = SETTLED,
    sole: bool = False,
    implicit: bool = False,
) -> Found:
    """The characters ``span`` of the message written out as ``text``.

    It names ``target``, or the antecedent that was chosen; ``implicit``: no word does.
    """
    start, end = span
    given = scene.analysis.text[start:end]
    said = "" if implicit else given
    how = f"score {score:.2f}"
    if choice is not None:
        target, score = bare(choice.mention), choice.score
        ago = f"{choice.mention.role}, {choice.age + 1} turn(s) ago"
        how = f"{ago}, score {score:.2f}, margin {choice.margin:.2f}"
    shown = f"'{said}'" if said else "left out"
    return Found(
        Reference(said, start, start + len(said), target, rule.id, score, sole),
        (Edit(start, end, in_place_of(given, text)),),
        f"{shown} -> '{text.strip()}' ({rule.id}, {how})",
    )


def inserted(scene: Scene, rule: Rule, at: int, choice: Choice, preposition: str) -> Found:
    """The antecedent added behind the word before ``at``, with a preposition."""
    end = scene.words[at - 1].end
    text = f" {preposition} {definite(choice.mention)}"
    sole = scene.is_sole(at - 1, choice)
    return written(scene, rule, (end, end), text, choice=choice, sole=sole)


def rewritten(scene: Scene, rule: Rule, text: str, target: str, span: Span | None = None) -> Found:
    """The whole message, which goes on with what was said before, written anew as ``text``.

    ``span`` is what in it refers to ``target``; None: all of it.
    """
    message = scene.analysis.text
    start, end = span or (0, len(message))
    if message[:1].isupper():
        text = text[:1].upper() + text[1:]
    return Found(
        Reference(message[start:end], start, end, target, rule.id, SETTLED),
        (Edit(0, len(message), text),),
        f"'{message}' goes on with what was said before ({rule.id}) -> '{text}'",
        whole=True,
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


def cued(rule: Rule, text: str, *, at_start: bool = False) -> "regex.Match[str] | None":
    """Where the first cue of the rule that fits matches; ``at_start`` asks for the beginning."""
    found = (search(pattern, text) for pattern in rule.signal.cues)
    return next((m for m in found if m is not None and (m.start() == 0 or not at_start)), None)


def covered(rule: Rule, text: str, start: int, end: int) -> bool:
    """True when an ``unless`` pattern of the rule covers the characters ``start`` to ``end``."""
    found = (search(pattern, text) for pattern in rule.signal.unless)
    return any(m is not None and m.start() <= start and end <= m.end() for m in found)
