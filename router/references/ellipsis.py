"""Messages that leave out what was said before: "What about X?", "No, green", "Why?", "do that"."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from kds.brain.encoder import shared_encoder
from kds.router.discourse.history import Moment
from kds.router.discourse.mentions import acts, is_time, mentions_in
from kds.router.discourse.questions import Question, last_question, questions
from kds.router.discourse.slots import (
    NUMBER,
    SAME_KIND,
    Fragment,
    Slot,
    asked_again,
    asked_slot,
    best_slot,
    substitute,
)
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_plural, readings, singular
from kds.router.language.words import Analysis, Word
from kds.router.references.caution import borrows_pronoun
from kds.router.references.rendering import bare_text
from kds.router.references.ruleset import Rule
from kds.router.references.scene import Found, Scene, covered, cued, rewritten, search, written

_LEAD_IN: Final = re.compile(
    r"^(?:(?:and|but|so|or|then|ok|okay|now|actually|also)\b[\s,]*)+", re.I
)
_WISH: Final = re.compile(
    r"^(?:(?:please|now|also|ok|okay|so|actually)\b[\s,]*)*"
    r"(?:(?:i|we)(?:'d| would)? (?:want|need|like|would like|have)(?: you)? to|let's|"
    r"(?:can|could|would) you(?: please)?|please)\s+",
    re.I,
)
_WISHED: Final = re.compile(
    rf"{_WISH.pattern}|\b(?:needs?|should|must|has to|have to)\b"
    r"|\b(?:i|we)(?:'d| would)? (?:want|like)\b",
    re.I,
)
_EXPLICIT: Final = re.compile(r"\b(?:same|do|repeat|apply|make|likewise|too|as well)\b", re.I)
_RESTATING: Final = re.compile(r"\b(?:mean|make that)\b", re.I)
_MAKING: Final = re.compile(r"\bmake (?:that|it)$", re.I)
_DOING: Final = re.compile(r"^(?:(?:and|now|then|also|ok|okay|please)[\s,]+)*(?:do|repeat)\b", re.I)
_VERSION: Final = re.compile(r"^v?\d+\.\d+")
_FROM_TO: Final = re.compile(
    r"\bfrom\s+\S*\d\S*\s+to\b|\S\.\w{1,5}\s+(?:to|as|into)\s+\S+\.\w{1,5}\b"
)
"""A value that changes ("from 6379 to 6380"), and one file that becomes another."""
_CAMEL: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_OF_OWN_VALUE: Final = words("verbs", "of_own_value")
NEAR: Final = 0.25
"""Least cosine of the names of two things of a kind: "header" and "footer" have .36, "timeout" and
"worker" .16; of 46 pairs, .25 parts 37 rightly."""
_COMMANDS: Final = frozenset({"imperative", "statement"})
_PRONOUNS: Final = frozenset("it they he she that this these those".split())
_AUXILIARIES: Final = cc.FINITE_AUX | {"ca", "wo"}
_ALLOWED: Final = re.compile(r"(?:\w+ed|able) to (?P<deed>.+)")


def find_questions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "What about the Closing Date?": the last question, asked about something else."""
    fragment, prefix = read_fragment(scene, rule)
    if fragment is None or not scene.discourse:
        return
    question, moment = last_question(scene.discourse), scene.discourse.last
    if fragment.label and "same" in prefix.lower() and _was_done_to(scene, fragment):
        return  # "Translate it into German", "is it free?", "same for Dutch"
    if question is not None:
        alone = prefix == "" and " " not in scene.analysis.text.strip(" ?")  # "Really?"
        text = "" if alone else _asked(scene, question, fragment, prefix)
    elif prefix == "" or "same" in prefix.lower():
        return  # of a command, `repeat` knows more
    elif all(clause.verb is None for clause in moment.analysis.clauses):
        return  # "tabs, not spaces", "but spaces for yaml"
    else:  # "And on macOS?" behind "Run the suite on Linux": the same of something else
        slot = best_slot(moment.analysis, moment.mentions, fragment)
        preps = {m.prep for m in moment.mentions if m.prep}
        again = not preps.isdisjoint(fragment.text.lower().split())  # "X in b" behind "put Y in a"
        alike = slot is not None and slot.likeness >= SAME_KIND and not again
        text = substitute(moment.analysis, slot, fragment) if alike and slot else ""
    if text and not borrows_pronoun(text := _without(_LEAD_IN, text), scene.analysis.text):
        yield _whole(scene, rule, fragment, text)


