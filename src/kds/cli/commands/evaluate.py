"""`kds test` and `kds eval`: dialogues as tests, and the router measured on files of examples."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import click

import kds
from kds.api.embeddings import embed_waiting, load_embedder, model_name
from kds.api.measures import rounded
from kds.api.parts import LearnedParts, Parts, RewriterSource, load_resolver
from kds.api.rehearsal import MinuteClock
from kds.api.settings_edit import write_values
from kds.brain.config import LiveConfig
from kds.brain.discovery import BRAIN
from kds.brain.documents.store import DocumentPlace
from kds.brain.errors import DialogueFileError, DispatchError, KdsError, Problem
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.recall import recall_settings
from kds.brain.turn import Utterance
from kds.brain.workspace import Workspace
from kds.cli.command import command, flag, option
from kds.cli.guard import TESTS_FAILED, Refusal, pass_on
from kds.cli.options import (
    COUNT,
    FILE,
    check_target,
    common_options,
    json_option,
    open_router,
    workspace_option,
)
from kds.cli.output import fields, print_table, say
from kds.cli.progress import reported, slow, tracked
from kds.cli.terminal import toned
from kds.documents.indexing import add_documents
from kds.query.service import QueryService
from kds.router.prompts.library import PromptLibrary
from kds.router.rewriting.writer import Mode
from kds.service.router_client import LOADING
from kds.testing import chats, follow_ups, intents, retrieval, rewrites, skills
from kds.testing.dialogues import find_dialogue_files, read_dialogues
from kds.testing.playing import PlayedDialogue, describe, play, score

SHOWN: Final = 10
"""Failures or confusions that are printed."""

WARM_UP: Final = "I want to add a warm-up lap"
"""The first message of a process also loads the language model: that is not the cost of a turn."""

Figures = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for; each option is for some kinds only."""

    file: Path
    workspace: Workspace
    limit: int | None = None
    no_history: bool = False
    rewriter: str | None = None
    train: Path | None = None
    shots: int | None = None
    seeds: int | None = None
    embeddings: str | None = None
    tune: bool = False
    write: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The figures, as `--json` prints them; what `--errors` writes; a text for people."""

    figures: Figures
    wrong: Sequence[Mapping[str, object]] = ()
    text: str = ""


def play_all(
    dialogues: Sequence["kds.Dialogue"], router: "kds.Router"
) -> tuple[PlayedDialogue, ...]:
    """Play each dialogue in a conversation of its own, of which nothing remains."""
    router.rehearse(MinuteClock()).route(WARM_UP)
    return tuple(play(dialogue, router.rehearse) for dialogue in tracked(dialogues, "playing"))


def failure_dict(played: PlayedDialogue) -> dict[str, object]:
    """The wrong turns of a dialogue, for JSON."""
    return {
        "id": played.dialogue.id,
        "turns": [
            {
                "turn": number,
                "where": turn.expected.where,
                "user": turn.expected.user,
                "mismatches": turn.verdict.mismatches,
                "why": list(turn.turn.why),
            }
            for number, turn in enumerate(played.turns, start=1)
            if not turn.verdict.passed
        ],
    }


def of_dialogues(asked: Asked) -> Report:
    """Play dialogues: intents, expansions, references, switches, time."""
    found = read_dialogues(asked.file)[: asked.limit]
    played = play_all(found, open_router(asked.workspace, log=False))
    failed = [one for one in played if not one.passed]
    texts = [describe(one) for one in failed[:SHOWN]]
    if len(failed) > SHOWN:
        texts.append(f"{len(failed) - SHOWN} more dialogues went wrong; kds test shows all")
    figures = score(played).as_dict()
    return Report(figures, [failure_dict(one) for one in failed], text="\n\n".join(texts))


def of_chats(asked: Asked) -> Report:
    """Play real chats."""
    found = chats.read_chats(asked.file, limit=asked.limit)
    router = open_router(asked.workspace, log=False)
    router.rehearse(MinuteClock()).route(WARM_UP)
    played = [
        turn
        for chat in tracked(found, "playing chats")
        for turn in chats.play_with(chat, router.rehearse, history=not asked.no_history)
    ]
    figures = chats.score_chats(played)
    wrong = [one for one in played if one.expected.labelled]
    wrong = [one for one in wrong if one.harmed or one.intent_right is False]
    return Report(figures, list(map(_chat_error, wrong)))


def _chat_error(one: chats.PlayedChatTurn) -> dict[str, object]:
    return {
        "chat": one.chat,
        "turn": one.number,
        "user": one.expected.user,
        "expanded": one.turn.expanded,
        "edits": [fields(edit, "said rule outcome") for edit in one.edits],
        "refs": [fields(ref, "text kind antecedents") for ref in one.expected.references],
        "intent": one.turn.intent,
        "confidence": round(one.turn.confidence, 4),
        "intents": list(one.expected.intents or ()),
        "why": list(one.turn.why),
    }


def of_rewrites(asked: Asked) -> Report:
    """Rewrite messages by the rules, or by a model with them."""
    rewrites.load_bleu()
    examples = rewrites.read_rewrites(asked.file, limit=asked.limit)
    resolver = load_resolver(asked.workspace)
    rewriter = None
    if asked.rewriter not in (None, "rules"):
        library = PromptLibrary.load(asked.workspace.prompts_dir)
        mode = cast("Mode", asked.rewriter)
        # one that fails is asked again at once: each example has its chance
        rewriter = RewriterSource(
            LiveConfig(asked.workspace), library, resolver, mode=mode, rest_s=0.0
        )()
        if rewriter is None:
            raise Refusal("no model is set up", "set KDS_MODEL, such as openai:gpt-5-mini")
    warm_up = rewrites.RewriteExample((Utterance(WARM_UP),), "Make it shorter", (), "")
    rewrites.rewrite(warm_up, resolver)  # the first message loads the language side
    done = [rewrites.rewrite(one, resolver, rewriter) for one in tracked(examples, "rewriting")]
    figures = rewrites.score_rewrites(done)
    wrong = [_rewrite_error(one) for one in done if not one.exact]
    return Report(figures, wrong)


def _rewrite_error(one: rewrites.Rewritten) -> dict[str, object]:
    """A line that `kds eval rewrites` can read again, with what went wrong."""
    return {
        "where": one.example.where,
        "history": [{"role": said.role, "content": said.text} for said in one.example.history],
        "query": one.example.query,
        "rewrite": list(one.example.rewrites),
        "actual": one.text,
        "needed": one.needed,
        "changed": one.changed,
        "why": list(one.notes),
    }


def of_intents(asked: Asked) -> Report:
    """Score the classifier of the workspace's prompts, or one fitted on --train."""
    if asked.shots is not None and asked.train is None:
        raise Refusal("--shots draws from a training set", "add --train FILE")
    if asked.seeds is not None and asked.shots is None:
        raise Refusal("--seeds says how often to draw", "add --shots K")
    messages = intents.load_intents(asked.file, limit=asked.limit)
    train = intents.load_intents(asked.train) if asked.train else None
    if train and len({message.intents[0] for message in train}) < 2:
        raise Refusal(f"{asked.train} has examples of one intent only", "a classifier needs two")
    model = None if train else _workspace_parts(asked.workspace).model
    seeds = asked.seeds or intents.SEEDS
    with reported("scoring") as tell:
        report = intents.score_intents(
            messages, model=model, train=train, shots=asked.shots, seeds=seeds, progress=tell
        )
    outside = sum(message.out_of_scope for message in messages)
    figures = rounded(report.figures)
    std = {"std": rounded(report.std)} if asked.shots is not None else {}
    counts = Counter(pair for pair in report.pairs if pair[0] != pair[1])
    worst = [f"{want} -> {got}: {count}" for (want, got), count in counts.most_common(SHOWN)]
    heading = f"{len(messages)} messages, {outside} of them out of scope"
    text = "\n".join([heading, *(["taken for one another:"] if worst else []), *worst])
    return Report(figures | std, text=text)


