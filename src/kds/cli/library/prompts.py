"""`kds prompts`: the prompt files of a workspace."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Final

import click

from kds.agents.agent import prompt_named
from kds.api.beginning import begin_prompt
from kds.brain.document import nearest
from kds.brain.errors import ConfigError, DispatchError, Problem, PromptFileError
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, group
from kds.cli.completion import completed_by
from kds.cli.guard import BAD_INPUT, Refusal, complain, complain_about, problem_rows
from kds.cli.options import common_options, workspace_option
from kds.cli.output import fields, print_json, print_table, say
from kds.cli.progress import slow
from kds.router.prompts.inheritance import lost_behaviour
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile
from kds.router.prompts.strays import stray_files
from kds.testing.prompt_examples import ExampleReach, example_reach

SHOWN_STRAYS: Final = 3
"""Examples of a prompt that are named one by one where they do not reach it."""

name_argument = click.argument("name", shell_complete=completed_by("prompts"))


@group("kds prompts list", "kds prompts check")
def prompts() -> None:
    """List, show, begin, render or check the prompt files, your own included."""


@command("kds prompts list --json", of=prompts, name="list")
@common_options
def list_(*, workspace: Workspace) -> None:
    """List the prompts: the agents by priority, then the others."""
    found = _ordered(PromptLibrary.load(workspace.prompts_dir))
    say(
        [_summary(prompt) for prompt in found],
        lambda: print_table(
            ("intent", "prompt", "what it does"),
            [(prompt.intent or "", prompt.name, prompt.description) for prompt in found],
        ),
    )


@command("kds prompts new deploy-runner", of=prompts)
@click.argument("name")
@workspace_option
def new(*, name: str, workspace: Workspace) -> None:
    """Begin an agent of your own: a prompt file that passes `kds prompts check`, to fill in.

    NAME is lower case words joined by -. Its intent is called like it: DEPLOY_RUNNER.
    """
    path = begin_prompt(workspace, name)
    click.echo(f"{path}\nnext: edit it, then kds prompts check")


@command("kds prompts show code-executor", "kds prompts show code-executor --examples", of=prompts)
@name_argument
@click.option("--examples", is_flag=True, help="Print the file of its examples instead.")
@workspace_option
def show(*, name: str, examples: bool, workspace: Workspace) -> None:
    """Print the file of the prompt NAME, or of the agent of an intent, as it stands.

    The examples of an agent may lie in a file beside it. Copy both to have a prompt of your own.
    """
    prompt = prompt_named(name, PromptLibrary.load(workspace.prompts_dir))
    path = prompt.path
    if examples:
        if prompt.more is None:
            raise Refusal(f"{prompt.name} has no file of examples", "leave out --examples")
        path = Path(prompt.more.path)
    elif prompt.more is not None:
        click.echo(f"kds: its examples are in {prompt.more.path}; --examples prints them", err=True)
    click.echo(path.read_text(encoding="utf-8"), nl=False)


@command(
    "kds prompts render code-executor",
    "kds prompts render code-executor --set 'expanded=Make the FAB button purple'",
    "kds prompts render code-executor --set 'secondary_intents=[\"TEST\"]'",
    of=prompts,
)
@name_argument
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="An input; JSON, else text."
)
@workspace_option
def render(*, name: str, settings: tuple[str, ...], workspace: Workspace) -> None:
    """Render the prompt NAME with sample inputs, or with those you set."""
    library = PromptLibrary.load(workspace.prompts_dir)
    prompt = prompt_named(name, library)
    values = _sample(library, prompt) | dict(_setting(text, prompt) for text in settings)
    click.echo(library.render(prompt, values))


@command("kds prompts check", "kds prompts check --json", of=prompts)
@common_options
def check(*, workspace: Workspace) -> int:
    """Load every prompt file and render it with sample inputs; report all problems.

    Then type every example of every agent, and say how many reach the agent they belong to; those
    that do not are warnings, as are keys of a packaged prompt that your copy of it has lost.
    """
    try:
        library = _checked(workspace)
    except ConfigError as error:
        if not asked_json():
            raise
        print_json({"prompts": None, "agents": None, "problems": problem_rows(error.problems)})
        complain_about(error)
        return BAD_INPUT
    with slow("typing the examples"):
        found = example_reach(library, workspace)
    strays = stray_files(workspace)
    lost = lost_behaviour(library, PromptLibrary.load().agents())
    notes = {"passed_over": library.passed_over, "strays": strays, "lost": lost}
    say(
        {
            "prompts": len(library.prompts()),
            "agents": len(library.agents()),
            "problems": [],
            **{kind: problem_rows(found_ones) for kind, found_ones in notes.items()},
            "examples": [one.as_dict() for one in found],
        },
        lambda: _print_check(library, found, chain(*notes.values()), workspace.prompts_dir),
    )
    return 0


def _print_check(
    library: PromptLibrary, found: Sequence[ExampleReach], notes: Iterable[Problem], own: Path
) -> None:
    for note in notes:
        complain(f"{note.where}: {note.message}", note.hint)
    for one in found:
        _warn_of_strays(one)
    count, agents = len(library.prompts()), len(library.agents())
    click.echo(f"{count} prompts are in order, {agents} of them agents")
    examples, reached = sum(one.examples for one in found), sum(one.reached for one in found)
    click.echo(f"{reached:,} of {examples:,} examples reach their own agent when typed verbatim")
    for one in found:
        if one.strays or one.prompt.path.is_relative_to(own):
            click.echo(f"  {one.prompt.name}: {one.reached:,} of {one.examples:,}")


def _warn_of_strays(one: ExampleReach) -> None:
    for stray in one.strays[:SHOWN_STRAYS]:
        hint = f"leave it to one of {one.prompt.intent} and {stray.intent}; `kds explain` says why"
        complain(f"{stray.where}: the example '{stray.text}' reaches {stray.intent}", hint)
    if (more := len(one.strays) - SHOWN_STRAYS) > 0:
        complain(f"{one.prompt.path}: {more} more examples go astray; --json names all")


def _checked(workspace: Workspace) -> PromptLibrary:
    """The prompts, each of which renders. PromptFileError names all that do not."""
    library = PromptLibrary.load(workspace.prompts_dir)
    problems = []
    for prompt in _ordered(library):
        try:
            library.render(prompt, _sample(library, prompt))
        except DispatchError as error:
            place = error.where or f"{prompt.path}:{prompt.body_line}"
            problems.append(Problem(place, error.message, error.hint or "correct the template"))
    if problems:
        raise PromptFileError(problems)
    return library


def _ordered(library: PromptLibrary) -> tuple[PromptFile, ...]:
    others = (prompt for prompt in library.prompts() if prompt.intent is None)
    return (*library.agents(), *others)


def _summary(prompt: PromptFile) -> Mapping[str, object]:
    return {
        **fields(prompt, "name intent description priority"),
        "inputs": list(prompt.inputs),
        **fields(prompt, "confirm handoffs"),
        "examples": len(prompt.examples),
        "prompt_file": prompt.ref,
        "path": str(prompt.path),
        "examples_path": prompt.more.path if prompt.more else None,
    }


def _setting(text: str, prompt: PromptFile) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    if not equals or key not in prompt.inputs:
        near = nearest(key, list(prompt.inputs))
        known = ", ".join(prompt.inputs) or "none"
        hint = f"did you mean {near}=...?" if near else f"its inputs: {known}"
        raise Refusal(f"'{text}' sets no input of {prompt.name}", hint)
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _sample(library: PromptLibrary, prompt: PromptFile) -> dict[str, object]:
    """The inputs of a small, complete turn, as the dispatcher supplies them."""
    turn = json.loads(files(__package__).joinpath("sample_turn.json").read_text(encoding="utf-8"))
    agents = [fields(agent, "name intent description") for agent in library.agents()]
    return {**turn, "intent": prompt.intent or turn["intent"], "agents": agents}
