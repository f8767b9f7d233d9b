"""`kds config`: every setting with its value and where that comes from; changing one."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click
from pydantic import ValidationError

from kds.api.settings_lines import change_settings, with_values, without_value
from kds.brain.document import nearest
from kds.brain.private_file import make_private_folder
from kds.brain.settings import Layers, Settings, load_layers
from kds.brain.settings_variables import Place
from kds.brain.workspace import Workspace, own_settings_path
from kds.cli.completion import completed_by
from kds.cli.guard import Refusal
from kds.cli.options import common_options, find_workspace, workspace_option
from kds.cli.output import print_json, print_table

KEYS: Final[Mapping[str, Place]] = {
    f"{section}.{key}": (section, key)
    for section, kind in Settings.model_fields.items()
    for key in type(kind.default).model_fields
}
"""Every setting as it is named on the command line."""

USERS_ALONE: Final = "model"
"""The section that only the user's own file may have."""

key_argument = click.argument("key", metavar="KEY", shell_complete=completed_by("settings"))
own_option = click.option(
    "--own", is_flag=True, help="In your own file, for every workspace; `model` is only there."
)


@click.group(
    invoke_without_command=True,
    epilog="""\b
Examples:
  kds config
  kds config get references.precision
  kds config set memory.enabled on
  kds config set model.name openai:gpt-5-mini --own
  kds config unset memory.enabled""",
)
@common_options
@click.pass_context
def config(ctx: click.Context, *, as_json: bool, workspace: Path | None) -> None:
    """Show every setting, its value, and where that comes from; change one.

    A variable of the environment stands over the file of the workspace, that over your own file.
    """
    if ctx.invoked_subcommand is not None:
        return
    layers = load_layers(find_workspace(workspace))
    if as_json:
        print_json({name: _row(layers, place) for name, place in KEYS.items()})
        return
    settings = layers.settings()
    rows = [
        (name, _shown(_value(settings, place)), layers.source(place))
        for name, place in KEYS.items()
    ]
    print_table(("setting", "value", "from"), rows)


@config.command(epilog="\b\nExample:\n  kds config get service.auto")
@key_argument
@common_options
def get(*, key: str, as_json: bool, workspace: Path | None) -> None:
    """Print the value of the setting KEY."""
    place, layers = _place(key), load_layers(find_workspace(workspace))
    if as_json:
        print_json({"key": key, **_row(layers, place)})
    else:
        click.echo(_shown(_value(layers.settings(), place)))


@config.command(
    "set",
    epilog="""\b
Examples:
  kds config set hook.mode agent
  kds config set service.idle_minutes 0 --own""",
)
@key_argument
@click.argument("value", metavar="VALUE")
@own_option
@workspace_option
def set_(*, key: str, value: str, own: bool, workspace: Path | None) -> None:
    """Set KEY to VALUE in the settings file; its comments stay as they are.

    Nothing is written unless all settings together are valid with it.
    """
    section, name = _place(key)
    given = _parsed(section, name, value)
    found = find_workspace(workspace)
    path = _file(found, section, own=own)
    _change(found, path, lambda text: with_values(text, section, {name: given}))
    _tell(found, key)


@config.command(epilog="\b\nExample:\n  kds config unset hook.mode")
@key_argument
@own_option
@workspace_option
def unset(*, key: str, own: bool, workspace: Path | None) -> None:
    """Take the setting KEY out of the settings file."""
    section, name = _place(key)
    found = find_workspace(workspace)
    path = _file(found, section, own=own)
    layers = load_layers(found)
    file = layers.own if path == layers.own_path else layers.project
    data = file.data if isinstance(file.data, dict) else {}
    if name not in (data.get(section) or {}):
        raise Refusal(f"{key} is not set in {path}", f"it comes from: {layers.source(_place(key))}")
    _change(found, path, lambda text: without_value(text, section, name))
    _tell(found, key)


def _change(workspace: Workspace, path: Path, change: Callable[[str], str]) -> None:
    """Change a file, once all settings are valid with it."""

    def checked(text: str) -> str:
        changed = change(text)
        load_layers(workspace, texts={path: changed}).settings()
        return changed

    if path == workspace.settings_path:
        workspace.ensure()
    else:
        make_private_folder(path.parent)
    change_settings(path, checked)


def _tell(workspace: Workspace, key: str) -> None:
    """Say what holds now, which need not be what was set."""
    layers = load_layers(workspace)
    value = _shown(_value(layers.settings(), KEYS[key]))
    click.echo(f"{key} is {value}, from {layers.source(KEYS[key])}")


def _place(key: str) -> Place:
    if key in KEYS:
        return KEYS[key]
    near = nearest(key, list(KEYS)) or next((one for one in KEYS if one.endswith(f".{key}")), None)
    raise Refusal(f"no setting '{key}'", f"did you mean {near}?" if near else "kds config")


def _file(workspace: Workspace, section: str, *, own: bool) -> Path:
    if own:
        return own_settings_path(os.environ)
    if section == USERS_ALONE:
        raise Refusal(
            f"a workspace cannot set '{section}': its file may come with a cloned project",
            "add --own",
        )
    return workspace.settings_path


def _parsed(section: str, name: str, text: str) -> Any:
    """The value as its setting wants it, read as a variable of the environment would be."""
    try:
        settings = Settings.model_validate_strings({section: {name: text}})
    except ValidationError as error:
        says = error.errors()[0]["msg"].removeprefix("Value error, ")
        fault = f"{section}.{name}: {says[0].lower()}{says[1:]}, not '{text}'"
        raise Refusal(fault, "give another value; kds help config shows examples") from error
    return getattr(getattr(settings, section), name)


def _row(layers: Layers, place: Place) -> dict[str, object]:
    return {"value": _value(layers.settings(), place), "from": layers.source(place)}


def _value(settings: Settings, place: Place) -> Any:
    return getattr(getattr(settings, place[0]), place[1])


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
