"""Messages that lean on the sentence before: "What about X?", "No, green", "Same for X"."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kds.brain.encoder import shared_encoder
from kds.router.discourse.history import Moment
from kds.router.discourse.inquiry import last_question, questions
from kds.router.discourse.mention import Mention, agency
from kds.router.discourse.mentions import mentions_in
from kds.router.discourse.parallels import NUMBER, SAME_KIND, Fragment, best_slot, substitute
from kds.router.discourse.question import Question
from kds.router.discourse.question_slots import asked_again, asked_slot
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import readings
from kds.router.language.words import Analysis, Word
from kds.router.references.caution import borrows_pronoun
from kds.router.references.rendering import bare_text
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, rewritten, search

_LEAD_IN: Final = re.compile(
    r"^(?:(?:and|but|so|or|then|ok|okay|now|actually|also)\b[\s,]*)+", re.I
)
_WISH: Final = re.compile(
    r"^(?:(?:please|now|also|ok|okay|so|actually)\b[\s,]*)*"
    r"(?:(?:i|we)(?:'d| would)? (?:want|need|like|would like|have)(?: you)? to|let's|"
    r"(?:can|could|would) you(?: please)?|please)\s+",
    re.I,
)
_EXPLICIT: Final = re.compile(r"\b(?:same|do|repeat|apply|make|likewise|too|as well)\b", re.I)
_RESTATING: Final = re.compile(r"\b(?:mean|make that)\b", re.I)
_MAKING: Final = re.compile(r"\bmake (?:that|it)$", re.I)
_FOR: Final = "for"
_ABOUT: Final = re.compile(r"\babout$", re.I)
_DOING: Final = re.compile(r"^(?:(?:and|now|then|also|ok|okay|please)[\s,]+)*(?:do|repeat)\b", re.I)
_VERSION: Final = re.compile(r"^v?\d+\.\d+")
_FROM_TO: Final = re.compile(
    r"\bfrom\s+\S*\d\S*\s+to\b|\S\.\w{1,5}\s+(?:to|as|into)\s+\S+\.\w{1,5}\b"
)
"""A value that changes ("from 6379 to 6380"), and one file that becomes another."""
_CAMEL: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_OF_OWN_VALUE: Final = words("verbs", "of_own_value")
_LATER: Final = frozenset({"afterwards", "afterward", "after", "later", "thereafter"})
_LATER_THAN: Final = re.compile(r"\b(?:before|until|up to|prior to) ")
NEAR: Final = 0.25
"""Least cosine of the names of two things of a kind: "header" and "footer" have .36, "timeout" and
"worker" .16; of 46 pairs, .25 parts 37 rightly."""
_COMMANDS: Final = frozenset({"imperative", "statement"})


def find_questions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "What about the Closing Date?": the last question, asked about something else."""
    fragment, prefix = read_fragment(scene, rule)
    if fragment is None or not scene.discourse:
        return
    question = _continued(scene, prefix)
    alone = prefix == "" and " " not in scene.analysis.text.strip(" ?")  # "Really?"
    if question is None:
        text = _repeated(scene, fragment, prefix)
    elif alone or _goes_on_with_a_verb(question, fragment) or _is_of_command(question, prefix):
        return
    else:
        text = _asked(scene, question, fragment, prefix)
    if text:
        yield from _sound(scene, rule, fragment, _without_lead_in(text))


def _continued(scene: Scene, prefix: str) -> Question | None:
    """The last question; "And X?" behind "Why?" goes on with what it asked the reason of."""
    question = last_question(scene.discourse)
    if question is None or question.span(question.wh).lower() != "why" or _ABOUT.search(prefix):
        return question
    before = [q for q in questions(scene.discourse) if q is not question][:1]
    plain = [w.lower for w in question.words[question.predicate[0] : question.predicate[1]]]
    for other in before:
        said = [w.lower for w in other.words[other.predicate[0] : other.predicate[1]]]
        if said and said == [w for w in plain if w != "not"] and not other.copular:
            return other
    return question


