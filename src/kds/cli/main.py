"""The `kds` command: its subcommands, and the forms that need no subcommand."""

import difflib
import gc
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import click

from kds.cli.command import LateGroup, MessageCommand, Sections, command
from kds.cli.guard import Refusal, complain, guarded, wants_json
from kds.cli.terminal import log_in_json

GROUPS: Final[Sections] = {
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
        "export": ("init:export_", "Write skills, prompt files or a plugin."),
    },
    "Teach and test": {
        "prompts": ("prompts:prompts", "List, show, create and check prompt files."),
        "rules": ("prompts:rules", "List, create and check reference rules."),
        "skills": ("skills:skills", "Skills and agents: which fits a prompt; list, check, test."),
        "learn": ("learn:learn", "Teach what you mean; list it, take it back."),
        "test": ("evaluate:test", "Run dialogue files as tests."),
        "eval": ("evaluate:evaluate", "Score the router on annotated data."),
        "metrics": ("status:metrics", "KDS's own metrics: recalls, turns, corrections."),
    },
    "Data": {
        "context": ("route:context", "Load, log or clear the conversation context."),
        "memory": ("memory:memory", "Search, show and look after remembered sessions."),
        "docs": ("docs:docs", "Add, search and show documents, with citations."),
        "db": ("shared:database", "Set up and check a PostgreSQL database."),
        "forget": ("learn:forget", "Forget what was learned here, after a backup."),
    },
    "Serve": {
        "service": ("service:service", "Start, stop or look at the background service."),
        "serve": ("service:serve", "Run the service in the foreground, on a socket or HTTP."),
        "team": ("shared:team", "Manage tokens for a shared service."),
        "login": ("shared:login", "Work with a team's service, by token."),
        "logout": ("shared:logout", "Forget the token of a team's service."),
        "mcp": ("service:mcp", "Serve the router to MCP clients."),
    },
}
"""Heading -> subcommand -> where it is defined, and its line in `kds --help`."""

HIDDEN: Final = {"invoke": "route:invoke"}

FORMER: Final[Mapping[str, str]] = {
    "explain": "route --why --no-log",
    "agents show": "prompts show",
    "agents": "prompts list",
    "intents lint": "prompts check --lint",
    "intents": "prompts check --lint",
    "prompts render": "prompts show --render",
    "logs": "service logs",
    "memory list": "memory show",
    "memory stats": "memory check",
    "memory rebuild": "memory check --rebuild",
    "memory backfill": "memory check --backfill",
    "memory new": "kds ask --session TITLE MESSAGE",
    "docs check": "memory check",
    "docs embed": "memory check --backfill",
    "service restart": "kds service stop, then kds service start",
    "db migrate": "kds memory export --all --to FILE, and there kds memory import FILE",
    "db stats": "db check",
    "amnesia restore": "forget --restore",
    "amnesia": "forget",
    "context path": "context load --path",
    "config list": "config",
    "docs list": "docs show",
    "team audit": "team list --audit",
    "team revoke": "kds team remove PERSON --token all",
    "learn teach-reference": "kds learn teach DESCRIPTION --means THING",
    "learn status": "learn list",
    "learn review": "learn list",
    "learn correct": "learn teach",
    "learn accept": "kds learn teach MESSAGE INTENT",
    "learn reject": "nothing: what you do not teach changes nothing",
}
"""Commands of the release before -> what runs in their place with the same arguments, or what the
user is told to do: where the first word is not a command. This goes with the next release."""

OBJECTS_BETWEEN_COLLECTIONS: Final = 50_000
"""With Python's own 700, garbage is collected hundreds of times while libraries are imported, and
none is found: 5 % of the CPU time of a cold `kds route`."""


class _Commands(MessageCommand, LateGroup):
    """Explains an unknown subcommand."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in self.places and not word.startswith("-"):
            hint = f"try {_instead_of(args, self.listed)}"
            raise Refusal(f"no such command '{word.strip()}'", hint)
        return super().resolve_command(ctx, args)


@command(
    "kds route 'I want to add a FAB button'",
    "kds route 'Make it purple' --why",
    "kds '#file:KDS/prompts/user/kds.md I want to add a FAB button'",
    cls=_Commands,
    sections=GROUPS,
    hidden=HIDDEN,
    context_settings={"help_option_names": ["-h", "--help"]},
    closing="`kds help COMMAND` explains one; `kds help topics` lists the pages to read.",
)
@click.version_option(None, "--version", package_name="kds-router", message="%(prog)s %(version)s")
def app() -> None:
    """Route developer chat: resolve what a message refers to, and pick the agent for it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0, 1 tests failed, 2 bad input."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)

    if "--json-log" in given:
        log_in_json()

    def run() -> object:
        return app.main(_spelled_out(given), prog_name="kds", standalone_mode=False)

    sys.exit(guarded(run, as_json=wants_json(given)))


def _instead_of(arguments: Sequence[str], commands: Iterable[str]) -> str:
    """What an unknown first word may mean: a command like it, or a message to route."""
    words = [word for word in arguments if not word.startswith("-")]
    if near := difflib.get_close_matches(words[0], list(commands), n=1):
        return f"kds {near[0]}"
    message = " ".join(words).strip()
    return f"kds route {shlex.quote(message)}" if " " in message else "kds --help"


def _spelled_out(arguments: Sequence[str]) -> list[str]:
    """Put the hidden subcommand in front of `#file:`, and new names for former ones."""
    if arguments and arguments[0].lstrip().startswith("#file:"):
        return ["invoke", *arguments]
    for count in (2, 1):
        former = " ".join(arguments[:count])
        new = FORMER.get(former, "")
        if new.startswith(("kds ", "nothing")):
            raise Refusal(f"`kds {former}` is gone", new)
        if new:
            complain(f"`kds {former}` is now `kds {new}`")
            return [*new.split(), *arguments[count:]]
    return list(arguments)
