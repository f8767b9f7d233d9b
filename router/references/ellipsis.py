"""Messages that leave out what was said before: "Why?", "do that", "Which is longer?".

Two questions that differ in one part ask for the same quantity of two things. What is compared
is that quantity: the notice of the Servicer with the notice of the Trustee, not the parties.
"""

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.inquiry import difference, last_question, questions
from kds.router.discourse.mention import Mention
from kds.router.discourse.question import Question, Span
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import singular
from kds.router.language.word_forms import gerund
from kds.router.language.words import Word
from kds.router.references.rendering import bare_text, definite
from kds.router.references.rule import Rule
from kds.router.references.scene import SETTLED, Found, Scene, covered, cued, rewritten

_PRONOUNS: Final = frozenset("it they he she that this these those".split())
_AUXILIARIES: Final = cc.FINITE_AUX | {"ca", "wo"}
_DENIAL: Final = re.compile(r"(?:not|no|otherwise)(?:\s+so)?", re.I)
_FAILING: Final = frozenset({"fail", "refuse", "neglect", "omit", "forget", "decline"})
_ALLOWED: Final = re.compile(r"(?:\w+ed|able) to (?P<deed>.+)")
_ENDINGS: Final = " \t?!."
_MEASURES: Final = words("qualities", "degrees")
_AMOUNTS: Final = words("nouns", "amounts")


def find_bare_questions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Why?", "By when?", "At what price?": a wh-phrase asks the last question anew."""
    question = last_question(scene.discourse)
    match = cued(rule, scene.analysis.text, at_start=True)
    groups = match.groupdict() if match is not None else {}
    asked, degree = (groups.get("ask") or "").strip(), groups.get("degree")
    elliptic = asked.lower() == "why"  # the cue has seen all of "why doesn't it?"
    if question is None or not asked or (not elliptic and _holds_a_sentence(scene)):
        return
    denied = any(w.lower in cc.NEGATIONS for w in scene.words)
    if text := _asked_with(question, asked, denied=denied):
        text = f"{text.rstrip('?')} {degree}?" if degree else text
        yield rewritten(scene, rule, _capital(text, like=scene.analysis.text), question.about)