def _goes_on_with_a_verb(question: Question, fragment: Fragment) -> bool:
    """ "Can you build it?" + "and test": a request for one thing more."""
    verb = readings(fragment.text.lower()).verb
    addressed = question.subject_text.lower() in {"you", "we"}
    return addressed and not fragment.prep and verb == fragment.text.lower()


def _repeated(scene: Scene, fragment: Fragment, prefix: str) -> str:
    """ "And on macOS?" behind "Run the suite on Linux": the same of something else."""
    if prefix == "" or "same" in prefix.lower():
        return ""  # of a command, `repeat` knows more
    moment = scene.discourse.last
    slot = best_slot(moment.analysis, moment.mentions, fragment)
    if slot is None or slot.likeness < SAME_KIND:
        return ""
    return substitute(moment.analysis, slot, fragment)


def _is_of_command(question: Question, prefix: str) -> bool:
    """ "do the same for X": of a command, `repeat` knows more; "could you tell me when" is none."""
    return _DOING.match(prefix) is not None and not question.indirect


def _asked(scene: Scene, question: Question, fragment: Fragment, prefix: str) -> str:
    """The last question with the fragment in it; "" when it has no place for it."""
    tail = SAME_TAIL.search(scene.analysis.text)
    same = "same" in prefix.lower() or (tail is not None and "same" in tail.group().lower())
    of_rule = tail is not None and "rule" in tail.group().lower()
    if (of_rule or "the above" in prefix.lower()) and _defines(question):
        return ""  # "What is the Closing Date?" asks for no rule
    if fragment.mention is None and fragment.text.lower() in _LATER:
        return _LATER_THAN.sub("after ", f"{question.text}?")
    if _DOING.match(prefix) and fragment.prep == _FOR:
        fragment = replace(fragment, prep="")  # "do it for riot damage too"
    slot = asked_slot(question, fragment, _before(scene, question), oblique=same)
    if slot is not None:
        return asked_again(question, slot, fragment)
    named = fragment.mention
    somebody = named is not None and _ABOUT.search(prefix) is not None and agency(named) == 1
    if fragment.prep or same or somebody or fragment.mention is None:
        same = same or somebody
        return f"{question.text} {fragment.prep or _FOR * same} {fragment.text}?".replace("  ", " ")
    return ""


def _defines(question: Question) -> bool:
    """ "What is the Closing Date?": nothing is said of it."""
    return question.copular and not question.is_polar and not question.said


def _before(scene: Scene, question: Question) -> Question | None:
    """The question that came before."""
    asked = list(questions(scene.discourse))
    at = next((i for i, q in enumerate(asked) if q is question), len(asked))
    return asked[at + 1] if at + 1 < len(asked) else None


