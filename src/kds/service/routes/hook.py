"""The prompt hook of an assistant: `POST /hook`."""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from kds.activation import Activator, Entry
from kds.activation.uses import Uses
from kds.brain.environment import HOME_VARIABLE
from kds.brain.errors import ConfigError, KdsError
from kds.brain.settings import ActivationSettings, LiveConfig, SecretsMode, Settings, load_layers
from kds.brain.turn import Utterance
from kds.brain.workspace import Workspace
from kds.hooks.log import note_answer
from kds.hooks.reply import (
    PROBED,
    HookCall,
    activation_line,
    as_output,
    goes_on,
    hook_hint,
    left_alone,
    read_hook,
    says_enough,
    why_no_hint,
)
from kds.hooks.secrets import files_read, leak_in, prompt_stopped, prompt_warned, tool_answer
from kds.service.errors import TooLargeError
from kds.service.requests import JSON, MESSAGE_LIMIT, opened, root_of
from kds.service.workspaces import ServedWorkspace, Worker
from kds.transcripts.arriving import (
    keep_current,
    keep_session,
    points_back,
    prompt_line,
    session_start,
)
from kds.transcripts.json_lines import Followed, read_transcript

WITHIN_S: Final = 1.0  # nobody types the same prompt twice in a second
SESSIONS: Final = 256  # of a workspace that are followed
START_S: Final = 0.7  # that the start of a session waits for an import
RECALL_S: Final = 0.8  # that a prompt which points back waits for the past; the hook has 1.5

SETTLED_S: Final = 2.0
"""Seconds after which a client has written what was said when it told of an end: Copilot CLI writes
the last reply up to 0.3 s later, without a terminal when it exits."""


class Answer(NamedTuple):
    """What the hook prints, None for nothing, and what is noted of it in its log."""

    output: Mapping[str, Any] | None = None
    noted: str = ""


class HookState:
    """What the hooks of a workspace are remembered by, as long as it is open."""

    def __init__(self) -> None:
        self._prompts: dict[tuple[str | None, str], float] = {}
        self._activators: dict[tuple[str | None, ActivationSettings], asyncio.Task[Activator]] = {}
        self.session = lru_cache(SESSIONS)(lambda name: Followed())
        """A session by its name, as far as it was read."""

    def has(self, call: HookCall) -> bool:
        """Whether ``call`` is a prompt sent twice: by two hooks of one client, each configured in
        its own file. From now on it is known."""
        now_s, key = time.monotonic(), (call.session, call.prompt)
        last = {k: at for k, at in self._prompts.items() if now_s - at < WITHIN_S}
        self._prompts = {**last, key: now_s}
        return key in last

    def activator(
        self, served: ServedWorkspace, client: str | None, chosen: ActivationSettings
    ) -> Activator | None:
        """Return the activator once it is read; None before, and when it cannot be."""
        if (task := self._activators.get((client, chosen))) is None:
            reading = asyncio.to_thread(
                Activator.open, served.workspace, client=client,
                precision=chosen.precision, learn=chosen.learn,
            )  # fmt: skip
            task = self._activators[client, chosen] = asyncio.create_task(reading)
        return task.result() if task.done() and task.exception() is None else None


_states: WeakKeyDictionary[ServedWorkspace, HookState] = WeakKeyDictionary()
_background: set[asyncio.Task[None]] = set()  # the event loop itself keeps no hold of tasks

router = APIRouter()


