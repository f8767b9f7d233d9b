"""`kds route`, `kds context` and the `#file:` forms: messages, and the ten that are remembered."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

import kds
from kds.brain.clock import utc_now
from kds.brain.context.journal import Contexts, LoadedContext
from kds.brain.context.names import Kind, conversation_path, is_same_terminal, terminal_origin
from kds.brain.message import clean_message, well_formed
from kds.brain.turn import WARNING, ContextEntry, Turn, Utterance, entry_to_wire
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.guard import Refusal, complain, pass_on
from kds.cli.output import Shown, Table, counted, say
from kds.cli.terminal import slow, toned
from kds.router.intents.policy import ACT_MIN
from kds.service.service_client import How, RouterClient, team_of

why_option = base.flag("--why", "Also print what every step recorded.")
no_log_option = base.flag("--no-log", "Leave the conversation context as it is.")
reply_option = base.option(
    "--reply TEXT", "What the assistant said last: its question, its options.", to="history",
    callback=lambda _, __, text: [Utterance(well_formed(text), "assistant")] if text else [],
)  # fmt: skip


@base.command(
    "kds route 'Make it purple' --why",
    "kds route 'yes, do it' --reply 'Shall I raise the limit to 512Mi?'",
    "echo 'Make it purple' | kds route - --json --no-log",
    message=True,
)
@base.message_argument
@why_option
@base.flag("--prompt", "Print the agent's prompt alone.", to="prompt_only")
@no_log_option
@reply_option
@base.context_option
def route(
    words: tuple[str, ...], *, why: bool, prompt_only: bool, no_log: bool,
    history: list[Utterance] | None, context: str | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Route MESSAGE: expand it, find its intent, pick the agent, remember it.

    MESSAGE may be several words; `-`, or nothing at all, reads it from a pipe. A service that
    runs does the work; where none runs, one is started for the next message.
    """
    message = base.read_message(words)
    kind: Kind = "prompt-file" if message.startswith("#file:") else "terminal"
    how: How = {
        "conversation": context, "origin": terminal_origin(kind), "log": not no_log,
        "history": history or [],
    }  # fmt: skip
    client = RouterClient(workspace, tell=complain, watch=slow)
    if (team := team_of(workspace)) is not None:
        with slow("waiting for the team's service"):
            turn = team.route(message, tell=complain, **how)
    else:
        turn = client.route(message, **how)
    # of the context: a line that cannot be read
    pass_on(note.removeprefix(WARNING) for note in turn.why if note.startswith(WARNING))
    if client.alone and not no_log:
        base.start_afterwards(workspace)
    lines: list[Shown] = [turn.prompt] if prompt_only else [turn_lines(turn)]
    if turn.prompt and turn.agent and not prompt_only:
        lines.append(("prompt", f"{len(turn.prompt):,} characters; --prompt prints it"))
    report = {**turn.as_dict(), **({"steps": turn.records} if why else {})}
    say(report, lines, step_lines(turn) if why else None)


def turn_lines(turn: Turn) -> Iterator[Shown]:
    """How a message was routed: a few labelled lines."""
    yield "message", turn.message
    if turn.notice:
        yield "note", toned(turn.notice, "note")
        return
    if turn.expanded != turn.message:
        yield "expanded", turn.expanded
    also = f", also {', '.join(turn.secondary_intents)}" if turn.secondary_intents else ""
    certainty = toned(f"{turn.confidence:.2f}", "sure" if turn.confidence >= ACT_MIN else "unsure")
    yield "intent", f"{toned(turn.intent, 'intent')} ({certainty}){also}"
    if turn.context_switch:
        yield "switch", "a new topic: the earlier context no longer counts"
    elif turn.context_ref:
        yield "refers to", toned(turn.context_ref, "resolved")
    acts = turn.agent and turn.action == "route"
    details = {
        "session": turn.session_id,
        "agent": f"{turn.agent} ({turn.prompt_file})" if acts else "",
        "action": "" if acts else turn.action,
        "question": turn.question,
        "noted": turn.noted,
    }
    yield [(label, text) for label, text in details.items() if text]


