"""Questions that leave out what the question before said: "Why?", "And if it doesn't?"."""

import re
from collections.abc import Iterator
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.inquiry import last_question
from kds.router.discourse.question import Question
from kds.router.language import closed_class as cc
from kds.router.language.words import Word
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, search

_SCORE: Final = 0.8
"""Shown for what the form of the message settles, where no antecedents compete."""
_MEASURE: Final = re.compile(r"how (?:much|high|big|large|strict)$", re.I)
_PRONOUNS: Final = frozenset("it they he she that this these those".split())
_AUXILIARIES: Final = cc.FINITE_AUX - cc.HAVE
_ENDINGS: Final = " \t?!."


def find_bare_questions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Why?", "By when?", "At what price?": a wh-phrase asks the last question anew."""
    question = last_question(scene.discourse)
    asked = _group(scene, rule, "ask")
    elliptic = asked.lower() == "why"  # the cue has seen all of "why doesn't it?"
    if question is None or not asked or (not elliptic and _holds_a_sentence(scene)):
        return
    degree = _group(scene, rule, "degree")
    asked = asked.removesuffix(degree).strip()
    denied = any(w.lower in cc.NEGATIONS for w in scene.words)
    text = _asked_with(question, asked, denied=denied)
    if text and degree:
        text = f"{text.rstrip('?')} {degree}?"
    if text:
        yield _whole(scene, rule, question, _capital(text, like=scene.analysis.text))


