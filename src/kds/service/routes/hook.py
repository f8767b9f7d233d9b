"""The prompt hook of an assistant: `POST /hook`."""

import asyncio
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic import ConfigDict
from starlette.responses import JSONResponse, Response

from kds.activation import Activator
from kds.brain.errors import ConfigError
from kds.brain.settings import Settings, load_settings
from kds.brain.workspace import Workspace
from kds.hooks.reply import (
    HookCall,
    activation_line,
    goes_on,
    hook_output,
    is_for_activation,
    read_hook,
)
from kds.hooks.transcript import read_transcript
from kds.service.errors import TooLargeError
from kds.service.models import EXAMPLES, MESSAGE_LIMIT, Reply
from kds.service.operation import Served, documented
from kds.service.service_client import hung_path
from kds.service.workspaces import ServedWorkspace

HOOK_INPUT: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The hook input as the client wrote it, in either spelling.",
        "content": {
            "application/json": {"schema": {"type": "object"}, "examples": EXAMPLES["hook"]}
        },
    }
}
"""The body is read by `kds.hooks.reply`, not by a model."""


class HookSpecificOutput(Reply):
    """The key that Claude Code reads."""

    model_config = ConfigDict(extra="allow")

    hookEventName: str  # noqa: N815  # the client's spelling
    additionalContext: str  # noqa: N815  # the client's spelling


class HookReply(Reply):
    """What a client adds to the prompt, under the keys of both clients."""

    model_config = ConfigDict(extra="allow")

    additionalContext: str  # noqa: N815  # the client's spelling
    hookSpecificOutput: HookSpecificOutput  # noqa: N815  # the client's spelling


class Doubles:
    """Recognizes a prompt sent twice: two hooks of one client, each configured in its own file."""

    WITHIN_S: Final = 1.0
    """Nobody types the same prompt twice in a second."""
    KEPT: Final = 64
    """Conversations whose last prompt is known."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()

    def has(self, root: str, call: HookCall, now_s: float) -> bool:
        """Whether ``call`` repeats the last one of its conversation; from now on it is that."""
        key, said = (root, call.session or ""), hash(call.prompt)
        before = self._last.pop(key, None)
        self._last[key] = (said, now_s)
        while len(self._last) > self.KEPT:
            self._last.popitem(last=False)
        return before is not None and before[0] == said and now_s - before[1] < self.WITHIN_S


class Suggestions:
    """The activators of the open workspaces, and what was named in which session.

    An activator reads the library when it is first asked for, on the thread that looks after
    sessions; until then nothing is named.
    """

    KEPT: Final = 16
    """Workspaces and clients whose libraries are kept."""
    SESSIONS: Final = 256

    def __init__(self) -> None:
        self._opening: OrderedDict[tuple[str, str, float], asyncio.Task[Activator]] = OrderedDict()
        self._named: OrderedDict[tuple[str, str], set[str]] = OrderedDict()

    def activator(self, served: ServedWorkspace, client: str, precision: float) -> Activator | None:
        """Return the activator once it is read; None before, and when it cannot be."""
        key = (served.root, client, precision)
        if key not in self._opening:
            self._opening[key] = asyncio.create_task(
                served.archivist.run(
                    lambda: Activator.open(served.workspace, client=client, precision=precision)
                )
            )
        self._opening.move_to_end(key)
        while len(self._opening) > self.KEPT:
            self._opening.popitem(last=False)
        task = self._opening[key]
        return task.result() if task.done() and task.exception() is None else None

    def is_new(self, root: str, session: str, name: str) -> bool:
        """Whether ``name`` was not named in this session yet; from now on it was."""
        named = self._named.setdefault((root, session), set())
        self._named.move_to_end((root, session))
        while len(self._named) > self.SESSIONS:
            self._named.popitem(last=False)
        new = name not in named
        named.add(name)
        return new


router = APIRouter()


@router.post(
    "/hook",
    responses=documented(HookReply, 400, 404, 503)
    | {204: {"description": "Nothing to add to the prompt."}},
    openapi_extra=HOOK_INPUT,
)
async def hook(request: Request, served: Served) -> Response:
    """Answer the prompt hook of Claude Code or Copilot: what to add to the user's prompt."""
    call = read_hook(await request.body())
    doubles: Doubles = request.app.state.doubles
    if not call.for_routing or (
        not call.probe and doubles.has(served.root, call, time.monotonic())
    ):
        return Response(status_code=204)
    if len(call.prompt) > MESSAGE_LIMIT:
        raise TooLargeError(
            f"the prompt is longer than {MESSAGE_LIMIT:,} characters", where="prompt"
        )
    chosen = _settings(served.workspace)
    turn = await served.worker.run(
        lambda: served.route(
            call.prompt,
            history=read_transcript(call.transcript, prompt=call.prompt) if call.transcript else (),
            conversation=call.session,
            join=True,
            inherit=goes_on(call.prompt),
            log=not call.probe,
            rewrite=False,  # a hook has 1.5 s, and its output is read by a model anyway
        )
    )
    fits = await _fits(request.app.state.suggestions, served, call, chosen)
    with suppress(OSError):
        hung_path(served.workspace).unlink()
    mode = "agent" if call.probe else chosen.hook.mode  # `kds doctor` waits for some answer
    output = hook_output(turn, mode=mode, planning=call.planning, fits=fits)
    return Response(status_code=204) if output is None else JSONResponse(output)


async def _fits(
    suggestions: Suggestions, served: ServedWorkspace, call: HookCall, settings: Settings
) -> str | None:
    """The line on the entry that the prompt calls for; None where none does for certain."""
    chosen = settings.activation
    if served.person or not chosen.enabled or call.probe or not is_for_activation(call):
        return None
    activator = suggestions.activator(served, call.client, chosen.precision)
    if activator is None:
        return None
    history = read_transcript(call.transcript, prompt=call.prompt) if call.transcript else ()
    told = await served.worker.run(lambda: activator.suggest(call.prompt, history))
    if told.entry is None or not suggestions.is_new(
        served.root, call.session or "", told.entry.name
    ):
        return None
    return activation_line(told.entry, call.client)


def _settings(workspace: Workspace) -> Settings:
    """The user's settings; the defaults where a file is wrong, which `kds doctor` tells."""
    try:
        return load_settings(workspace)
    except ConfigError:
        return Settings()
