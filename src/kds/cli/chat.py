"""`kds chat`: a prompt that shows what the router makes of every message."""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import click

import kds
from kds.brain.document import nearest
from kds.brain.errors import KdsError
from kds.cli.guard import Refusal, complain, complain_about
from kds.cli.options import open_router, workspace_option
from kds.cli.output import print_entries, print_turn, print_why

PROMPT: Final = "kds> "


@click.command(
    epilog="""\b
Examples:
  kds chat
  printf 'I want to add a FAB button\\nMake it purple\\n/why\\n' | kds chat"""
)
@click.option("--no-log", is_flag=True, help="Leave the conversation context as it is.")
@workspace_option
def chat(*, no_log: bool, workspace: Path | None) -> None:
    """Talk to the router: every turn shows its expansion, intent and agent.

    /why, /context, /clear, /help and /quit are commands; all else is a message.
    """
    router = open_router(workspace, log=not no_log)
    if sys.stdin is None:
        raise Refusal("there is no input to read", "run it in a terminal, or pipe messages in")
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    if interactive:
        click.echo("Type a message, /help or /quit.")
    session = _Chat(router)
    for line in _lines(interactive=interactive):
        if not session.take(line):
            break


class _Chat:
    """The state of one chat: its router and its last turn."""

    def __init__(self, router: "kds.Router") -> None:
        self.router = router
        self.last: kds.Turn | None = None
        self.commands: Mapping[str, Callable[[], bool]] = {
            "/why": self.why,
            "/context": self.context,
            "/clear": self.clear,
            "/help": self.help,
            "/quit": lambda: False,
            "/exit": lambda: False,
        }

    def take(self, line: str) -> bool:
        """Handle one line of input; False ends the chat."""
        words = line.strip()
        if not words:
            return True
        try:
            if command := self.commands.get(words.lower()):
                return command()
            if words.startswith("/") and words[1:].isalpha():
                return self.unknown(words)
            self.route(words)
        except KdsError as error:
            complain_about(error)
        return True

    def route(self, message: str) -> None:
        self.last = self.router.route(message)
        print_turn(self.last)
        click.echo()

    def why(self) -> bool:
        if self.last is None:
            click.echo("nothing was routed yet")
        else:
            print_why(self.last)
        return True

    def context(self) -> bool:
        print_entries(self.router.context.load().entries)
        return True

    def clear(self) -> bool:
        count = self.router.context.clear()
        click.echo(f"cleared {count} {'entry' if count == 1 else 'entries'}")
        return True

    def help(self) -> bool:
        click.echo("/why      reasons for the last turn\n/context  what is remembered")
        click.echo("/clear    forget it\n/quit     leave")
        return True

    def unknown(self, words: str) -> bool:
        near = nearest(words, list(self.commands))
        complain(f"no such command '{words}'", f"try {near or '/help'}")
        return True


def _lines(*, interactive: bool) -> Iterator[str]:
    if not interactive:
        yield from sys.stdin
        return
    if importlib.util.find_spec("readline"):
        # Loading it is all it takes: input() then has history and line editing.
        importlib.import_module("readline")
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            click.echo()
            return
