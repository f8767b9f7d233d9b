"""`kds skills`: what a prompt can activate, what keeps it from being chosen, and its tests."""

from pathlib import Path

import click

from kds.activation import Activator
from kds.activation.checks import check_entries, listing_tokens
from kds.activation.discovery import READS, discover, reads
from kds.activation.uses import Uses
from kds.api.measures import rounded
from kds.brain.settings import load_settings
from kds.brain.turn import Utterance
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.commands.route import reply_option
from kds.cli.guard import TESTS_FAILED, Refusal, complain, pass_on
from kds.cli.output import Table, counted, fields, say
from kds.cli.terminal import slow
from kds.hooks.reply import left_alone, says_enough
from kds.testing.skills import describe, judge, read_cases

ENTRY = "client kind name description suggested invocable path paths"
NO_ENTRIES = "no skill, agent, command or prompt file"
SHOWN_SIGNS = 8
"""Pieces of evidence that `explain` prints, the largest first."""


@base.group("kds skills --client claude", common=base.COMMON, invoke_without_command=True)
@base.choice("--client", [*READS], "Only what this assistant reads.")
@click.pass_context
def skills(ctx: click.Context, *, client: str | None, workspace: Path | None) -> None:
    """List skills, agents, commands and prompt files, and the tokens that their listing costs.

    The commands say which one fits a prompt and why, check their descriptions, and test them.
    """
    if ctx.invoked_subcommand is not None:
        return
    root = base.find_workspace(workspace).root
    found = discover(root, Path.home())
    pass_on(found.problems)
    entries = [one for one in found.entries if client is None or reads(client, one)]
    tokens = listing_tokens(entries)
    rows = [
        (one.client, one.kind, one.name, _place(one.path or Path(), root), one.description[:80])
        for one in entries
    ]
    cost = "about {:,} tokens of skills and agents in every request"
    say(
        {"entries": [fields(one, ENTRY) for one in entries], "listing_tokens": tokens},
        Table(("client", "kind", "name", "where", "what it is for"), rows, NO_ENTRIES),
        [(name, cost.format(count)) for name, count in tokens.items()],
    )


def _read(workspace: Workspace) -> Activator:
    chosen = load_settings(workspace).activation
    if not chosen.enabled:
        complain("activation.enabled is off: nothing is named beside prompts")
    with slow("reading skills, agents and commands"):
        return Activator.open(workspace, precision=chosen.precision, learn=chosen.learn)


@base.command(
    "kds skills explain 'write the notes for 2.4'",
    "kds skills explain yes --reply 'Shall I write the notes?'",
    of=skills,
)
@base.message_argument
@reply_option
def explain(*, words: tuple[str, ...], history: list[Utterance], workspace: Workspace) -> None:
    """Say which entry fits PROMPT, how probable that is, and on what evidence."""
    text = base.read_message(words)
    if why := left_alone(text) or says_enough(text):
        complain(f"the hook says nothing beside this prompt: {why}")
    activator = _read(workspace)
    pass_on(activator.problems)
    told = activator.suggest(text, history)
    signs = sorted(told.why.items(), key=lambda sign: -abs(sign[1]))[:SHOWN_SIGNS]
    say(
        {"choice": told.choice, "silent": told.silent or None, "ranked": told.ranked,
         "why": dict(told.why)},
        ("says", told.choice or f"nothing: {told.silent}"),
        [(f"{chance:.2f}", name) for name, chance in told.ranked[:3]],
        ("because", ", ".join(f"{name} {value:.2f}" for name, value in signs)),
    )  # fmt: skip


@base.command("kds skills check", of=skills)
@base.flag("--github", "Print the findings as annotations of GitHub Actions.")
def check(*, github: bool, workspace: Workspace) -> int:
    """Find near-duplicates, descriptions that say too little or too much, and what is never found.

    Exit code 1 when something needs fixing, or cannot be read.
    """
    activator = _read(workspace)
    with slow("comparing descriptions"):
        found = check_entries(activator)
    if github:
        for one in found:
            text = f"{one.message}; {one.hint}".replace("%", "%25").replace("\n", "%0A")
            click.echo(f"::warning file={_place(Path(one.where), workspace.root)}::{text}")
    else:
        say(
            {"entries": len(activator.entries), "findings": found},
            [f"{one.where}: {one.message}\n  fix: {one.hint}" for one in found],
            f"{len(activator.entries)} entries, {len(found)} to fix",
        )
    return TESTS_FAILED if found else 0


@base.command("kds skills history", "kds skills history --forget release-notes", of=skills)
@base.option("--forget ENTRY", "Forget what was learned from the use of ENTRY, or of `all`.")
def history(*, forget: str | None, workspace: Workspace) -> None:
    """Show which entry ran after which prompt of this project, and which name was ignored."""
    if forget is not None:
        count = Uses(workspace).forget(None if forget == "all" else forget)
        if forget != "all" and not count:
            raise Refusal(f"no use of '{forget}' is known", "kds skills history lists them")
        say({"forgotten": count}, f"forgotten: {counted(count, 'use')}")
        return
    uses = Uses(workspace).read()
    rows = [(one.at[:10], one.outcome, one.entry, one.prompt[:80]) for one in uses]
    table = Table(("day", "outcome", "entry", "prompt"), rows, "nothing was learned yet")
    say({"uses": uses}, table)


@base.command("kds skills test tests/skills.yaml", of=skills)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def test(*, file: Path, workspace: Workspace) -> int:
    """Run the cases of FILE: a YAML list of `prompt`, `expect` (a name or null) and `history`.

    Exit code 1 when one fails.
    """
    activator = _read(workspace)
    pass_on(activator.problems)
    cases = read_cases(file, (one.name for one in activator.entries))
    failed = [row for case in cases if not (row := judge(case, activator))["right"]]
    passed = len(cases) - len(failed)
    say(
        {"passed": passed, "failed": list(map(rounded, failed))},
        [describe([row]) for row in failed],
        f"{passed} passed, {len(failed)} failed",
    )
    return TESTS_FAILED if failed else 0


def _place(path: Path, root: Path) -> str:
    """A file, below the folder of the project or the user's home where it is there."""
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
