"""What is done or going on, taken up again: do that, for that, in that case, "did this start"."""

from collections.abc import Iterator
from itertools import islice

from kds.brain.turn import Edit, Reference
from kds.router.discourse.inquiry import last_question, questions
from kds.router.discourse.mention import Mention
from kds.router.discourse.question import Question
from kds.router.language import closed_class as cc
from kds.router.language.inflection import gerund
from kds.router.language.lexicon import singular
from kds.router.language.words import Word
from kds.router.references.rendering import bare, definite, in_place_of
from kds.router.references.rule import Rule
from kds.router.references.scene import SETTLED, Found, Scene, cued


def find_actions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Can they do that on Tuesdays?", "who decides in that case?": what was asked about."""
    question = _last_deed(scene) if rule.render.text != "topic" else last_question(scene.discourse)
    match = cued(rule, scene.analysis.text)
    if question is None or match is None or not _is_question(scene):
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


def find_events(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "When did this start?" after "The webhook is failing": start failing."""
    for i, word in enumerate(scene.words):
        if word.lower not in rule.signal.lemma or i + 1 >= len(scene.words):
            continue
        verb = scene.words[i + 1]
        event = _last_event(scene)
        if verb.pos != "VERB" or verb.lemma not in rule.signal.verbs or event is None:
            continue
        subject, doing = event
        target = definite(subject)
        yield Found(
            (Reference(word.text, word.start, word.end, bare(subject), rule.id, 0.8),),
            (
                Edit(word.start, word.end, in_place_of(word.text, target)),
                Edit(verb.end, verb.end, f" {doing}"),
            ),
            f"'{word.text} {verb.text}' -> '{target} ... {doing}' ({rule.id})",
        )


def _last_event(scene: Scene) -> tuple[Mention, str] | None:
    """Subject and -ing verb of the newest statement of an ongoing event."""
    if not scene.discourse:
        return None
    moment = scene.discourse.last
    for clause in moment.analysis.clauses:
        if clause.verb is None or moment.analysis.words[clause.verb].tag != "VBG":
            continue
        subject = next(
            (m for m in moment.mentions if m.role == "subj" and m.end <= clause.verb), None
        )
        if subject is not None:
            return subject, moment.analysis.words[clause.verb].text
    return None


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
