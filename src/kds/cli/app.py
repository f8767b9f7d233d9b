"""The `kds` command: its subcommands, and the forms that need no subcommand."""

import difflib
import gc
import importlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import click

from kds.cli.guard import Refusal, guarded, wants_json

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "route": ("talk.route:route", "Route MESSAGE: expand it, find its intent, pick the agent."),
    "explain": ("talk.route:explain", "Route MESSAGE unlogged, and print every step's record."),
    "ask": ("talk.ask:ask", "Route MESSAGE, run its agent, print the answer."),
    "chat": ("talk.chat:chat", "Talk to the router: every turn shows what became of it."),
    "context": ("talk.context:context", "Load, log, clear or locate the conversation context."),
    "prompts": ("library.prompts:prompts", "List, show and check the prompt files."),
    "rules": ("library.rules:rules", "Check the reference rules."),
    "intents": ("library.intent_lint:intents", "Check the examples that intents learn from."),
    "serve": ("setup.serve:serve", "Keep a warm router, and answer on a socket or HTTP."),
    "service": ("setup.service:service", "Start, stop or look at the service in the background."),
    "init": ("setup.init:init", "Set KDS up in the coding assistants of a project."),
    "doctor": ("setup.doctor:doctor", "Check workspace, service, hook and client files."),
    "export": ("setup.export:export", "Write skills, prompt files, agents or a plugin."),
    "mcp": ("setup.mcp:mcp", "Serve the router to MCP clients."),
    "memory": ("memory.group:memory", "Search, show and look after remembered sessions."),
    "learn": ("learning.group:learn", "Review what was learned from your corrections."),
    "amnesia": ("learning.amnesia:amnesia", "Forget what was learned here, with a way back."),
    "docs": ("docs.group:docs", "Add, search and show documents, with citations."),
    "metrics": ("metrics:metrics", "KDS's own numbers: recalls, turns, corrections."),
    "test": ("evaluation.dialogues:test", "Run dialogue files as tests."),
    "eval": ("evaluation.group:evaluate", "Score the router on annotated data."),
    "invoke": ("talk.invoke:invoke", ""),
}
"""Subcommand -> where in this room it is defined, loaded when it is called; and its line in
`kds --help`, which must not load them all. Without such a line it is hidden."""


OBJECTS_BETWEEN_COLLECTIONS: Final = 50_000
"""Python's own 700 collects garbage hundreds of times while libraries are imported, and finds none:
5 % of the CPU time of a cold `kds route`."""


class _Commands(click.Group):
    """Loads a subcommand at its first use, and explains an unknown one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"kds.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items() if line])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            raise Refusal(f"no such command '{word}'", f"try {_instead_of(args)}")
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
@click.version_option(None, "--version", package_name="kds-router", message="%(prog)s %(version)s")
def app() -> None:
    """Route developer chat: resolve what a message refers to, and pick the agent for it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0, 1 tests failed, 2 bad input."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)

    def run() -> object:
        return app.main(_spelled_out(given), prog_name="kds", standalone_mode=False)

    sys.exit(guarded(run, as_json=wants_json(given)))


def _instead_of(arguments: Sequence[str]) -> str:
    """What was meant by a first word that is no command: one like it, or a message to route."""
    words = [word for word in arguments if not word.startswith("-")]
    near = difflib.get_close_matches(words[0], COMMANDS, n=1)
    if near:
        return f"kds {near[0]}"
    message = " ".join(words)
    return f"kds route {shlex.quote(message)}" if " " in message else "kds --help"


def _spelled_out(arguments: Sequence[str]) -> list[str]:
    """Put the hidden subcommand in front of a `#file:` invocation."""
    if arguments and arguments[0].lstrip().startswith("#file:"):
        return ["invoke", *arguments]
    return list(arguments)
