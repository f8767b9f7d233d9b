"""`kds test` and `kds eval`: dialogues as tests, and the router measured on files of examples."""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, Final, cast

import click

import kds
from kds.activation import Activator
from kds.api.embeddings import embed_waiting
from kds.api.parts import LearnedParts, Parts, RewriterSource, load_resolver
from kds.api.rehearsal import MinuteClock
from kds.api.settings_edit import write_values
from kds.brain.config import LiveConfig
from kds.brain.discovery import BRAIN
from kds.brain.documents.store import DocumentPlace
from kds.brain.errors import DialogueFileError, DispatchError, KdsError, Problem
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.recall import recall_settings
from kds.brain.workspace import Workspace
from kds.cli.command import command, flag, option
from kds.cli.guard import TESTS_FAILED, Refusal, pass_on
from kds.cli.options import (
    COUNT,
    FILE,
    check_target,
    chosen_embedder,
    common_options,
    json_option,
    open_router,
    workspace_option,
)
from kds.cli.output import Shown, Table, fields, say
from kds.cli.progress import reported, slow, tracked
from kds.cli.terminal import toned
from kds.documents.indexing import add_documents
from kds.query.service import QueryService
from kds.router.prompts.library import PromptLibrary
from kds.router.rewriting.writer import Mode
from kds.service.router_client import LOADING
from kds.testing import chats, follow_ups, intents, retrieval, rewrites, skills
from kds.testing.dialogues import find_dialogue_files, read_dialogues
from kds.testing.example_files import Row
from kds.testing.playing import PlayedDialogue, describe, dialogue_error, play, score

SHOWN: Final = 10
"""Failures that are printed."""

WARM_UP: Final = "I want to add a warm-up lap"
"""The first message of a process also loads the language model: that is not the cost of a turn."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of example is read, measured and reported.

    ``run`` is given the examples, the workspace and its own options, which are its keywords; what
    it returns is scored, asked for what was wrong, an item at a time, and described for people.
    """

    read: Callable[[Path], Any]
    run: Callable[..., Any]
    score: Callable[[Any], Mapping[str, object]]
    error: Callable[[Any], Row | None] | None = None
    text: Callable[[Any], str] = lambda done: ""

    @property
    def options(self) -> frozenset[str]:
        """The options that this kind takes and not every other."""
        named = signature(self.run).parameters.values()
        own = (one.name for one in named if one.kind is one.KEYWORD_ONLY)
        return frozenset(own) | ({"errors"} if self.error else set())


def _warm_router(workspace: Workspace) -> "kds.Router":
    router = open_router(workspace, log=False)
    router.rehearse(MinuteClock()).route(WARM_UP)
    return router


def _play(dialogues: Sequence["kds.Dialogue"], workspace: Workspace) -> list[PlayedDialogue]:
    """Play each dialogue in a conversation of its own, of which nothing remains."""
    router = _warm_router(workspace)
    return [play(dialogue, router.rehearse) for dialogue in tracked(dialogues, "playing")]


def _play_chats(
    found: Sequence[chats.Chat], workspace: Workspace, *, no_history: bool
) -> list[chats.PlayedChatTurn]:
    router = _warm_router(workspace)
    return [
        turn
        for chat in tracked(found, "playing chats")
        for turn in chats.play_with(chat, router.rehearse, history=not no_history)
    ]


def _score(played: Sequence[PlayedDialogue]) -> Mapping[str, object]:
    return score(played).as_dict()


def _describe_dialogues(played: Sequence[PlayedDialogue]) -> str:
    texts = [describe(one) for one in played if not one.passed]
    if len(texts) > SHOWN:
        texts[SHOWN:] = [f"{len(texts) - SHOWN} more dialogues went wrong; kds test shows all"]
    return "\n\n".join(texts)


def _rewrite(
    examples: Sequence[rewrites.RewriteExample], workspace: Workspace, *, rewriter: str | None
) -> list[rewrites.Rewritten]:
    rewrites.load_bleu()
    resolver, model = load_resolver(workspace), None
    if rewriter not in (None, "rules"):
        library = PromptLibrary.load(workspace.prompts_dir)
        mode = cast("Mode", rewriter)
        # one that fails is asked again at once: each example has its chance
        model = RewriterSource(LiveConfig(workspace), library, resolver, mode=mode, rest_s=0.0)()
        if model is None:
            raise Refusal("no model is set up", "set KDS_MODEL, such as openai:gpt-5-mini")
    rewrites.rewrite(examples[0], resolver)  # the first message loads the language side
    return [rewrites.rewrite(one, resolver, model) for one in tracked(examples, "rewriting")]


