"""Messages that lean on the sentence before: "What about X?", "No, green", "Same for X"."""

import re
from collections.abc import Iterator
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.mention import Mention, mentions_in
from kds.router.parallels import NUMBER, SAME_KIND, Fragment, Slot, best_slot, substitute
from kds.router.rendering import bare_text
from kds.router.rule import Rule
from kds.router.scene import Found, Scene, search
from kds.router.words import Analysis, Word

_SCORE: Final = 0.8
"""Shown for references found by the form of the message, where no antecedents compete."""
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
_COMMANDS: Final = frozenset({"imperative", "statement"})


def find_questions(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "What about the Closing Date?": the last question, asked about something else."""
    fragment, prefix = _fragment(scene, rule)
    if fragment is None or not scene.discourse:
        return
    moment = scene.discourse.last
    asked = any(c.mood == "question" and c.verb is not None for c in moment.analysis.clauses)
    if all(c.verb is None for c in moment.analysis.clauses):
        return  # a fragment itself: there is no sentence to repeat
    if not asked and "?" in scene.analysis.text[-1:] and prefix == "":
        return
    slot = best_slot(moment.analysis, moment.mentions, fragment)
    if slot is None and fragment.prep and asked:
        text = _append(moment.expanded, fragment)
    elif slot is not None and (asked or slot.likeness >= SAME_KIND):
        text = substitute(moment.analysis, slot, fragment)
    else:
        return
    yield _whole(scene, rule, fragment, _without_lead_in(text))


def find_corrections(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "No, green", "Sorry, Tuesday": the last command with another value."""
    fragment, cue = _fragment(scene, rule)
    if fragment is None or not scene.discourse:
        return
    marked = any(mark in cue for mark in ",.:;!-—–") or _RESTATING.search(cue)
    if not fragment.label and not marked:
        return  # "no problem" is not "no, problem"
    moment = scene.discourse.last
    slot = _named_slot(scene, rule, moment.expanded) or best_slot(
        moment.analysis, moment.mentions, fragment
    )
    if slot is not None:
        yield _whole(
            scene, rule, fragment, _without_lead_in(substitute(moment.analysis, slot, fragment))
        )


def find_gaps(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "and the parser deployment to 3": the verb of the last command is left out."""
    text = scene.analysis.text
    match = next((m for p in rule.signal.cues if (m := search(p, text)) is not None), None)
    if (
        match is None
        or not scene.discourse
        or any(w.pos in {"VERB", "AUX", "PRON"} for w in scene.words)
    ):
        return
    moment = scene.discourse.last
    command = next((c for c in reversed(moment.analysis.clauses) if c.mood == "imperative"), None)
    obj = next((m for m in scene.mentions if m.prep == ""), None)
    if command is None or command.verb is None or obj is None:
        return
    earlier = {w.lower for w in moment.analysis.words if w.pos == "ADP"}
    if not any(w.pos == "ADP" and w.lower in earlier for w in scene.words[obj.end :]):
        return  # another frame, another verb
    verb = moment.analysis.words[command.verb].lower
    at = scene.words[obj.start].start
    yield Found(
        (Reference("", at, at, verb, rule.id, _SCORE),),
        (Edit(at, at, f"{verb} "),),
        f"the verb of the message before is left out ({rule.id}): '{verb}'",
        whole=True,
    )


def _named_slot(scene: Scene, rule: Rule, earlier: str) -> Slot | None:
    """ "Not Zurich, Geneva": the cue's group ``old`` says what is replaced."""
    for pattern in rule.signal.cues:
        match = search(pattern, scene.analysis.text)
        old = (match.groupdict().get("old") or "").strip().lower() if match else ""
        at = earlier.lower().find(old) if old else -1
        if at >= 0:
            return Slot(at, at + len(old), at, 1.0)
    return None


def find_repeats(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Do the same for X", "do it for X too": the last command, applied to something else."""
    fragment, _ = _fragment(scene, rule)
    if fragment is None or not scene.discourse:
        return
    for moment in list(reversed(scene.discourse.moments))[: rule.antecedent.max_age + 1]:
        if moment.analysis.clauses and moment.analysis.clauses[-1].mood in _COMMANDS:
            break
    else:
        return
    bare_fragment = Fragment(fragment.text, fragment.mention, "", fragment.label)
    slot = best_slot(moment.analysis, moment.mentions, bare_fragment, oblique=bool(fragment.prep))
    if not _EXPLICIT.search(scene.analysis.text) and (slot is None or slot.likeness < SAME_KIND):
        return  # "and tests" may be anything; "and Spanish" after "into German" is clear
    if slot is not None and fragment.prep not in {"", "for"} and slot.likeness < SAME_KIND:
        slot = None  # "do that on a branch" says where, it does not replace what
    command = moment.analysis.text.rstrip(" .!")
    text = (
        substitute(moment.analysis, slot, bare_fragment)
        if slot
        else f"{command} {fragment.prep or 'for'} {fragment.text}"
    )
    done = next((m for m in moment.mentions if m.role == "obj"), None)
    yield _whole(scene, rule, fragment, _as_command(text), target=done)


def _fragment(scene: Scene, rule: Rule) -> tuple[Fragment | None, str]:
    """The part behind the cue, when it is one phrase (with or without a preposition)."""
    text = scene.analysis.text
    for pattern in rule.signal.cues:
        match = search(pattern, text)
        if match is None or match.start() != 0:
            continue
        groups = match.groupdict()
        rest = groups.get("rest") or text[match.end() :]
        start = text.rfind(rest) if rest else len(text)
        fragment = _read(scene.analysis, start, start + len(rest.rstrip(" ?.!")))
        if fragment is not None:
            return fragment, text[:start].strip()
    return None, ""


def _read(analysis: Analysis, start: int, end: int) -> Fragment | None:
    inside = [w for w in analysis.words if w.start >= start and w.end <= end]
    while inside and inside[-1].lower in {"too", "also", "then", "instead", "please", "well", "as"}:
        inside.pop()
    while inside and inside[0].text in {",", "-", "–", "—"}:
        inside.pop(0)
    if not inside or any(w.pos in {"VERB", "AUX", "PRON", "SCONJ"} and not w.kind for w in inside):
        return None
    prep = inside[0].lower if inside[0].pos == "ADP" else ""
    body = inside[1:] if prep else inside
    if not body or body[0].pos == "ADV":
        return None
    text = analysis.text[body[0].start : body[-1].end]
    phrase = analysis.phrase_at.get(body[0].i)
    label = analysis.label(body[0].i, body[-1].i + 1) or _number_label(body)
    if phrase is None:
        return Fragment(text, None, prep, label) if label and len(body) <= 3 else None
    if phrase.start < body[0].i:
        return None
    mention = _mention_at(analysis, phrase.start)
    return Fragment(text, mention, prep, label) if mention is not None else None


def _number_label(body: list[Word]) -> str:
    return NUMBER if all(word.pos == "NUM" for word in body) else ""


def _mention_at(analysis: Analysis, start: int) -> Mention | None:
    """None for phrases that name nothing by themselves ("the others")."""
    found = (m for m in mentions_in(analysis, 0) if m.start == start and not m.parts)
    return next(found, None)


def _append(question: str, fragment: Fragment) -> str:
    body = question.rstrip()
    mark = body[-1] if body[-1:] in "?.!" else ""
    return f"{body.rstrip('?.! ')} {fragment.prep} {fragment.text}{mark}"


def _without_lead_in(text: str) -> str:
    stripped = _LEAD_IN.sub("", text)
    return (
        stripped[:1].upper() + stripped[1:] if stripped and text[:1].isupper() else stripped or text
    )


def _as_command(text: str) -> str:
    """ "I want to add X" -> "Add X"."""
    stripped = _WISH.sub("", text)
    return stripped[:1].upper() + stripped[1:] if text[:1].isupper() else stripped


def _whole(
    scene: Scene, rule: Rule, fragment: Fragment, text: str, *, target: Mention | None = None
) -> Found:
    message = scene.analysis.text
    start = message.find(fragment.text)
    shown = target.text if target is not None else bare_text(fragment.text)
    return Found(
        (
            Reference(
                message[start : start + len(fragment.text)],
                start,
                start + len(fragment.text),
                shown,
                rule.id,
                _SCORE,
            ),
        ),
        (Edit(0, len(message), text),),
        f"'{message}' leans on the message before ({rule.id}) -> '{text}'",
        whole=True,
    )
