"""`kds ask` and `kds chat`: messages that are routed and answered."""

import importlib.util
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import click

import kds
from kds.agents.agent import prompt_named
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import nearest
from kds.cli import base
from kds.cli.command import asked_json
from kds.cli.commands.route import entry_table, step_lines, turn_lines
from kds.cli.guard import Refusal, complain, complain_about, pass_on
from kds.cli.output import counted, fields, say, show
from kds.cli.terminal import slow, toned
from kds.service.service_client import LOADING, team_of
from kds.service.team_stores import memory_of
from kds.session.exchange import Answer

NO_ANSWER: Final = 3
"""Exit code when the model did not answer; the message is kept, and can be asked again."""

WAITING: Final = "waiting for the answer"
PROMPT: Final = "kds> "
ENDS: Final = ("/quit", "/exit")

HELP: Final = """\
/why       what each step did with the last turn
/context   what the router remembers
/clear     forget the context, and what was under way; names what stays
/quit      leave; Ctrl-C halts a running answer"""

session_option = base.option(
    "--session NAME",
    "A conversation of its own: an id or title, or `last`; begun if there is none.",
)
model_option = base.option(
    "--model NAME", "The model to ask.  [default: $KDS_MODEL, else your settings]"
)


@base.command(
    "kds ask 'I want to add a FAB button'",
    "git diff | kds ask - --agent change-governor --json",
    message=True,
    closing="Exit code 3: the model did not answer; the message is kept, "
    "and `kds ask continue` asks again.",
)
@base.message_argument
@base.flag("--dry-run", "Print what would be sent; ask and keep nothing.")
@base.option("--agent NAME", "The agent to take it: work-planner, or PLAN.")
@session_option
@model_option
@base.flag("--no-log", "Keep nothing: neither message nor answer.")
@base.context_option
def ask(
    words: tuple[str, ...], *, dry_run: bool, agent: str | None, session: str | None,
    model: str | None, no_log: bool, context: str | None, workspace: Workspace,
) -> int:  # fmt: skip
    """Route MESSAGE, run the agent it is for, print the answer, remember both.

    Without a model the answer is the agent's prompt. What cannot be undone asks first: answer
    with `kds ask yes`. MESSAGE may be several words; `-`, or nothing at all, reads it from a pipe.
    """
    message = base.read_message(words)
    keeps = not (no_log or dry_run)
    if agent is not None:  # refuse a wrong name before the rest is loaded
        prompt_named(agent, kds.PromptLibrary.sound(workspace.prompts_dir)[0])
    with slow(LOADING):
        asked = _opened(workspace, name=session, context=context, model=model, log=keeps)
    with asked:
        pass_on(asked.warnings)
        if dry_run:
            with slow(WAITING):
                preview = asked.preview(message, agent=agent)
            pass_on(() if asked_json() else preview.notes)
            say(
                fields(preview, "turn says notes messages"),
                preview.says or None,
                [[(f"--- {one['role']}", ""), one["content"]] for one in preview.messages],
            )
            return 0
        if asked_json():
            with slow(WAITING):
                answer = asked.ask(message, agent=agent)
            say(answer)
        else:
            answer = _show_stream(asked.stream(message, agent=agent))
        _tell_about(answer, has_model=bool(asked.model))
        if keeps and asked.client.alone:
            base.start_afterwards(workspace)
    return 0 if answer.error is None else NO_ANSWER


@base.command(
    "printf 'I want to add a FAB button\\nMake it purple\\n/why\\n' | kds chat",
    message=True,
    common=(base.WORKSPACE,),
)
@base.message_argument
@session_option
@model_option
@base.context_option
@base.flag("--no-log", "Keep nothing of what is said.")
def chat(
    *, words: tuple[str, ...], session: str | None, model: str | None, context: str | None,
    no_log: bool, workspace: Workspace,
) -> None:  # fmt: skip
    """Talk to the agents. Without a model, every turn shows its expansion, intent and agent.

    MESSAGE, where there is one, is said first; it may be several words.

    /why, /context, /clear, /help and /quit are commands; all else is a message. Ctrl-C halts a
    running answer.
    """
    with slow(LOADING):
        opened = _opened(workspace, name=session, context=context, model=model, log=not no_log)
    with opened:
        pass_on(opened.warnings)
        if sys.stdin is None:
            raise Refusal("there is no input to read", "run it in a terminal, or pipe messages in")
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        if interactive:
            who = "your model answers" if opened.model else "no model is set"
            where = toned(session or workspace.root.name, "intent")
            click.echo(f"{where}  {toned(f'{who}. Type a message, /help or /quit.', 'label')}")
        first = filter(None, (" ".join(words),))
        last: Answer | None = None
        for line in map(str.strip, chain(first, _lines(interactive=interactive))):
            if line.lower() in ENDS:
                break
            try:
                last = _take(line, opened, last)
            except KdsError as error:
                complain_about(error)
            except KeyboardInterrupt:
                if not interactive:
                    raise
                click.echo()
                complain("halted; what was said so far is kept")
            if opened.client.alone and not no_log:
                base.start_now(workspace)  # it answers once it has loaded