def _classify(
    messages: Sequence[intents.LabelledMessage], workspace: Workspace, *, train: Path | None,
    shots: int | None, seeds: int | None,
) -> intents.IntentReport:  # fmt: skip
    lessons = intents.load_intents(train) if train else None
    if lessons and len({message.intents[0] for message in lessons}) < 2:
        raise Refusal(f"{train} has examples of one intent only", "a classifier needs two")
    own = None if lessons else _workspace_parts(workspace).model
    with reported("scoring") as tell:
        fits = intents.fit_models(lessons or (), shots, seeds or intents.SEEDS, tell)
        report = intents.score_intents(messages, [(own, 0.0)] if own else fits, tell)
    return report if shots else replace(report, std={})


def _workspace_parts(workspace: Workspace) -> Parts:
    with slow(LOADING):
        parts = LearnedParts(Parts.load(workspace, may_write=False), LiveConfig(workspace)).now
    pass_on(parts.warnings)
    return parts


def _split(examples: Sequence[intents.Requests], workspace: Workspace) -> list[intents.Split]:
    router = open_router(workspace, log=False)
    turns = (router.rehearse(MinuteClock()).route(one.text) for one in tracked(examples, "routing"))
    return [
        intents.Split(one, (turn.intent, *turn.secondary_intents))
        for one, turn in zip(examples, turns, strict=True)
    ]


def _describe_splits(splits: Sequence[intents.Split]) -> str:
    rows = [row for one in splits if (row := intents.split_error(one))]
    form = "{where}: {text}: {intents} -> {actual}"
    return "\n".join(form.format_map(row) for row in rows[:SHOWN])


def _retrieve(
    data: retrieval.RetrievalSet, workspace: Workspace, *, embeddings: str | None, tune: bool,
    write: bool,
) -> retrieval.Measured:  # fmt: skip
    """Store conversations in a temporary folder, and ask each query in its own."""
    options = kds.load_settings(workspace).recall
    settings = recall_settings(options)
    embedder = chosen_embedder(embeddings, workspace)
    pool = retrieval.POOL if tune else None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kds-retrieval-")))
        store = stack.enter_context(SqliteStore(folder / SqliteStore.file_name))
        for conversation in tracked(data.conversations, "storing"):
            retrieval.store_conversation(store, conversation)
        if embedder is not None:
            with reported("embedding") as tell:
                embed_waiting(store, embedder, tell=tell)
        retrieved = [
            retrieval.retrieve(store, query, settings=settings, embedder=embedder, pool=pool)
            for query in tracked(data.queries, "asking")
        ]
    if not tune:
        return retrieval.Measured(retrieved)
    tuned = retrieval.tune(retrieved, present=settings.weights, dense=embedder is not None)
    if write:
        workspace.ensure()
        values = {f"rerank_{name}": value for name, value in asdict(tuned.weights).items()}
        write_values(workspace.settings_path, "recall", values)
    return retrieval.Measured(retrieved, tuned)


def _ask(talks: Sequence[follow_ups.Talk], workspace: Workspace) -> list[follow_ups.Asked]:
    """Put questions about documents to a query service over a temporary store."""
    parts = _workspace_parts(workspace)
    with tempfile.TemporaryDirectory(prefix="kds-follow-ups-") as folder:
        root = Path(folder).resolve()
        place = Workspace(root, root / BRAIN)
        place.ensure()
        documents = list(dict.fromkeys(talk.path for talk in talks))
        with slow("indexing the documents"), DocumentPlace(place).open() as store:
            for failed in add_documents(store, documents).of("failed"):
                raise failed.error or KdsError("cannot be read", where=str(failed.path))
        with QueryService(replace(parts, workspace=place)) as service:
            return [
                one
                for talk in tracked(talks, "asking")
                for one in follow_ups.ask_all(service, talk)
            ]