def find_conditions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "And if it doesn't?", "if not?", "And if the landlord refuses?"."""
    question = last_question(scene.discourse)
    match = _match(scene, rule)
    if question is None or match is None or _main_clause_follows(scene, match.end()):
        return
    whether = match.groupdict().get("what") is not None
    rest = scene.analysis.text[match.end() :].strip(_ENDINGS)
    text = (
        _negated(question, rest)
        or _instead(scene, question, match.end())
        or _completed(scene, question, match.end())
    )
    if text:
        opening = "What if" if whether else "What happens if"
        yield _whole(scene, rule, question, _capital(f"{opening} {text}?", scene.analysis.text))
    elif not whether and rest:
        yield _behind(scene, rule, question, match)


def _match(scene: Scene, rule: Rule) -> "re.Match[str] | None":
    text = scene.analysis.text
    found = (search(pattern, text) for pattern in rule.signal.cues)
    return next((m for m in found if m is not None and m.start() == 0), None)  # type: ignore[return-value]  # a regex match


def _group(scene: Scene, rule: Rule, name: str) -> str:
    match = _match(scene, rule)
    return ((match.groupdict().get(name) or "") if match is not None else "").strip()


def _holds_a_sentence(scene: Scene) -> bool:
    """ "What price applies" has a verb of its own."""
    asks_who = any(w.lower == "who" for w in scene.words)
    finite = () if asks_who else ("VBZ", "VBD")
    return any(w.pos == "AUX" or w.tag in finite for w in scene.words)


def _asked_with(question: Question, asked: str, *, denied: bool) -> str:
    """The question with another wh-phrase, or with one more.

    "Can I revoke a token" + "How" -> "How can I revoke a token?"; where the wh-phrase is the
    subject or the predicate, it stays: "Who approves it, and by when?".
    """
    negated = denied and asked.lower().startswith("why")
    asked = asked.split(" ")[0] if negated else asked
    main = question.main
    there = question.introduced
    if there is not None and _MEASURE.match(asked):
        return f"{asked} {'are' if there.number == 'pl' else 'is'} the {there.text}?"
    if asked.lower().startswith("who "):
        return f"{question.text}, and {_lower(asked)}?"  # "who decides"
    if question.is_polar or _is_adverbial(question):
        aux, subject = question.aux, question.subject_text
        if aux is not None and subject:
            helper = question.words[aux].text
            rest = f"{subject} {'not ' * negated}{question.said}"
            before = f"{question.span(question.fronted)} " if _has_front(question) else ""
            return f"{before}{asked} {_lower(helper)} {rest}".strip() + "?"
        if question.is_polar:
            return f"{asked} {_lower(main)}?"
    if question.indirect and question.wh_is_adverbial:
        return f"{asked}{main.removeprefix(question.span(question.wh))}?"
    if negated or question.span(question.wh).lower() == asked.lower():
        return ""
    return f"{question.text}, and {_lower(asked)}?"


def _has_front(question: Question) -> bool:
    return question.fronted[0] < question.fronted[1]


def _is_adverbial(question: Question) -> bool:
    """True when the wh-phrase can go without leaving a hole: when, why, how, by what date."""
    return question.aux is not None and not question.copular and question.wh_is_adverbial


def _negated(question: Question, rest: str) -> str:
    """ "if not": the last question, denied."""
    if not re.fullmatch(r"(?:not|no|otherwise)(?:\s+so)?", rest, re.I):
        return ""
    verb = question.verb
    if verb is None or not question.subject_text:
        return ""
    if question.aux is not None and question.words[question.aux].lower in cc.BE:
        helper = question.words[question.aux].lower
        return f"{question.subject_text} {helper} not {question.said}"
    helper = "do" if question.is_plural else "does"
    if verb.lower == "be":
        helper = "are" if question.is_plural else "is"
        return f"{question.subject_text} {helper} not {question.action[3:]}"
    return f"{question.subject_text} {helper} not {question.action}"


def _completed(scene: Scene, question: Question, offset: int) -> str:
    """ "it doesn't" -> "the Servicer doesn't make advances"; "" when the clause has a verb."""
    words = [w for w in scene.words if w.start >= offset and w.pos != "PUNCT"]
    while words and words[-1].lower in {"so", "that", "either", "then"}:
        words.pop()
    cut = len(words)
    while cut and words[cut - 1].lower in {"n't", "not", "never"}:
        cut -= 1
    if cut < 2 or words[cut - 1].lower not in _AUXILIARIES | {"ca", "wo", "have", "has"}:
        return ""
    if any(w.pos == "VERB" for w in words[: cut - 1]) or not question.action:
        return ""
    subject = scene.analysis.text[words[0].start : words[cut - 2].end]
    if subject.lower() in _PRONOUNS and question.subject_text:
        subject = question.subject_text
    helper = scene.analysis.text[words[cut - 1].start : words[-1].end]
    return f"{subject} {helper} {_complement(question, words[cut - 1])}"


def _instead(scene: Scene, question: Question, offset: int) -> str:
    """ "And if the employer does?" after "What happens if the employee breaches it?"."""
    words = [w for w in scene.words if w.start >= offset and w.pos != "PUNCT"]
    first, stop = question.condition
    done = next((m for m in question.mentions if m.start == first + 1), None)
    verb = question.verb
    plain = len(words) > 1 and words[-1].lower in cc.DO and words[0].lower not in _PRONOUNS
    if not plain or done is None or verb is None or verb.lemma != "happen":
        return ""
    subject = scene.analysis.text[words[0].start : words[-2].end]
    return f"{subject} {question.span((done.end, stop))}"


def _complement(question: Question, helper: Word) -> str:
    """What belongs behind the auxiliary: "make advances", and "informed" behind "isn't"."""
    said = question.action
    aux = question.words[question.aux].lower if question.aux is not None else ""
    if helper.lower in cc.BE:
        return said[3:] if said.startswith("be ") else said
    if aux in cc.BE and helper.lower in cc.DO | {"don't", "doesn't"}:
        allowed = re.match(r"(?:\w+ed|able) to (?P<deed>.+)", said)
        return allowed["deed"] if allowed else said
    return f"be {said}" if aux in cc.BE and helper.lower in cc.MODALS else said


def _main_clause_follows(scene: Scene, offset: int) -> bool:
    """ "If it's late, who pays?" asks its own question."""
    return any(w.text in {",", ":", ";"} for w in scene.words if w.start >= offset) and any(
        c.mood == "question" and not c.subordinate and c.verb is not None and c.start > 0
        for c in scene.analysis.clauses
    )


def _behind(scene: Scene, rule: Rule, question: Question, match: "re.Match[str]") -> Found:
    """The question with the clause behind it: "Who repairs it if the landlord refuses?"."""
    at = match.start("clause")
    main = question.main
    old = question.condition
    if old[0] < old[1] and question.words[old[0]].lower == match["clause"].lower().split()[-1]:
        main = question.analysis.span(question.start, old[0])
    opening = _capital(main, like=scene.analysis.text)
    return Found(
        (Reference("", 0, 0, question.about, rule.id, _SCORE),),
        (Edit(0, at + 1, f"{opening} {match['clause'][0].lower()}"),),
        f"a condition of the question before ({rule.id}): '{main}'",
    )


def _lower(text: str) -> str:
    """Without the capital of a sentence start."""
    first = text.split(" ", 1)[0]
    plain = first[1:].islower() or len(first) == 1
    return text[0].lower() + text[1:] if text and plain and first != "I" else text


def _capital(text: str, like: str) -> str:
    return text[0].upper() + text[1:] if like[:1].isupper() else text


def _whole(scene: Scene, rule: Rule, question: Question, text: str) -> Found:
    message = scene.analysis.text
    return Found(
        (Reference(message, 0, len(message), question.about, rule.id, _SCORE),),
        (Edit(0, len(message), text),),
        f"'{message}' goes on with the question before ({rule.id}) -> '{text}'",
        whole=True,
    )
