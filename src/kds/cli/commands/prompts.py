"""`kds prompts` and `kds rules`: prompt files and reference rules, and their checks."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

import kds
from kds.agents.agent import prompt_named
from kds.api.rehearsal import describe_outcome
from kds.brain.errors import MessageError, PromptFileError
from kds.brain.files import failure
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.command import asked_json
from kds.cli.guard import TESTS_FAILED, complain, pass_on
from kds.cli.output import Table, fields, say
from kds.cli.terminal import slow, toned
from kds.router.prompts.library import PromptLibrary, stray_files
from kds.router.prompts.promptfile import PromptFile
from kds.router.references.ruleset import PACKAGED, load_rules
from kds.service.service_client import LOADING
from kds.testing.findings import astray_examples, rendering_problems, sample_inputs

_NAME: Final = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

_PROMPT: Final = """\
---
name: {name}
description: Takes messages about {words}.
intent: {intent}
ask: see to {words}
patterns:
  - {{literal: {words}, weight: 0.8}}
examples: [see to {words}]
inputs: [message, expanded]
---
# {title}

Asked for: {{{{ expanded }}}}
{{% if expanded != message %}}(written as: {{{{ message }}}}){{% endif %}}

Say here what the agent is to do, and what it is to hand back.
"""

_RULE: Final = """\
rules:
  - id: my.{name}
    description: '"the usual {words}" stands for what it names here'
    signal:
      kind: pattern
      cues: ['\\bthe usual {words}\\b']
    render: {{text: the {words} of this project}}
    tests:
      - {{in: Open the usual {words}, out: Open the {words} of this project}}
      - {{in: Open the settings page, out: unchanged}}