def _suggest(
    cases: Sequence[tuple[skills.Case, Activator]], workspace: Workspace
) -> list[skills.Judged]:
    return [skills.judge(*one) for one in tracked(cases, "asking for each prompt")]


KINDS: Final[Mapping[str, Kind]] = {
    "chats": Kind(chats.read_chats, _play_chats, chats.score_chats, chats.chat_error),
    "dialogues": Kind(read_dialogues, _play, _score, dialogue_error, _describe_dialogues),
    "rewrites": Kind(
        rewrites.read_rewrites, _rewrite, rewrites.score_rewrites, rewrites.rewrite_error
    ),
    "intents": Kind(
        intents.load_intents, _classify, intents.IntentReport.as_dict,
        text=intents.IntentReport.describe,
    ),
    "multi": Kind(
        intents.read_multi, _split, intents.score_splits, intents.split_error, _describe_splits
    ),
    "retrieval": Kind(retrieval.read_retrieval, _retrieve, retrieval.Measured.as_dict),
    "follow-ups": Kind(
        follow_ups.read_follow_ups, _ask, follow_ups.score_follow_ups, follow_ups.question_error
    ),
    "skills": Kind(skills.read_libraries, _suggest, skills.score_skills, skills.failure),
}  # fmt: skip

NEEDS: Final = {
    "shots": ("train", "--shots draws from a training set", "add --train FILE"),
    "seeds": ("shots", "--seeds says how often to draw", "add --shots K"),
    "write": ("tune", "--write has nothing to write", "add --tune"),
}
"""Option -> the other that it needs, and what is said where that is missing."""


@command(
    "kds test tests/dialogues",
    "kds test fab.dialogue.yaml",
    "kds test tests/dialogues --list --json",
    closing="""A dialogue file:
  - id: fab-button
    turns:
      - {user: I want to add a FAB button, intent: PLAN}
      - {user: Make it purple, intent: EXECUTE, expanded: Make the FAB button purple}""",
)
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path)
)
@flag("--list", "Read and list them; play none.", to="only_list")
@common_options
def test(*, paths: tuple[Path, ...], only_list: bool, workspace: Workspace) -> int:
    """Play the dialogues of files or folders; exit code 1 when a turn goes wrong."""
    dialogues = [one for file in find_dialogue_files(paths) for one in read_dialogues(file)]
    library = kds.PromptLibrary.load(workspace.prompts_dir)
    if problems := tuple(_unknown_intents(dialogues, library)):
        raise DialogueFileError(problems)
    if only_list:
        rows = [fields(one, "id where") | {"turns": len(one.turns)} for one in dialogues]
        places = [(one.where, one.id) for one in dialogues]
        say({"dialogues": rows}, Table(("where", "dialogue"), places))
        return 0
    played = _play(dialogues, workspace)
    failed = [one for one in played if not one.passed]
    told = {
        "dialogues": len(played),
        "played": [one.id for one in dialogues],
        "failed": [dialogue_error(one) for one in failed],
    }
    counts = f"{len(played) - len(failed)} passed, {len(failed)} failed"
    texts = [f"{describe(one)}\n" for one in failed]
    say(told, texts, toned(counts, "problem" if failed else "ok"))
    return TESTS_FAILED if failed else 0


def _unknown_intents(
    dialogues: Sequence["kds.Dialogue"], library: "kds.PromptLibrary"
) -> Iterable[Problem]:
    for turn in (turn for dialogue in dialogues for turn in dialogue.turns):
        for intent in dict.fromkeys((*turn.intents, *(turn.secondary or ()))):
            try:
                library.intent_named(intent)
            except DispatchError as error:
                yield Problem(turn.where, error.message, error.hint or "correct the intent")


@command(
    "kds eval chats chats.jsonl --errors wrong.jsonl",
    "kds eval dialogues tests/dialogues/fab.yaml --json",
    "kds eval rewrites follow-ups.jsonl --rewriter model-first",
    "kds eval intents test.jsonl --train train.jsonl --shots 10 --seeds 5",
    "kds eval retrieval memories.json --tune --write",
    name="eval",
    closing="The formats and measures: kds help evaluation",
)
@click.argument("kind", type=click.Choice([*KINDS]), metavar="KIND")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@option("--errors OUT.jsonl", "Write the wrong results, with the reasons.",
        type=FILE)  # fmt: skip
