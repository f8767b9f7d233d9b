"""The `kds` command: its subcommands, and the forms that need no subcommand."""

import difflib
import gc
import importlib
import shlex
import sys
from collections.abc import Sequence
from typing import Final

import click

from kds.cli.command import MessageCommand, with_examples
from kds.cli.guard import Refusal, guarded, wants_json

GROUPS: Final = {
    "Begin here": {
        "route": ("route:route", "Route MESSAGE: expand it, find its intent, pick the agent."),
        "init": ("init:init", "Set KDS up in the coding assistants of a project."),
        "doctor": ("status:doctor", "Check workspace, service, hook and client files."),
    },
    "Use": {
        "ask": ("talk:ask", "Route MESSAGE, run its agent, print the answer."),
        "recall": ("recall:recall", "Find what was said in past sessions of your assistants."),
        "handoff": ("recall:handoff", "Print a brief for the assistant that goes on."),
        "chat": ("talk:chat", "Talk to the agents; without a model, see every turn."),
        "web": ("service:web", "Open the web page: chat, and everything that KDS knows."),
        "help": ("help:help_", "Explain a command, or print a page of the documentation."),
    },
    "Set up": {
        "status": ("status:status", "Show workspace, service, memory, model and hook."),
        "config": ("config:config", "Show settings and where they come from; change them."),
        "hook": ("status:hook", "What the hook told the model, and why it was silent."),
        "export": ("init:export_", "Write KDS as a plugin for Claude Code."),
    },
    "Teach and test": {
        "prompts": ("prompts:prompts", "List, show, create and check prompt files."),
        "rules": ("prompts:rules", "List, create and check reference rules."),
        "skills": ("skills:skills", "List skills and agents; which fits a prompt; check, test."),
        "learn": ("learn:learn", "Teach what you mean; list it, take it back."),
        "test": ("evaluate:test", "Run dialogue files as tests."),
        "eval": ("evaluate:evaluate", "Score the router on annotated data."),
        "metrics": ("status:metrics", "KDS's own metrics: recalls, turns, corrections."),
    },
    "Data": {
        "context": ("route:context", "Load, log or clear the conversation context."),
        "memory": ("memory:memory", "Search, show and look after remembered sessions."),
        "docs": ("docs:docs", "Add, search and show documents, with citations."),
        "db": ("shared:database", "Check a PostgreSQL database; --upgrade sets it up."),
        "forget": ("learn:forget", "Forget what was learned here, after a backup."),
    },
    "Serve": {
        "service": ("service:service", "Start, stop or look at the background service."),
        "serve": ("service:serve", "Run the service in the foreground, on a socket or HTTP."),
        "team": ("shared:team", "Manage tokens for a shared service."),
        "login": ("shared:login", "Work with a team's service, by token; --out ends it."),
        "mcp": ("service:mcp", "Serve the router to MCP clients."),
    },
}
"""Heading -> subcommand -> its ``module:name`` in `kds.cli.commands`, and its line in `--help`."""

LISTED: Final = {name: place for each in GROUPS.values() for name, (place, _) in each.items()}
PLACES: Final = {**LISTED, "invoke": "route:invoke"}

OBJECTS_BETWEEN_COLLECTIONS: Final = 50_000
"""With Python's own 700, garbage is collected hundreds of times while libraries are imported, and
none is found: 5 % of the CPU time of a cold `kds route`."""


class _Commands(MessageCommand, click.Group):
    """Imports a subcommand only when it is called, and explains an unknown one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(LISTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PLACES:
            return None
        module, _, name = PLACES[cmd_name].partition(":")
        found: click.Command = getattr(importlib.import_module(f"kds.cli.commands.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in PLACES and not args[0].startswith("-"):
            words = [word for word in args if not word.startswith("-")]
            near, message = difflib.get_close_matches(words[0], LISTED, 1, 0.7), " ".join(words)
            route = f"route {shlex.quote(message.strip())}" if " " in message.strip() else "--help"
            hint = f"try kds {near[0] if near else route}"
            raise Refusal(f"no such command '{args[0].strip()}'", hint)
        return super().resolve_command(ctx, args)


_EXAMPLES: Final = (
    "kds route 'I want to add a FAB button'",
    "kds route 'Make it purple' --why",
    "kds '#file:KDS/prompts/user/kds.md I want to add a FAB button'",
)
_MORE: Final = "`kds help COMMAND` explains one; `kds help topics` lists the pages to read."


@click.command(
    cls=_Commands,
    epilog=with_examples(_EXAMPLES, _MORE),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(None, "--version", package_name="kds-router", message="%(prog)s %(version)s")
def app() -> None:
    """Route developer chat: resolve what a message refers to, and pick the agent for it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0, 1 tests failed, 2 bad input."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    if "--json-log" in given:
        from kds.cli.json_log import log_all_in_json

        log_all_in_json()
    if given and given[0].lstrip().startswith("#file:"):
        given.insert(0, "invoke")

    def run() -> object:
        return app.main(given, prog_name="kds", standalone_mode=False)

    sys.exit(guarded(run, as_json=wants_json(given)))
