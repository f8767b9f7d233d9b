"""Write what the extension takes over from KDS: slash commands, JSON schemas, test cases.

    python editors/vscode/scripts/generate.py

Slash commands come from the packaged prompt files, schemas from the models that KDS itself checks
rules and examples with, the cases of the history contract from its reference client in Python.
A test in tests/kds/clients/ holds them up to date.
"""

import json
import random
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import ExampleKeys, PromptFile
from kds.router.references.ruleset import EntityFile, KnowledgeFile, RuleFile
from kds.testing.dialogues import Dialogue, ExpectedTurn
from kds.transit import transit

HERE: Final = Path(__file__).resolve().parent.parent

NAMES: Final = {"ANALYZE_SCREENSHOT": "screenshot"}
"""Slash commands that are not their intent in lower case."""

ASIDES: Final = (
    ("why", "Show why the last message was read as it was"),
    ("context", "Show what the conversation in this window remembers"),
    ("clear", "Forget the context and begin a new conversation"),
)
"""Commands about the chat itself."""

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def generated() -> Mapping[Path, str]:
    """Every generated file with the text it should have."""
    agents = [agent for agent in PromptLibrary.load().agents() if agent.intent != "UNKNOWN"]
    texts = {
        HERE / "package.json": _package_json(agents),
        HERE / "src" / "commands.json": _lines(_commands(agents)),
        HERE / "test" / "history-cases.json": _lines(_history_cases()),
    }
    schemas = {
        "rules": RuleFile.model_json_schema(),
        "entities": EntityFile.model_json_schema(),
        "knowledge": KnowledgeFile.model_json_schema(),
        "examples": ExampleKeys.model_json_schema(),
        "dialogues": _dialogues(),
    }
    for name, schema in schemas.items():
        texts[HERE / "schemas" / f"{name}.json"] = _json({"$schema": DRAFT} | schema)
    return texts


def _package_json(agents: list[PromptFile]) -> str:
    path = HERE / "package.json"
    text = path.read_text(encoding="utf-8")
    begin = text.index('"commands": [', text.index('"chatParticipants"'))
    end = text.index("]", begin)
    rows = [
        *({"name": _name(agent), "description": agent.description} for agent in agents),
        *({"name": name, "description": told} for name, told in ASIDES),
    ]
    lines = ",\n".join(f"          {json.dumps(row)}" for row in rows)
    return f'{text[:begin]}"commands": [\n{lines}\n        {text[end:]}'


def _commands(agents: list[PromptFile]) -> Iterator[dict[str, str | None]]:
    """Slash commands, their agents, and what they say when the user adds nothing."""
    for agent in agents:
        say = agent.ask or agent.description
        yield {"name": _name(agent), "intent": agent.intent, "ref": agent.ref, "say": say}


def _name(agent: PromptFile) -> str:
    intent = agent.intent or ""
    return NAMES.get(intent, intent.lower().replace("_", "-"))


def _dialogues() -> dict[str, Any]:
    """The format of `kds.testing.dialogues`, whose keys must all be here."""
    text = {"type": "string", "minLength": 1}
    any_of = {"anyOf": [text, {"type": "array", "items": text}]}
    turn = {
        "user": text | {"description": "What the user says."},
        "intent": any_of | {"description": "Intents that count as right."},
        "context_ref": any_of | {"description": "What the message refers to."},
        "expanded": any_of
        | {"description": "The message written out; without it, it must come back unchanged."},
        "switch": {"type": "boolean", "description": "The topic is switched here."},
        "secondary": any_of | {"description": "All secondary intents; [] for none."},
        "reply": text | {"description": "What the assistant answered."},
        "note": {"description": "Free text."},
    }
    dialogue = {"id": text, "turns": {}, "note": {"description": "Free text."}}
    keys = {field.alias or name for name, field in ExpectedTurn.model_fields.items()}
    assert set(turn) == keys, "the keys of a turn have changed"
    assert set(dialogue) == set(Dialogue.model_fields), "the keys of a dialogue have changed"
    dialogue["turns"] = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/turn"}}
    return {
        "title": "Dialogues with their expected outcome",
        "$defs": {
            "turn": _object(turn, ["user"]),
            "dialogue": _object(dialogue, ["id", "turns"]),
        },
        "anyOf": [
            {"$ref": "#/$defs/dialogue"},
            {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/dialogue"}},
        ],
    }


def _object(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required,
    }


def _history_cases() -> Iterator[dict[str, Any]]:
    """Chats of every kind, and a digest of what of them is sent: at the bounds, and beyond them.

    A content is written as a piece and how often it stands there, to keep the file small.
    """
    rng = random.Random(16)
    pieces = ("word ", "a", "b ", "\t\n", "é", "漢", "😀", "\ud83d")
    lengths = (0, 1, 5, 50, 497, 500, 501, 900, 4000)
    for _ in range(60):
        said = [
            [rng.choice(("user", "assistant")), rng.choice(pieces), rng.choice(lengths)]
            for _ in range(rng.randint(0, 24))
        ]
        chat = [{"role": role, "content": piece * times} for role, piece, times in said]
        sent = [message.as_dict() for message in transit(chat)]
        text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
        yield {"said": said, "sent": len(sent), "sha256": sha256(text.encode()).hexdigest()}


def _lines(rows: Iterator[object]) -> str:
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def _json(value: object) -> str:
    return json.dumps(value, indent=1) + "\n"


if __name__ == "__main__":
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
