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
    if match is None:
        return None
    path = next(
        match[name] for name in ("double", "single", "plain", "spaced", "other") if match[name]
    )
    ref = _prompt_ref(path, library)
    if ref is None:
        return None
    # one separator belongs to the syntax, the rest is the user's
    rest = match["rest"][1:] if match["rest"][:1].isspace() else match["rest"]
    return Invocation(ref, rest, _command(ref, rest, library))


def _prompt_ref(path: str, library: PromptLibrary) -> str | None:
    """The place of a prompt among the prompts, whatever stands before `prompts/`.

    A bare file name will do, because IDEs shorten paths to it.
    """
    parts = [part for part in re.split(r"[/\\]+", path.strip()) if part not in ("", ".")]
    known = {prompt.ref.casefold(): prompt.ref for prompt in library.prompts()}
    by_name = {ref.rpartition("/")[2]: ref for ref in known.values()}
    folded = [part.casefold() for part in parts]
    if not parts:
        return None
    if len(parts) == 1:
        return by_name.get(folded[0])
    if "prompts" not in folded:
        _refuse_misplaced(path, folded, by_name)
        return None
    start = len(folded) - 1 - folded[::-1].index("prompts")
    wanted = "/".join(folded[start:])
    if wanted in known:
        return known[wanted]
    near = nearest(wanted, known)
    if near is None and not set(folded[start:]) & set(FOLDERS):
        return None
    hint = f"did you mean '{near}'?" if near else "see `kds prompts list`"
    raise DispatchError(f"no prompt file '{path}'", hint=hint)


def _refuse_misplaced(path: str, folded: list[str], by_name: dict[str, str]) -> None:
    """A prompt's name in a folder such as `prompt/user/` is a slip, not an attachment."""
    ref = by_name.get(folded[-1])
    if ref is not None and folded[-2] in FOLDERS:
        raise DispatchError(f"no prompt file '{path}'", hint=f"did you mean '{ref}'?")


def _command(ref: str, rest: str, library: PromptLibrary) -> ContextCommand | None:
    if ref == CLEAR_CONVERSATION:
        if rest.strip():
            message = f"'{CLEAR_CONVERSATION}' takes no text, not {rest.strip()!r}"
            raise DispatchError(message, hint="remove what stands behind the file")
        return ContextCommand("clear")
    return _context_command(rest, library) if ref == CONTEXT_MANAGER else None


def _context_command(rest: str, library: PromptLibrary) -> ContextCommand:
    words = _words(rest)
    operations = list(get_args(Operation))
    if not words:
        return ContextCommand("load")
    if words[0] not in operations:
        near = nearest(words[0], operations)
        hint = f"did you mean '{near}'?" if near else "use load, log or clear"
        raise DispatchError(f"unknown operation '{words[0]}' on the context", hint=hint)
    operation: Operation = words[0]  # type: ignore[assignment]  # one of `operations`
    options = _options(words[1:])
    if operation != "log":
        if options:
            message = f"'{operation}' takes no {', '.join(options)}"
            raise DispatchError(message, hint="only 'log' takes options")
        return ContextCommand(operation)
    return ContextCommand(
        operation,
        message=_required(options, "--message"),
        intent=library.intent_named(_required(options, "--intent")),
        context_ref=options.get("--context-ref"),
        session_id=options.get("--session-id"),
    )


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        message = f"the command cannot be read: {str(error).lower()}"
        raise DispatchError(message, hint=f"quote texts, as in: {_EXAMPLE}") from error


def _options(words: list[str]) -> dict[str, str]:
    """Option values by name, from `--name value` and `--name=value`."""
    options: dict[str, str] = {}
    queue = list(words)
    while queue:
        name, equals, value = queue.pop(0).partition("=")
        if name not in _OPTIONS:
            near = nearest(name, list(_OPTIONS))
            hint = f"did you mean '{near}'?" if near else f"quote texts, as in: {_EXAMPLE}"
            raise DispatchError(f"unknown option or stray word '{name}'", hint=hint)
        if name in options:
            raise DispatchError(f"option '{name}' stands twice", hint="keep one")
        if not equals:
            if not queue or queue[0].partition("=")[0] in _OPTIONS:
                raise DispatchError(f"option '{name}' has no value", hint=f"as in: {_EXAMPLE}")
            value = queue.pop(0)
        options[name] = value
    return options


def _required(options: dict[str, str], name: str) -> str:
    if not options.get(name, "").strip():
        raise DispatchError(f"'log' needs {name}", hint=f"as in: {_EXAMPLE}")
    return options[name]
