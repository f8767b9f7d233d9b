"""`kds agents`: who takes which message, and what makes one of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from kds.agents.agent import prompt_named
from kds.brain.workspace import Workspace
from kds.cli.command import command, group
from kds.cli.completion import completed_by
from kds.cli.options import common_options, find_workspace
from kds.cli.output import fields, print_lines, print_table, say
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

SHOWN_EXAMPLES: Final = 3


@group("kds agents", "kds agents show PLAN", "kds agents --json", invoke_without_command=True)
@common_options
@click.pass_context
def agents(ctx: click.Context, *, workspace: Path | None) -> None:
    """List the agents, your own included: name, intent, what each does.

    `kds prompts show NAME` prints the file that is all of one; `kds prompts new` begins another.
    """
    if ctx.invoked_subcommand is not None:
        return
    found = PromptLibrary.load(find_workspace(workspace).prompts_dir).agents()
    say(
        [fields(agent, "name intent description") for agent in found],
        lambda: print_table(
            ("agent", "intent", "what it does"),
            [(agent.name, agent.intent or "", agent.description) for agent in found],
        ),
    )


@command("kds agents show code-executor", "kds agents show PLAN --json", of=agents)
@click.argument("name", shell_complete=completed_by("agents"))
@common_options
def show(*, name: str, workspace: Workspace) -> None:
    """Say what the agent NAME does, which messages reach it, and who goes on after it.

    NAME may be its intent. What was learned from you is in `kds learn list`.
    """
    agent = prompt_named(name, PromptLibrary.load(workspace.prompts_dir))
    say(_card(agent), lambda: print_lines(_lines(agent)))


def _card(agent: PromptFile) -> Mapping[str, object]:
    patterns = [{"pattern": one.source, "weight": one.weight, "exact": one.exact}
                for one in agent.patterns]  # fmt: skip
    return {
        **fields(agent, "name intent description priority confirm tools handoffs"),
        "patterns": patterns,
        "examples": len(agent.examples),
        "prompt_file": str(agent.path),
    }


def _lines(agent: PromptFile) -> Iterator[tuple[str, str]]:
    yield "agent", agent.name
    yield "intent", agent.intent or "none: no message reaches it by itself"
    yield "does", agent.description
    if agent.confirm:
        yield "", "asks you before it begins"
    yield "file", str(agent.path)
    if agent.examples:
        some = ", ".join(f"'{one}'" for one in agent.examples[:SHOWN_EXAMPLES])
        yield "examples", f"{len(agent.examples):,}, such as {some}"
    if agent.patterns:
        exact = sum(one.exact for one in agent.patterns)
        whole = f", {exact:,} of which take a whole message" if exact else ""
        yield "patterns", f"{len(agent.patterns):,}{whole}"
    yield "tools", ", ".join(agent.tools) or "none"
    yield "hands to", ", ".join(agent.handoffs) or "nobody"
    yield "more", f"kds prompts show {agent.name}"
