"""`kds chat`: talk to the agents; without a model, see what the router makes of every message."""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Final

import click

import kds
from kds.brain.document import nearest
from kds.brain.errors import KdsError
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.workspace import Workspace
from kds.cli.command import MessageCommand, command
from kds.cli.guard import Refusal, complain, complain_about, pass_on
from kds.cli.memory.session_commands import print_sessions
from kds.cli.options import context_option, message_argument, start_now, workspace_option
from kds.cli.output import print_entries, print_line, print_turn, print_why
from kds.cli.palette import for_people, toned
from kds.cli.progress import slow
from kds.cli.talk.answering import WAITING, show_stream, tell_about
from kds.cli.talk.ask import model_option, session_option
from kds.cli.terminal import harmless
from kds.service.desk import LOADING
from kds.session.answer import Answer

PROMPT: Final = "kds> "

ENDS: Final = ("/quit", "/exit")

SHOWN_SESSIONS: Final = 10

HELP: Final = """\
/why       reasons for the last turn
/prompt    the prompt of its agent
/context   what the router remembers
/sessions  conversations that are remembered; `kds chat --session NAME` resumes one
/clear     forget the context, and what was under way; names what stays
/quit      leave; Ctrl-C halts a running answer"""


@command(
    "kds chat",
    "kds chat hello",
    "kds chat --session 'Dark mode'",
    "printf 'I want to add a FAB button\\nMake it purple\\n/why\\n' | kds chat",
    cls=MessageCommand,
)
@message_argument
@session_option
@model_option
@context_option
@click.option("--no-log", is_flag=True, help="Keep nothing of what is said.")
@workspace_option
def chat(
    *, words: tuple[str, ...], session: str | None, model: str | None, context: str | None,
    no_log: bool, workspace: Workspace,
) -> None:  # fmt: skip
    """Talk to the agents. Without a model, every turn shows its expansion, intent and agent.

    MESSAGE, where there is one, is the first that is said; it may be several words.

    /why, /prompt, /context, /sessions, /clear, /help and /quit are commands; all else is a
    message. Ctrl-C halts a running answer.
    """
    with slow(LOADING):
        opened = kds.Session.open(
            workspace, name=session, context=context, model=model, log=not no_log
        )
    with opened:
        pass_on(opened.warnings)
        if sys.stdin is None:
            raise Refusal("there is no input to read", "run it in a terminal, or pipe messages in")
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        if interactive:
            click.echo(_header(opened, session))
        talk = _Chat(opened, interactive=interactive)
        for line in chain(filter(None, (" ".join(words),)), _lines(interactive=interactive)):
            if not talk.take(line):
                break
            if opened.alone and not no_log:
                start_now(workspace)  # it serves what is said once it has loaded


class _Chat:
    """The state of one chat: its session and its last answer."""

    def __init__(self, session: "kds.Session", *, interactive: bool) -> None:
        self.session = session
        self.interactive = interactive
        self.last: Answer | None = None
        self.commands: Mapping[str, Callable[[], None]] = {
            "/why": self.why,
            "/prompt": self.prompt,
            "/context": self.context,
            "/sessions": self.sessions,
            "/clear": self.clear,
            "/help": lambda: click.echo(HELP),
        }

    def take(self, line: str) -> bool:
        """Handle one line of input; False ends the chat."""
        words = line.strip()
        if words.lower() in ENDS:
            return False
        try:
            if command := self.commands.get(words.lower()):
                command()
            elif words.startswith("/") and words[1:].isalpha():
                near = nearest(words, [*self.commands, *ENDS])
                complain(f"no such command '{words}'", f"try {near or '/help'}")
            elif words:
                self.answer(words)
        except KdsError as error:
            complain_about(error)
        except KeyboardInterrupt:
            if not self.interactive:
                raise
            click.echo()
            complain("halted; what was said so far is kept")
        return True

    def answer(self, message: str) -> None:
        if self.session.has_model:
            with slow(WAITING) as arrived:
                pieces = self.session.stream(message)
                self.last = show_stream(pieces, arrived, rendered=for_people())
        else:
            with slow(WAITING):
                self.last = self.session.ask(message)
            print_turn(self.last.turn)
            if self.last.question and self.last.question != self.last.turn.question:
                print_line("confirm", self.last.question)
            elif not self.last.replies and not self.last.question:
                print_line("", self.last.text)
        tell_about(self.last, has_model=True)
        click.echo()

    def why(self) -> None:
        if self.last is None:
            click.echo("nothing was routed yet")
        else:
            print_why(self.last.turn)

    def prompt(self) -> None:
        prompt = self.last.turn.prompt if self.last else ""
        click.echo(harmless(prompt) if prompt else "nothing was routed yet")

    def context(self) -> None:
        conversations = self.session.conversations
        print_entries(conversations.journal(self.session.conversation).load().entries)

    def sessions(self) -> None:
        print_sessions(self.session.memory.sessions()[:SHOWN_SESSIONS])

    def clear(self) -> None:
        stays = self.session.memory.session
        kept = stays is not None and self.session.memory.find(stays) is not None
        count = self.session.clear()
        click.echo(f"cleared {count} {'entry' if count == 1 else 'entries'}")
        if kept:
            place = MemoryPlace.of(self.session.workspace)
            click.echo(f"still in {place}: what both sides said")
            click.echo(f"delete that, too: kds memory delete {stays} --yes")


def _header(opened: "kds.Session", session: str | None) -> str:
    """The line above a chat: with whom, where, and how to get help."""
    who = "your model answers" if opened.has_model else "no model is set"
    where = toned(session or opened.workspace.root.name, "intent")
    return f"{where}  {toned(f'{who}. Type a message, /help or /quit.', 'label')}"


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
        except KeyboardInterrupt:  # as in a shell: the line is dropped
            click.echo("\n/quit leaves")
