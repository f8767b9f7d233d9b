"""A conversation as somebody types it, and the dialogue test that comes of it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from kds.api.beginning import checked_name, write_new
from kds.api.same_text import matches
from kds.brain.errors import MessageError
from kds.brain.turn import UNKNOWN, Utterance
from kds.brain.workspace import Workspace
from kds.evaluation.dialogue_file import Dialogue, ExpectedTurn, parse_dialogues
from kds.evaluation.playback import PlayedTurn
from kds.evaluation.trial import DIALOGUES

MOST_TURNS: Final = 50
MOST_CHARACTERS: Final = 100_000
"""Of a conversation that is typed: it is read by a person, who waits for it."""

_YAML: Final = re.compile(r"\s*(?:#.*\n\s*)*(?:-\s+)?\{?\s*(?:id|turns)\s*:")
_SAID: Final = re.compile(r"\s*(user|assistant):[ \t]*(.*)", re.IGNORECASE)


def typed_dialogue(text: str) -> Dialogue:
    """Read a conversation: a message a line, lines with who says it, or a dialogue test.

    A line that does not say who goes on with what was said before, where others do say it.
    Raises MessageError, and DialogueFileError for a test that is none.

    >>> [turn.reply for turn in typed_dialogue("user: Hi\\nassistant: Hello.\\nuser: Bye").turns]
    ['Hello.', '']
    """
    if len(text) > MOST_CHARACTERS:
        raise MessageError(
            f"the conversation has more than {MOST_CHARACTERS:,} characters", hint="take a part"
        )
    if _YAML.match(text):
        dialogue, *more = parse_dialogues(text, Path("conversation.yaml"))
        if more:
            raise MessageError("there are several dialogues", hint="leave one of them")
    else:
        dialogue = Dialogue("typed", tuple(_turns(_said(text.splitlines()))), "conversation:1")
    if not 0 < len(dialogue.turns) <= MOST_TURNS:
        raise MessageError(
            f"a conversation has 1 to {MOST_TURNS} messages, this one {len(dialogue.turns)}",
            hint="write one message a line",
        )
    return dialogue


def test_name(played: Sequence[PlayedTurn]) -> str:
    """What a test of this conversation may be called, by its first words."""
    found = re.findall(r"[a-z0-9]+", played[0].expected.user.lower())[:5]
    return "-".join(["on", *found])[:60].rstrip("-")


def as_test(name: str, played: Sequence[PlayedTurn]) -> str:
    """The YAML of a dialogue test that expects what came out."""
    dialogue = {"id": name, "turns": [_expected(one) for one in played]}
    return yaml.safe_dump([dialogue], sort_keys=False, allow_unicode=True, width=90)


def save_test(workspace: Workspace, name: str, text: str) -> tuple[Path, tuple[Dialogue, ...]]:
    """Write a dialogue test where `kds test` and pytest find it. Raises KdsError."""
    path = workspace.root / DIALOGUES[0] / f"{checked_name(name)}.yaml"
    if not path.parent.resolve().is_relative_to(workspace.root.resolve()):
        raise MessageError(f"{path.parent} leads out of the workspace", hint="replace the link")
    dialogues = parse_dialogues(text, path)
    return write_new(path, text), dialogues


def _said(lines: Sequence[str]) -> list[Utterance]:
    if any(_SAID.fullmatch(line) for line in lines):
        return _attributed(lines)
    return [Utterance(line.strip()) for line in lines if line.strip()]


def _attributed(lines: Sequence[str]) -> list[Utterance]:
    said: list[Utterance] = []
    for line in lines:
        found = _SAID.fullmatch(line)
        if found is not None:
            said.append(Utterance(found[2], "user" if found[1].lower() == "user" else "assistant"))
        elif said:
            said[-1] = said[-1]._replace(text=f"{said[-1].text}\n{line}")
        elif line.strip():
            raise MessageError("nobody says the first line", hint="write user: before it")
    return [one._replace(text=one.text.strip()) for one in said]


def _turns(said: Sequence[Utterance]) -> list[ExpectedTurn]:
    turns: list[ExpectedTurn] = []
    for number, one in enumerate(said, start=1):
        if one.role == "user":
            turns.append(ExpectedTurn(one.text, f"conversation:{number}"))
        elif turns:
            last = turns.pop()
            reply = f"{last.reply}\n{one.text}".strip()
            turns.append(ExpectedTurn(last.user, last.where, reply=reply))
        else:
            raise MessageError("the assistant speaks first", hint="begin with a line user: ...")
    return turns


def _expected(one: PlayedTurn) -> dict[str, object]:
    turn, said = one.turn, one.expected
    known = {
        "context_ref": turn.context_ref,
        "expanded": None if matches(turn.expanded, [said.user]) else turn.expanded,
        "secondary": list(turn.secondary_intents),
        "switch": turn.context_switch,
        "reply": said.reply,
    }
    intent = turn.intent if turn.action == "route" else UNKNOWN
    return {"user": said.user, "intent": intent} | {
        key: value for key, value in known.items() if value
    }
