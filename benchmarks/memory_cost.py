"""What the conversation memory costs: storing, recalling, disk, and a turn of a chat.

    python benchmarks/memory_cost.py [--messages N] [--width N] [--turns N] [--json]

Builds a database of made-up conversations (words of a Zipf-distributed vocabulary, a fifth of the
answers with a block of code) with a random vector for each chunk. A question is six words of one
of the messages, frequent and rare ones, or a name from a block of code; its vector is random.
Then a chat is held, whose sentences are full of facts: the question is stored, the window is made,
the answer is stored with the summaries that are due; no model. CPU times are those of the process,
all threads; embedding is not part of them.
"""

import random
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
from common import Words, costs, cpu_ms, options, ranks, show, spent

from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.memory_store import Archive, SqliteStore
from kds.brain.memory.sessions import Session
from kds.brain.passages.recall import recall
from kds.brain.passages.values import Message, Role
from kds.brain.words.terms import WORD
from kds.brain.workspace import Workspace

SESSION_MESSAGES = 100
APPENDS = 1000
QUESTIONS = 300
WARM_UP = 5
WORDS_ASKED = 6
MODEL = "random"
START = datetime(2025, 1, 1, tzinfo=UTC)
COMMON = "the to of and a in is it that for on with as this be at or from you we can not".split()
FACTS = (
    "{name} needs module_{n} by 2025-03-14.", "The ticket is FIN-{n} and costs ${n}.",
    "We decided to use {name} instead of src/app/part_{n}.py.", "It took {n} ms for all the rows.",
    "It looks fine on my machine but not on the small screen.",
)  # fmt: skip
NAMES = ("Maria Lopez", "Grafana", "ACME Corp", "Peter", "Kubernetes", "Postgres", "Redis")


Questions = Sequence[tuple[str, str]]
"""Sessions, and what is asked in them."""


class Writer(Words):
    """Makes up conversations; the same ones for the same seed."""

    def __init__(self) -> None:
        super().__init__(5, 40_000, COMMON)

    def text(self, role: Role) -> str:
        """Return a message: a short question, or an answer of some sentences."""
        sentences = 1 if role == "user" else self.random.randint(2, 9)
        text = " ".join(
            " ".join(self.some(self.random.randint(6, 20))) + "." for _ in range(sentences)
        )
        if role == "assistant" and self.random.random() < 0.2:
            name, *others = self.some(9)
            lines = [f"def {name}_{others[0]}(self, {others[1]}):"]
            lines += [f"    {a}_{b} = self.{b}({a})" for a, b in pairwise(others)]
            text += "\n\n```python\n" + "\n".join(lines) + "\n```\n"
        return text

    def session(self, number: int) -> Archive:
        """Return a whole conversation."""
        at = START + timedelta(hours=number)
        roles: list[Role] = ["user", "assistant"]
        messages = tuple(
            Message("", "", n, roles[n % 2], self.text(roles[n % 2]), at + timedelta(minutes=n), 0)
            for n in range(SESSION_MESSAGES)
        )
        return Archive(Session(id=f"s{number}", created_at=at, updated_at=at), messages)


