"""Our entries in a JSON settings file that belongs to the user: found, set, and taken out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kds.brain.errors import ConfigError, Problem
from kds.clients.programs import calls_hook, calls_server
from kds.clients.settings.entries import SERVER
from kds.clients.settings.jsonedit import insert, remove, replace
from kds.clients.settings.jsontext import JsonTextError, Key, KeyPath, Node, parse_json_text
from kds.clients.settings.projectfile import read_project_text

EMPTY: Final = "{}\n"
HOOKS: Final = "hooks"
SERVER_LISTS: Final = ("mcpServers", "servers", "mcp")
_GROUP_DEPTH: Final = 3
"""Keys to a group of Claude Code's hooks: `hooks`, the event, the place in its list."""
_COMMAND_KEYS: Final = ("command", "bash", "powershell")


class SettingsFileError(ConfigError):
    """A settings file is no JSON, or has another shape than its client reads."""


@dataclass(frozen=True, slots=True)
class FoundHook:
    """A hook of ours: its event, where it stands, and under which key it has its command."""

    event: str
    path: KeyPath
    key: str
    command: str


@dataclass(slots=True)
class SettingsFile:
    """The text of a settings file, edited step by step.

    ``made`` are the containers that were added for our entries; they go again when nothing is
    left in them. ``where`` names the file in errors.
    """

    where: str
    text: str
    made: list[KeyPath] = field(default_factory=list)

    @classmethod
    def at(cls, path: Path) -> "SettingsFile | None":
        """The file as it stands; None where there is none, or nothing in it. Raises ConfigError."""
        text = read_project_text(path)
        return cls(str(path), text) if text else None

    def root(self) -> Node:
        """The text as a tree. Raises SettingsFileError."""
        try:
            root = parse_json_text(self.text)
        except JsonTextError as error:
            place = f"{self.where}:{error.line}"
            hint = f"correct column {error.column} by hand: nothing was changed"
            problem = Problem(place, f"is no JSON: {error.message}", hint)
            raise SettingsFileError([problem]) from error
        if root.kind != "object":
            raise self._shape(root, "the file", "an object")
        return root

    def hooks(self) -> list[FoundHook]:
        """Our hooks, in the order of the file."""
        return list(_our_hooks(self.root()))

    def set_hooks(self, wanted: Mapping[str, object]) -> None:
        """Have exactly one hook of ours for each event in ``wanted``, which has its entry.

        One that is there keeps its place and whatever the user added to it.
        """
        left = dict(wanted)
        for found in reversed(self.hooks()):
            entry = left.pop(found.event, None)
            if entry is None:
                self.take_out(found.path, self.made)
            elif (command := _command_of(entry)) != found.command:
                self.text = replace(self.text, (*found.path, found.key), command)
        for event, entry in wanted.items():
            if event in left:
                self._append((HOOKS, event), entry)

    def set_server(self, container: str, entry: Mapping[str, object]) -> None:
        """Have our MCP server under its name. Raises SettingsFileError when the name is taken."""
        place = (container, SERVER)
        node = self.root().find(place)
        if node is None:
            self._member((container,), SERVER, entry)
            return
        if not _is_ours(node):
            message = f"an MCP server named '{SERVER}' is there, and it is not this one"
            raise self._refusal(node, message, "rename it, or use --no-mcp")
        for key in (key for key in ("command", "args") if key in entry):
            part = node.find((key,))
            if part is None:
                self.text = insert(self.text, place, key, entry[key])
            elif part.value() != entry[key]:
                self.text = replace(self.text, (*place, key), entry[key])
            node = self.root().find(place) or node

    def set_default(self, key: str, value: object) -> None:
        """Add a member that the client needs, unless it is there."""
        if self.root().find((key,)) is None:
            self.text = insert(self.text, (), key, value)
            self.made.append((key,))

    def take_out_all(self, made: list[KeyPath] | None) -> None:
        """Take out every entry of ours, and the containers in ``made`` that are empty then.

        None stands for all containers that held nothing else.
        """
        for found in reversed(self.hooks()):
            self.take_out(found.path, made)
        for container in SERVER_LISTS:
            node = self.root().find((container, SERVER))
            if node is not None and _is_ours(node):
                self.take_out((container, SERVER), made)

    def take_out(self, path: KeyPath, made: list[KeyPath] | None) -> None:
        """Take out what is at ``path``, and what was made only to hold it."""
        self.text = remove(self.text, path)
        if len(path) > _GROUP_DEPTH:
            if not self._is_empty((*path[:_GROUP_DEPTH], HOOKS)):
                return
            self.text = remove(self.text, path[:_GROUP_DEPTH])
        for end in range(min(len(path), _GROUP_DEPTH) - 1, 0, -1):
            place = path[:end]
            if not self._is_empty(place) or (made is not None and place not in made):
                return
            self.text = remove(self.text, place)

    def is_bare(self) -> bool:
        """Whether nothing is left in it but what KDS began with."""
        bare = ("", "{}", *(f'{{"{key[0]}":1}}' for key in self.made if len(key) == 1))
        return "".join(self.text.split()) in bare

    def _append(self, place: tuple[str, str], entry: object) -> None:
        node = self._container(place[:1])
        if node is None or node.find(place[1:]) is None:
            self._member(place[:1], place[1], [entry])
            self.made.append(place)
            return
        items = node.find(place[1:])
        if items is not None and items.kind != "array":
            raise self._shape(items, f"'{'.'.join(place)}'", "an array")
        self.text = insert(self.text, place, None, entry)

    def _member(self, path: tuple[str], key: str, value: object) -> None:
        if self._container(path) is None:
            self.text = insert(self.text, (), path[0], {key: value})
            self.made.append(path)
        else:
            self.text = insert(self.text, path, key, value)

    def _container(self, path: tuple[str, ...]) -> Node | None:
        node = self.root().find(path)
        if node is not None and node.kind != "object":
            raise self._shape(node, f"'{'.'.join(path)}'", "an object")
        return node

    def _is_empty(self, path: KeyPath) -> bool:
        """Whether a container holds nothing, not even a comment."""
        node = self.root().find(path)
        return node is not None and not self.text[node.start + 1 : node.end - 1].strip()

    def _shape(self, node: Node, what: str, wanted: str) -> SettingsFileError:
        return self._refusal(
            node, f"{what} is not {wanted}", "correct it by hand: nothing was changed"
        )

    def _refusal(self, node: Node, message: str, hint: str) -> SettingsFileError:
        line = self.text.count("\n", 0, node.start) + 1
        return SettingsFileError([Problem(f"{self.where}:{line}", message, hint)])


def _our_hooks(root: Node) -> Iterator[FoundHook]:
    hooks = root.find((HOOKS,))
    for event in hooks.parts if hooks else ():
        for item in event.node.parts:
            path: KeyPath = (HOOKS, event.key, item.key)
            yield from _handler(event.key, path, item.node)
            nested = item.node.find((HOOKS,))
            for part in nested.parts if nested else ():
                yield from _handler(event.key, (*path, HOOKS, part.key), part.node)


def _handler(event: Key, path: KeyPath, node: Node) -> Iterator[FoundHook]:
    for part in node.parts:
        value = part.node.scalar
        if part.key in _COMMAND_KEYS and isinstance(value, str) and calls_hook(value):
            yield FoundHook(str(event), path, str(part.key), value)
            return


def _command_of(entry: object) -> str:
    """The command of an entry that we made ourselves."""
    handler = entry[HOOKS][0] if isinstance(entry, dict) and HOOKS in entry else entry
    assert isinstance(handler, dict)
    return str(next(handler[key] for key in _COMMAND_KEYS if key in handler))


def _is_ours(node: Node) -> bool:
    value = node.value()
    return isinstance(value, dict) and calls_server(value.get("command"), value.get("args"))