def find_conditions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "And if it doesn't?", "if not?", "And if the landlord refuses?"."""
    question = last_question(scene.discourse)
    match = cued(rule, scene.analysis.text, at_start=True)
    if question is None or match is None:
        return
    whether = match.groupdict().get("what") is not None
    rest = scene.analysis.text[match.end() :].strip(_ENDINGS)
    text = _denied(question) if _DENIAL.fullmatch(rest) else _failing(scene, question, match.end())
    if text := text or _completed(scene, question, match.end()):
        opening = "What if" if whether else "What happens if"
        whole = _capital(f"{opening} {text}?", scene.analysis.text)
        yield rewritten(scene, rule, whole, question.about)
    elif not whether and " " in rest and not _fails(_clause(scene, match.end())):
        yield _behind(scene, rule, question, match.start("clause"))


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
    if question.is_polar and question.subject_text.lower() == "there":
        return ""  # "Is there a penalty?" + "How much?"
    if asked.lower().startswith("who "):
        return f"{question.text}, and {_lower(asked)}?"  # "who decides"
    negated = denied and asked.lower().startswith("why")
    asked = asked.split(" ")[0] if negated else asked
    if inverted := _inverted(question, asked, "not " * negated):
        return inverted
    if question.indirect and question.wh_is_adverbial:
        return f"{asked}{question.main.removeprefix(question.span(question.wh))}?"
    if negated or question.span(question.wh).lower() == asked.lower():
        return ""
    return f"{question.text}, and {_lower(asked)}?"


def _inverted(question: Question, asked: str, negation: str) -> str:
    """The wh-phrase before the auxiliary; "" where the one that is there must stay."""
    aux, subject = question.aux, question.subject_text
    if not question.is_polar and not _is_adverbial(question):
        return ""
    if aux is not None and subject:
        before = f"{question.span(question.fronted)} " if _has_front(question) else ""
        helper = _lower(question.words[aux].text)
        return f"{before}{asked} {helper} {subject} {negation}{question.said}".strip() + "?"
    return f"{asked} {_lower(question.main)}?" if question.is_polar else ""


def _has_front(question: Question) -> bool:
    return question.fronted[0] < question.fronted[1]


def _is_adverbial(question: Question) -> bool:
    """True when the wh-phrase can go without leaving a hole: when, why, how, by what date."""
    return question.aux is not None and not question.copular and question.wh_is_adverbial


def _be(question: Question) -> str:
    return "are" if question.is_plural else "is"


def _denied(question: Question) -> str:
    """ "if not": the last question, denied."""
    if question.verb is None or not question.subject_text:
        return ""
    helper, said = "do" if question.is_plural else "does", question.action
    if question.being:
        helper, said = question.being, question.said
    elif said.startswith("be "):
        helper, said = _be(question), said.removeprefix("be ")
    return f"{question.subject_text} {helper} not {said}"


def _fails(words: list[Word]) -> bool:
    """ "he fails": without what he, of the question before, fails to do."""
    return len(words) == 2 and words[0].lower in _PRONOUNS and words[-1].lemma in _FAILING


def _failing(scene: Scene, question: Question, offset: int) -> str:
    """ "he fails" -> "the Servicer fails to make advances"; "" for anything else."""
    words = _clause(scene, offset)
    if not _fails(words) or not question.action or question.being:
        return ""
    subject = question.subject_text
    return f"{subject} {words[-1].lower} to {question.action}" if subject else ""


def _completed(scene: Scene, question: Question, offset: int) -> str:
    """ "it doesn't" -> "the Servicer doesn't make advances"; "" when the clause has a verb."""
    words = _clause(scene, offset)
    cut = len(words)
    while cut and words[cut - 1].lower in {"n't", "not", "never"}:
        cut -= 1
    if cut < 2 or any(w.pos == "VERB" for w in words[: cut - 1]):
        return ""
    said = _complement(question, words[cut - 1])
    subject = scene.analysis.text[words[0].start : words[cut - 2].end]
    if subject.lower() in _PRONOUNS and question.subject_text:
        subject = question.subject_text
    helper = scene.analysis.text[words[cut - 1].start : words[-1].end]
    return f"{subject} {helper} {said}" if said else ""


def _clause(scene: Scene, offset: int) -> list[Word]:
    """The words behind the conjunction, without "either" or "then" at the end."""
    words = [w for w in scene.words if w.start >= offset and w.pos != "PUNCT"]
    while words and words[-1].lower in {"so", "that", "either", "then"}:
        words.pop()
    return words


def _complement(question: Question, helper: Word) -> str:
    """What belongs behind the auxiliary: "make advances", and "informed" behind "isn't"; "" where
    nothing does.
    """
    said, does = question.action, helper.lower
    if does not in _AUXILIARIES or said.startswith("happen"):
        return ""
    if not question.being:
        passive = said.startswith("be ")
        return said if does not in cc.BE else said.removeprefix("be ") if passive else ""
    if does in cc.BE:
        return said
    allowed = _ALLOWED.match(said) if does in cc.DO else None
    return allowed["deed"] if allowed else f"be {said}" if does in cc.MODALS else ""


def _behind(scene: Scene, rule: Rule, question: Question, at: int) -> Found:
    """The question with the clause behind it: "Who repairs it if the landlord refuses?"."""
    text, old = scene.analysis.text, question.condition
    again = old[0] < old[1] and text[at:].lower().startswith(question.words[old[0]].lower)
    main = question.analysis.span(question.start, old[0]) if again else question.main
    return Found(
        (Reference("", 0, 0, question.about, rule.id, SETTLED),),
        (Edit(0, at + 1, f"{_capital(main, like=text)} {text[at].lower()}"),),
        f"a condition of the question before ({rule.id}): '{main}'",
    )


def _lower(text: str) -> str:
    """Without the capital of a sentence start."""
    first = text.split(" ", 1)[0]
    plain = first[1:].islower() or len(first) == 1
    return text[0].lower() + text[1:] if text and plain and first != "I" else text


def _capital(text: str, like: str) -> str:
    return text[0].upper() + text[1:] if like[:1].isupper() else text


def find_comparisons(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Which of the two, and how the last one compares with one more."""
    text = scene.analysis.text
    match = cued(rule, text, at_start=True)
    if match is None or " or " in text.lower():
        return
    if alike := match.groupdict().get("alike"):
        if other := _likened(scene, alike.strip()):
            whole = f"{text.rstrip(_ENDINGS)} as {definite(other)}?"
            yield rewritten(scene, rule, whole, other.text)
        return
    said = match["said"].strip().rstrip(" ?.!")
    which = match.groupdict().get("which")
    written, about = _alternatives(scene, which, said) if which else _compared(scene, said)
    if written:
        opening = written[0].upper() if text[:1].isupper() else written[0]
        yield rewritten(scene, rule, f"{opening}{written[1:]}?", about)


