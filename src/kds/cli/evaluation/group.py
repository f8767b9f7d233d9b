"""`kds eval`: measures the router, or a part of it, on a file of examples (DESIGN 8)."""

import click

from kds.cli.evaluation.chats import chats
from kds.cli.evaluation.dialogues import dialogues
from kds.cli.evaluation.followups import follow_ups
from kds.cli.evaluation.intents import intents
from kds.cli.evaluation.multi import multi
from kds.cli.evaluation.retrieval import retrieval
from kds.cli.evaluation.rewrites import rewrites


@click.group(
    "eval",
    epilog="""\b
Examples:
  kds eval dialogues tests/dialogues/fab.yaml --json
  kds eval rewrites follow-ups.jsonl --errors wrong.jsonl
\b
The formats and measures: kds help evaluation""",
)
def evaluate() -> None:
    """Measure the router on a set of examples."""


for _command in (chats, dialogues, rewrites, intents, multi, retrieval, follow_ups):
    evaluate.add_command(_command)