def _workspace_parts(workspace: Workspace) -> Parts:
    with slow(LOADING):
        parts = LearnedParts(Parts.load(workspace, may_write=False), LiveConfig(workspace)).now
    pass_on(parts.warnings)
    return parts


def of_multi(asked: Asked) -> Report:
    """Route messages with several requests: the intents of each, in order."""
    examples = intents.read_multi(asked.file, limit=asked.limit)
    router = open_router(asked.workspace, log=False)
    splits = [
        intents.split(example, router.rehearse(MinuteClock()))
        for example in tracked(examples, "routing")
    ]
    wrong = [one for one in splits if not one.exact]
    rows = [
        {
            "where": one.example.where,
            "text": one.example.text,
            "intents": " ".join(one.example.intents),
            "actual": " ".join(one.intents),
        }
        for one in wrong
    ]
    told = [f"{row['where']}: {row['text']}: {row['intents']} -> {row['actual']}" for row in rows]
    return Report(intents.score_splits(splits), rows, "\n".join(told[:SHOWN]))


def of_retrieval(asked: Asked) -> Report:
    """Store conversations in a temporary folder, and ask each query in its own."""
    if asked.write and not asked.tune:
        raise Refusal("--write has nothing to write", "add --tune")
    data = retrieval.read_retrieval(asked.file)
    options = kds.load_settings(asked.workspace).recall
    named = model_name(asked.embeddings or options.embeddings)
    embedder = load_embedder(named) if named else None
    settings = recall_settings(options)
    pool = retrieval.POOL if asked.tune else None
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
            for query in tracked(data.queries[: asked.limit], "asking")
        ]
    figures = retrieval.score_retrieval(retrieved)
    if not asked.tune:
        return Report(figures)
    present = settings.weights
    tuned = retrieval.tune(retrieved, present=present, dense=embedder is not None)
    if asked.write:
        asked.workspace.ensure()
        values = {f"rerank_{name}": value for name, value in asdict(tuned.weights).items()}
        write_values(asked.workspace.settings_path, "recall", values)
    return Report(figures | {"tuning": tuned.as_dict()})


