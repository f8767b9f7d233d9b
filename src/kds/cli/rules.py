"""`kds rules`: the reference rules of a workspace, and the tests inside them."""

from pathlib import Path

import click

from kds.cli.guard import TESTS_FAILED
from kds.cli.options import json_option, open_router, workspace_option
from kds.cli.output import print_json
from kds.rule_tests import describe_outcome


@click.group(epilog="\b\nExample:\n  kds rules check")
def rules() -> None:
    """Check the reference rules, your own in kds-brain/rules/ included."""


@rules.command(
    epilog="""\b
Examples:
  kds rules check
  kds rules check --json"""
)
@json_option
@workspace_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool, workspace: Path | None) -> None:
    """Load every rule file and run its tests; exit code 1 when one fails."""
    outcomes = open_router(workspace, log=False).check_rules()
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if as_json:
        shown = [
            {
                "rule": outcome.rule,
                "where": outcome.test.where,
                "in": outcome.test.message,
                "expected": list(outcome.test.expected) or [outcome.test.message],
                "actual": outcome.turn.expanded,
                "why": list(outcome.turn.why),
            }
            for outcome in failed
        ]
        print_json({"rules": len({outcome.rule for outcome in outcomes}),
                    "tests": len(outcomes), "failed": shown})  # fmt: skip
    else:
        for outcome in failed:
            click.echo(describe_outcome(outcome) + "\n")
        count = len({outcome.rule for outcome in outcomes})
        click.echo(
            f"{count} rules, {len(outcomes) - len(failed)} tests passed, {len(failed)} failed"
        )
    ctx.exit(TESTS_FAILED if failed else 0)
