"""`kds config`: every setting with its value and its source; changing one."""

from pathlib import Path
from typing import Any

import click
from pydantic import SecretStr

from kds.api.settings_edit import KEYS, place_of, set_setting, shown, unset_setting, value_of
from kds.brain.environment import Place
from kds.brain.settings import Layers, load_layers
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.output import Table, say

key_argument = click.argument("key", metavar="KEY")
own_option = base.flag("--own", "In your own file, for every workspace; `model` is only there.")


@base.group(
    "kds config set model.name openai:gpt-5-mini --own",
    common=base.COMMON,
    invoke_without_command=True,
)
@click.pass_context
def config(ctx: click.Context, *, workspace: Path | None) -> None:
    """Show every setting with its value and source, or change one.

    Environment variables override the file of the workspace, which overrides your own.
    """
    if ctx.invoked_subcommand is None:
        layers = load_layers(base.find_workspace(workspace))
        found = {name: _row(layers, place) for name, place in KEYS.items()}
        rows = [(name, shown(one["value"]), one["from"]) for name, one in found.items()]
        say(found, Table(("setting", "value", "from"), rows))


@base.command("kds config get service.auto", of=config)
@key_argument
def get(*, key: str, workspace: Workspace) -> None:
    """Print the value of the setting KEY."""
    row = _row(load_layers(workspace), place_of(key))
    say({"key": key, **row}, shown(row["value"]))


@base.command(
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


@base.command("kds config unset hook.secrets", of=config)
@key_argument
@own_option
def unset(*, key: str, own: bool, workspace: Workspace) -> None:
    """Remove the setting KEY from the settings file."""
    unset_setting(workspace, key, own=own)
    _say_value(workspace, key)


def _say_value(workspace: Workspace, key: str) -> None:
    """Print the value that holds now, which may come from another source."""
    row = _row(load_layers(workspace), KEYS[key])
    say({"key": key, **row}, f"{key} is {shown(row['value'])}, from {row['from']}")


def _row(layers: Layers, place: Place) -> dict[str, Any]:
    value = value_of(layers.settings(), place)
    # a secret is not printed: its source says where to look
    plain = str(value) if isinstance(value, SecretStr) else value
    return {"value": plain, "from": layers.source(place)}
