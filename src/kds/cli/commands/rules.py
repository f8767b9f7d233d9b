"""`kds rules`: the reference rules of a workspace, and the tests inside them."""

from collections.abc import Sequence

import click

from kds.api.beginning import begin_rule
from kds.api.rule_tests import RuleOutcome, describe_outcome
from kds.brain.errors import ConfigError
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, group
from kds.cli.guard import BAD_INPUT, TESTS_FAILED, complain_about, problem_rows
from kds.cli.options import common_options, open_router, workspace_option
from kds.cli.output import fields, print_json, print_table, say
from kds.cli.palette import compared, toned
from kds.cli.progress import slow
from kds.router.references.ruleset import load_rules


@group("kds rules list", "kds rules check")
def rules() -> None:
    """List, begin or check the reference rules, your own in kds-brain/rules/ included."""


@command("kds rules list --json", of=rules, name="list")
@common_options
def list_(*, workspace: Workspace) -> None:
    """List the rules in the order in which they are tried, with what each is for."""
    found = sorted(load_rules(workspace.rules_dir).rules, key=lambda rule: rule.priority)
    rows = [(rule.id, str(rule.priority), rule.description) for rule in found]
    say(
        [fields(rule, "id priority description where") for rule in found],
        lambda: print_table(("rule", "priority", "what it is for"), rows),
    )


@command("kds rules new usual-place", of=rules)
@click.argument("name")
@workspace_option
def new(*, name: str, workspace: Workspace) -> None:
    """Begin a rule of your own: a file that passes `kds rules check`, to fill in.

    NAME is lower case words joined by -; the file is kds-brain/rules/NAME.yaml.
    """
    click.echo(f"{begin_rule(workspace, name)}\nnext: edit it, then kds rules check")


@command("kds rules check", "kds rules check --json", of=rules)
@common_options
def check(*, workspace: Workspace) -> int:
    """Load every rule file and run its tests; exit code 1 when one fails.

    A test that expects a change fails also when another rule than its own brings it about.
    """
    try:
        router = open_router(workspace, log=False)
    except ConfigError as error:
        if not asked_json():
            raise
        problems = problem_rows(error.problems)
        print_json({"rules": None, "tests": None, "failed": [], "problems": problems})
        complain_about(error)
        return BAD_INPUT
    with slow("running the tests of the rules"):
        outcomes = router.check_rules()
    failed = [outcome for outcome in outcomes if not outcome.passed]
    count = len({outcome.rule for outcome in outcomes})
    told = {"rules": count, "tests": len(outcomes), "failed": list(map(_failure, failed))}
    say(told | {"problems": []}, lambda: _print(count, len(outcomes), failed))
    return TESTS_FAILED if failed else 0


def _print(count: int, tests: int, failed: Sequence[RuleOutcome]) -> None:
    for outcome in failed:
        click.echo(compared(describe_outcome(outcome)) + "\n")
    told = f"{count} rules, {tests - len(failed)} tests passed, {len(failed)} failed"
    click.echo(toned(told, "problem" if failed else "ok"))


def _failure(outcome: RuleOutcome) -> dict[str, object]:
    return {
        "rule": outcome.rule,
        "where": outcome.test.where,
        "in": outcome.test.message,
        "expected": list(outcome.test.expected) or [outcome.test.message],
        "actual": outcome.turn.expanded,
        "fired": list(outcome.fired),
        "why": list(outcome.turn.why),
    }
