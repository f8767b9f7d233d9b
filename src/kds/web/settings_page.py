"""The page of settings: what each does and where its value comes from; how KDS is."""

from collections.abc import Iterator
from functools import partial
from typing import Final
from urllib.parse import parse_qs, urlsplit

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
from kds.service.security import is_loopback
from kds.web.request_context import RequestContext, get, post

OWN: Final = "own"
"""The user's own file, in a form; else the workspace's."""

CODE: Final = "recall.embeddings"
BASE: Final = "model.base_url"
PLACES: Final = ("model.name", BASE, "database.url")
"""Settings that may name code to run, and where messages and keys go."""

ELSEWHERE: Final = frozenset({"host", "hostaddr", "service", "servicefile"})
"""What may stand behind the address of a database and names another one (libpq's URI)."""


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
    _check_confined(key, value)
    change = partial(set_setting, context.served.workspace, key, value, own=own)
    await context.archive(change)
    return await _told(context, key)


async def reset(context: RequestContext) -> Response:
    """Take a value out of a file."""
    key, own = context.text("key"), context.text("file") == OWN
    await context.archive(partial(unset_setting, context.served.workspace, key, own=own))
    return await _told(context, key)


def _check_confined(key: str, value: str) -> None:
    """Raise MessageError for what a page must not do: a stolen cookie could otherwise run code
    as the user, or have the keys of the environment sent elsewhere."""
    does = "names code to run" if key == CODE and ":" in value else ""
    if key in PLACES and not _stays_here(value, whole=key == BASE):
        does = "names another machine"
    if does:
        message, hint = f"{key} is not set from the page when it {does}", f"kds config set {key}"
        raise MessageError(message, where=key, hint=f"{hint} VALUE --own")


def _stays_here(value: str, *, whole: bool) -> bool:
    """Whether no other machine is named: a provider by its name, or a URL of this one.

    ``whole``: it can only be a URL; a client of models takes "evil.example:80" for one, too.

    >>> texts = ("openai:x", "http://localhost:1/v1#x", "https://evil.example")
    >>> [_stays_here(one, whole=False) for one in texts]
    [True, True, False]
    """
    if "//" not in value and not whole:
        return True
    try:
        parts = urlsplit(value.strip())
        loopback = is_loopback(parts.hostname or "")
    except ValueError:
        return False
    return loopback and not ELSEWHERE & parse_qs(parts.query, keep_blank_values=True).keys()


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