def _was_done_to(scene: Scene, fragment: Fragment) -> bool:
    """Whether a command named something with the same label, that is nobody."""
    if fragment.mention is None or acts(fragment.mention):
        return False
    told = (one for one in scene.discourse.moments if one.analysis.clauses[-1:])
    commands = (one for one in told if one.analysis.clauses[-1].mood == "imperative")
    return any(_slot_in(one, fragment)[2] for one in commands)


def _asked(scene: Scene, question: Question, fragment: Fragment, prefix: str) -> str:
    """The last question with the fragment in it; "" when it has no place for it."""
    said, verb = fragment.text.lower(), readings(fragment.text.lower()).verb
    addressed = question.subject_text.lower() in {"you", "we"}
    told = question.is_polar and "?" not in scene.analysis.text
    if addressed and (told or (not fragment.prep and verb == said)):
        return ""  # "Did you miss any?" + "also in the docs": a request for one thing more
    if _DOING.match(prefix):
        if not question.indirect:
            return ""  # of a command, `repeat` knows more; "could you tell me when" is none
        fragment = replace(fragment, prep=fragment.prep.replace("for", ""))  # "do it for X too"
    tail = SAME_TAIL.search(scene.analysis.text)
    said_so = f"{prefix} {tail[0] if tail else ''}".lower()
    same, of_rule = "same" in said_so, "rule" in said_so or "the above" in said_so
    if of_rule and question.copular and not question.is_polar:
        return ""  # "What is the Closing Date?" asks for no rule
    asked = list(questions(scene.discourse))
    before = next(iter(asked[asked.index(question) + 1 :]), None)
    known = [m for moment in scene.discourse.moments[:-1] for m in moment.mentions]
    about = (  # what was known before the question is its topic still, and not what is varied
        replace(m, topic=m.topic and not any(m.same_thing(one) for one in known))
        for m in question.mentions
    )
    question = replace(question, mentions=tuple(about))
    if slot := asked_slot(question, fragment, before, oblique=same):
        old = readings(word := question.analysis.text[slot.start : slot.end])
        manner = word.isalpha() and word.islower() and slot.outer == slot.start
        if manner and (old.adverb or not (old.noun or is_plural(word, scene.analysis.english))):
            return ""  # "does it load fast?", "does it work offline?"
        return asked_again(question, slot, fragment)
    return f"{question.text} {fragment.prep} {fragment.text}?" if fragment.prep else ""


