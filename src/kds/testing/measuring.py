"""`kds eval`: how each kind of example is read, measured and scored."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, Final, TypeVar

from kds.activation import Activator
from kds.api.embeddings import Teller, embed_waiting, load_embedder, model_name
from kds.api.parts import LearnedParts, Parts, RewriterSource, load_resolver
from kds.api.rehearsal import MinuteClock
from kds.api.routing import Router
from kds.api.settings_edit import write_values
from kds.brain.documents.store import DocumentPlace
from kds.brain.environment import BRAIN
from kds.brain.errors import KdsError
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.recall import recall_settings
from kds.brain.settings import LiveConfig, load_settings
from kds.brain.workspace import Workspace
from kds.documents.indexing import add_documents
from kds.query.service import QueryService
from kds.router.prompts.library import PromptLibrary
from kds.testing import chats, follow_ups, intents, retrieval, rewrites, skills
from kds.testing.dialogues import (
    Dialogue,
    PlayedDialogue,
    dialogue_error,
    play,
    read_dialogues,
    score,
)
from kds.testing.example_files import Row

WARM_UP: Final = "I want to add a warm-up lap"
"""The first message of a process also loads the language model: that is not the cost of a turn."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Bench:
    """The workspace whose rules and prompts are measured, and who is told of progress."""

    workspace: Workspace
    tell: Teller
    warn: Callable[[Iterable[str]], None]

    def router(self) -> Router:
        """A router that has loaded everything."""
        router = Router.open(self.workspace, log=False)
        self.warn(router.warnings)
        router.rehearse(MinuteClock()).route(WARM_UP)
        return router

    def parts(self) -> Parts:
        """The parts of a router, with what was learned."""
        config = LiveConfig(self.workspace)
        parts = LearnedParts(Parts.load(self.workspace, may_write=False), config).now
        self.warn(parts.warnings)
        return parts

    def each(self, items: Sequence[Item], what: str) -> Iterator[Item]:
        """The items, with progress."""
        for number, item in enumerate(items):
            self.tell(what, number, len(items))
            yield item


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of example is read, run and scored; ``error`` is the row of a wrong result.

    Without ``score``, ``run`` returns the figures.
    """

    read: Callable[[Path], Any]
    run: Callable[..., Any]
    score: Callable[[Any], Mapping[str, object]] = dict
    error: Callable[[Any], Row | None] | None = None

    @property
    def options(self) -> frozenset[str]:
        """The options of this kind alone: the keywords of ``run``."""
        named = signature(self.run).parameters.values()
        own = (one.name for one in named if one.kind is one.KEYWORD_ONLY)
        return frozenset(own) | ({"errors"} if self.error else set())


def play_dialogues(dialogues: Sequence[Dialogue], bench: Bench) -> list[PlayedDialogue]:
    """Play each dialogue in a conversation of its own, of which nothing remains."""
    router = bench.router()
    return [play(dialogue, router.rehearse) for dialogue in bench.each(dialogues, "playing")]


def _play_chats(
    found: Sequence[chats.Chat], bench: Bench, *, no_history: bool = False
) -> list[chats.PlayedChatTurn]:
    router = bench.router()
    return [
        turn
        for chat in bench.each(found, "playing chats")
        for turn in chats.play_with(chat, router.rehearse, history=not no_history)
    ]


def _rewrite(examples: Sequence[rewrites.RewriteExample], bench: Bench) -> list[rewrites.Rewritten]:
    """Rewrite by the rules, and by a model where `rewriting.mode` and `model` of the settings say
    so; one that fails is asked again at once."""
    rewrites.load_bleu()
    workspace = bench.workspace
    resolver, library = load_resolver(workspace), PromptLibrary.load(workspace.prompts_dir)
    model = RewriterSource(LiveConfig(workspace), library, resolver, rest_s=0.0)()
    rewrites.rewrite(examples[0], resolver)  # the first message loads the language side
    return [rewrites.rewrite(one, resolver, model) for one in bench.each(examples, "rewriting")]


def _classify(
    messages: Sequence[intents.LabelledMessage], bench: Bench, *, train: Path | None = None,
    shots: int | None = None, seeds: int | None = None,
) -> Mapping[str, object]:  # fmt: skip
    if train is None:
        return intents.score_intents(messages, [(bench.parts().model, 0.0)], bench.tell)
    lessons = intents.load_intents(train)
    if len({message.intents[0] for message in lessons}) < 2:
        raise KdsError(f"{train} has examples of one intent only", hint="a classifier needs two")
    fits = intents.fit_models(lessons, shots, seeds or intents.SEEDS, bench.tell)
    return intents.score_intents(messages, fits, bench.tell)


def _split(examples: Sequence[intents.Requests], bench: Bench) -> list[intents.Split]:
    router = bench.router()
    found = ((one, router.rehearse(MinuteClock()).route(one.text))
             for one in bench.each(examples, "routing"))  # fmt: skip
    return [(one, (turn.intent, *turn.secondary_intents)) for one, turn in found]


def _retrieve(
    data: retrieval.RetrievalSet, bench: Bench, *, tune: bool = False, write: bool = False
) -> dict[str, object]:
    """Store conversations in a temporary folder, and ask each query in its own."""
    options = load_settings(bench.workspace).recall
    settings, name = recall_settings(options), model_name(options.embeddings)
    embedder = load_embedder(name) if name else None
    pool = retrieval.POOL if tune else retrieval.LIMIT
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kds-retrieval-")))
        store = stack.enter_context(SqliteStore(folder / SqliteStore.file_name))
        for conversation in bench.each(data.conversations, "storing"):
            retrieval.store_conversation(store, conversation)
        if embedder is not None:
            embed_waiting(store, embedder, tell=bench.tell)
        retrieved = [
            retrieval.retrieve(store, query, settings=settings, embedder=embedder, pool=pool)
            for query in bench.each(data.queries, "asking")
        ]
    figures = retrieval.score_retrieval(retrieved)
    if tune:
        dense = embedder is not None
        weights, tuning = retrieval.tune(retrieved, present=settings.weights, dense=dense)
        figures["tuning"] = tuning
        if write:
            bench.workspace.ensure()
            values = {f"rerank_{name}": value for name, value in asdict(weights).items()}
            write_values(bench.workspace.settings_path, "recall", values)
    return figures


def _ask(talks: Sequence[follow_ups.Talk], bench: Bench) -> list[follow_ups.Asked]:
    """Put questions about documents to a query service over a temporary store."""
    parts = bench.parts()
    with tempfile.TemporaryDirectory(prefix="kds-follow-ups-") as folder:
        root = Path(folder).resolve()
        place = Workspace(root, root / BRAIN)
        place.ensure()
        documents = list(dict.fromkeys(talk.path for talk in talks))
        with DocumentPlace(place).open() as store:
            for failed in add_documents(store, documents, tell=bench.tell).of("failed"):
                raise failed.error or KdsError("cannot be read", where=str(failed.path))
        with QueryService(replace(parts, workspace=place)) as service:
            return [
                one
                for talk in bench.each(talks, "asking")
                for one in follow_ups.ask_all(service, talk)
            ]


def _suggest(cases: Sequence[tuple[skills.Case, Activator]], bench: Bench) -> list[skills.Judged]:
    return [skills.judge(*one) for one in bench.each(cases, "asking for each prompt")]


KINDS: Final[Mapping[str, Kind]] = {
    "chats": Kind(chats.read_chats, _play_chats, chats.score_chats, chats.chat_error),
    "dialogues": Kind(
        read_dialogues, play_dialogues, lambda played: score(played).as_dict(), dialogue_error
    ),
    "rewrites": Kind(
        rewrites.read_rewrites, _rewrite, rewrites.score_rewrites, rewrites.rewrite_error
    ),
    "intents": Kind(intents.load_intents, _classify),
    "multi": Kind(intents.read_multi, _split, intents.score_splits, intents.split_error),
    "retrieval": Kind(retrieval.read_retrieval, _retrieve),
    "follow-ups": Kind(
        follow_ups.read_follow_ups, _ask, follow_ups.score_follow_ups, follow_ups.question_error
    ),
    "skills": Kind(skills.read_libraries, _suggest, skills.score_skills, skills.failure),
}
