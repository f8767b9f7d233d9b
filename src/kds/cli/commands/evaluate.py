"""`kds test` and `kds eval`: dialogues as tests, and the router measured on files of examples."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import kds
from kds.brain.errors import DialogueFileError, DispatchError, Problem
from kds.brain.workspace import Workspace
from kds.cli.command import command, flag, option
from kds.cli.guard import TESTS_FAILED, Refusal
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
from kds.cli.terminal import toned

if TYPE_CHECKING:  # a wrong option loads no models of files
    from kds.testing.playing import PlayedDialogue

KINDS: Final = (
    *("chats", "dialogues", "rewrites", "intents", "multi", "retrieval", "follow-ups", "skills"),
)

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
    from kds.testing.dialogues import find_dialogue_files, read_dialogues

    dialogues = [one for file in find_dialogue_files(paths) for one in read_dialogues(file)]
    library = kds.PromptLibrary.load(workspace.prompts_dir)
    if problems := tuple(_unknown_intents(dialogues, library)):
        raise DialogueFileError(problems)
    if only_list:
        rows = [fields(one, "id where") | {"turns": len(one.turns)} for one in dialogues]
        places = [(one.where, one.id) for one in dialogues]
        say({"dialogues": rows}, lambda: print_table(("where", "dialogue"), places))
        return 0
    from kds.cli.commands.eval_kinds import failure_dict, play_all

    played = play_all(dialogues, open_router(workspace, log=False))
    failed = [one for one in played if not one.passed]
    told = {
        "dialogues": len(played),
        "played": [one.id for one in dialogues],
        "failed": [failure_dict(one) for one in failed],
    }
    say(told, _told(failed, of=len(played)))
    return TESTS_FAILED if failed else 0


def _told(failed: "Sequence[PlayedDialogue]", *, of: int) -> str:
    from kds.testing.playing import describe

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
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
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
        if value and kind not in OPTIONS.get(name, KINDS):
            only = ", ".join(OPTIONS[name])
            spelled = f"--{name.replace('_', '-')}"
            raise Refusal(f"{spelled} does not apply to {kind}", f"it is for {only}: leave it out")
    if errors is not None:
        if errors.resolve() == file.resolve():
            raise Refusal(f"'{errors}' is the file of examples itself", "write to another file")
        check_target(errors)
    from kds.cli.commands.eval_kinds import RUNNERS, Asked

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
