"""`#file:` invocations: a prompt file named in front of a message, as IDE chats write it.

`#file:KDS/prompts/user/kds.md I want to add a FAB button` names a prompt and hands it the rest.
The prompt that manages the conversation context takes a small command line instead. A `#file:`
that names no prompt of KDS is an attachment of the IDE, and the text an ordinary message.
"""

import re
import shlex
from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Final, Literal, NoReturn, get_args

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
    *paths, rest = match.groups() if match else ("",)
    ref = _prompt_ref(next(filter(None, paths), ""), library)
    if ref is None:
        return None
    # one separator belongs to the syntax, the rest is the user's
    rest = rest[1:] if rest[:1].isspace() else rest
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


class _Parser(ArgumentParser):
    """Raises DispatchError for a command line that is wrong."""

    def error(self, message: str) -> NoReturn:
        raise DispatchError(
            f"the command on the context cannot be read: {message}", hint=f"as in: {_EXAMPLE}"
        )


def _context_command(rest: str, library: PromptLibrary) -> ContextCommand:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("operation", nargs="?", default="load", choices=get_args(Operation))
    for option in ("--message", "--intent", "--context-ref", "--session-id"):
        parser.add_argument(option)
    try:
        given = vars(parser.parse_args(shlex.split(rest)))
    except ValueError as error:
        parser.error(f"{str(error).lower()}; quote texts")
    said = {name for name, value in given.items() if value is not None} - {"operation"}
    if given["operation"] != "log":
        if said:
            parser.error(f"'{given['operation']}' takes no options")
    elif missing := [one for one in ("message", "intent") if not (given[one] or "").strip()]:
        parser.error(f"'log' needs --{missing[0]}")
    else:
        given["intent"] = library.intent_named(given["intent"])
    return ContextCommand(**given)
