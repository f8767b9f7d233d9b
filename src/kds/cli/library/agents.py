"""`kds agents`: who takes which message."""

from pathlib import Path

import click

from kds.cli.options import common_options, find_workspace
from kds.cli.output import fields, print_json, print_table
from kds.router.prompts.library import PromptLibrary


@click.command(epilog="\b\nExamples:\n  kds agents\n  kds agents --json")
@common_options
def agents(*, as_json: bool, workspace: Path | None) -> None:
    """List the agents, your own included: name, intent, what each does.

    `kds prompts show NAME` prints the file that is all of one; `kds prompts new` begins another.
    """
    found = PromptLibrary.load(find_workspace(workspace).prompts_dir).agents()
    if as_json:
        print_json([fields(agent, "name intent description") for agent in found])
        return
    rows = [(agent.name, agent.intent or "", agent.description) for agent in found]
    print_table(("agent", "intent", "what it does"), rows)