def _alternatives(scene: Scene, which: str, said: str) -> tuple[str, str]:
    """ "Which is longer" with the two things, which the context remembers; "" when no two questions
    vary one thing.
    """
    pair = _pair(scene)
    if pair is None:
        return "", ""
    one, first, two, second = pair
    left, right = one.span(first), two.span(second)
    about = bare_text(f"{left} or {right}")
    if _names_it(two, second):
        return f"{which} {said}, {one.subject_text} or {two.subject_text}", about
    if _is_quantity(two) and not _comes(said):
        before = two.analysis.text[two.words[two.first].start : two.words[second[0]].start]
        after = two.analysis.text[two.words[second[1] - 1].end : two.words[two.end - 1].end]
        return f"{before}{left} or {right}{after}, and {which.lower()} {said}", about
    return f"{which} {said}, {left} or {right}", about


def _comes(said: str) -> bool:
    """ "comes first", "lives longer": said of the things themselves."""
    first = said.split(" ", 1)[0].lower()
    return first not in {"is", "are", "was", "has", "have", "would"}


def _pair(scene: Scene) -> tuple[Question, Span, Question, Span] | None:
    """The newest two questions that differ in one part."""
    for newer, older in pairwise(islice(questions(scene.discourse), 4)):
        found = difference(older, newer)
        if found is not None:
            return older, found.first, newer, found.second
    return None


def _names_it(question: Question, part: Span) -> bool:
    """The part stands in the subject, which is more than the part: "the rate on Term Loans"."""
    first, stop = question.subject
    inside = first <= part[0] and part[1] <= stop
    return inside and (first, stop) != part


def _is_quantity(question: Question) -> bool:
    """How much, how long, when, by what date: something that is more or less than another."""
    words = [w.lower for w in question.words[question.wh[0] : question.wh[1]]]
    counted = any(w in _MEASURES | _AMOUNTS for w in words) and {"how", "what"} & set(words)
    return bool(counted) or "when" in words or any(w.rstrip("s") in _AMOUNTS for w in words)


def _compared(scene: Scene, said: str) -> tuple[str, str]:
    """ "Is that more than in Paris": "that" is what the last question is about."""
    question = last_question(scene.discourse)
    if question is None or question.is_polar or not question.subject_text:
        return "", ""
    if question.copular:
        return f"{_be(question)} {question.subject_text} {said}", question.about
    return f"{question.text}, and is that {said}" if _is_quantity(question) else "", question.about


def _likened(scene: Scene, named: str) -> Mention | None:
    """What the thing ``named`` is the same as: a thing of its kind that was asked about."""
    question = last_question(scene.discourse)
    other = question.subject_mention if question is not None and question.copular else None
    mine = next((m for m in scene.mentions if named.endswith(m.text)), None)
    if other is None or mine is None or mine.head != other.head or mine.same_thing(other):
        return None
    return other


def find_actions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Can they do that on Tuesdays?", "who decides in that case?": what was asked about."""
    question = _last_deed(scene) if rule.render.text != "topic" else last_question(scene.discourse)
    match = cued(rule, scene.analysis.text)
    if question is None or match is None or not _is_question(scene):
        return
    if covered(rule, scene.analysis.text, *match.span("ref")):
        return
    at = next(i for i, w in enumerate(scene.words) if w.end > match.start("ref"))
    kind = rule.render.text
    text = _meant(scene, question, at, kind)
    if not text:
        return
    start, end = match.span("ref")
    yield Found(
        (Reference(match["ref"], start, end, question.about, rule.id, SETTLED),),
        (Edit(start, end, text),),
        f"'{match['ref']}' is what the question before asks about ({rule.id}): '{text}'",
    )


