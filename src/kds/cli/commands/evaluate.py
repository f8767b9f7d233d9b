"""`kds test` and `kds eval`: dialogues as tests, and the router measured on files of examples."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

import kds
from kds.brain.errors import DialogueFileError
from kds.brain.workspace import Workspace
from kds.cli.command import flag, option
from kds.cli.guard import TESTS_FAILED, Refusal, pass_on
from kds.cli.options import COUNT, FILE, PATH, command
from kds.cli.output import Table, fields, say
from kds.cli.terminal import reported, toned
from kds.service.service_client import LOADING
from kds.testing.dialogues import describe, dialogue_error, find_dialogue_files, read_dialogues
from kds.testing.findings import unknown_intents
from kds.testing.measuring import KINDS, Bench, play_dialogues

NEEDS: Final = {"shots": "train", "seeds": "shots", "write": "tune"}
"""Options that need another one."""


@command("kds test tests/dialogues", closing="The files: kds help testing-your-rules")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PATH)
@flag("--list", "Read and list them; play none.", to="only_list")
def test(*, paths: tuple[Path, ...], only_list: bool, workspace: Workspace) -> int:
    """Play the dialogues of files or folders; exit code 1 when a turn goes wrong."""
    dialogues = [one for file in find_dialogue_files(paths) for one in read_dialogues(file)]
    library = kds.PromptLibrary.load(workspace.prompts_dir)
    if problems := tuple(unknown_intents(dialogues, library)):
        raise DialogueFileError(problems)
    if only_list:
        rows = [fields(one, "id where") | {"turns": len(one.turns)} for one in dialogues]
        places = [(one.where, one.id) for one in dialogues]
        say({"dialogues": rows}, Table(("where", "dialogue"), places))
        return 0
    with reported(LOADING) as tell:
        played = play_dialogues(dialogues, Bench(workspace, tell, pass_on))
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


@command(
    "kds eval chats chats.jsonl --errors wrong.jsonl", name="eval",
    closing="The formats and measures: kds help evaluation",
)  # fmt: skip
@click.argument("kind", type=click.Choice([*KINDS]), metavar="KIND")
@click.argument("file", type=PATH)
@option("--errors OUT.jsonl", "Write the wrong results, with the reasons.", type=FILE)
@option("--limit N", "Only the first N examples.", type=COUNT)
@flag("--no-history", "chats: keep the assistant's replies from the router.")
@option("--train FILE", "intents: fit on these, instead of the workspace's prompts.", type=PATH)
@option("--shots K", "intents: draw K examples of each intent from --train.", type=COUNT)
@option("--seeds S", "intents: how many draws; figures are their means.  [default: 5]", type=COUNT)
@flag("--tune", "retrieval: search the weights on half of the queries for NDCG@5, and report the "
      "other half.")  # fmt: skip
@flag("--write", "retrieval, with --tune: put the weights into the settings.")
def evaluate(
    *, kind: str, file: Path, errors: Path | None, limit: int | None, workspace: Workspace,
    **options: Any,
) -> None:  # fmt: skip
    """Measure the router on the examples in FILE.

    KIND is chats (real ones: rewrites, intents, confidence, time), dialogues (every field of every
    turn), rewrites (exact ones, false ones), intents (right ones, calibration), multi
    (messages with several intents), retrieval (recall of past conversations), follow-ups (questions
    about documents) or skills (which skill fits a prompt). Examples start with an empty context;
    nothing is written to the workspace.
    """
    how = KINDS[kind]
    _refuse_misfits(kind, {"errors": errors, **options})
    if errors is not None and errors.resolve() == file.resolve():
        raise Refusal(f"'{errors}' is the file of examples itself", "write to another file")
    own = {name: value for name, value in options.items() if value}
    with reported(LOADING) as tell:
        done = how.run(how.read(file)[:limit], Bench(workspace, tell, pass_on), **own)
    if errors is not None and how.error is not None:
        rows = (json.dumps(row, ensure_ascii=False, default=str)
                for row in map(how.error, done) if row)  # fmt: skip
        errors.write_text("".join(f"{row}\n" for row in rows), "utf-8", "backslashreplace")
    figures = how.score(done)
    say(figures, Table(("measure", "value"), _rows(figures)))


def _refuse_misfits(kind: str, options: Mapping[str, object]) -> None:
    """Refuse an option that is for other kinds, or that needs another one."""
    for name, value in options.items():
        if value and name not in KINDS[kind].options:
            takers = ", ".join(one for one in KINDS if name in KINDS[one].options)
            spelled = f"--{name.replace('_', '-')}"
            raise Refusal(
                f"{spelled} does not apply to {kind}", f"it is for {takers}: leave it out"
            )
    for name, other in NEEDS.items():
        if options[name] and not options[other]:
            raise Refusal(f"--{name} needs --{other}", f"add --{other}")


def _rows(figures: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    """The figures by their keys; those of a group have its key in front."""
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{above}{key}: ")
        else:
            shown = f"{value:.3f}" if isinstance(value, float) else str(value)
            yield f"{above}{key}", "-" if value is None else shown
