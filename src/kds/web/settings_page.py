"""The page of settings: what each does and where its value comes from; how KDS is."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from starlette.responses import Response

from kds.api.settings_edit import (
    KEYS,
    is_set,
    meanings,
    place_of,
    set_setting,
    shown,
    unset_setting,
    value_of,
)
from kds.brain.environment import Place
from kds.brain.errors import MessageError
from kds.brain.settings import USERS_ALONE, Layers, Settings, load_layers
from kds.service.routes import health_of
from kds.web.request_context import RequestContext, get, post

OWN: Final = "own"
"""The user's own file, in a form; else the workspace's."""

NOT_HERE: Final = ("model.base_url", "database.url")
NAMES: Final = {"recall.embeddings": ":", "model.name": "//"}
"""Settings that name where messages and keys go, or code to run; the latter with such a sign. With
a stolen cookie they would do anything in the name of the user."""


async def show(context: RequestContext) -> Response:
    """Every setting, and the state of the service."""
    layers = await context.archive(lambda: load_layers(context.served.workspace))
    sections = [
        (section, type(kind.default).__doc__ or "", list(_rows(layers, section)))
        for section, kind in Settings.model_fields.items()
    ]
    health = health_of(context.request.app.state, named=context.served.root)
    return context.page(
        "settings.html", title="Settings", sections=sections, health=health, alone=USERS_ALONE,
        refused=context.take_refused("/settings"),
    )  # fmt: skip


async def change(context: RequestContext) -> Response:
    """Write a value into a file; the service reads it before its next message."""
    key, own, value = context.text("key"), context.text("file") == OWN, context.text("value")
    if key in NOT_HERE or (key in NAMES and NAMES[key] in value):
        message = f"{key} says where messages go or what code runs: it is not set from the page"
        raise MessageError(message, where=key, hint=f"kds config set {key} VALUE --own")
    change = partial(set_setting, context.served.workspace, key, value, own=own)
    await context.archive(change)
    return await _told(context, key)


async def reset(context: RequestContext) -> Response:
    """Take a value out of a file."""
    key, own = context.text("key"), context.text("file") == OWN
    await context.archive(partial(unset_setting, context.served.workspace, key, own=own))
    return await _told(context, key)


async def _told(context: RequestContext, key: str) -> Response:
    """Say what holds now, which need not be what was set."""
    layers = await context.archive(lambda: load_layers(context.served.workspace))
    place = place_of(key)
    value = shown(value_of(layers.settings(), place))
    return context.go(f"/settings#{place[0]}", f"{key} is {value}, from {layers.source(place)}")


def _rows(layers: Layers, section: str) -> Iterator[dict[str, object]]:
    """The settings of a section as the page shows them. ``fixed``: a variable of the service's
    environment stands over the files."""
    settings, defaults = layers.settings(), Settings()
    for key, place in KEYS.items():
        if place[0] == section:
            yield {
                "key": key,
                "meaning": meanings().get(place, ""),
                "value": shown(value_of(settings, place)),
                "source": layers.source(place),
                "choices": _choices(place),
                "default": shown(value_of(defaults, place)),
                "in_workspace": is_set(layers, place, own=False),
                "in_own": is_set(layers, place, own=True),
                "fixed": place in layers.variables,
            }


def _choices(place: Place) -> tuple[str, ...]:
    section = type(Settings.model_fields[place[0]].default)
    kind = section.model_fields[place[1]].annotation
    if kind in (bool, bool | None):
        return ("on", "off")
    named = getattr(kind, "__args__", ())
    return named if all(isinstance(one, str) for one in named) else ()


routes = (
    get("/settings", show),
    post("/settings", change),
    post("/settings/reset", reset),
)
