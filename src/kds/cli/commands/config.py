"""`kds config`: every setting with its value and its source; changing one."""

from typing import Any

import click
from pydantic import SecretStr

from kds.api.settings_edit import KEYS, place_of, set_setting, shown, unset_setting, value_of
from kds.brain.environment import Place
from kds.brain.settings import Layers, load_layers
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.guard import Refusal
from kds.cli.output import Table, say


@base.command(
    "kds config get service.auto", "kds config set model.name openai:gpt-5-mini --own",
    "kds config unset hook.secrets", context_settings={"ignore_unknown_options": True},
)  # fmt: skip
@click.argument("action", type=click.Choice(["list", "get", "set", "unset"]), default="list")
@click.argument("key", required=False)
@click.argument("value", required=False)
@base.flag("--own", "In your own file, for every workspace; `model` is only there.")
def config(
    *, action: str, key: str | None, value: str | None, own: bool, workspace: Workspace
) -> None:
    """List every setting with its value and source; or get, set or unset the setting KEY.

    Environment variables override the file of the workspace, which overrides your own. The file's
    comments stay, and nothing is written unless all settings together are valid with it.
    """
    if (key is None) != (action == "list") or (value is not None) != (action == "set"):
        forms = "kds config, kds config get KEY, kds config set KEY VALUE, kds config unset KEY"
        raise Refusal(f"wrong arguments for {action}", f"write {forms}")
    if key is not None and value is not None:
        set_setting(workspace, key, value, own=own)
    elif key is not None and action == "unset":
        unset_setting(workspace, key, own=own)
    layers = load_layers(workspace)
    if key is None:
        found = {name: _row(layers, place) for name, place in KEYS.items()}
        rows = [(name, shown(one["value"]), one["from"]) for name, one in found.items()]
        say(found, Table(("setting", "value", "from"), rows))
        return
    row = _row(layers, place_of(key))  # the value that holds may come from another source
    told = shown(row["value"])
    say({"key": key, **row}, told if action == "get" else f"{key} is {told}, from {row['from']}")


def _row(layers: Layers, place: Place) -> dict[str, Any]:
    value = value_of(layers.settings(), place)
    # a secret is not printed: its source says where to look
    plain = str(value) if isinstance(value, SecretStr) else value
    return {"value": plain, "from": layers.source(place)}
