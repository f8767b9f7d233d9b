"""`kds config`: every setting with its value and its source; changing one."""

from pathlib import Path

import click
from pydantic import SecretStr

from kds.api.settings_edit import KEYS, place_of, set_setting, shown, unset_setting, value_of
from kds.brain.environment import Place
from kds.brain.settings import Layers, load_layers
from kds.brain.workspace import Workspace
from kds.cli.command import flag, group
from kds.cli.options import command, common_options, find_workspace
from kds.cli.output import Table, say

key_argument = click.argument("key", metavar="KEY")
own_option = flag("--own", "In your own file, for every workspace; `model` is only there.")


@group(
    "kds config set model.name openai:gpt-5-mini --own",
    invoke_without_command=True,
)
@common_options
@click.pass_context
def config(ctx: click.Context, *, workspace: Path | None) -> None:
    """Show every setting with its value and source, or change one.

    Environment variables override the file of the workspace, which overrides your own.
    """
    if ctx.invoked_subcommand is not None:
        return
    layers = load_layers(find_workspace(workspace))
    settings = layers.settings()
    rows = [
        (name, shown(value_of(settings, place)), layers.source(place))
        for name, place in KEYS.items()
    ]
    say(
        {name: _row(layers, place) for name, place in KEYS.items()},
        Table(("setting", "value", "from"), rows),
    )


@command("kds config get service.auto", of=config)
@key_argument
def get(*, key: str, workspace: Workspace) -> None:
    """Print the value of the setting KEY."""
    place, layers = place_of(key), load_layers(workspace)
    say({"key": key, **_row(layers, place)}, shown(value_of(layers.settings(), place)))


@command(
    "kds config set service.idle_minutes 0 --own",
    of=config,
    name="set",
    context_settings={"ignore_unknown_options": True},
)
@key_argument
@click.argument("value", metavar="VALUE")
@own_option
def set_(*, key: str, value: str, own: bool, workspace: Workspace) -> None:
    """Set KEY to VALUE in the settings file; its comments stay as they are.

    Nothing is written unless all settings together are valid with it.
    """
    set_setting(workspace, key, value, own=own)
    _say_value(workspace, key)


@command("kds config unset hook.secrets", of=config)
@key_argument
@own_option
def unset(*, key: str, own: bool, workspace: Workspace) -> None:
    """Remove the setting KEY from the settings file."""
    unset_setting(workspace, key, own=own)
    _say_value(workspace, key)


def _say_value(workspace: Workspace, key: str) -> None:
    """Print the value that holds now, which may come from another source."""
    layers, place = load_layers(workspace), KEYS[key]
    value = shown(value_of(layers.settings(), place))
    told = f"{key} is {value}, from {layers.source(place)}"
    say({"key": key, **_row(layers, place)}, told)


def _row(layers: Layers, place: Place) -> dict[str, object]:
    value = value_of(layers.settings(), place)
    # A secret is not printed: its source says where to look.
    plain = str(value) if isinstance(value, SecretStr) else value
    return {"value": plain, "from": layers.source(place)}
