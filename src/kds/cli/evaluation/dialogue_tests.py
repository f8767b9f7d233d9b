"""`kds test` and `kds eval dialogues`: dialogues with expected outcomes through the router."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click

import kds
from kds.api.rehearsal import MinuteClock
from kds.brain.errors import DialogueFileError, DispatchError, Problem
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.guard import TESTS_FAILED
from kds.cli.options import (
    common_options,
    json_option,
    open_router,
    workspace_option,
)
from kds.cli.output import decimal, fields, percent, print_table, say
from kds.cli.palette import compared, toned
from kds.cli.progress import tracked
from kds.evaluation.dialogue_file import find_dialogue_files, read_dialogues
from kds.evaluation.playback import PlayedDialogue, Score, describe, play, score

SHOWN_FAILURES: Final = 10
"""Failures that `kds eval` lists unless --errors asks for all of them."""

WARM_UP: Final = "I want to add a warm-up lap"

_LABELS: Final = {
    "intent_accuracy": "intent right",
    "expanded_exact": "needed expansions exact",
    "context_ref_accuracy": "context_ref right",
    "false_rewrites": "kept turns changed wrongly",
    "switch_accuracy": "topic switch right",
    "secondary_accuracy": "secondary intents right",
}


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
@click.option("--list", "only_list", is_flag=True, help="Read and list them; play none.")
@common_options
def test(*, paths: tuple[Path, ...], only_list: bool, workspace: Workspace) -> int:
    """Play the dialogues of files or folders; exit code 1 when a turn comes out wrong."""
    dialogues = read_all(paths)
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
    say(
        {"dialogues": len(played), "failed": [_failure_dict(one) for one in failed]},
        lambda: _show_failed(failed, of=len(played)),
    )
    return TESTS_FAILED if failed else 0


def _show_failed(failed: Sequence[PlayedDialogue], *, of: int) -> None:
    for one in failed:
        click.echo(compared(describe(one)) + "\n")
    told = f"{of - len(failed)} passed, {len(failed)} failed"
    click.echo(toned(told, "problem" if failed else "ok"))


@command(
    "kds eval dialogues my-dialogues.yaml",
    "kds eval dialogues my-dialogues.json --json",
    closing="""Each dialogue starts with an empty context, its clock moves one minute a turn,
and nothing is written to the workspace.""",
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.option("--errors", is_flag=True, help="List every failure, not the first ten dialogues.")
@workspace_option
def dialogues(*, file: Path, errors: bool, workspace: Workspace) -> None:
    """Score the dialogues of FILE: intents, expansions, references, switches, time."""
    found = read_dialogues(file)
    played = play_all(found, open_router(workspace, log=False))
    result = score(played)
    say(result.as_dict(), lambda: _show(result, played, whole=errors))


def _show(result: Score, played: Sequence[PlayedDialogue], *, whole: bool) -> None:
    print_table(("measure", "value", "turns"), _score_rows(result, played))
    failed = [one for one in played if not one.passed]
    shown = failed if whole else failed[:SHOWN_FAILURES]
    for one in shown:
        click.echo("\n" + describe(one))
    if len(failed) > len(shown):
        click.echo(f"\n{len(failed) - len(shown)} more dialogues went wrong; --errors shows all")


def read_all(paths: Sequence[Path]) -> tuple["kds.Dialogue", ...]:
    """Read the dialogues of files and folders. DialogueFileError with all problems of a file."""
    files = find_dialogue_files(paths)
    return tuple(dialogue for file in files for dialogue in read_dialogues(file))


def play_all(
    dialogues: Sequence["kds.Dialogue"], router: "kds.Router"
) -> tuple[PlayedDialogue, ...]:
    """Play each dialogue in a conversation of its own, of which nothing remains."""
    # The first message of a process also loads the language side: not what a turn costs.
    router.rehearse(MinuteClock()).route(WARM_UP)
    return tuple(play(dialogue, router.rehearse) for dialogue in tracked(dialogues, "playing"))


def _unknown_intents(
    dialogues: Sequence["kds.Dialogue"], library: "kds.PromptLibrary"
) -> Iterable[Problem]:
    for turn in (turn for dialogue in dialogues for turn in dialogue.turns):
        for intent in dict.fromkeys((*turn.intents, *(turn.secondary or ()))):
            try:
                library.intent_named(intent)
            except DispatchError as error:
                yield Problem(turn.where, error.message, error.hint or "correct the intent")


def _score_rows(result: Score, played: Sequence[PlayedDialogue]) -> Iterable[tuple[str, str, str]]:
    counts = {"expanded_exact": result.needed, "false_rewrites": result.kept}
    checked = {
        "intent_accuracy": "intent",
        "context_ref_accuracy": "context_ref",
        "secondary_accuracy": "secondary",
    }
    turns = [turn for one in played for turn in one.turns]
    for key, label in _LABELS.items():
        share = getattr(result, key)
        field = checked.get(key)
        count = counts.get(key, result.turns)
        if field:
            count = sum(getattr(turn.verdict, field) is not None for turn in turns)
        yield label, percent(share), str(count)
    yield "CPU ms a turn, half below", decimal(result.ms_p50), str(result.turns)
    yield "CPU ms a turn, 99 % below", decimal(result.ms_p99), str(result.turns)


def _failure_dict(played: PlayedDialogue) -> dict[str, object]:
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
