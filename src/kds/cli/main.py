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

GROUPS: Final[Sections] = {
    "Begin here": {
        "route": (
            "commands.route:route",
            "Route MESSAGE: expand it, find its intent, pick the agent.",
        ),
        "init": ("setup.init:init", "Set KDS up in the coding assistants of a project."),
        "doctor": ("commands.status:doctor", "Check workspace, service, hook and client files."),
    },
    "Use": {
        "ask": ("commands.talk:ask", "Route MESSAGE, run its agent, print the answer."),
        "chat": ("commands.talk:chat", "Talk to the agents; without a model, see every turn."),
        "web": ("setup.service:web", "Open the page: chat, and a look at all that KDS knows."),
        "help": ("commands.help:help_", "Explain a command, or print a page of the documentation."),
    },
    "Set up": {
        "status": ("commands.status:status", "Show workspace, service, memory, model and hook."),
        "config": (
            "commands.config:config",
            "Show settings and where they come from; change them.",
        ),
        "export": ("setup.export:export", "Write skills, prompt files, agents or a plugin."),
    },
    "Teach and test": {
        "prompts": ("commands.prompts:prompts", "List, show, begin and check the prompt files."),
        "rules": ("commands.rules:rules", "List, begin and check the reference rules."),
        "learn": ("learning.learn_group:learn", "Teach what you mean; list it, take it back."),
        "test": ("evaluation.dialogue_tests:test", "Run dialogue files as tests."),
        "eval": ("evaluation.eval_command:evaluate", "Score the router on annotated data."),
        "metrics": ("metrics:metrics", "KDS's own numbers: recalls, turns, corrections."),
    },
    "Data": {
        "context": ("commands.route:context", "Load, log or clear the conversation context."),
        "memory": (
            "commands.memory:memory",
            "Search, show and look after remembered sessions.",
        ),
        "docs": ("commands.docs:docs", "Add, search and show documents, with citations."),
        "db": ("database.db_group:database", "Make and examine a PostgreSQL database."),
        "forget": ("commands.forgetting:forget", "Forget what was learned here, after a backup."),
    },
    "Serve": {
        "service": ("setup.service:service", "Start, stop or look at the background service."),
        "serve": ("setup.serve:serve", "Keep a warm router, and answer on a socket or HTTP."),
        "team": ("setup.team:team", "Say who may use a service that people share."),
        "mcp": ("setup.mcp:mcp", "Serve the router to MCP clients."),
    },
}
"""Heading -> subcommand -> where it is defined in this room, loaded when it is called, and its
line in `kds --help`, which must not load them all."""

HIDDEN: Final = {"invoke": "commands.route:invoke"}

FORMER: Final[Mapping[str, str]] = {
    "explain": "route --why --no-log",
    "agents show": "prompts show",
    "agents": "prompts list",
    "intents lint": "prompts check --lint",
    "intents": "prompts check --lint",
    "prompts render": "prompts show --render",
    "logs": "service logs",
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
    "amnesia backups": "forget --backups",
    "amnesia": "forget",
    "context path": "context load --path",
}
"""Commands of the release before -> what is run in their place with the same arguments or, where it
begins with `kds`, what is to be typed instead. This goes with the next release."""

OBJECTS_BETWEEN_COLLECTIONS: Final = 50_000
"""Python's own 700 collects garbage hundreds of times while libraries are imported, and finds none:
5 % of the CPU time of a cold `kds route`."""

PLAIN: Final = "--plain"


class _Commands(MessageCommand, LateGroup):
    """Explains an unknown subcommand."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in self.places and not word.startswith("-"):
            raise Refusal(
                f"no such command '{word.strip()}'", f"try {_instead_of(args, self.listed)}"
            )
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
@click.option(
    "--plain", is_flag=True, help="No colours, no spinners, times in full: as in a pipe. "
    "May stand anywhere.",
)  # fmt: skip
def app(*, plain: bool) -> None:
    """Route developer chat: resolve what a message refers to, and pick the agent for it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0, 1 tests failed, 2 bad input."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)

    def run() -> object:
        return app.main(_spelled_out(given), prog_name="kds", standalone_mode=False)

    sys.exit(guarded(run, as_json=wants_json(given)))


def _instead_of(arguments: Sequence[str], commands: Iterable[str]) -> str:
    """What was meant by a first word that is no command: one like it, or a message to route."""
    words = [word for word in arguments if not word.startswith("-")]
    if words[0] in {"completion", "completions"}:
        shell = next((one for one in words[1:] if one in {"bash", "zsh", "fish"}), "bash")
        return f"_KDS_COMPLETE={shell}_source kds: it prints the completion (kds help cli)"
    near = difflib.get_close_matches(words[0], list(commands), n=1)
    if near:
        return f"kds {near[0]}"
    message = " ".join(words).strip()
    return f"kds route {shlex.quote(message)}" if " " in message else "kds --help"


def _spelled_out(arguments: Sequence[str]) -> list[str]:
    """Put `--plain` first, the hidden subcommand in front of `#file:`, and new names for former."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if PLAIN in arguments[:end]:
        rest = [one for one in arguments[:end] if one != PLAIN]
        return [PLAIN, *_spelled_out([*rest, *arguments[end:]])]
    if arguments and arguments[0].lstrip().startswith("#file:"):
        return ["invoke", *arguments]
    for count in (2, 1):
        former = " ".join(arguments[:count])
        if new := FORMER.get(former):
            return [*_renamed(former, new), *arguments[count:]]
    return list(arguments)


def _renamed(former: str, new: str) -> list[str]:
    """The words of the command that replaces a former one. Raises Refusal where none does."""
    if new.startswith("kds "):
        raise Refusal(f"`kds {former}` is gone", new)
    complain(f"`kds {former}` is now `kds {new}`")
    return new.split()
