"""What the memory costs a turn of a chat, and whether a window ever exceeds its budget.

    python benchmarks/memory_turn.py turn [--turns N] [--json]
    python benchmarks/memory_turn.py budget [--sessions N] [--json]

`turn`: CPU milliseconds of all that the memory does in a turn: the question is stored, the window
is made, the answer is stored with the summaries that are due; no model. A recall is measured
beside it. The conversation is made of sentences with facts in them, which is the dearest case.

`budget`: random conversations (any roles, sizes from nothing to pasted files, other scripts, code)
with random budgets; counts windows that have more tokens than they may, and turns that are neither
in the window nor before its beginning.
"""

import random
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from common import cpu_ms, options, ranks, show

from kds.brain.passages.values import Message, Role
from kds.brain.sessions.remembering import ConversationMemory
from kds.brain.sessions.window import Budget, lay_out
from kds.brain.summaries.extractive import ExtractiveSummarizer, Limit
from kds.brain.words.tokens import estimate_tokens
from kds.brain.workspace import Workspace

AT: Final = datetime(2025, 11, 3, tzinfo=UTC)
ROLES: Final[tuple[Role, ...]] = ("user", "assistant", "tool", "system")
NAMES: Final = ("Maria Lopez", "Grafana", "ACME Corp", "Peter", "Kubernetes", "Postgres", "Redis")
PLAIN: Final = (
    "The list gets longer with every row that comes in",
    "It looks fine on my machine but not on the small screen",
    "Try it with the other file first and tell me what you see",
    "The tests are slow because they start a server each",
)


def main() -> None:
    """Measure and print."""
    parser = options(__doc__, "--json", turns=300, sessions=10_000)
    parser.add_argument("mode", choices=("turn", "budget"))
    given = parser.parse_args()
    figures = _turns(given.turns) if given.mode == "turn" else _budgets(given.sessions)
    show(figures, as_json=given.json)


def _turns(count: int) -> dict[str, float]:
    dice = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        place = Workspace(Path(folder), Path(folder) / "kds-brain")
        memory = ConversationMemory.open(place, environ={})
        _turn(memory, dice)  # opens the file, loads the rules for secrets
        costs = [_turn(memory, dice) for _ in range(count)]
        recalls = [cpu_ms(lambda: memory.recall(_fact(dice), session="s")) for _ in range(100)]
        memory.close()
    total = [sum(parts) for parts in costs]
    figures: dict[str, float] = {"turns": count}
    for name, values in (
        ("store the question", [parts[0] for parts in costs]),
        ("window", [parts[1] for parts in costs]),
        ("store the answer, summaries", [parts[2] for parts in costs]),
        ("turn", total),
        ("recall", recalls),
    ):
        figures |= {f"{name} {rank}": at for rank, at in ranks(values, 50, 95).items()}
    figures["turn mean"] = round(sum(total) / len(total), 2)
    return figures


def _turn(memory: ConversationMemory, dice: random.Random) -> tuple[float, float, float]:
    question, answer = _text(dice, 2), _text(dice, 6)
    return (
        cpu_ms(lambda: memory.add("s", "user", question)),
        cpu_ms(lambda: memory.window("s", question)),
        cpu_ms(lambda: memory.add("s", "assistant", answer)),
    )


def _budgets(sessions: int) -> dict[str, float]:
    dice = random.Random(2)
    over = lost = windows = 0
    fullest = 0.0
    summarise = ExtractiveSummarizer()
    for _ in range(sessions):
        messages = tuple(_messages(dice))
        budget = Budget(*(dice.choice((0, 20, usual, 3 * usual)) for usual in (200, 800, 100)))
        query = _content(dice)
        layout = lay_out(messages, query, count=estimate_tokens, budget=budget)
        older = messages[: layout.first_seq - 1]
        limit = Limit(200, layout.summary_room(estimate_tokens))
        window = layout.window(summarise.digest(older, limit=limit).text, estimate_tokens)
        windows += 1
        tokens = sum(estimate_tokens(message.content) for message in window.messages)
        over += tokens > budget.total or tokens != window.tokens.total
        fullest = max(fullest, tokens / budget.total if budget.total else 0.0)
        sent = [message.seq for message in window.messages if message.seq is not None]
        lost += sent != list(range(window.first_seq, len(messages) + 1))
    return {
        "windows": windows,
        "over budget": over,
        "with a turn lost": lost,
        "fullest (share of budget)": round(fullest, 4),
    }


def _messages(dice: random.Random) -> Iterator[Message]:
    for seq in range(1, dice.randrange(1, 24)):
        role = dice.choice(ROLES) if dice.random() < 0.3 else ROLES[(seq + 1) % 2]
        text = _content(dice)
        yield Message(f"m{seq}", "s", seq, role, text, AT, estimate_tokens(text))


def _content(dice: random.Random) -> str:
    kind = dice.random()
    if kind < 0.6:
        return _text(dice, dice.randrange(1, 9))
    if kind < 0.7:
        return "```python\n" + "value = compute(1)\n" * dice.randrange(1, 90) + "```"
    if kind < 0.8:
        return "".join(chr(dice.randrange(32, 0x3000)) for _ in range(dice.randrange(900)))
    if kind < 0.9:
        return "x" * dice.randrange(6000)
    return " \n" * dice.randrange(9) + "word " * dice.randrange(2000)


def _text(dice: random.Random, sentences: int) -> str:
    return " ".join(
        f"{dice.choice(PLAIN)}." if dice.random() < 0.5 else f"{_fact(dice)}."
        for _ in range(sentences)
    )


def _fact(dice: random.Random) -> str:
    number = dice.randrange(10, 9999)
    return dice.choice(
        (
            f"{dice.choice(NAMES)} needs module_{number} by 2025-0{number % 9 + 1}-14",
            f"We decided to use {dice.choice(NAMES)} instead of src/app/part_{number}.py",
            f"The ticket is FIN-{number} and costs ${number}",
            f"It took {number} ms for {number % 97} rows",
        )
    )


if __name__ == "__main__":
    main()
