"""`kds test`: dialogues with expected outcomes through the router."""

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
from kds.cli.options import common_options, open_router
from kds.cli.output import fields, print_table, say
from kds.cli.palette import compared, toned
from kds.cli.progress import tracked
from kds.testing.dialogues import find_dialogue_files, read_dialogues
from kds.testing.playing import PlayedDialogue, describe, play

WARM_UP: Final = "I want to add a warm-up lap"


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
        {"dialogues": len(played), "failed": [failure_dict(one) for one in failed]},
        lambda: _show_failed(failed, of=len(played)),
    )
    return TESTS_FAILED if failed else 0


def _show_failed(failed: Sequence[PlayedDialogue], *, of: int) -> None:
    for one in failed:
        click.echo(compared(describe(one)) + "\n")
    told = f"{of - len(failed)} passed, {len(failed)} failed"
    click.echo(toned(told, "problem" if failed else "ok"))


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


def failure_dict(played: PlayedDialogue) -> dict[str, object]:
    """Return the wrong turns of a dialogue, for JSON."""
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