@router.post("/hook", response_model=JSON, responses={204: {"description": "Nothing to say."}})
async def hook(request: Request) -> Response:
    """Answer the hook of an assistant: what to add to a prompt, or why not to send it.

    The body is the hook input as the client wrote it (`kds.hooks.reply`).
    """
    call, keeper = read_hook(await request.body()), request.app.state.workspaces.keeper
    root = root_of(request)
    level: SecretsMode = "off" if call.probe else _level(root)
    shown, warning, leaked = dict[str, Any](), None, ""
    if call.event == "tool":
        answer = _of_tool(call, level)
    elif call.event == "end":
        answer = _of_end(root, call, keeper)
    else:
        leak = None
        if call.event == "prompt" and level != "off":
            leak = await asyncio.to_thread(leak_in, call.prompt)
        if leak and level == "block":  # before a workspace that loads slowly, or not at all
            answer = Answer(prompt_stopped(leak, call.client), f"stopped: {leak.kinds}")
        else:
            if leak:
                shown, warning = prompt_warned(leak, call.client)
                leaked = f"warned: {leak.kinds}; "
            async with opened(request) as served:
                answer = await _answer(served, call, keeper, warning)
    output, noted = {**(answer.output or {}), **shown}, f"{leaked}{answer.noted}"
    if noted and not call.probe and (live := _live(root)):
        with suppress(OSError):
            brain = str(live.workspace.brain)
            note_answer(brain, call.client, call.session, call.event, noted)
    return JSONResponse(output) if output else Response(status_code=204)


@lru_cache(64)
def _live(root: str) -> LiveConfig | None:
    """The settings of a workspace; None where none is named."""
    if not root or "\0" in root:
        return None
    return LiveConfig(Workspace.find(environ={HOME_VARIABLE: root}))


def _level(root: str) -> SecretsMode:
    """What is to be done about secrets. Where the workspace's settings are wrong, the user's own
    count: a cloned project must not switch off what they ask for."""
    if (live := _live(root)) is None:
        return "off"  # opening it says what is wrong
    with suppress(ConfigError):
        settings = live.settings
        if live.problem is not None:
            own = load_layers(live.workspace, texts={live.workspace.settings_path: ""})
            settings = own.settings()
        return settings.hook.secrets
    return "off"


def _of_tool(call: HookCall, level: SecretsMode) -> Answer:
    """What to say about a call of a tool: something if it reads a file of secrets."""
    files = files_read(call)
    if level == "off" or not files:
        return Answer()
    done = "refused" if level == "block" else "warned"
    return Answer(tool_answer(files, call.client, level), f"{done}: a file of secrets")


def _of_end(root: str, call: HookCall, keeper: Worker) -> Answer:
    """Have what is new of a session imported; the client waits for nothing, nor for a workspace."""

    async def keep(settings: Settings, session: str) -> None:
        for pause_s in (0, SETTLED_S):  # once more when the client has written the rest of it
            await asyncio.sleep(pause_s)
            await keeper.run(lambda: keep_session(settings, session))

    with suppress(ConfigError):
        if call.session and (live := _live(root)):
            _in_background(keep(live.settings, call.session))
    return Answer()


async def _answer(
    served: ServedWorkspace, call: HookCall, keeper: Worker, warning: str | None
) -> Answer:
    """What to say about a start or a prompt; ``warning`` in any case."""
    chosen = served.memory.config.settings
    if call.event == "start":
        return await _of_start(served, call, chosen, keeper)
    if call.event != "prompt":
        return Answer()
    why = left_alone(call.prompt)
    if why is None and not call.probe and _state(served).has(call):
        why = "the same prompt came twice within a second"
    if why is not None:
        answer = Answer(as_output(warning, call.client) if warning else None, f"silent: {why}")
    elif len(call.prompt) > MESSAGE_LIMIT:
        message = f"the prompt is longer than {MESSAGE_LIMIT:,} characters"
        raise TooLargeError(message, where="prompt")
    else:
        answer = await _of_prompt(served, call, chosen, warning)
    if not call.probe:
        _in_background(keeper.run(lambda: keep_current(chosen)))
    return answer


