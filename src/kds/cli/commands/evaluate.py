"""`kds test` and `kds eval`: dialogues as tests, and the router measured on files of examples."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any, Final

import click

import kds
from kds.api.measures import rounded
from kds.brain.errors import ExampleFileError
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.guard import TESTS_FAILED, Refusal, pass_on
from kds.cli.output import Table, say
from kds.cli.terminal import slow, toned
from kds.service.service_client import LOADING
from kds.testing import chats, dialogues, follow_ups, intents, retrieval, rewrites, skills
from kds.testing.examples import Bench, Example, read_examples
from kds.testing.findings import unknown_intents

KINDS: Final[Mapping[str, tuple[Any, type[Example]]]] = {
    "chats": (chats, chats.Chat),
    "dialogues": (dialogues, dialogues.Dialogue),
    "rewrites": (rewrites, rewrites.RewriteExample),
    "intents": (intents, intents.LabelledMessage),
    "retrieval": (retrieval, retrieval.Memories),
    "follow-ups": (follow_ups, follow_ups.Talk),
    "skills": (skills, skills.Library),
}
"""Kind -> its module, and what a file of it holds. `run` tries examples, `score` sums up.

The keywords of `run` are the options that are for this kind alone.
"""

NEEDS: Final = {"shots": "train", "seeds": "shots", "write": "tune"}
"""Options that need another one."""


@base.command("kds test tests/dialogues", closing="The files: kds help testing-your-rules")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=base.PATH)
def test(*, paths: tuple[Path, ...], workspace: Workspace) -> int:
    """Play the dialogues of files or folders; exit code 1 when a turn goes wrong."""
    files = dialogues.find_dialogue_files(paths)
    found = [one for file in files for one in dialogues.read_dialogues(file)]
    library = kds.PromptLibrary.load(workspace.prompts_dir)
    if problems := tuple(unknown_intents(found, library)):
        raise ExampleFileError(problems)
    with slow(LOADING) as tell:
        bench = Bench(workspace, tell, pass_on)
        router = bench.router()
        played = [dialogues.play(one, router.rehearse) for one in bench.each(found, "playing")]
    failed = [wrong for turns in played if (wrong := [one for one in turns if not one["right"]])]
    told = {
        "dialogues": len(played),
        "played": [one.id for one in found],
        "failed": [{"id": turns[0]["id"], "turns": turns} for turns in failed],
    }
    counts = f"{len(played) - len(failed)} passed, {len(failed)} failed"
    texts = [f"{dialogues.describe(turns)}\n" for turns in failed]
    say(told, texts, toned(counts, "problem" if failed else "ok"))
    return TESTS_FAILED if failed else 0


@base.command(
    "kds eval chats chats.jsonl --errors wrong.jsonl", name="eval",
    closing="The formats and measures: kds help evaluation",
)  # fmt: skip
@click.argument("kind", type=click.Choice([*KINDS]), metavar="KIND")
@click.argument("file", type=base.PATH)
@base.option("--errors OUT.jsonl", "Write the wrong results, with the reasons.", type=base.FILE)
@base.option("--train FILE", "intents: fit on these, not on the prompts.", type=base.PATH)
@base.option("--shots K", "intents: draw K examples of each intent from --train.", type=base.COUNT)
@base.option("--seeds S", "intents: how many draws.  [default: 5]", type=base.COUNT)
@base.flag("--tune", "retrieval: search the weights on half of the queries, report the other half.")
@base.flag("--write", "retrieval, with --tune: put the weights into the settings.")
def evaluate(
    *, kind: str, file: Path, errors: Path | None, workspace: Workspace, **options: Any
) -> None:
    """Measure the router on the examples in FILE.

    KIND is chats (real ones), dialogues (every field of every turn), rewrites, intents, retrieval
    (recall of past conversations), follow-ups (questions about documents) or skills (which one
    fits a prompt). Examples start with an empty context; nothing is written to the workspace.
    """
    how, model = KINDS[kind]
    own = {name: value for name, value in options.items() if value}
    for name in own:
        takers = [
            one for one, (other, _) in KINDS.items() if name in signature(other.run).parameters
        ]
        if kind not in takers:
            fix = f"it is for {', '.join(takers)}: leave it out"
            raise Refusal(f"--{name} does not apply to {kind}", fix)
        if (needed := NEEDS.get(name, name)) not in own:
            raise Refusal(f"--{name} needs --{needed}", f"add --{needed}")
    if errors is not None and errors.resolve() == file.resolve():
        raise Refusal(f"'{errors}' is the file of examples itself", "write to another file")
    with slow(LOADING) as tell:
        examples = read_examples(file, model)
        rows = how.run(examples, Bench(workspace, tell, pass_on), **own)
    if errors is not None:
        wrong = (json.dumps(row, ensure_ascii=False, default=asdict)
                 for row in map(rounded, rows) if not row["right"])  # fmt: skip
        errors.write_text("".join(f"{row}\n" for row in wrong), "utf-8", "backslashreplace")
    figures = rounded(how.score(rows))
    say(figures, Table(("measure", "value"), _rows(figures)))


def _rows(figures: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    """The figures by their keys; those of a group have its key in front."""
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{above}{key}: ")
        else:
            shown = f"{value:.3f}" if isinstance(value, float) else str(value)
            yield f"{above}{key}", "-" if value is None else shown