@option("--limit N", "Only the first N examples.", type=COUNT)
@flag("--no-history", "chats: keep the assistant's replies from the router.")
@click.option("--rewriter", type=click.Choice(["rules", "rules-first", "model-first"]),
              help="rewrites: the rules write, or your model with them.")  # fmt: skip
@option("--train FILE", "intents: fit on these, instead of the workspace's prompts.",
        type=click.Path(path_type=Path))  # fmt: skip
@option("--shots K", "intents: draw K examples of each intent from --train.", type=COUNT)
@option("--seeds S", "intents: how many draws; figures are their means.  [default: 5]", type=COUNT)
@option("--embeddings NAME", "retrieval: the embedding model: shipped, MODULE:CLASS of a "
        "Embeddings, or off.  [default: that of the settings, else shipped]")  # fmt: skip
@flag("--tune", "retrieval: search the weights on half of the queries for NDCG@5, and report the "
      "other half.")  # fmt: skip
@flag("--write", "retrieval, with --tune: put the weights into the settings.")
@workspace_option
def evaluate(
    *, kind: str, file: Path, errors: Path | None, limit: int | None, workspace: Workspace,
    **options: Any,
) -> None:  # fmt: skip
    """Measure the router on the examples in FILE.

    KIND is chats (real ones: rewrites, intents, confidence, time), dialogues (every field of every
    turn), rewrites (exact, BLEU, ROUGE-1), intents (right ones, calibration, memory), multi
    (messages with several intents), retrieval (recall of past conversations) or follow-ups
    (questions about documents). Examples start with an empty context; nothing is written to the
    workspace.
    """
    how = KINDS[kind]
    _refuse_misfits(kind, {"errors": errors, **options})
    if errors is not None:
        if errors.resolve() == file.resolve():
            raise Refusal(f"'{errors}' is the file of examples itself", "write to another file")
        check_target(errors)
    own = {name: value for name, value in options.items() if name in how.options}
    done = how.run(how.read(file)[:limit], workspace, **own)
    if errors is not None and how.error is not None:
        rows = (json.dumps(row, ensure_ascii=False, default=str)
                for row in map(how.error, done) if row)  # fmt: skip
        errors.write_text("".join(f"{row}\n" for row in rows), "utf-8", "backslashreplace")
    figures = how.score(done)
    say(figures, _tables(figures), f"\n{text}" if (text := how.text(done)) else None)


def _refuse_misfits(kind: str, options: Mapping[str, object]) -> None:
    """Refuse an option that is for other kinds, or that needs another one."""
    for name, value in options.items():
        if value and name not in KINDS[kind].options:
            takers = ", ".join(one for one in KINDS if name in KINDS[one].options)
            spelled = f"--{name.replace('_', '-')}"
            raise Refusal(
                f"{spelled} does not apply to {kind}", f"it is for {takers}: leave it out"
            )
    for name, (other, message, hint) in NEEDS.items():
        if options[name] and not options[other]:
            raise Refusal(message, hint)


def _tables(figures: Mapping[str, object]) -> Iterator[Shown]:
    """The figures by their keys; what holds more figures is a table of its own."""
    groups = {key: value for key, value in figures.items() if isinstance(value, Mapping)}
    plain = [(key, _cell(value)) for key, value in figures.items() if key not in groups]
    yield Table(("measure", "value"), plain)
    for key, group in groups.items():
        heads, rows = _table(group)
        yield ["", Table((key, *heads), rows)]


def _table(group: Mapping[str, object]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Headings and rows: a row for each mapping in it, or for each figure."""
    parts = {name: one for name, one in group.items() if isinstance(one, Mapping)}
    if len(parts) == len(group):
        heads = list(dict.fromkeys(head for one in parts.values() for head in one))
        rows = {name: [one.get(head, "") for head in heads] for name, one in parts.items()}
        return heads, [(name, *map(_cell, row)) for name, row in rows.items()]
    figures = {name: value for name, value in group.items() if name not in parts}
    for name, part in parts.items():
        figures |= {f"{name}: {key}": value for key, value in part.items()}
    return ["value"], [(name, _cell(value)) for name, value in figures.items()]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "-" if value is None else str(value)