class RandomEmbedder:
    """Random vectors: the cost of searching them is the same."""

    name = MODEL

    def __init__(self, width: int) -> None:
        self._generator = np.random.default_rng(6)
        self._width = width

    def embed_query(self, text: str) -> list[float]:
        """Return a random vector."""
        return self._generator.standard_normal(self._width).tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return random vectors."""
        return [self.embed_query(text) for text in texts]


def main() -> None:
    """Measure and print."""
    given = options(__doc__, "--json", messages=100_000, width=384, turns=300).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large = Workspace(Path(folder), Path(folder) / "kds-brain")
        large.brain.mkdir()
        with SqliteStore(large.brain / SqliteStore.file_name) as store:
            figures = dict(_storing(store, given.messages, given.width))
            asked = list(_questions(store))
            figures |= dict(_prompting(large, asked))
            figures |= dict(_recalling(store, asked, RandomEmbedder(given.width)))
        figures |= dict(_turns(Path(folder) / "chat", given.turns))
    show(figures, as_json=given.json)


def _storing(store: SqliteStore, count: int, width: int) -> Iterator[tuple[str, object]]:
    writer, generator = Writer(), np.random.default_rng(5)
    store.use_model(MODEL)
    started = process_time()
    for number in range(count // SESSION_MESSAGES):
        store.restore(writer.session(number))
    while jobs := store.pending_embeddings(500):
        vectors = generator.standard_normal((len(jobs), width), dtype=np.float32)
        store.store_embeddings(
            MODEL, {job.chunk_id: vector for job, vector in zip(jobs, vectors, strict=True)}
        )
    yield "build_cpu_s", round(process_time() - started, 1)
    session = store.create_session().id
    roles: list[Role] = ["user", "assistant"]
    texts = [(roles[n % 2], writer.text(roles[n % 2])) for n in range(APPENDS)]
    yield from costs(
        "append", [spent(lambda one=one: store.append(session, *one)) for one in texts]
    )
    stats = store.stats()
    yield "messages", stats.messages
    yield "chunks", stats.chunks
    yield "mb_per_100k_messages", round(stats.size_bytes / stats.messages * 100_000 / 2**20, 1)


def _prompting(place: Workspace, asked: Questions) -> Iterator[tuple[str, object]]:
    """What stands in a prompt: the window of a session, profile and passages of all others."""
    memory = ConversationMemory.open(place, environ={})
    for one in asked:  # imported sessions are summarised once
        memory.window(*one)
    times = [spent(lambda one=one: _prompt(memory, *one)) for one in asked]
    memory.close()
    yield from costs("prompt", times[WARM_UP:])


def _prompt(memory: ConversationMemory, session: str, question: str) -> None:
    memory.for_prompt(
        question, said=[one.content for one in memory.window(session, question).messages]
    )


def _recalling(
    store: SqliteStore, asked: Questions, embedder: RandomEmbedder
) -> Iterator[tuple[str, object]]:
    for where in ("conversation", "global"):
        for what, model in (("words", None), ("hybrid", embedder)):
            scopes = [None if where == "global" else one for one, _ in asked]
            pairs = zip([text for _, text in asked], scopes, strict=True)
            times = [_times(store, text, scope, model) for text, scope in pairs]
            yield from costs(f"recall_{where}_{what}", times[WARM_UP:])
    for what, call in {
        "check": store.check,
        "delete_session": lambda: store.delete_session(store.sessions(limit=1)[0].id),
        "rebuild": store.rebuild,
    }.items():
        cpu, wall = spent(call)
        yield f"{what}_cpu_s", round(cpu / 1000, 2)
        yield f"{what}_wall_s", round(wall / 1000, 2)


def _times(
    store: SqliteStore, text: str, scope: str | None, embedder: RandomEmbedder | None
) -> tuple[float, float]:
    """Milliseconds of a recall, without those of making its vector."""
    vector_ms = []

    def ask() -> None:
        found = recall(store, text, session=scope, few=0, embedder=embedder)
        vector_ms.append(found.timings_ms.get("embedding", 0.0))

    cpu, wall = spent(ask)
    return cpu - vector_ms[0], wall - vector_ms[0]


def _questions(store: SqliteStore) -> Iterator[tuple[str, str]]:
    chooser = random.Random(7)
    sessions = store.sessions(limit=10_000)
    for number in range(QUESTIONS + WARM_UP):
        session = chooser.choice(sessions)
        message = chooser.choice(store.messages(session.id))
        words = WORD.findall(message.content)
        names = [word for word in message.content.split() if word.isidentifier() and "_" in word]
        if number % 4 == 0 and names:
            yield session.id, chooser.choice(names)
        else:
            yield session.id, " ".join(chooser.sample(words, min(WORDS_ASKED, len(words))))


def _turns(root: Path, count: int) -> Iterator[tuple[str, object]]:
    dice = random.Random(1)
    root.mkdir()
    memory = ConversationMemory.open(Workspace(root, root / "kds-brain"), environ={})
    parts: list[Sequence[float]] = []
    for _ in range(count + 1):
        question, answer = _text(dice, 2), _text(dice, 6)
        parts.append((
            cpu_ms(lambda said=question: memory.add("s", "user", said)),
            cpu_ms(lambda said=question: memory.window("s", said)),
            cpu_ms(lambda said=answer: memory.add("s", "assistant", said)),
        ))  # fmt: skip
    memory.close()
    yield "turn_cpu_ms", ranks([sum(one) for one in parts[1:]], 50, 95)
    names = ("question", "window", "answer_and_summaries")
    for name, values in zip(names, zip(*parts[1:], strict=True), strict=True):
        yield f"turn_{name}_cpu_ms", ranks(values, 50, 95)


def _text(dice: random.Random, sentences: int) -> str:
    return " ".join(
        dice.choice(FACTS).format(name=dice.choice(NAMES), n=dice.randrange(10, 9999))
        for _ in range(sentences)
    )


if __name__ == "__main__":
    main()