def find_corrections(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "No, green", "Sorry, Tuesday": the last command with another value."""
    fragment, cue = read_fragment(scene, rule)
    if fragment is None or not scene.discourse:
        return
    marked = any(mark in cue for mark in ",.:;!-—–") or _RESTATING.search(cue)
    if not fragment.label and not marked:
        return  # "no problem" is not "no, problem"
    moment = scene.discourse.last
    slot = best_slot(moment.analysis, moment.mentions, fragment)
    if _MAKING.search(cue) and (
        slot is None or slot.likeness < SAME_KIND or _is_known(scene, fragment)
    ):
        return  # "make that button purple" changes the button, "make that teal" the color before
    if slot is not None:
        text = _without_lead_in(substitute(moment.analysis, slot, fragment))
        yield _whole(scene, rule, fragment, text)


def _is_known(scene: Scene, fragment: Fragment) -> bool:
    """ "Make that modal" behind "Add a dialog modal": no value."""
    named = fragment.text.lower()
    known = scene.discourse.mentions()
    return fragment.label not in {"COLOR", "NUMBER", "DAY", "MONTH"} and any(
        named == m.head_text.lower() for m in known
    )


def find_repeats(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Do the same for X", "do it for X too": the last command, applied to something else."""
    fragment, _ = read_fragment(scene, rule)
    if fragment is None or not scene.discourse:
        return
    moment = _last_command(scene, rule)
    if moment is None:
        return
    parallel = any(m.prep == fragment.prep for m in moment.mentions)
    named = fragment if parallel and fragment.prep != "for" else replace(fragment, prep="")
    if _has_own_value(moment, named):
        return
    slot = best_slot(moment.analysis, moment.mentions, named, oblique=bool(fragment.prep))
    if not _EXPLICIT.search(scene.analysis.text) and (slot is None or slot.likeness < SAME_KIND):
        return  # "and tests" may be anything; "and Spanish" after "into German" is clear
    if slot is not None and slot.likeness < SAME_KIND:
        if fragment.prep not in {"", "for"}:
            slot = None  # "do that on a branch" says where, it does not replace what
        elif not _is_near(moment.analysis.text[slot.start : slot.end], named.text):
            return  # "Set the timeout to 5 s", "the same for the worker": another kind of thing
    command = moment.analysis.text.rstrip(" .!")
    text = (
        substitute(moment.analysis, slot, named)
        if slot
        else f"{command} {fragment.prep or 'for'} {fragment.text}"
    )
    done = next((m for m in moment.mentions if m.role == "obj"), None)
    yield from _sound(scene, rule, fragment, _as_command(text), target=done)


def _is_near(old: str, new: str) -> bool:
    """Whether two phrases name things of a kind, by what they mean."""
    if not shared_encoder().available:
        return True
    first, second = shared_encoder().encode([bare_text(old), bare_text(new)])
    return float(first @ second) >= NEAR


def _has_own_value(moment: Moment, fragment: Fragment) -> bool:
    """ "Rename UserService to AccountService", "Bump lodash to 4.17.21", "Change the port from 6379
    to 6380": not those of another thing. "Rename getUser to fetchUser" tells by analogy what
    getOrder becomes."""
    values = [m for m in moment.mentions if m.prep in {"to", "as", "at"}]
    said = moment.analysis.words
    if any(_VERSION.search(word.text) for word in said) or _FROM_TO.search(moment.analysis.text):
        return True
    if not any(word.lemma in _OF_OWN_VALUE for word in said):
        return False
    named = fragment.mention
    old = next((m for m in moment.mentions if m.role == "obj" and not m.parts), None)
    if named is None or old is None or not values:
        return True
    changed = set(_CAMEL.findall(old.text)) - set(_CAMEL.findall(named.text))
    return any(changed.isdisjoint(_CAMEL.findall(value.text)) for value in values)


def _last_command(scene: Scene, rule: Rule) -> Moment | None:
    """What could be done again. "The shots go through walls" says that nothing was asked for."""
    reach = list(reversed(scene.discourse.moments))[: rule.antecedent.max_age + 1]
    said = (m for m in reach if m.analysis.clauses and m.analysis.clauses[-1].mood in _COMMANDS)
    moment = next(said, None)
    if moment is None or moment.analysis.clauses[-1].mood == "imperative":
        return moment
    return moment if _WISH.search(moment.analysis.text) else None


def _without_lead_in(text: str) -> str:
    stripped = _LEAD_IN.sub("", text)
    return (
        stripped[:1].upper() + stripped[1:] if stripped and text[:1].isupper() else stripped or text
    )


def _as_command(text: str) -> str:
    """ "I want to add X" -> "Add X"."""
    stripped = _WISH.sub("", text)
    return stripped[:1].upper() + stripped[1:] if text[:1].isupper() else stripped


def _sound(
    scene: Scene, rule: Rule, fragment: Fragment, text: str, *, target: Mention | None = None
) -> Iterator[Found]:
    if not borrows_pronoun(text, scene.analysis.text):
        yield _whole(scene, rule, fragment, text, target=target)


def _whole(
    scene: Scene, rule: Rule, fragment: Fragment, text: str, *, target: Mention | None = None
) -> Found:
    start = scene.analysis.text.find(fragment.text)
    shown = target.text if target is not None else bare_text(fragment.text)
    return rewritten(scene, rule, text, shown, (start, start + len(fragment.text)))


SAME_TAIL: Final = re.compile(
    r"\s*(?:(?:[-–—,;:(]+\s*)?\b(?:is (?:it|that) |(?:the |also )*)?(?:the )?same"
    r"(?: (?:rule|thing|deal|question|story|answer|procedure|there|here|applies))?\)?"
    r"|[\s,]+(?:please|pls|too|as well|also|then|though))+\W*$",
    re.I,
)
"""What people say behind a fragment without saying more: "- same rule?", "too?"."""
_EMPTY_ADVERBS: Final = cc.WH | words("function_words", "empty_adverbs")


def read_fragment(scene: Scene, rule: Rule) -> tuple[Fragment | None, str]:
    """The part behind the cue, when it is one phrase (with or without a preposition)."""
    text = scene.analysis.text
    asks = rule.signal.kind == "question"
    found = (search(pattern, text) for pattern in rule.signal.cues)
    for match in (m for m in found if m is not None and m.start() == 0):
        rest = match.groupdict().get("rest") or text[match.end() :]
        start = text.rfind(rest)
        rest = SAME_TAIL.sub("", rest) if asks else rest
        inside = _inside(scene.analysis, start, start + len(rest.rstrip(" ?.!,")))
        fragment = _phrase(scene, inside)
        if fragment is not None:
            return fragment, text[:start].strip()
    return None, ""


def _inside(analysis: Analysis, start: int, end: int) -> list[Word]:
    """The words between two characters, without "too" behind them and dashes in front."""
    inside = [w for w in analysis.words if w.start >= start and w.end <= end]
    while inside and inside[-1].lower in {"too", "also", "then", "instead", "please", "well", "as"}:
        inside.pop()
    while inside and inside[0].text in {",", "-", "–", "—"}:
        inside.pop(0)
    return inside


def _governed(inside: list[Word]) -> tuple[str, list[Word]]:
    """The preposition in front, else "", and what stands behind it."""
    governed = bool(inside) and inside[0].pos == "ADP"
    return inside[0].lower if governed else "", inside[governed:]


def _phrase(scene: Scene, inside: list[Word]) -> Fragment | None:
    """A noun phrase, a value or an adverb."""
    analysis = scene.analysis
    if not inside or any(_belongs_to_a_clause(w, inside[-1]) for w in inside):
        return None
    prep, body = _governed(inside)
    if len(body) == 1 and body[0].pos == "ADV" and body[0].lower not in _EMPTY_ADVERBS:
        return Fragment(body[0].text, None, prep, "")
    if not body or body[0].pos == "ADV":
        return None
    moved = any(w.pos == "ADP" and w.lower in {"to", "into", "as"} for w in body[1:])
    if moved and not analysis.text.rstrip().endswith("?"):
        return None  # "and the indexer to 4 GB" says what to do
    text = analysis.text[body[0].start : body[-1].end]
    phrase = analysis.phrase_at.get(body[0].i)
    counted = NUMBER if all(word.pos == "NUM" for word in body) else ""
    label = analysis.label(body[0].i, body[-1].i + 1) or counted
    if phrase is None:
        return Fragment(text, None, prep, label) if label and len(body) <= 3 else None
    if phrase.start < body[0].i:
        return None
    mention = _mention_at(analysis, phrase.start)
    return Fragment(text, mention, prep, label) if mention is not None else None


def _belongs_to_a_clause(word: Word, last: Word) -> bool:
    """A verb or pronoun; not "furnished" of "a furnished unit"."""
    participle = word.tag in {"VBN", "VBG"} and word.pos == "VERB" and word is not last
    return word.pos in {"VERB", "AUX", "PRON", "SCONJ"} and not word.kind and not participle


def _mention_at(analysis: Analysis, start: int) -> Mention | None:
    """None for phrases that name nothing by themselves ("the others")."""
    found = (m for m in mentions_in(analysis, 0) if m.start == start and not m.parts)
    return next(found, None)
