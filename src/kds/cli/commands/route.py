"""`kds route`, `kds context` and the `#file:` forms: messages, and the ten that are remembered."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

import kds
from kds.brain.clock import utc_now
from kds.brain.context.journal import Contexts, LoadedContext
from kds.brain.context.names import Kind, conversation_path, terminal_origin
from kds.brain.errors import MessageError
from kds.brain.message import clean_message, utterances, well_formed
from kds.brain.turn import WARNING, ContextEntry, Utterance, entry_to_wire
from kds.brain.workspace import Workspace
from kds.cli.command import MessageCommand, flag, group, option
from kds.cli.guard import Refusal, complain, pass_on
from kds.cli.options import (
    command,
    context_option,
    message_argument,
    read_message,
    start_afterwards,
)
from kds.cli.output import Shown, counted, entry_table, say, step_lines, turn_lines
from kds.cli.terminal import slow
from kds.service.service_client import How, RouterClient, team_of

why_option = flag("--why", "Also print what every step recorded.")
no_log_option = flag("--no-log", "Leave the conversation context as it is.")

reply_option = option("--reply TEXT", "What the assistant said last: its question, its options.")
history_option = option(
    "--history FILE", "What was said before: a JSON list of objects with role and content.",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)  # fmt: skip

_HISTORY_HINT = 'write a list: [{"role": "user", "content": "..."}]'


@command(
    "kds route 'Make it purple' --why",
    "kds route 'yes, do it' --reply 'Shall I raise the limit to 512Mi?'",
    "echo 'Make it purple' | kds route - --json --no-log",
    cls=MessageCommand,
)
@message_argument
@why_option
@flag("--prompt", "Print the agent's prompt alone.", to="prompt_only")
@no_log_option
@reply_option
@history_option
@context_option
def route(
    words: tuple[str, ...], *, why: bool, prompt_only: bool, no_log: bool, reply: str | None,
    history: Path | None, context: str | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Route MESSAGE: expand it, find its intent, pick the agent, remember it.

    MESSAGE may be several words; `-`, or nothing at all, reads it from a pipe. A service that
    runs does the work; where none runs, one is started for the next message.
    """
    message = read_message(words)
    before = read_history(history, reply)
    client = RouterClient(workspace, tell=complain, watch=slow)
    kind: Kind = "prompt-file" if message.startswith("#file:") else "terminal"
    how: How = {
        "conversation": context, "origin": terminal_origin(kind), "log": not no_log,
        "history": before,
    }  # fmt: skip
    if (team := team_of(workspace)) is not None:
        with slow("waiting for the team's service"):
            turn = team.route(message, tell=complain, **how)
    else:
        turn = client.route(message, **how)
    # of the context: a line that cannot be read
    pass_on(note.removeprefix(WARNING) for note in turn.why if note.startswith(WARNING))
    if client.alone and not no_log:
        start_afterwards(workspace)
    lines: list[Shown] = [turn.prompt] if prompt_only else [turn_lines(turn)]
    if turn.prompt and turn.agent and not prompt_only:
        lines.append(("prompt", f"{len(turn.prompt):,} characters; --prompt prints it"))
    report = {**turn.as_dict(), **({"steps": turn.records} if why else {})}
    say(report, lines, step_lines(turn) if why else None)


def read_history(file: Path | None, reply: str | None) -> list[Utterance]:
    """What was said before, oldest first, the last reply behind it. Raises MessageError."""
    last = [Utterance(well_formed(reply), "assistant")] if reply else []
    return [*(_read_history(file) if file else ()), *last]


def _read_history(file: Path) -> Sequence[Utterance]:
    try:
        return utterances(json.loads(file.read_text("utf-8-sig", errors="replace")))
    except json.JSONDecodeError as error:
        where = f"{file}:{error.lineno}"
        raise MessageError(f"not JSON: {error.msg}", where=where, hint=_HISTORY_HINT) from error
    except RecursionError as error:
        raise MessageError("nested too deeply", where=str(file), hint=_HISTORY_HINT) from error
    except MessageError as error:
        raise MessageError(error.message, where=str(file), hint=error.hint) from error


