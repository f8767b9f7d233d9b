"""`kds prompts` and `kds rules`: prompt files and reference rules, and their checks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from kds.agents.agent import prompt_named
from kds.api.beginning import begin_prompt, begin_rule
from kds.api.rehearsal import RuleOutcome, describe_outcome
from kds.brain.errors import Problem
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, flag, group
from kds.cli.guard import TESTS_FAILED, complain
from kds.cli.options import command, open_router
from kds.cli.output import Shown, Table, fields, say
from kds.cli.progress import slow
from kds.cli.terminal import toned
from kds.router.prompts.library import PromptLibrary, stray_files
from kds.router.prompts.promptfile import PromptFile
from kds.router.references.ruleset import load_rules
from kds.testing.prompt_examples import (
    ExampleReach,
    LintFinding,
    checked_library,
    example_reach,
    in_order,
    lint_examples,
    sample_inputs,
)


@group("kds prompts check")
def prompts() -> None:
    """List, show, create or check prompt files, your own included."""


@command("kds prompts list", of=prompts, name="list")
def list_(*, workspace: Workspace) -> None:
    """List the prompts: the agents with their intents, by priority, then the others."""
    found = in_order(PromptLibrary.load(workspace.prompts_dir))
    rows = [(prompt.intent, prompt.name, prompt.description) for prompt in found]
    say([_summary(one) for one in found], Table(("intent", "prompt", "what it does"), rows))


@command("kds prompts new deploy-runner", of=prompts)
@click.argument("name")
def new(*, name: str, workspace: Workspace) -> None:
    """Create a prompt file for an agent of your own; it passes `kds prompts check` as it is.

    NAME is lower case words joined by -. Its intent is called like it: DEPLOY_RUNNER.
    """
    path = begin_prompt(workspace, name)
    say({"path": path}, f"{path}\nnext: edit it, then kds prompts check")


@command("kds prompts show PLAN", "kds prompts show code-executor --render", of=prompts)
@click.argument("name")
@flag("--render", "Render it with sample inputs.")
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


@command("kds prompts check --lint", of=prompts)
@flag("--lint", "Also name examples that two agents have: hints, not errors.")
def check(*, lint: bool, workspace: Workspace) -> None:
    """Load every prompt file and render it with sample inputs; report all problems.

    Then route every example of every agent. Examples that reach another agent are warnings.
    """
    library = checked_library(workspace)
    with slow("routing the examples"):
        found = example_reach(library, workspace)
    notes = {
        "passed_over": library.passed_over,
        "strays": stray_files(workspace),
    }
    report: dict[str, Any] = {
        "prompts": len(library.prompts()), "agents": len(library.agents()), "problems": [],
        **notes, "examples": found,
    }  # fmt: skip
    linted: Sequence[LintFinding] = ()
    if lint:
        linted = report["lint"] = lint_examples(library.prompts(), own=workspace.prompts_dir)
    lines = _check_lines(found, chain(*notes.values()), workspace.prompts_dir)
    ordered = f"{report['prompts']} prompts are in order, {report['agents']} of them agents"
    also = [f"{one.where}: '{one.text}' is also of {' and '.join(one.others)}" for one in linted]
    say(report, ordered, lines, also)


def _check_lines(
    found: Sequence[ExampleReach], notes: Iterable[Problem], own: Path
) -> Iterator[Shown]:
    for note in notes:
        complain(f"{note.where}: {note.message}", note.hint)
    for one in found:
        for stray in one.strays:
            agents = f"{one.prompt.intent} and {stray.intent}"
            hint = f"leave it to one of {agents}; `kds route --why --no-log` shows the scores"
            complain(f"{stray.where}: the example '{stray.text}' reaches {stray.intent}", hint)
    examples, reached = sum(one.examples for one in found), sum(one.reached for one in found)
    yield f"{reached:,} of {examples:,} examples reach their own agent when typed verbatim"
    for one in found:
        if one.strays or one.prompt.path.is_relative_to(own):
            yield f"  {one.prompt.name}: {one.reached:,} of {one.examples:,}"


def _summary(prompt: PromptFile) -> Mapping[str, object]:
    return {
        **fields(prompt, "name intent description priority"),
        "inputs": prompt.inputs,
        **fields(prompt, "confirm handoffs"),
        "examples": len(prompt.examples),
        "prompt_file": prompt.ref,
        "path": str(prompt.path),
        "examples_path": prompt.more.path if prompt.more else None,
    }


@group("kds rules check")
def rules() -> None:
    """List, create or check reference rules, including your own in kds-brain/rules/."""


@command("kds rules list", of=rules, name="list")
def list_rules(*, workspace: Workspace) -> None:
    """List the rules in the order in which they are tried, with what each is for."""
    found = sorted(load_rules(workspace.rules_dir).rules, key=lambda rule: rule.priority)
    rows = [(rule.id, rule.priority, rule.description) for rule in found]
    told = [fields(rule, "id priority description where") for rule in found]
    say(told, Table(("rule", "priority", "what it is for"), rows))


@command("kds rules new usual-place", of=rules, name="new")
@click.argument("name")
def new_rule(*, name: str, workspace: Workspace) -> None:
    """Create a file for a rule of your own; it passes `kds rules check` as it is.

    NAME is lower case words joined by -; the file is kds-brain/rules/NAME.yaml.
    """
    path = begin_rule(workspace, name)
    say({"path": path}, f"{path}\nnext: edit it, then kds rules check")


@command("kds rules check", of=rules, name="check")
def check_rules(*, workspace: Workspace) -> int:
    """Load every rule file and run its tests; exit code 1 when one fails.

    A test that expects a change also fails when another rule than its own makes it.
    """
    router = open_router(workspace, log=False)
    with slow("running the tests of the rules"):
        outcomes = router.check_rules()
    failed = [outcome for outcome in outcomes if not outcome.passed]
    told = {
        "rules": len({outcome.rule for outcome in outcomes}),
        "tests": len(outcomes),
        "failed": list(map(_failure, failed)),
        "problems": [],
    }
    passed = len(outcomes) - len(failed)
    counts = f"{told['rules']} rules, {passed} tests passed, {len(failed)} failed"
    texts = [f"{describe_outcome(one)}\n" for one in failed]
    say(told, texts, toned(counts, "problem" if failed else "ok"))
    return TESTS_FAILED if failed else 0


def _failure(one: RuleOutcome) -> Mapping[str, object]:
    expected = one.test.expected or (one.test.message,)
    told = {"where": one.test.where, "in": one.test.message, "expected": expected}
    return fields(one, "rule fired") | told | {"actual": one.turn.expanded, "why": one.turn.why}
