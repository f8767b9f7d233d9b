"""`kds eval chats`: real chats with coding assistants, played in order, every edit judged.

An edit is *right* when it stands on a labelled reference and says one of its antecedents, *wrong*
when it says another thing there, and *false* when nothing refers where it stands.
docs/evaluation.md has the form of the file and the measures.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from kds.api.measures import calibration_error, share
from kds.brain.turn import Edit, Turn
from kds.testing.examples import Bench, Example, Row, Spoken, Text, converse, listed, times

OUTCOMES: Final = ("right", "wrong", "false")

SPARE_WORDS: Final = 2
"""Words that an edit may say beyond those of the antecedent."""

OVERLAP: Final = 0.66
"""F1 of the words from which an edit names an antecedent that it does not contain whole."""

_STOP: Final = frozenset(
    "the a an this that these those my our your his her its their it of in on at for to from with "
    "by 's".split()
)
_WORD: Final = re.compile(r"[a-z0-9_./@-]+")
_OWN: Final = re.compile(r"['’]s\b")


class ChatReference(Example):
    """An expression of a message that points outside it; ``text`` is "" for something left out.

    ``nth``: which occurrence of the text. ``source`` is where its name can be read. Without the
    references it ``must`` have, a message cannot be acted on.
    """

    text: str
    kind: Literal["pronoun", "demonstrative", "definite", "one", "ellipsis", "other"]
    antecedents: list[str]
    source: Literal["user", "assistant", "none"]
    nth: int = 1
    must: bool = False

    def start_in(self, message: str) -> int:
        """Where it begins in ``message``, in characters; -1 where it does not stand."""
        starts = [one.start() for one in re.finditer(re.escape(self.text), message)]
        return starts[self.nth - 1] if self.text and 0 < self.nth <= len(starts) else -1


class ChatTurn(Spoken):
    """What a user typed, and the assistant's reply; intents and references where ``labelled``."""

    reply: str | None = Field(None, alias="assistant")
    labelled: bool | None = False
    intents: list[str] | None = None
    refs: Annotated[list[ChatReference], BeforeValidator(listed)] = Field([])


class Chat(Example):
    """A conversation; ``repo`` names its author or repository."""

    id: Text
    repo: str | None = None
    turns: list[ChatTurn] = Field(min_length=1)


def judge_edits(turn: Turn, expected: ChatTurn) -> list[Row]:
    """Judge every edit of a turn; a message rewritten as a whole counts as one edit.

    Each says which rule is behind it ("" when unknown) and which reference is meant, by its place
    among those of the turn, and of which kind it is.
    """
    if turn.expanded == turn.message:
        return []
    judged: list[Row] = []
    written = _content_words(turn.expanded)
    for edit in turn.edits or (Edit(-1, -1, turn.expanded),):
        near = [
            ref
            for ref in expected.refs
            if edit.start >= 0 and 0 <= (start := ref.start_in(turn.message)) <= edit.end
            and edit.start <= start + len(ref.text)
        ]  # fmt: skip
        if not near and not edit.text.strip(" ,.?!"):
            continue  # punctuation only
        said = [(form, ref) for ref in near for form in (edit.text, f"{edit.text} {ref.text}")]
        right = [ref for form, ref in said if any(names(form, a) for a in ref.antecedents)] or [
            ref  # an ellipsis, whose words may stand anywhere
            for ref in expected.refs
            if ref.kind == "ellipsis" and any(_content_words(a) <= written for a in ref.antecedents)
        ]
        behind = (one.rule for one in turn.references
                  if one.start <= edit.end and edit.start <= one.end)  # fmt: skip
        rule = next(behind, turn.references[0].rule if turn.references else "")
        outcome = "right" if right else "wrong" if near else "false"
        ref = next((expected.refs.index(one) for one in (*right, *near)), None)
        judged.append({
            "said": edit.text, "rule": rule, "outcome": outcome, "ref": ref,
            "kind": "" if ref is None else expected.refs[ref].kind,
        })  # fmt: skip
    return judged


def names(said: str, accepted: str) -> bool:
    """Whether ``said`` names ``accepted``: all its words and little else, or most of both.

    >>> names("the FAB button", "FAB button"), names("the login form", "FAB button")
    (True, False)
    """
    one, other = _content_words(said), _content_words(accepted)
    if not one or not other:
        return False
    whole = other <= one and len(one) <= len(other) + SPARE_WORDS
    return whole or 2 * len(one & other) / (len(one) + len(other)) >= OVERLAP


def _content_words(text: str) -> set[str]:
    found = _WORD.findall(_OWN.sub("", text.lower()))
    return {word for word in found if word.strip("./-") and word not in _STOP}


# kds eval chats


def run(chats: Sequence[Chat], bench: Bench) -> list[Row]:
    """Play every chat; a turn is wrong where it does harm, or is acted on by a wrong intent."""
    router = bench.router()
    return [
        {"chat": chat.id, "turn": number} | _turn(expected, turn) | {"ms": ms}
        for chat in bench.each(chats, "playing chats")
        for number, (expected, turn, ms) in enumerate(converse(chat.turns, router.rehearse), 1)
    ]


def _turn(expected: ChatTurn, turn: Turn) -> Row:
    edits = judge_edits(turn, expected) if expected.labelled else []
    harmed = any(edit["outcome"] != "right" for edit in edits)
    judged = bool(expected.labelled and expected.intents and turn.action == "route")
    intent_right = turn.intent in (expected.intents or ()) if judged else None
    return {
        "user": expected.user,
        "expanded": turn.expanded,
        "labelled": bool(expected.labelled),
        "edits": edits,
        "refs": [ref.model_dump() for ref in expected.refs],
        "harmed": harmed,
        "intents": expected.intents,
        "intent": turn.intent,
        "intent_right": intent_right,
        "confidence": turn.confidence,
        "acted": turn.action == "route",
        "right": not harmed and intent_right is not False,
        "why": list(turn.why),
    }


def score(rows: Sequence[Row]) -> Row:
    """Add up what `kds eval chats` reports; docs/evaluation.md explains the keys."""
    turns = [row for row in rows if row["labelled"]]
    judged = [row for row in turns if row["intents"]]
    edits = [edit for row in turns for edit in row["edits"]]
    needed: dict[str, list[bool]] = {"user": [], "assistant": [], "none": []}
    for row in turns:
        written = {edit["ref"] for edit in row["edits"] if edit["outcome"] == "right"}
        for number, ref in enumerate(row["refs"]):
            needed[ref["source"]] += [number in written] if ref["must"] else []
    outcomes = [edit["outcome"] for edit in edits]
    sure = [row for row in judged if row["acted"]]
    return {
        "turns": len(turns),
        "follow_ups": sum(row["turn"] > 1 for row in turns),
        "changed": sum(row["expanded"] != row["user"] for row in turns),
        **{f"edits_{outcome}": outcomes.count(outcome) for outcome in OUTCOMES},
        "precision": share(outcome == "right" for outcome in outcomes),
        "harmed": share(row["harmed"] for row in turns),
        "must_user": len(needed["user"]),
        "must_recall_user": share(needed["user"]),
        "must_assistant": len(needed["assistant"]),
        "must_recall_assistant": share(needed["assistant"]),
        "intents": len(judged),
        "acted": share(row["acted"] for row in judged),
        "intent_right_when_acted": share(row["intent_right"] for row in sure),
        "ece": calibration_error([(row["confidence"], row["intent_right"]) for row in sure]),
        **times(rows, 50, 99),
    }
