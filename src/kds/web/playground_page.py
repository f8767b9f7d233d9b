"""The playground: a conversation step by step, and what a change would make of it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, TypeVar

from starlette.responses import Response

from kds.api.beginning import begin_prompt, begin_rule
from kds.api.own_files import OwnFile, OwnFiles
from kds.api.routing import rehearsed
from kds.brain.errors import ConfigError, KdsError
from kds.service.workspaces import ServedWorkspace
from kds.testing.dialogues import Dialogue
from kds.testing.playground import (
    as_test,
    check_change,
    save_test,
    test_name,
    try_change,
    typed_dialogue,
)
from kds.testing.playing import PlayedTurn, describe, play, turn_by_turn
from kds.web.turn_view import TurnView, view_of
from kds.web.visit import Visit, get, post

TESTS_S: Final = 20.0
"""Seconds for the tests of a change: whoever sent the form looks at an empty page until then."""

TRIALS: Final = 1
"""Changes that are tried at a time: each takes a processor for itself."""

_Result = TypeVar("_Result")

EXAMPLE: Final = "I want to add a FAB button\nMake it purple\n"


async def show(visit: Visit) -> Response:
    """The page, with a file if one is named."""
    file = await _read(visit, name) if (name := visit.text("file")) else None
    return await _page(visit, file=file)


async def run(visit: Visit, _: str) -> Response:
    """What becomes of every message of the conversation, as things are."""
    played = await _played(visit, await _typed_dialogue(visit))
    name = test_name(played)
    test = await asyncio.to_thread(as_test, name, played)
    turns = [(view_of(one.turn), None) for one in played]
    return await _page(visit, turns=turns, test=test, test_name=name)


async def look(visit: Visit, name: str) -> Response:
    """Open a file; the conversation stays."""
    return await _page(visit, file=await _read(visit, name))


async def attempt(visit: Visit, _: str) -> Response:
    """What a change would do, without saving it."""
    file, parts = _typed(visit), visit.served.conversations.parts
    trial = await _alone(visit, lambda: try_change(parts, file, limit_s=TESTS_S))
    turns: list[tuple[TurnView, TurnView]] = []
    if visit.text("conversation").strip():
        dialogue = await _typed_dialogue(visit)
        before = await _played(visit, dialogue)
        # What was never used before makes itself up at its first turn, which takes a second.
        opened = partial(rehearsed, trial.parts)
        after = await _alone(visit, lambda: [*turn_by_turn(dialogue, opened)])
        turns = [
            (view_of(one.turn), view_of(two.turn)) for one, two in zip(before, after, strict=True)
        ]
    return await _page(visit, trial=trial, turns=turns)


async def save(visit: Visit, _: str) -> Response:
    """Write a file that loads; it counts from the next message on."""
    file = _typed(visit)
    saved = await _alone(visit, lambda: _saved(visit.served, file))
    return await _page(visit, file=saved, done=f"{file.name} is saved, and counts from now on.")


async def begin(visit: Visit, kind: str) -> Response:
    """Begin a rule or a prompt as the command line does."""
    name = visit.text("new").strip()
    made = await asyncio.to_thread(lambda: _begun(visit.served, kind, name))
    return await _page(visit, file=made, done=f"{made.name} is begun: it is yours to fill in.")


async def keep(visit: Visit, _: str) -> Response:
    """Keep the conversation as a dialogue test, and say whether it passes."""
    name, text = visit.text("test-name").strip(), _plain(visit.text("test"))
    path, found = await visit.archive(lambda: save_test(visit.served.workspace, name, text))
    opened = partial(rehearsed, visit.served.conversations.parts)
    played = [await visit.route(partial(play, one, opened)) for one in found]
    wrong = "\n".join(describe(one) for one in played if not one.passed)
    said = f"it fails as things are:\n{wrong}" if wrong else "it passes."
    return await _page(visit, done=f"{path} is written; {said}")


async def _page(visit: Visit, *, status: int = 200, **more: object) -> Response:
    files = OwnFiles(visit.served.workspace)
    own, packaged = await visit.archive(lambda: (files.names(), files.packaged()))
    values: dict[str, object] = {
        "conversation": _plain(visit.text("conversation", EXAMPLE)),
        "file": _typed(visit) if "text" in visit.form else None,
        "test": _plain(visit.text("test")), "test_name": visit.text("test-name"),
        "own": own, "packaged": packaged, "turns": [], "trial": None, "problems": [], "done": "",
    }  # fmt: skip
    values |= more
    return await asyncio.to_thread(
        lambda: visit.page("playground.html", title="Playground", status=status, **values)
    )


async def _typed_dialogue(visit: Visit) -> Dialogue:
    return await asyncio.to_thread(typed_dialogue, _plain(visit.text("conversation")))


async def _played(visit: Visit, dialogue: Dialogue) -> list[PlayedTurn]:
    """Every turn is a job of its own: a hook that comes meanwhile waits for one of them."""
    turns = turn_by_turn(dialogue, partial(rehearsed, visit.served.conversations.parts))
    found: list[PlayedTurn] = []
    while (one := await visit.route(lambda: next(turns, None))) is not None:
        found.append(one)
    return found


async def _alone(visit: Visit, call: Callable[[], _Result]) -> _Result:
    trials: asyncio.Semaphore = visit.request.app.state.trials
    async with trials:
        return await asyncio.to_thread(call)


async def _read(visit: Visit, name: str) -> OwnFile:
    return await visit.archive(lambda: OwnFiles(visit.served.workspace).read(name))


def _typed(visit: Visit) -> OwnFile:
    """The file as it stands in the form."""
    return OwnFile(visit.text("file"), _plain(visit.text("text")), visit.text("stamp"))


def _begun(served: ServedWorkspace, kind: str, name: str) -> OwnFile:
    files = OwnFiles(served.workspace)
    rule = kind == "rule"
    file = f"rules/{name}.yaml" if rule else f"prompts/internal/{name}.md"
    files.path(file)  # raises where it would lead out of the workspace
    (begin_rule if rule else begin_prompt)(served.workspace, name)
    _use(served)
    return files.read(file)


def _saved(served: ServedWorkspace, file: OwnFile) -> OwnFile:
    check_change(served.conversations.parts, file)
    files = OwnFiles(served.workspace)
    files.save(file)
    _use(served)
    return files.read(file.name)


def _use(served: ServedWorkspace) -> None:
    """Route by it from the next message on; the service would see the file by itself, later."""
    try:
        served.read_anew()
    except ConfigError as error:  # another file: every page says so until it is mended
        served.kept(error)


def _plain(text: str) -> str:
    """Forms end lines with CR LF, files of a workspace with LF."""
    return text.replace("\r\n", "\n")


async def work(visit: Visit) -> Response:
    """Do what the pressed button says; what goes wrong is said beside what was typed."""
    do, _, what = visit.text("do").partition(":")
    try:
        return await _DEEDS.get(do, run)(visit, what)
    except ConfigError as error:
        return await _page(visit, status=400, problems=error.problems)
    except KdsError as error:
        return await _page(visit, status=400, problems=[error])


_DEEDS: Final[Mapping[str, Callable[[Visit, str], Awaitable[Response]]]] = {
    "run": run, "open": look, "try": attempt, "save": save, "begin": begin, "keep": keep,
}  # fmt: skip

routes = (get("/playground", show), post("/playground", work))
