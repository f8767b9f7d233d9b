"""`kds eval`: measures the router, or a part of it, on a file of examples (DESIGN 8)."""

from typing import Final

from kds.cli.command import LateGroup, Sections, command

MEASURES: Final[Sections] = {
    "Commands": {
        "chats": ("evaluation.chats:chats", "Real chats: rewrites, intents, confidence, time."),
        "dialogues": (
            "evaluation.dialogue_tests:dialogues",
            "Dialogues: every field of every turn.",
        ),
        "rewrites": ("evaluation.rewrites:rewrites", "Rewrites alone: exact, BLEU, ROUGE-1."),
        "intents": ("evaluation.intents:intents", "Intents: right ones, calibration, memory."),
        "multi": ("evaluation.intents:multi", "Messages with several intents, in order."),
        "retrieval": ("evaluation.retrieval:retrieval", "Recall of past conversations."),
        "follow-ups": ("evaluation.followups:follow_ups", "Follow-up questions about documents."),
    }
}


@command(
    "kds eval dialogues tests/dialogues/fab.yaml --json",
    "kds eval rewrites follow-ups.jsonl --errors wrong.jsonl",
    name="eval",
    cls=LateGroup,
    sections=MEASURES,
    closing="The formats and measures: kds help evaluation",
)
def evaluate() -> None:
    """Measure the router on a set of examples."""