def of_follow_ups(asked: Asked) -> Report:
    """Put questions about documents to a query service over a temporary store."""
    talks = follow_ups.read_follow_ups(asked.file)[: asked.limit]
    parts = _workspace_parts(asked.workspace)
    with tempfile.TemporaryDirectory(prefix="kds-follow-ups-") as folder:
        root = Path(folder).resolve()
        place = Workspace(root, root / BRAIN)
        place.ensure()
        with slow("indexing the documents"):
            _index(talks, place)
        with QueryService(replace(parts, workspace=place)) as service:
            done = [
                one
                for talk in tracked(talks, "asking")
                for one in follow_ups.ask_all(service, talk)
            ]
    shown = follow_ups.CUTOFFS[-1]
    wrong = [_question_error(one, shown) for one in done]
    depth = f"recall@{shown}"
    wrong = [row for row in wrong if not row["resolved"] or cast("float", row[depth]) < 1]
    return Report(follow_ups.score_follow_ups(done), wrong)


def _index(talks: Iterable[follow_ups.Talk], place: Workspace) -> None:
    documents = list(dict.fromkeys(talk.path for talk in talks))
    with DocumentPlace(place).open() as store:
        for failed in add_documents(store, documents).of("failed"):
            raise failed.error or KdsError("cannot be read", where=str(failed.path))


def _question_error(one: follow_ups.Asked, shown: int) -> dict[str, object]:
    question = one.question
    return {
        "talk": one.talk,
        "turn": one.turn,
        "user": question.user,
        "rewritten": one.reply.rewritten_query,
        "expanded": list(question.expanded),
        "refers_to": list(question.refers_to),
        "resolved": one.resolved if question.expanded else one.kept,
        f"recall@{shown}": one.recall(shown),
        "wanted": [fields(place, "section contains") for place in question.places],
        "found": [chunk.citation for chunk in one.reply.chunks[:shown]],
        "why": list(one.reply.rewriting.why),
    }


