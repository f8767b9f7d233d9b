"""`kds intents`: what is worth a look in the examples and patterns of the agents."""

from collections.abc import Iterable, Sequence
from typing import Final

import click

from kds.brain.workspace import Workspace
from kds.cli.command import command, group
from kds.cli.options import common_options
from kds.cli.output import print_table, say
from kds.cli.progress import reported
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile
from kds.testing.prompt_examples import LintFinding, lint_intents

_MEANINGS: Final = {
    "same": "examples that another intent has too",
    "greedy": "patterns that match more of another intent than of their own",
    "silent": "patterns that match no example",
}


@group("kds intents lint", name="intents")
def intents() -> None:
    """Look after the intents: the examples and patterns of the agents, your own included."""


@command("kds intents lint", "kds intents lint --json", of=intents)
@common_options
def lint(*, workspace: Workspace) -> None:
    """Name examples and patterns that collide or never fire.

    Your own files come first. These are hints: the exit code is 0.
    """
    own = workspace.prompts_dir
    prompts = PromptLibrary.load(own).prompts()
    with reported("looking at the examples") as tell:
        findings = lint_intents(prompts, own=own, progress=tell)
    kinds: list[str] = [finding.kind for finding in findings]
    say(
        {"counts": {kind: kinds.count(kind) for kind in _MEANINGS}, "findings": findings},
        lambda: print_findings(findings, prompts),
    )


def print_findings(findings: Sequence[LintFinding], prompts: Iterable[PromptFile]) -> None:
    """Print a table for each kind of finding, and how many there are."""
    refs = {str(prompt.path): prompt.ref for prompt in prompts}
    for kind, meaning in _MEANINGS.items():
        rows = [
            (_place(finding.where, refs), finding.text, finding.message)
            for finding in findings
            if finding.kind == kind
        ]
        if rows:
            click.echo(f"{kind}: {meaning}")
            print_table(("where", "what", "finding"), rows)
            click.echo()
    count = len(findings)
    click.echo("nothing to look at" if not count else f"{count} to look at")


def _place(where: str, refs: dict[str, str]) -> str:
    """The file as `kds prompts list` knows it, with the line if there is one."""
    path, colon, line = where.rpartition(":")
    if colon and line.isdigit():
        return f"{refs.get(path, path)}:{line}"
    return refs.get(where, where)
