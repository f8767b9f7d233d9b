"""`#file:` invocations: a prompt file named in front of a message, as IDE chats write it.

`#file:KDS/prompts/user/kds.md I want to add a FAB button` names a prompt and hands it the rest.
The prompt that manages the conversation context takes a small command line instead. A `#file:`
that names no prompt of KDS is an attachment of the IDE, and the text an ordinary message.
"""

import re
import shlex
from dataclasses import dataclass
from typing import Final, Literal, get_args

from kds.brain.errors import DispatchError
from kds.brain.yaml_files import nearest
from kds.router.prompts.library import FOLDERS, PromptLibrary

Operation = Literal["load", "log", "clear"]

CONTEXT_MANAGER: Final = "prompts/internal/conversation-context-manager.md"
CLEAR_CONVERSATION: Final = "prompts/internal/clear-conversation.md"

_INVOCATION: Final = re.compile(
    r"""\s*\#file:\s?
    (?: "(?P<double>[^"\n]+)" | '(?P<single>[^'\n]+)'
      | (?P<plain>\S+\.md)(?=\s|\Z)
      | (?P<spaced>[^\n"']*?prompts[/\\][^\n"']*?\.md)(?=\s|\Z)
      | (?P<other>\S+) )
    (?P<rest>.*)\Z""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_OPTIONS: Final = ("--message", "--intent", "--context-ref", "--session-id")
_EXAMPLE: Final = 'log --message "Make it purple" --intent EXECUTE --context-ref "FAB button"'


@dataclass(frozen=True, slots=True)
class ContextCommand:
    """What the conversation context manager is asked to do; nothing said means load.

    `log` has a message and an intent.
    """

    operation: Operation
    message: str | None = None
    intent: str | None = None
    context_ref: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """A prompt named by `#file:`, the text behind it as written, and the command if it is one."""

    ref: str
    text: str
    command: ContextCommand | None = None


def parse_invocation(text: str, library: PromptLibrary) -> Invocation | None:
    """Read a `#file:` invocation; None when ``text`` is an ordinary message.

    Raises DispatchError when it names a prompt that is not there, or a command that is wrong.
    """
    match = _INVOCATION.match(text)
    path = match and (match["double"] or match["single"] or match["plain"] or match["spaced"])
    ref = _prompt_ref(path or match["other"], library) if match else None
    if match is None or ref is None:
        return None
    # one separator belongs to the syntax, the rest is the user's
    rest = match["rest"][1:] if match["rest"][:1].isspace() else match["rest"]
    if ref == CONTEXT_MANAGER:
        return Invocation(ref, rest, _context_command(rest, library))
    if ref != CLEAR_CONVERSATION:
        return Invocation(ref, rest)
    if rest.strip():
        message = f"'{ref}' takes no text, not {rest.strip()!r}"
        raise DispatchError(message, hint="remove what stands behind the file")
    return Invocation(ref, rest, ContextCommand("clear"))


def _prompt_ref(path: str, library: PromptLibrary) -> str | None:
    """The place of a prompt among the prompts, whatever stands before `prompts/`.

    A bare file name will do, because IDEs shorten paths to it. A prompt's name in a folder such
    as `prompt/user/` is a slip, not an attachment.
    """
    parts = [one.casefold() for one in re.split(r"[/\\]+", path.strip()) if one not in ("", ".")]
    known = {prompt.ref.casefold(): prompt.ref for prompt in library.prompts()}
    by_name = {ref.rpartition("/")[2]: ref for ref in known.values()}
    if len(parts) < 2:  # no folder
        return by_name.get("".join(parts))
    if "prompts" in parts:
        inner = parts[len(parts) - 1 - parts[::-1].index("prompts") :]
        if (wanted := "/".join(inner)) in known:
            return known[wanted]
        near = nearest(wanted, known)
        if near is None and not set(inner) & set(FOLDERS):
            return None
    else:
        near = by_name.get(parts[-1]) if parts[-2] in FOLDERS else None
        if near is None:
            return None
    hint = f"did you mean '{near}'?" if near else "see `kds prompts list`"
    raise DispatchError(f"no prompt file '{path}'", hint=hint)


def _context_command(rest: str, library: PromptLibrary) -> ContextCommand:
    try:
        operation, *words = shlex.split(rest) or ["load"]
    except ValueError as error:
        message = f"the command cannot be read: {str(error).lower()}"
        raise DispatchError(message, hint=f"quote texts, as in: {_EXAMPLE}") from error
    operations: dict[str, Operation] = {one: one for one in get_args(Operation)}
    if operation not in operations:
        near = nearest(operation, operations)
        hint = f"did you mean '{near}'?" if near else "use load, log or clear"
        raise DispatchError(f"unknown operation '{operation}' on the context", hint=hint)
    options = _options(words)
    if operation != "log":
        if options:
            message = f"'{operation}' takes no {', '.join(options)}"
            raise DispatchError(message, hint="only 'log' takes options")
        return ContextCommand(operations[operation])
    for name in ("--message", "--intent"):
        if not options.get(name, "").strip():
            raise DispatchError(f"'log' needs {name}", hint=f"as in: {_EXAMPLE}")
    return ContextCommand(
        "log",
        options["--message"],
        library.intent_named(options["--intent"]),
        options.get("--context-ref"),
        options.get("--session-id"),
    )


def _options(words: list[str]) -> dict[str, str]:
    """Option values by name, from `--name value` and `--name=value`."""
    options: dict[str, str] = {}
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in _OPTIONS:
            near = nearest(name, list(_OPTIONS))
            hint = f"did you mean '{near}'?" if near else f"quote texts, as in: {_EXAMPLE}"
            raise DispatchError(f"unknown option or stray word '{name}'", hint=hint)
        if name in options:
            raise DispatchError(f"option '{name}' stands twice", hint="keep one")
        if not equals:
            if not words or words[0].partition("=")[0] in _OPTIONS:
                raise DispatchError(f"option '{name}' has no value", hint=f"as in: {_EXAMPLE}")
            value = words.pop(0)
        options[name] = value
    return options
