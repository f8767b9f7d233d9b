"""The `kds` command: its subcommands, and the forms that need no subcommand."""

import difflib
import gc
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import Final

import click

from kds.cli.command import LateGroup, MessageCommand, command
from kds.cli.commands import GROUPS, HIDDEN
from kds.cli.guard import Refusal, guarded, wants_json

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
    """Put `--plain` first, and the hidden subcommand in front of a `#file:` invocation."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if PLAIN in arguments[:end]:
        rest = [one for one in arguments[:end] if one != PLAIN]
        return [PLAIN, *_spelled_out([*rest, *arguments[end:]])]
    if arguments and arguments[0].lstrip().startswith("#file:"):
        return ["invoke", *arguments]
    return list(arguments)
