"""`kds rules`: the reference rules of a workspace, the tests inside them, and their record."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click

from kds.api.beginning import begin_rule
from kds.api.rule_tests import RuleOutcome, describe_outcome
from kds.brain.errors import ConfigError
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, group
from kds.cli.evaluation.dialogue_tests import play_all, read_all
from kds.cli.guard import BAD_INPUT, TESTS_FAILED, complain_about, problem_rows
from kds.cli.options import common_options, open_router, workspace_option
from kds.cli.output import fields, print_json, print_table, say
from kds.cli.palette import compared, toned
from kds.cli.progress import slow
from kds.router.references.ruleset import load_rules
from kds.testing.playing import RuleRecord, rule_records

SHOWN_PLACES: Final = 3
"""Wrong turns whose places the table names, for each rule."""


@group("kds rules list", "kds rules check")
def rules() -> None:
    """List, begin or check the reference rules, your own in kds-brain/rules/ included."""


@command("kds rules list --json", of=rules, name="list")
@common_options
def list_(*, workspace: Workspace) -> None:
    """List the rules in the order in which they are tried, with what each is for."""
    found = sorted(load_rules(workspace.rules_dir).rules, key=lambda rule: rule.priority)
    say(
        [fields(rule, "id priority description where") for rule in found],
        lambda: print_table(
            ("rule", "priority", "what it is for"),
            [(rule.id, str(rule.priority), rule.description) for rule in found],
        ),
    )


@command("kds rules new usual-place", of=rules)
@click.argument("name")
@workspace_option
def new(*, name: str, workspace: Workspace) -> None:
    """Begin a rule of your own: a file that passes `kds rules check`, to fill in.

    NAME is lower case words joined by -; the file is kds-brain/rules/NAME.yaml.
    """
    path = begin_rule(workspace, name)
    click.echo(f"{path}\nnext: edit it, then kds rules check")


@command(
    "kds rules check",
    "kds rules check --json",
    "kds rules check --dialogues tests/dialogues",
    of=rules,
)
@click.option(
    "--dialogues", "paths", multiple=True, metavar="PATH...", type=click.Path(path_type=Path),
    help="Also play these dialogues, and say how often each rule fired and was right.",
)  # fmt: skip
@click.argument("more", nargs=-1, metavar="", type=click.Path(path_type=Path))
@common_options
def check(*, paths: tuple[Path, ...], more: tuple[Path, ...], workspace: Workspace) -> int:
    """Load every rule file and run its tests; exit code 1 when one fails.

    A test that expects a change fails also when another rule than its own brings it about.
    """
    if more and not paths:
        raise click.UsageError(f"unexpected argument '{more[0]}'; write --dialogues {more[0]}")
    try:
        dialogues = read_all((*paths, *more))
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
    records = rule_records(router.rules, play_all(dialogues, router)) if dialogues else ()
    failed = [outcome for outcome in outcomes if not outcome.passed]
    say(
        _report(outcomes, failed, records),
        lambda: _print(outcomes, failed, records),
    )
    return TESTS_FAILED if failed else 0


def _print(
    outcomes: Sequence[RuleOutcome], failed: Sequence[RuleOutcome], records: Sequence[RuleRecord]
) -> None:
    for outcome in failed:
        click.echo(compared(describe_outcome(outcome)) + "\n")
    if records:
        print_table(("rule", "fired", "right", "wrong", "wrong at"), _record_rows(records))
        click.echo()
    count = len({outcome.rule for outcome in outcomes})
    told = f"{count} rules, {len(outcomes) - len(failed)} tests passed, {len(failed)} failed"
    click.echo(toned(told, "problem" if failed else "ok"))


def _record_rows(records: Iterable[RuleRecord]) -> Iterable[tuple[str, ...]]:
    """The rules that are wrong most often first, then by how often they fire."""
    for record in sorted(records, key=lambda record: (-record.wrong, -record.fired)):
        counts = (str(record.fired), str(record.right), str(record.wrong))
        places = ", ".join(record.wrong_at[:SHOWN_PLACES])
        yield record.rule, *counts, places + (", ..." if record.wrong > SHOWN_PLACES else "")


def _report(
    outcomes: Sequence[RuleOutcome], failed: Sequence[RuleOutcome], records: Sequence[RuleRecord]
) -> dict[str, object]:
    report: dict[str, object] = {
        "rules": len({outcome.rule for outcome in outcomes}),
        "tests": len(outcomes),
        "failed": [_failure_dict(outcome) for outcome in failed],
        "problems": [],
    }
    if records:  # dialogues were played
        report["record"] = [fields(record, "rule fired right wrong wrong_at") for record in records]
    return report


def _failure_dict(outcome: RuleOutcome) -> dict[str, object]:
    return {
        "rule": outcome.rule,
        "where": outcome.test.where,
        "in": outcome.test.message,
        "expected": list(outcome.test.expected) or [outcome.test.message],
        "actual": outcome.turn.expanded,
        "fired": list(outcome.fired),
        "why": list(outcome.turn.why),
    }