def of_skills(asked: Asked) -> Report:
    """Ask for each prompt of labelled libraries which entry it should activate, if any."""
    with slow("reading libraries and asking for each prompt"):
        judged = skills.read_libraries(asked.file)[: asked.limit]
    wrong = [skills.failure(one) for one in judged if not one.passed]
    return Report(skills.score_skills(judged), wrong)


RUNNERS: Final[Mapping[str, Callable[[Asked], Report]]] = {
    "chats": of_chats,
    "dialogues": of_dialogues,
    "rewrites": of_rewrites,
    "intents": of_intents,
    "multi": of_multi,
    "retrieval": of_retrieval,
    "follow-ups": of_follow_ups,
    "skills": of_skills,
}


OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "errors": ("chats", "dialogues", "rewrites", "multi", "follow-ups", "skills"),
    "no_history": ("chats",),
    "rewriter": ("rewrites",),
    "train": ("intents",),
    "shots": ("intents",),
    "seeds": ("intents",),
    "embeddings": ("retrieval",),
    "tune": ("retrieval",),
    "write": ("retrieval",),
}
"""Option -> the kinds that take it; the others take every kind."""


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
        say({"dialogues": rows}, lambda: print_table(("where", "dialogue"), places))
        return 0
    played = play_all(dialogues, open_router(workspace, log=False))
    failed = [one for one in played if not one.passed]
    told = {
        "dialogues": len(played),
        "played": [one.id for one in dialogues],
        "failed": [failure_dict(one) for one in failed],
    }
    say(told, _told(failed, of=len(played)))
    return TESTS_FAILED if failed else 0


def _told(failed: Sequence[PlayedDialogue], *, of: int) -> str:
    counts = f"{of - len(failed)} passed, {len(failed)} failed"
    texts = [f"{describe(one)}\n\n" for one in failed]
    return "".join(texts) + toned(counts, "problem" if failed else "ok")


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
@click.argument("kind", type=click.Choice([*RUNNERS]), metavar="KIND")
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
    *, kind: str, file: Path, errors: Path | None, workspace: Workspace, **options: Any
) -> None:
    """Measure the router on the examples in FILE.

    KIND is chats (real ones: rewrites, intents, confidence, time), dialogues (every field of every
    turn), rewrites (exact, BLEU, ROUGE-1), intents (right ones, calibration, memory), multi
    (messages with several intents), retrieval (recall of past conversations) or follow-ups
    (questions about documents). Examples start with an empty context; nothing is written to the
    workspace.
    """
    for name, value in {"errors": errors, **options}.items():
        if value and kind not in OPTIONS.get(name, tuple(RUNNERS)):
            only = ", ".join(OPTIONS[name])
            spelled = f"--{name.replace('_', '-')}"
            raise Refusal(f"{spelled} does not apply to {kind}", f"it is for {only}: leave it out")
    if errors is not None:
        if errors.resolve() == file.resolve():
            raise Refusal(f"'{errors}' is the file of examples itself", "write to another file")
        check_target(errors)
    report = RUNNERS[kind](Asked(file, workspace, **options))
    if errors is not None:
        rows = (json.dumps(row, ensure_ascii=False, default=str) for row in report.wrong)
        errors.write_text("".join(f"{row}\n" for row in rows), "utf-8", "backslashreplace")
    say(report.figures, lambda: _show(report.figures, report.text))


def _show(figures: Mapping[str, object], text: str) -> None:
    """Print the figures by their keys; what holds more figures is a table of its own."""
    groups = {key: value for key, value in figures.items() if isinstance(value, Mapping)}
    plain = [(key, _cell(value)) for key, value in figures.items() if key not in groups]
    print_table(("measure", "value"), plain)
    for key, group in groups.items():
        heads, rows = _table(group)
        click.echo()
        print_table((key, *heads), rows)
    if text:
        click.echo(f"\n{text}")


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