def find_corrections(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "No, green", "Sorry, Tuesday": the last command with another value."""
    fragment, cue = read_fragment(scene, rule)
    if fragment is None or not scene.discourse:
        return
    instead = not cue and " instead" in scene.analysis.text
    marked = instead or any(mark in cue for mark in ",.:;!-—–") or _RESTATING.search(cue)
    if not fragment.label and not marked:
        return  # "no problem" is not "no, problem"
    moment, named = scene.discourse.last, fragment.text.lower()
    slot = best_slot(moment.analysis, moment.mentions, fragment)
    known = any(named == m.head_text.lower() for m in scene.discourse.mentions())
    if slot is None or (_MAKING.search(cue) and (slot.likeness < SAME_KIND or known)):
        return  # "make that teal" changes the color, and "make that modal" means the modal
    text = _without(_LEAD_IN, substitute(moment.analysis, slot, fragment))
    text = f"{text.rstrip(' .!')} instead" if instead else text
    yield _whole(scene, rule, fragment, text)


def find_repeats(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Do the same for X", "do it for X too": the last command, applied to something else; behind
    "the same" the last one with a part of that kind.
    """
    fragment, _ = read_fragment(scene, rule)
    commands = list(_commands(scene, rule, fragment)) if fragment is not None else []
    if fragment is None or not commands:
        return
    same = commands if "same" in scene.analysis.text.lower() else []
    moment = next((one for one in same if _slot_in(one, fragment)[2]), commands[0])
    named, slot, alike = _slot_in(moment, fragment)
    if _has_own_value(moment, named):
        return
    prep, analysis = fragment.prep, moment.analysis
    if not alike and same and prep == "for" and (old := _modifier_like(moment, named)):
        text = f"{analysis.text[: old.start]}{bare_text(named.text)}{analysis.text[old.end :]}"
        yield _whole(scene, rule, fragment, text)
        return
    during = prep == "for" and fragment.mention is not None and is_time(fragment.mention)
    bare_for = scene.lower(0) == "for" and not _EXPLICIT.search(scene.analysis.text)
    if bare_for and not during:
        return  # "for the record"
    if not (alike or during or _adds(scene, moment, slot, named)):
        return  # "and tests" may be anything; "and Spanish" after "into German" is clear
    placed = any(m.prep for m in moment.mentions)
    if slot is None and (not prep or (prep == "for" and placed and not during)):
        return  # "--json flag too"; and no app for the tablet behind "add a banner to the app"
    if slot is None or during or (not alike and prep not in {"", "for"}):
        # "do that on a branch" says where, it does not replace what
        text = f"{analysis.text.rstrip(' .!')} {prep} {fragment.text}"
    elif alike or _is_near(analysis.text[slot.start : slot.end], named.text):
        text = substitute(analysis, slot, named)
    else:
        return  # "Set the timeout to 5 s", "the same for the worker": another kind of thing
    text = _without(_WISH, text)  # "I want to add X" -> "Add X"
    done = next((m.text for m in moment.mentions if m.role == "obj"), "")
    if not borrows_pronoun(text, scene.analysis.text):
        yield _whole(scene, rule, fragment, text, done)


def _modifier_like(moment: Moment, fragment: Fragment) -> Word | None:
    """The noun before a noun that the fragment is like: "Google" of "Add Google login to the app",
    for Apple; "sidebar" of "the sidebar font", for the footer.
    """
    named, words = fragment.mention, moment.analysis.words
    if named is None or named.modifiers or named.number == "pl":
        return None
    for mention in moment.mentions:
        for word in words[mention.start : mention.end - 1] if not mention.parts else ():
            both = {word.pos, "PROPN" if named.is_name else "NOUN"}
            label = moment.analysis.label(word.i, word.i + 1)
            alike = (label and label == fragment.label) or _is_near(word.text, named.text)
            if both == {"PROPN"} or (both == {"NOUN"} and alike):
                return word
    return None


def _slot_in(moment: Moment, fragment: Fragment) -> tuple[Fragment, Slot | None, bool]:
    """The fragment as a command takes it, the part that it replaces, and whether that is alike."""
    parallel = fragment.prep != "for" and any(m.prep == fragment.prep for m in moment.mentions)
    named = fragment if parallel else replace(fragment, prep="")
    slot = best_slot(moment.analysis, moment.mentions, named)
    return named, slot, slot is not None and slot.likeness >= SAME_KIND


def _adds(scene: Scene, moment: Moment, slot: Slot | None, fragment: Fragment) -> bool:
    """Whether "too" or "the same" says that it is done again, or "and the fonts" does, behind what
    was done to another thing with such a determiner.
    """
    named = fragment.mention
    if _EXPLICIT.search(scene.analysis.text):
        return True
    if slot is None or named is None or fragment.prep:
        return False
    if not named.determiner and named.number == "sg":
        return False
    old = moment.analysis.text[slot.start : slot.end]
    return any(
        m.role == "obj" and m.text in old and not m.brought_up
        and (m.determiner, m.number) == (named.determiner, named.number)
        for m in moment.mentions
    )  # fmt: skip


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
    said = moment.analysis.words
    if any(_VERSION.search(word.text) for word in said) or _FROM_TO.search(moment.analysis.text):
        return True
    if not any(word.lemma in _OF_OWN_VALUE and word.pos == "VERB" for word in said):
        return False
    values = [m for m in moment.mentions if m.prep in {"to", "as", "at"}]
    old = next((m for m in moment.mentions if m.role == "obj" and not m.parts), None)
    if fragment.mention is None or old is None or not values:
        return True
    changed = set(_CAMEL.findall(old.text)) - set(_CAMEL.findall(fragment.mention.text))
    return any(changed.isdisjoint(_CAMEL.findall(value.text)) for value in values)


def _commands(scene: Scene, rule: Rule, fragment: Fragment) -> Iterator[Moment]:
    """What could be done again, the last one first. "The shots go through walls" says that nothing
    was asked for.

    "A redo function too" goes on with what brought up an undo function, not with what changed it.
    """
    named = fragment.mention
    new = named is not None and not is_time(named) and named.determiner in {"a", "an", "another"}
    for moment in list(reversed(scene.discourse.moments))[: rule.antecedent.max_age + 1]:
        mood = moment.analysis.clauses[-1].mood if moment.analysis.clauses else ""
        if mood not in _COMMANDS:
            continue
        if mood != "imperative" and not _WISHED.search(moment.analysis.text):
            return
        if not new or any(m.brought_up for m in moment.mentions):
            yield moment


def _without(opening: re.Pattern[str], text: str) -> str:
    """The text without this opening, and with the same capital."""
    stripped = opening.sub("", text) or text
    return stripped[:1].upper() + stripped[1:] if text[:1].isupper() else stripped


def _whole(scene: Scene, rule: Rule, fragment: Fragment, text: str, target: str = "") -> Found:
    start = scene.analysis.text.find(fragment.text)
    span = start, start + len(fragment.text)
    return rewritten(scene, rule, text, target or bare_text(fragment.text), span)


SAME_TAIL: Final = re.compile(
    r"\s*(?:(?:[-–—,;:(]+\s*)?\b(?:is (?:it|that) |(?:the |also )*)?(?:the )?same"
    r"(?: (?:rule|thing|deal|question|story|answer|procedure|there|here|applies))?\)?"
    r"|[\s,]+(?:please|pls|too|as well|also|then|though))+\W*$",
    re.I,
)
"""What people say behind a fragment without saying more: "- same rule?", "too?"."""
_BEHIND: Final = frozenset("too also then instead please pls plz thanks thx well as".split())
_EMPTY_ADVERBS: Final = cc.WH | words("function_words", "empty_adverbs")


def read_fragment(scene: Scene, rule: Rule) -> tuple[Fragment | None, str]:
    """The part behind the cue, when it is one phrase (with or without a preposition)."""
    text = scene.analysis.text
    for match in (search(pattern, text) for pattern in rule.signal.cues):
        if match is None or match.start() > 0:
            continue
        start, rest = match.end(), text[match.end() :]
        rest = SAME_TAIL.sub("", rest) if rule.signal.kind == "question" else rest
        end = start + len(rest.rstrip(" ?.!,"))
        inside = [w for w in scene.words if w.start >= start and w.end <= end]
        while inside and inside[-1].lower in _BEHIND:
            inside.pop()
        if fragment := _phrase(scene.analysis, inside):
            return fragment, text[:start].strip()
    return None, ""


def _phrase(analysis: Analysis, inside: list[Word]) -> Fragment | None:
    """A noun phrase, a value or an adverb."""
    if not inside or any(_belongs_to_a_clause(w, inside[-1]) for w in inside):
        return None
    governed = inside[0].pos == "ADP"
    prep, body = inside[0].lower if governed else "", inside[governed:]
    if not body:
        return None
    if body[0].pos == "ADV":
        empty = len(body) > 1 or body[0].lower in _EMPTY_ADVERBS
        return None if empty else Fragment(body[0].text, None, prep, "")
    moved = any(w.pos == "ADP" and w.lower in {"to", "into", "as"} for w in body[1:])
    if moved and not analysis.text.rstrip().endswith("?"):
        return None  # "and the indexer to 4 GB" says what to do
    text = analysis.text[body[0].start : body[-1].end]
    phrase = analysis.phrase_at.get(body[0].i)
    counted = NUMBER if all(word.pos == "NUM" for word in body) else ""
    label = analysis.label(body[0].i, body[-1].i + 1) or counted
    if phrase is None:
        return Fragment(text, None, prep, label) if label and len(body) <= 3 else None
    named = (m for m in mentions_in(analysis, 0) if m.start == phrase.start and not m.parts)
    mention = next(named, None)  # "the others" name nothing by themselves
    inside_it = phrase.start < body[0].i
    return None if mention is None or inside_it else Fragment(text, mention, prep, label)


def _belongs_to_a_clause(word: Word, last: Word) -> bool:
    """A verb or pronoun; not "furnished" of "a furnished unit"."""
    participle = word.tag in {"VBN", "VBG"} and word.pos == "VERB" and word is not last
    return word.pos in {"VERB", "AUX", "PRON", "SCONJ"} and not participle


def find_bare_questions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Why?", "By when?", "At what price?": a wh-phrase asks the last question anew.

    "Can I revoke a token" + "How" -> "How can I revoke a token?"; where the wh-phrase is the
    subject or the predicate, it stays: "Who approves it, and by when?".
    """
    question, match = last_question(scene.discourse), cued(rule, scene.analysis.text, at_start=True)
    asked = (match.groupdict().get("ask") or "").strip() if match is not None else ""
    if match is not None and not asked and (trouble := _stated(scene)):
        asking = scene.analysis.text[: scene.analysis.text.lower().rfind("why") + len("why")]
        text = f"{asking} {_lower(trouble)}"
        yield rewritten(scene, rule, text, trouble)
    if question is None or match is None or not asked:
        return
    first = asked.lower().split(" ")[0]
    negated = first == "why" and any(w.lower in cc.NEGATIONS for w in scene.words)
    leaves = question.wh_is_adverbial and not question.copular  # by what date: it leaves no hole
    if first != "who" and question.aux is not None and (question.is_polar or leaves):
        helper = _lower(question.words[question.aux].text)
        asked, denial = ("why", "not ") if negated else (asked, "")
        text = f"{asked} {helper} {question.subject_text} {denial}{question.said}".strip()
    elif question.indirect and question.wh_is_adverbial and first != "who":
        text = f"{asked}{question.main.removeprefix(question.span(question.wh))}"
    elif negated or question.span(question.wh).lower() == asked.lower():
        return
    else:
        text = f"{question.text}, and {_lower(asked)}"
    if question.subject_text.lower() != "there":  # "Is there a penalty?" + "How much?"
        degree = match.groupdict().get("degree") or ""  # "why so early"
        yield rewritten(scene, rule, f"{text} {degree}".strip() + "?", question.about)


def _stated(scene: Scene) -> str:
    """What the last message tells, with no reply behind it: "The import writes rows twice"."""
    if not scene.discourse or scene.reply:
        return ""
    last = scene.discourse.last
    told = [c.mood for c in last.analysis.clauses if not c.subordinate] == ["statement"]
    text = last.expanded.rstrip(" .!")
    return text if told and "?" not in text and not borrows_pronoun(text, "") else ""


def find_conditions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "And if it doesn't?", "And if the landlord refuses?"."""
    text, question = scene.analysis.text, last_question(scene.discourse)
    match = cued(rule, text, at_start=True)
    if question is None or match is None:
        return
    whether = match.groupdict().get("what") is not None
    if said := _completed(scene, question, match.end()):
        opening = "what if" if whether else "what happens if"
        yield rewritten(scene, rule, f"{opening} {said}?", question.about)
    elif not whether and " " in text[match.end() :].strip():
        # "Who repairs it if the landlord refuses?"
        at, (first, stop) = match.start("clause"), question.condition
        again = first < stop and text[at:].lower().startswith(question.words[first].lower)
        main = question.analysis.span(question.wh[0], first) if again else question.main
        found = rewritten(scene, rule, f"{main} {text[at].lower()}", question.about, (0, 0))
        yield replace(found, edits=(replace(found.edits[0], end=at + 1),), whole=False)


def _completed(scene: Scene, question: Question, offset: int) -> str:
    """ "it doesn't" -> "the Servicer doesn't make advances"; "" when the clause has a verb."""
    text = scene.analysis.text
    clause = [w for w in scene.words if w.start >= offset and w.pos != "PUNCT"]
    while clause and clause[-1].lower in {"so", "that", "either", "then"}:
        clause.pop()
    cut = len(clause)
    while cut and clause[cut - 1].lower in {"n't", "not", "never"}:
        cut -= 1
    if cut < 2 or any(w.pos == "VERB" for w in clause[: cut - 1]):
        return ""
    said = _complement(question, clause[cut - 1].lower)
    subject = text[clause[0].start : clause[cut - 2].end]
    if subject.lower() in _PRONOUNS and question.subject_text:
        subject = question.subject_text
    helper = text[clause[cut - 1].start : clause[-1].end]
    return f"{subject} {helper} {said}" if said else ""


def _complement(question: Question, does: str) -> str:
    """What belongs behind the auxiliary: "make advances", and "informed" behind "isn't"; "" where
    nothing does.
    """
    said = question.action
    if does not in _AUXILIARIES or said.startswith("happen"):
        return ""
    if not question.being:
        passive = said.startswith("be ")
        return said if does not in cc.BE else said.removeprefix("be ") if passive else ""
    if does in cc.BE:
        return said
    allowed = _ALLOWED.match(said) if does in cc.DO else None
    return allowed["deed"] if allowed else f"be {said}" if does in cc.MODALS else ""


def _lower(text: str) -> str:
    """Without the capital of a sentence start."""
    first = text.split(" ", 1)[0]
    plain = first[1:].islower() or len(first) == 1
    return text[0].lower() + text[1:] if text and plain and first != "I" else text


def find_actions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Can they do that on Tuesdays?", "if I miss that deadline": what was asked about."""
    text, question = scene.analysis.text, _last_deed(scene)
    match = cued(rule, text)
    asks = text.rstrip().endswith("?") or any(c.mood == "question" for c in scene.analysis.clauses)
    plain = match is not None and not rule.render.text and match["ref"].lower().startswith("do ")
    agreed = match is not None and match[0] == text  # the cue that takes the whole message
    deed = _deed(scene, agreed=agreed) if plain else ""
    if match is not None and deed and (asks or agreed):
        yield written(scene, rule, match.span("ref"), deed, bare_text(deed))
        return
    if question is None or match is None or not asks or covered(rule, text, *match.span("ref")):
        return
    at = next(i for i, w in enumerate(scene.words) if w.end > match.start("ref"))
    if meant := _MEANT.get(rule.render.text, _as_action)(scene, question, at):
        yield written(scene, rule, match.span("ref"), meant, question.about)


def _deed(scene: Scene, *, agreed: bool) -> str:
    """What the last message says to do ("Turn on strict mode") or does ("the pods restart"); where
    it is ``agreed`` to, what it proposes: "could we drop moment?". "" for nothing, or too much.
    """
    last = scene.discourse.last.analysis if scene.discourse and not scene.history else None
    if last is None or len(last.words) > DEED_WORDS:
        return ""
    proposed = _PROPOSED.match(last.text)
    mains = [one for one in last.clauses if not one.subordinate]
    verb = last.words[mains[0].verb] if len(mains) == 1 and mains[0].verb is not None else None
    if verb is None or agreed != bool(proposed):
        return ""
    told = mains[0].mood == "statement" or (mains[0].mood == "imperative" and verb.i <= 1)
    if not (proposed or (told and verb.pos == "VERB" and verb.lower == verb.lemma)):
        return ""
    deed = last.text[proposed.end() if proposed else verb.start :].rstrip(" .!?")
    deed = deed if deed[1:2].isupper() else deed[:1].lower() + deed[1:]
    asked = not {"you", "me", "i"}.isdisjoint(deed.lower().split())
    return "" if asked or borrows_pronoun(deed, "") else deed


DEED_WORDS: Final = 12
"""A longer command says too much to be said again."""

_PROPOSED: Final = re.compile(
    r"(?:(?:so|ok|okay|hey|and|hm+)[\s,]+)*(?:(?:could|can|should|shall) we|(?:could|can) you)"
    r"\s+(?:please |also |maybe )*(?=[a-z])(?!(?:be|have|get|see|know|go|ask|tell|show|explain)\b)",
    re.I,
)


def _last_deed(scene: Scene) -> Question | None:
    """The newest question that says what is done; "What would that cost?" does not."""
    for question in islice(questions(scene.discourse), 3):
        words = question.words[slice(*question.subject)]
        vague = len(words) == 1 and words[0].lower in cc.DEMONSTRATIVES | {"it"}
        done = bool(words) and words[0].tag == "VBG"  # "What does cancelling it cost?"
        if question.verb is not None and not vague and not done:
            return question
    return None


def _as_action(scene: Scene, question: Question, at: int) -> str:
    """ "do that" -> "work from home"."""
    verb, done = question.verb, scene.lower(at)
    if verb is None or verb.lemma in {"be", "do", "happen", "mean", "apply"}:
        return ""
    if not question.action or verb.lower != verb.lemma:
        return ""
    if done == "does":
        return question.finite()
    return question.doing() if done == "doing" else question.action


def _as_matter(scene: Scene, question: Question, at: int) -> str:
    """ "that deadline" -> "the deadline for handing in a claim", when none was mentioned."""
    noun = scene.words[at + 1]
    known = any(m.head == singular(noun.lower) for m in scene.discourse.mentions())
    doing = question.doing() if question.is_agentive else ""
    return f"the {noun.text} for {doing}" if doing and not known else ""


def _as_quantity(scene: Scene, question: Question, at: int) -> str:
    """ "if I don't submit any" -> "any evidence": what the same verb had for object."""
    verb = scene.words[at - 1]
    for mention in scene.discourse.mentions() if at and verb.pos == "VERB" else ():
        if mention.verb == verb.lemma and mention.role == "obj" and not mention.parts:
            return f"{scene.words[at].text} {mention.text}"
    return ""


_MEANT: Final = {"": _as_action, "of": _as_matter, "some": _as_quantity}
"""What words stand for, by the ``text`` of their rule."""


def find_purposes(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "How much notice does it have to give?" -> "... to resign": what for is left out."""
    question, match = last_question(scene.discourse), cued(rule, scene.analysis.text)
    if question is None or match is None or not question.is_agentive:
        return
    last = next(w for w in reversed(scene.words) if w.pos != "PUNCT")
    verb, action = question.verb, question.action
    if last.lemma not in rule.signal.verbs or last.pos == "NOUN" or verb is None or not action:
        return
    light = cc.COPULAS | {"be", "have", "get", last.lemma}
    if verb.lower == verb.lemma and verb.lemma not in light:
        yield written(scene, rule, (last.end, last.end), f" to {action}", question.about)