"""
"""What new files begin with: they pass the checks as they are."""


@base.group("kds prompts check")
def prompts() -> None:
    """List, show, create or check prompt files, your own included."""


@base.command("kds prompts list", of=prompts, name="list")
def list_(*, workspace: Workspace) -> None:
    """List the prompts: the agents with their intents, by priority, then the others."""
    found = _in_order(PromptLibrary.load(workspace.prompts_dir))
    rows = [(prompt.intent, prompt.name, prompt.description) for prompt in found]
    say(list(map(_summary, found)), Table(("intent", "prompt", "what it does"), rows))


@base.command("kds prompts new deploy-runner", of=prompts)
@click.argument("name")
def new(*, name: str, workspace: Workspace) -> None:
    """Create a prompt file for an agent of your own; it passes `kds prompts check` as it is.

    NAME is lower case words joined by -. Its intent is called like it: DEPLOY_RUNNER.
    """
    path = workspace.prompts_dir / "internal" / f"{_checked_name(name)}.md"
    if any(prompt.name == name for prompt in PromptLibrary.load(workspace.prompts_dir).prompts()):
        hint = f"look at it: kds prompts show {name}"
        raise MessageError(f"there is a prompt '{name}'", hint=hint)
    words, intent = name.replace("-", " "), name.replace("-", "_").upper()
    title = words.capitalize()
    _write_new(path, _PROMPT.format(name=name, intent=intent, words=words, title=title))
    say({"path": path}, f"{path}\nnext: edit it, then kds prompts check")


@base.command("kds prompts show PLAN", "kds prompts show code-executor --render", of=prompts)
@click.argument("name")
@base.flag("--render", "Render it with sample inputs.")
def show(*, name: str, render: bool, workspace: Workspace) -> None:
    """Print the file of the prompt NAME, or of the agent of an intent, as it is.

    With --json: what it does, which messages reach it, and which agents may go on after it. The
    examples of an agent may be in a file beside it. Copy both to have a prompt of your own.
    """
    library = PromptLibrary.load(workspace.prompts_dir)
    prompt = prompt_named(name, library)
    if render:
        text = library.render(prompt, sample_inputs(library, prompt))
        say({"prompt": prompt.name, "text": text}, text)
        return
    if prompt.more is not None and not asked_json():
        complain(f"its examples are in {prompt.more.path}")
    patterns = [{"pattern": one.source} | fields(one, "weight exact") for one in prompt.patterns]
    card = {**_summary(prompt), "tools": prompt.tools, "patterns": patterns}
    say(card, prompt.path.read_text(encoding="utf-8").removesuffix("\n"))


@base.command("kds prompts check", of=prompts)
def check(*, workspace: Workspace) -> None:
    """Load every prompt file and render it with sample inputs; report all problems.

    Then route every example of every agent. Examples that reach another agent are warnings.
    """
    library = PromptLibrary.load(workspace.prompts_dir)
    if problems := tuple(rendering_problems(library, _in_order(library))):
        raise PromptFileError(problems)
    load_settings(workspace)
    agents = library.agents()
    with slow("routing the examples"):
        found = list(zip(agents, astray_examples(library, workspace), strict=True))
    examples: list[dict[str, Any]] = [
        {"prompt": agent.name, "intent": agent.intent, "examples": len(agent.examples),
         "reached": len(agent.examples) - len(astray), "astray": astray}
        for agent, astray in found
    ]  # fmt: skip
    notes = {"passed_over": library.passed_over, "strays": stray_files(workspace)}
    if not asked_json():
        for one in (one for some in notes.values() for one in some):
            complain(f"{one.where}: {one.message}", one.hint)
        for agent, astray in found:
            for stray in astray:
                complain(
                    f"{stray['where']}: the example '{stray['text']}' reaches {stray['intent']}",
                    f"leave it to one of {agent.intent} and {stray['intent']}; "
                    "`kds route --why --no-log` shows the scores",
                )
    good, count = (sum(one[key] for one in examples) for key in ("reached", "examples"))
    say(
        {"prompts": len(library.prompts()), "agents": len(agents), "problems": [], **notes,
         "examples": examples},
        f"{len(library.prompts())} prompts are in order, {len(agents)} of them agents",
        f"{good:,} of {count:,} examples reach their own agent when typed verbatim",
        [
            f"  {agent.name}: {len(agent.examples) - len(astray):,} of {len(agent.examples):,}"
            for agent, astray in found
            if astray or agent.path.is_relative_to(workspace.prompts_dir)
        ],
    )  # fmt: skip


def _in_order(library: PromptLibrary) -> tuple[PromptFile, ...]:
    """The agents by priority, then the other prompts."""
    return (*library.agents(), *(one for one in library.prompts() if one.intent is None))


def _summary(prompt: PromptFile) -> Mapping[str, object]:
    return fields(prompt, "name intent description priority inputs confirm handoffs") | {
        "examples": len(prompt.examples),
        "prompt_file": prompt.ref,
        "path": str(prompt.path),
        "examples_path": prompt.more.path if prompt.more else None,
    }


@base.group("kds rules check")
def rules() -> None:
    """List, create or check reference rules, including your own in kds-brain/rules/."""


@base.command("kds rules list", of=rules, name="list")
def list_rules(*, workspace: Workspace) -> None:
    """List the rules in the order in which they are tried, with what each is for."""
    found = sorted(load_rules(workspace.rules_dir).rules, key=lambda rule: rule.priority)
    rows = [(rule.id, rule.priority, rule.description) for rule in found]
    told = [fields(rule, "id priority description where") for rule in found]
    say(told, Table(("rule", "priority", "what it is for"), rows))


@base.command("kds rules new usual-place", of=rules, name="new")
@click.argument("name")
def new_rule(*, name: str, workspace: Workspace) -> None:
    """Create a file for a rule of your own; it passes `kds rules check` as it is.

    NAME is lower case words joined by -; the file is kds-brain/rules/NAME.yaml.
    """
    path = workspace.rules_dir / f"{_checked_name(name)}.yaml"
    if (PACKAGED / path.name).exists():  # a file of that name would replace all of it
        raise MessageError(f"there is a packaged rule file '{name}'", hint="take another name")
    workspace.ensure()
    words = name.replace("-", " ").removeprefix("usual ")
    _write_new(path, _RULE.format(name=name, words=words))
    say({"path": path}, f"{path}\nnext: edit it, then kds rules check")


def _checked_name(name: str) -> str:
    """A name that a file of the user's may have."""
    if _NAME.fullmatch(name) is None:
        hint = "lower case words joined by -: deploy-runner"
        raise MessageError(f"'{name}' can be no name", hint=hint)
    return name


def _write_new(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        hint = "take another name, or edit that file"
        raise MessageError(f"{path} is there already", hint=hint) from None
    except OSError as error:
        raise failure("write", path, error) from error


@base.command("kds rules check", of=rules, name="check")
def check_rules(*, workspace: Workspace) -> int:
    """Load every rule file and run its tests; exit code 1 when one fails.

    A test that expects a change also fails when another rule than its own makes it.
    """
    with slow(LOADING):
        router = kds.Router.open(workspace, log=False)
    pass_on(router.warnings)
    with slow("running the tests of the rules"):
        outcomes = router.check_rules()
    failed = [outcome for outcome in outcomes if not outcome.passed]
    rules, passed = len({outcome.rule for outcome in outcomes}), len(outcomes) - len(failed)
    told = [
        fields(one, "rule fired")
        | {"where": one.test.where, "in": one.test.message,
           "expected": one.test.expected or (one.test.message,),
           "actual": one.turn.expanded, "why": one.turn.why}
        for one in failed
    ]  # fmt: skip
    counts = f"{rules} rules, {passed} tests passed, {len(failed)} failed"
    say(
        {"rules": rules, "tests": len(outcomes), "failed": told, "problems": []},
        [f"{describe_outcome(one)}\n" for one in failed],
        toned(counts, "problem" if failed else "ok"),
    )
    return TESTS_FAILED if failed else 0