def find_purposes(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "How much notice does it have to give?" -> "... to resign": what for is left out."""
    question = last_question(scene.discourse)
    match = cued(rule, scene.analysis.text)
    words = [w for w in scene.words if w.pos != "PUNCT"]
    if question is None or match is None or not words or not question.is_agentive:
        return
    action, last = question.action, words[-1]
    verb = question.verb
    bare = verb is not None and verb.lower == verb.lemma and verb.lemma not in cc.COPULAS
    if not action or not bare or last.lemma not in rule.signal.verbs or last.pos == "NOUN":
        return
    if verb is not None and verb.lemma in {"be", "have", "get", last.lemma}:
        return
    yield Found(
        (Reference("", last.end, last.end, question.about, rule.id, SETTLED),),
        (Edit(last.end, last.end, f" to {action}"),),
        f"what for is left out ({rule.id}): 'to {action}'",
    )


def _meant(scene: Scene, question: Question, at: int, kind: str) -> str:
    """What the words at ``at`` stand for, by the ``text`` of the rule."""
    if kind == "if":
        return _as_condition(question)
    if kind == "of":
        return _as_matter(scene, question, at)
    if kind == "topic":
        return _as_topic(question)
    if kind == "some":
        return _as_quantity(scene, at)
    return _as_action(scene, question, at, kind)


def _as_matter(scene: Scene, question: Question, at: int) -> str:
    """ "that deadline" -> "the deadline for handing in a claim", when none was mentioned."""
    noun = scene.words[at + 1]
    known = any(m.head == singular(noun.lower) for m in scene.discourse.mentions())
    doing = question.doing() if question.is_agentive else ""
    return f"the {noun.text} for {doing}" if doing and not known else ""


def _as_topic(question: Question) -> str:
    """ "given the above": what was asked about, a deed or a thing."""
    if question.is_agentive:
        return question.doing()
    if question.verb is not None and question.verb.lemma == "happen":
        return _as_failure(question)
    named = (m for m in question.mentions if m.topic and not m.parts)
    topic = next(named, None)
    return definite(topic) if topic is not None else ""


def _as_quantity(scene: Scene, at: int) -> str:
    """ "if I don't submit any" -> "any evidence": what the same verb had for object."""
    verb = scene.words[at - 1]
    if at == 0 or verb.pos != "VERB":
        return ""
    for mention in scene.discourse.mentions():
        if mention.verb == verb.lemma and mention.role == "obj" and not mention.parts:
            return f"{scene.words[at].text} {mention.text}"
    return ""


def _last_deed(scene: Scene) -> Question | None:
    """The newest question that says what is done; "What would that cost?" does not."""
    for question in islice(questions(scene.discourse), 3):
        words = question.words[question.subject[0] : question.subject[1]]
        vague = len(words) == 1 and words[0].lower in cc.DEMONSTRATIVES | {"it"}
        done = bool(words) and words[0].tag == "VBG"  # "What does cancelling it cost?"
        if question.verb is not None and not vague and not done:
            return question
    return None


def _as_condition(question: Question) -> str:
    """ "in that case" -> "if the Committee rejects the application"."""
    said = question.condition
    if said[0] < said[1]:
        return question.span(said)
    if question.fronted[0] < question.fronted[1]:
        return question.span(question.fronted).rstrip(",")
    stated = question.stated() if question.is_polar else ""
    return f"if {stated}" if stated else ""


def _as_action(scene: Scene, question: Question, at: int, kind: str) -> str:
    """ "do that" -> "work from home", "for that" -> "for working from home"."""
    verb = question.verb
    if verb is not None and verb.lemma == "happen" and kind == "ing":
        doing = _as_failure(question)
        return f"{scene.words[at].text} {doing}" if doing else ""
    if verb is None or not question.action or verb.lemma in {"be", "do", "happen", "mean", "apply"}:
        return ""
    if kind == "subject":
        return _as_subject(question, verb)
    if kind == "ing" and scene.words[at].lower in {"of", "about"}:
        doing = question.doing() if question.is_agentive and verb.lemma != "have" else ""
        return f"{scene.words[at].text} {question.subject_text} {doing}" if doing else ""
    if kind == "ing":
        doing = question.doing() if question.is_agentive and verb.lemma != "have" else ""
        preposition = scene.words[at].text
        if preposition.lower() == "instead":
            preposition += " of"
        return f"{preposition} {doing}" if doing else ""
    if verb.lower != verb.lemma:
        return ""
    done = scene.words[at].lower
    if done == "does":
        return question.finite()
    return question.doing() if done == "doing" else question.action


def _as_subject(question: Question, verb: Word) -> str:
    """ "Can I cancel a plan?", "Who approves travel?": cancelling a plan, approving travel."""
    asked = question.span(question.wh).lower()
    if asked == "who" and not question.subject_text and verb.tag == "VBZ":
        return question.action.replace(verb.text, gerund(verb.lemma), 1)
    able = (question.is_polar or asked == "how") and question.is_agentive
    return question.doing() if able and verb.lemma != "have" else ""


def _as_failure(question: Question) -> str:
    """What happens, of "What happens if the Servicer fails to report?": the Servicer failing to
    report; "" where the condition has no plain verb.
    """
    first, stop = question.condition
    words = [w for w in question.words[first + 1 : stop] if w.pos in {"VERB", "AUX"}]
    if not words or words[0].i == first + 1:
        return ""
    verb, subject = words[0], question.span((first + 1, words[0].i))
    denied = verb.lower in cc.DO and question.words[verb.i + 1].lower in cc.NEGATIONS | {"n't"}
    verb = words[1] if denied and len(words) > 1 else verb
    if verb.pos == "AUX" or verb.tag not in {"VB", "VBZ"}:
        return ""
    doing = f"{'not ' * denied}{gerund(verb.lemma)}"
    return f"{subject} {doing} {question.span((verb.i + 1, stop))}".strip()


def _is_question(scene: Scene) -> bool:
    return scene.analysis.text.rstrip().endswith("?") or any(
        clause.mood == "question" for clause in scene.analysis.clauses
    )
