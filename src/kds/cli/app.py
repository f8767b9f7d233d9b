"""The `kds` command: its subcommands, and the forms that need no subcommand."""

import difflib
import importlib
import shlex
import sys
from collections.abc import Sequence
from typing import Final

import click

from kds.cli.guard import Refusal, guarded

COMMANDS: Final = {
    "route": "kds.cli.route:route",
    "explain": "kds.cli.route:explain",
    "chat": "kds.cli.chat:chat",
    "context": "kds.cli.context:context",
    "prompts": "kds.cli.prompts:prompts",
    "rules": "kds.cli.rules:rules",
    "intents": "kds.cli.intent_lint:intents",
    "test": "kds.cli.dialogues:test",
    "eval": "kds.cli.evaluation:evaluate",
    "invoke": "kds.cli.invoke:invoke",
}
"""Subcommand -> where it is defined. Each is loaded when it is called."""


class _Commands(click.Group):
    """Loads a subcommand at its first use, and explains an unknown one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            raise Refusal(f"no such command '{word}'", f"try {_instead_of(word)}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  kds route 'I want to add a FAB button'
  kds route 'Make it purple' --why
  kds '#file:KDS/prompts/user/kds.md I want to add a FAB button'""",
)
@click.version_option(None, "--version", package_name="kds", message="%(prog)s %(version)s")
def app() -> None:
    """Route developer chat: resolve what a message refers to, and pick the agent for it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0, 1 tests failed, 2 bad input."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    sys.exit(guarded(lambda: app.main(_spelled_out(given), prog_name="kds", standalone_mode=False)))


def _instead_of(word: str) -> str:
    if len(word.split()) > 1:
        return f"kds route {shlex.quote(word)}"
    near = difflib.get_close_matches(word, COMMANDS, n=1)
    return f"kds {near[0]}" if near else "kds --help"


def _spelled_out(arguments: Sequence[str]) -> list[str]:
    """Put the hidden subcommand in front of a `#file:` invocation."""
    if arguments and arguments[0].lstrip().startswith("#file:"):
        return ["invoke", *arguments]
    return list(arguments)