def step_lines(turn: Turn) -> Iterator[Shown]:
    """What every step recorded, with its CPU time."""
    for record in turn.records:
        yield record.step, f"{record.cpu_ms:.1f} ms"
        yield [("", note) for note in record.notes]
    if not turn.records:
        yield "why", "no step ran"


@base.group("kds context load", name="context")
def context() -> None:
    """Load, log or clear the conversation context: ten messages, two hours."""


@base.command("kds context load", 'wc -l "$(kds context load --path)"', of=context)
@base.flag("--path", "Print where the file is, or would be, instead.", to="only_path")
@base.context_option
def load(*, only_path: bool, context: str | None, workspace: Workspace) -> None:
    """Show what is remembered, oldest first, and which terminal said it."""
    team = team_of(workspace)
    if not only_path:
        _show(team.context(context) if team else Contexts(workspace).journal(context).load())
        return
    if team is not None:
        raise Refusal("a team's service has no file of the context", "kds context load shows it")
    place = workspace.context_path if context is None else conversation_path(workspace, context)
    say({"path": place}, str(place))


@base.command(
    "kds context log --message 'Make it purple' --intent EXECUTE --context-ref 'FAB button'",
    of=context,
)
@base.option("--message TEXT", "What the user said.", required=True)
@base.option("--intent TEXT", "Its intent, such as EXECUTE.", required=True)
@base.option("--context-ref TEXT", "What it refers to.")
@base.option("--session-id TEXT", "The session it belongs to.")
@base.context_option
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


@base.command("kds context clear", of=context)
@base.context_option
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


def entry_table(entries: Sequence[ContextEntry]) -> Table:
    """The conversation context, oldest first, and where each line was typed."""
    own = terminal_origin()
    rows = [
        (entry.timestamp, entry.intent, entry.user_message, entry.context_ref, entry.session_id,
         "here" if is_same_terminal(entry.origin, own) else entry.origin)
        for entry in entries
    ]  # fmt: skip
    columns = ("time", "intent", "message", "refers to", "session", "from")
    return Table(columns, rows, "the conversation context is empty")


@base.command(
    "kds '#file:KDS/prompts/user/kds.md I want to add a FAB button'",
    "kds '#file:KDS/prompts/internal/conversation-context-manager.md' load",
    hidden=True,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@why_option
@no_log_option
@base.context_option
@click.pass_context
def invoke(
    ctx: click.Context, words: tuple[str, ...], *, why: bool, no_log: bool, context: str | None,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Do what a `#file:` invocation asks for; its text may come in one argument or several."""
    from kds.router.prompts import invocation  # needs pydantic

    head, *others = words
    # The context manager reads a command line: its arguments get back the quotes that the shell
    # took off.
    managers = (invocation.CONTEXT_MANAGER, invocation.CLEAR_CONVERSATION)
    is_command = head.strip().endswith(tuple(Path(one).name for one in managers))
    text = f"{head} {shlex.join(others) if is_command else ' '.join(others)}".rstrip()
    library = kds.PromptLibrary.sound(workspace.prompts_dir)[0]
    found = invocation.parse_invocation(text, library)
    place = {"context": context, "workspace": workspace}
    if found is None or (asked := found.command) is None:
        ctx.invoke(route, words=(text,), why=why, prompt_only=False, no_log=no_log, **place)
    elif asked.operation == "load":
        ctx.invoke(load, only_path=False, **place)
    elif asked.operation == "clear":
        ctx.invoke(clear, **place)
    else:
        ctx.invoke(
            log, message=asked.message, intent=asked.intent, context_ref=asked.context_ref,
            session_id=asked.session_id, **place,
        )  # fmt: skip