@group("kds context load", name="context")
def context() -> None:
    """Load, log or clear the conversation context: ten messages, two hours."""


@command("kds context load", 'wc -l "$(kds context load --path)"', of=context)
@flag("--path", "Print where the file is, or would be, instead.", to="only_path")
@context_option
def load(*, only_path: bool, context: str | None, workspace: Workspace) -> None:
    """Show what is remembered, oldest first, and which terminal said it."""
    if not only_path:
        team = team_of(workspace)
        _show(team.context(context) if team else Contexts(workspace).journal(context).load())
        return
    if team_of(workspace) is not None:
        raise Refusal("a team's service has no file of the context", "kds context load shows it")
    place = workspace.context_path if context is None else conversation_path(workspace, context)
    say({"path": place}, str(place))


@command(
    "kds context log --message 'Make it purple' --intent EXECUTE --context-ref 'FAB button'",
    of=context,
)
@click.option("--message", required=True, help="What the user said.")
@click.option("--intent", required=True, help="Its intent, such as EXECUTE.")
@click.option("--context-ref", help="What it refers to.")
@click.option("--session-id", help="The session it belongs to.")
@context_option
def log(
    *, message: str, intent: str, context_ref: str | None, session_id: str | None,
    context: str | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Remember one message, with secrets taken out."""
    if (team := team_of(workspace)) is not None:
        said = {"message": message, "intent": intent, "context_ref": context_ref}
        _show(team.log({**said, "session_id": session_id, "conversation": context}))
        return
    entry = ContextEntry(
        timestamp=utc_now(),
        user_message=clean_message(message),
        intent=kds.PromptLibrary.sound(workspace.prompts_dir)[0].intent_named(intent),
        session_id=clean_message(session_id) if session_id else None,
        context_ref=clean_message(context_ref) if context_ref else None,
    )
    workspace.ensure()
    _show(Contexts(workspace).journal(context).log(entry))


@command("kds context clear", of=context)
@context_option
def clear(*, context: str | None, workspace: Workspace) -> None:
    """Forget the conversation context."""
    if (team := team_of(workspace)) is not None:
        count = team.clear(context)
    else:
        count = Contexts(workspace).journal(context).clear()
        kds.TurnLog(workspace).forget(context)
    say({"cleared": count}, f"cleared {counted(count, 'message')}")


def _show(loaded: LoadedContext) -> None:
    pass_on(loaded.warnings)
    entries = [entry_to_wire(entry) for entry in loaded.entries]
    say({"entries": entries}, entry_table(loaded.entries))


@command(
    "kds '#file:KDS/prompts/user/kds.md I want to add a FAB button'",
    "kds '#file:KDS/prompts/internal/conversation-context-manager.md' load",
    hidden=True,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@why_option
@no_log_option
@context_option
@click.pass_context
def invoke(
    ctx: click.Context, words: tuple[str, ...], *, why: bool, no_log: bool, context: str | None,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Do what a `#file:` invocation asks for; its text may come in one argument or several."""
    from kds.router.prompts.invocation import (  # late: needs pydantic
        CLEAR_CONVERSATION,
        CONTEXT_MANAGER,
        parse_invocation,
    )

    head, *others = words
    # The context manager reads a command line: its arguments get back the quotes that the shell
    # took off.
    is_command = head.strip().endswith((Path(CONTEXT_MANAGER).name, Path(CLEAR_CONVERSATION).name))
    text = f"{head} {shlex.join(others) if is_command else ' '.join(others)}".rstrip()
    invocation = parse_invocation(text, kds.PromptLibrary.sound(workspace.prompts_dir)[0])
    command = invocation.command if invocation else None
    place = {"context": context, "workspace": workspace}
    if command is None:
        ctx.invoke(route, words=(text,), why=why, prompt_only=False, no_log=no_log, **place)
    elif command.operation == "load":
        ctx.invoke(load, only_path=False, **place)
    elif command.operation == "clear":
        ctx.invoke(clear, **place)
    else:
        ctx.invoke(
            log, message=command.message, intent=command.intent, context_ref=command.context_ref,
            session_id=command.session_id, **place,
        )  # fmt: skip