def _opened(workspace: Workspace, *, log: bool, **how: Any) -> "kds.Session":
    """Open a session of the workspace; of the team's service where the user is logged in."""
    if (team := team_of(workspace)) is None:
        return kds.Session.open(workspace, log=log, **how)
    from kds.session.team import TeamRecords, TeamSessionMemory  # for few

    memory = TeamSessionMemory(workspace, team, keeps=log)
    return kds.Session.open(
        workspace, log=log, memory=memory, routed=lambda _: (TeamRecords(memory), team), **how
    )


def _take(line: str, session: "kds.Session", last: Answer | None) -> Answer | None:
    """Handle one line of a chat; returns its last answer."""
    match line.lower():
        case "/why":
            show(step_lines(last.turn) if last else "nothing was routed yet")
        case "/context":
            show(entry_table(session.records.journal(session.conversation).load().entries))
        case "/clear":
            stays = session.memory.session
            kept = any(one.id == stays for one in session.memory.sessions())
            click.echo(f"cleared {counted(session.clear(), 'message')}")
            if kept:
                click.echo(f"still in {memory_of(session.workspace)}: what both sides said")
                click.echo(f"delete that, too: kds memory delete {stays} --yes")
        case "/help":
            click.echo(HELP)
        case said if said.startswith("/") and said[1:].isalpha():
            near = nearest(said, ["/why", "/context", "/clear", "/help", *ENDS])
            complain(f"no such command '{line}'", f"try {near or '/help'}")
        case said if said:
            last = _answer(line, session)
    return last


def _answer(message: str, session: "kds.Session") -> Answer:
    if session.model:
        found = _show_stream(session.stream(message))
    else:
        with slow(WAITING):
            found = session.ask(message)
        show(turn_lines(found.turn))
        if found.question and found.question != found.turn.question:
            show(("confirm", found.question))
        elif not found.replies and not found.question:
            show(("", found.text))
    _tell_about(found, has_model=True)
    click.echo()
    return found


def _lines(*, interactive: bool) -> Iterator[str]:
    """The lines of the input; at a terminal, with history and line editing."""
    if not interactive:
        yield from sys.stdin
        return
    if importlib.util.find_spec("readline"):
        importlib.import_module("readline")
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:  # as in a shell: the line is dropped
            click.echo("\n/quit leaves")


def _show_stream(pieces: Iterator[str | Answer]) -> Answer:
    """Print the pieces as they arrive and return the final answer.

    A prompt that stands in for an answer is not printed.
    """
    last = "\n"
    with slow(WAITING) as notice:
        for piece in pieces:
            notice.end()
            if isinstance(piece, Answer):
                if not last.endswith("\n"):
                    click.echo()
                if piece.turn.noted:
                    complain(f"noted: {piece.turn.noted}")
                return piece
            click.echo(piece, nl=False)
            sys.stdout.flush()
            last = piece or last
    raise AssertionError("an exchange ends with its answer")


def _tell_about(answer: Answer, *, has_model: bool) -> None:
    """Report on stderr what went wrong with an answer and what may come next."""
    error = answer.error
    pass_on(note for note in answer.notes if error is None or error.message not in note)
    if error is not None:
        again = "the message is kept: `kds ask continue` asks again"
        hint = "; ".join(filter(None, (error.hint, again)))
        complain_about(KdsError(error.message, where=error.where, hint=hint))
    hint = ""
    if not has_model and answer.replies:
        hint = "no model is set, so this is the prompt for one: set KDS_MODEL to have it answered"
    elif answer.handoffs and not (answer.question or answer.proposal):
        offer = answer.handoffs[0]
        because = f", since {offer.reason}" if offer.reason else ""
        hint = f"next: {offer.intent} ({offer.agent}){because}; say 'go ahead'"
    if hint and sys.stderr.isatty():
        click.echo(toned(hint, "label", err=True), err=True)
