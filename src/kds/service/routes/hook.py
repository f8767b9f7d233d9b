"""The prompt hook of an assistant: `POST /hook`."""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
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
from kds.hooks.secrets import (
    Leak,
    files_read,
    leak_in,
    prompt_stopped,
    prompt_warned,
    tool_answer,
)
from kds.service.errors import TooLargeError
from kds.service.requests import JSON, MESSAGE_LIMIT, opened, root_of
from kds.service.service_client import ServiceAddress
from kds.service.workspaces import ServedWorkspace, Worker
from kds.transcripts.arriving import (
    keep_current,
    keep_session,
    points_back,
    prompt_line,
    session_start,
)
from kds.transcripts.json_lines import Followed, read_transcript

WITHIN_S: Final = 1.0
"""Nobody types the same prompt twice in a second."""

SESSIONS: Final = 256
"""Sessions of a workspace that are followed."""

START_S: Final = 0.7
"""Seconds that the start of a session waits for an import."""

SETTLED_S: Final = 2.0
"""Seconds after which a client has written what was said when it told of an end: Copilot CLI writes
the last reply up to 0.3 s later, without a terminal when it exits."""

RECALL_S: Final = 0.8
"""Seconds that a prompt which points back waits for what was said before; the hook has 1.5."""

HOOK_INPUT: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The hook input as the client wrote it.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}
"""The body is read by `kds.hooks.reply`, not by a model."""


@dataclass(frozen=True, slots=True)
class Answer:
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
        key = client, chosen

        def read() -> Activator:
            return Activator.open(
                served.workspace, client=client, precision=chosen.precision, learn=chosen.learn
            )

        if key not in self._activators:
            self._activators[key] = asyncio.create_task(asyncio.to_thread(read))
        task = self._activators[key]
        return task.result() if task.done() and task.exception() is None else None


_states: WeakKeyDictionary[ServedWorkspace, HookState] = WeakKeyDictionary()

_background: set[asyncio.Task[None]] = set()
"""Tasks under way: the event loop itself keeps no hold of them."""

router = APIRouter()


@router.post(
    "/hook",
    response_model=JSON,
    responses={204: {"description": "Nothing to add to the prompt."}},
    openapi_extra=HOOK_INPUT,
)
async def hook(request: Request) -> Response:
    """Answer the hook of an assistant: what to add to a prompt, or why not to send it."""
    call, keeper = read_hook(await request.body()), request.app.state.workspaces.keeper
    ServiceAddress().hung_path.unlink(missing_ok=True)
    root = root_of(request) or ""
    level: SecretsMode = "off" if call.probe else _level(root)
    leak = answer = None
    if call.event == "tool":
        answer = _of_tool(call, level)
    elif call.event == "end":
        answer = _of_end(root, call, keeper)
    elif call.event == "prompt" and level != "off":
        leak = await asyncio.to_thread(leak_in, call.prompt)
    if leak and level == "block":
        answer = Answer(prompt_stopped(leak, call.client), f"stopped: {leak.kinds}")
    if answer is None:  # a workspace that loads slowly, or not at all, lets no secret through
        async with opened(request) as served:
            answer = await _answer(served, call, leak, keeper)
    if answer.noted and not call.probe:
        with suppress(OSError):
            brain = str(_live(root).workspace.brain)
            note_answer(brain, call.client, call.session, call.event, answer.noted)
    return JSONResponse(answer.output) if answer.output else Response(status_code=204)


@lru_cache(64)
def _live(root: str) -> LiveConfig:
    return LiveConfig(Workspace.find(environ={HOME_VARIABLE: root}))


def _level(root: str) -> SecretsMode:
    """What is to be done about secrets. Where the workspace's settings are wrong, the user's own
    count: a cloned project must not switch off what they ask for."""
    if not root or "\0" in root:
        return "off"  # opening it says what is wrong
    live = _live(root)
    with suppress(ConfigError):
        settings = live.settings
        if live.problem is None:
            return settings.hook.secrets
    with suppress(ConfigError):
        workspace = live.workspace
        return load_layers(workspace, texts={workspace.settings_path: ""}).settings().hook.secrets
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
    session = call.session
    with suppress(ConfigError):
        if session and root and "\0" not in root:
            _in_background(_keep_session(keeper, _live(root).settings, session))
    return Answer()


async def _keep_session(keeper: Worker, settings: Settings, session: str) -> None:
    """Import a session now, and once more when the client has written the rest of it."""
    for pause_s in (0, SETTLED_S):
        await asyncio.sleep(pause_s)
        await keeper.run(lambda: keep_session(settings, session))


async def _answer(
    served: ServedWorkspace, call: HookCall, leak: Leak | None, keeper: Worker
) -> Answer:
    """What to say about an event; ``leak`` is what a prompt holds that goes on all the same."""
    chosen = served.memory.config.settings
    if call.event == "start":
        return await _of_start(served, call, chosen, keeper)
    if call.event != "prompt":
        return Answer()
    shown, warning = prompt_warned(leak, call.client) if leak else ({}, None)
    told = await _of_prompt(served, call, chosen, warning)
    if not call.probe:
        _in_background(keeper.run(lambda: keep_current(chosen)))
    if leak is None:
        return told
    return Answer({**(told.output or {}), **shown}, f"warned: {leak.kinds}; {told.noted}")


async def _of_prompt(
    served: ServedWorkspace, call: HookCall, chosen: Settings, warning: str | None = None
) -> Answer:
    """What to add to a prompt, which is routed and remembered; ``warning`` in any case."""
    why = left_alone(call.prompt)
    if why is None and not call.probe and _state(served).has(call):
        why = "the same prompt came twice within a second"
    if why is not None:
        return Answer(as_output(warning, call.client) if warning else None, f"silent: {why}")
    if len(call.prompt) > MESSAGE_LIMIT:
        message = f"the prompt is longer than {MESSAGE_LIMIT:,} characters"
        raise TooLargeError(message, where="prompt")
    history = await asyncio.to_thread(
        read_transcript, call.transcript or "", prompt=call.prompt, client=call.client
    )
    turn = await served.worker.run(
        lambda: served.route(
            call.prompt,
            history=history,
            conversation=call.session,
            join=True,
            inherit=goes_on(call.prompt),
            log=not call.probe,
            rewrite=False,  # a hook has 1.5 s, and its output is read by a model anyway
        )
    )
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
    if not points_back(call.prompt):
        return None
    looking = asyncio.to_thread(prompt_line, chosen, call.prompt, call.cwd or served.root)
    with suppress(KdsError, TimeoutError):
        return await asyncio.wait_for(looking, timeout=RECALL_S)
    return None


def _in_background(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    _background.add(task)
    task.add_done_callback(_background.discard)
    return task


def _state(served: ServedWorkspace) -> HookState:
    return _states.setdefault(served, HookState())


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
    told = await served.worker.run(lambda: activator.suggest(message, history))
    entry = told.entry
    if entry is None or (by_user and not entry.invocable):
        return None
    return entry if session.name(message, entry.name) else None