async def _of_prompt(
    served: ServedWorkspace, call: HookCall, chosen: Settings, warning: str | None
) -> Answer:
    """What to add to a prompt, which is routed and remembered."""
    history = await asyncio.to_thread(
        read_transcript, call.transcript or "", prompt=call.prompt, client=call.client
    )
    route = partial(
        served.route,
        call.prompt,
        history=history,
        conversation=call.session,
        join=True,
        inherit=goes_on(call.prompt),
        log=not call.probe,
        rewrite=False,  # a hook has 1.5 s, and its output is read by a model anyway
    )
    turn = await served.worker.run(route)
    if call.probe:
        return Answer(as_output(PROBED, call.client))
    entry = None
    if not call.planning:
        entry = await fitting(
            served, call.prompt, history, call.session,
            client=call.client, transcript=call.transcript,
        )  # fmt: skip
    said = {
        f"which {entry.kind} fits ({entry.name})" if entry else "":
            activation_line(entry, call.client) if entry else None,
        "what was said in an earlier session": await _said_before(served, call, chosen),
        "what it refers to": hook_hint(turn),
    }  # fmt: skip
    told = ", ".join(what for what, line in said.items() if line)
    lines = "\n".join(line for line in (warning, *said.values()) if line)
    return Answer(
        as_output(lines, call.client) if lines else None,
        f"said {told}" if told else f"silent: {why_no_hint(turn)}",
    )


async def _of_start(
    served: ServedWorkspace, call: HookCall, chosen: Settings, keeper: Worker
) -> Answer:
    """Import what is new, for which a start waits a while, and say where the branch stopped."""
    if chosen.activation.enabled and not served.person:  # read before the first prompt comes
        _state(served).activator(served, call.client, chosen.activation)
    task = _in_background(keeper.run(lambda: keep_current(chosen, now=True)))
    await asyncio.wait({task}, timeout=START_S)
    with suppress(KdsError):  # no line is better than a session that does not start
        folder, own = call.cwd or served.root, call.session or ""
        line = await asyncio.to_thread(session_start, chosen, folder, own, again=call.compacted)
        if line:
            output = as_output(line, call.client, event="SessionStart")
            return Answer(output, "said where the last session stopped")
    return Answer(noted="silent: no other session is kept here since")


async def _said_before(served: ServedWorkspace, call: HookCall, chosen: Settings) -> str | None:
    """The line on what was said before, for a prompt that points back."""
    if points_back(call.prompt):
        looking = asyncio.to_thread(prompt_line, chosen, call.prompt, call.cwd or served.root)
        with suppress(KdsError, TimeoutError):
            return await asyncio.wait_for(looking, timeout=RECALL_S)
    return None


async def fitting(
    served: ServedWorkspace,
    message: str,
    history: tuple[Utterance, ...],
    conversation: str | None,
    *,
    client: str | None = "copilot",
    transcript: str | None = None,
    by_user: bool = False,
) -> Entry | None:
    """What a message calls for, of what ``client`` can use: once in a conversation, and None until
    the library is read. What ran before is learned where the client names its transcript. What
    only the model may start is not for a button (``by_user``)."""
    chosen = served.memory.config.settings.activation
    if served.person or not chosen.enabled or says_enough(message):
        return None
    activator = _state(served).activator(served, client, chosen)
    if activator is None:
        return None
    session = _state(served).session(conversation)
    if chosen.learn and transcript and client:
        path, uses = Path(transcript), Uses(served.workspace)
        names = {entry.name for entry in activator.entries}
        before = session.last_named()  # now: this prompt may get a name before the thread reads

        def learn() -> None:
            """Read what ran since the last prompt of the session."""
            with suppress(KdsError, OSError, ValueError):  # nothing is learned
                session.learn(client, path, names.__contains__, uses, before)

        _in_background(served.archivist.run(learn))
    entry = (await served.worker.run(lambda: activator.suggest(message, history))).entry
    if entry is None or (by_user and not entry.invocable):
        return None
    return entry if session.name(message, entry.name) else None


def _state(served: ServedWorkspace) -> HookState:
    return _states.setdefault(served, HookState())


def _in_background(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    _background.add(task)
    task.add_done_callback(_background.discard)
    return task
