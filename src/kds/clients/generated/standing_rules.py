"""What an assistant is told about KDS in files that it reads by itself: a rule, AGENTS.md."""

import re
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final

from kds.clients.generated.generated_file import GeneratedFile, with_front_matter
from kds.clients.generated.mark import mark_comment, stamped
from kds.clients.table import CURSOR_RULE

_SOURCE: Final = "standing.md"
_BEGIN: Final = "<!-- kds: begin; `kds init --undo` takes this part out -->"
_END: Final = "<!-- kds: end -->"
_PART: Final = re.compile(
    rf"(?:(?<=\n)\r?\n)?{re.escape(_BEGIN)}.*?{re.escape(_END)}(?:\r?\n)?", re.DOTALL
)

_COMMAND_MARK: Final = "@KDS@"
_COMMAND: Final = re.compile(r"`([^`\n]+) route --json(?: 'MESSAGE')?`")

_WHEN: Final = "KDS, for messages that point to something you cannot see, or that ask for KDS."


def command_named(text: str) -> str | None:
    """The program, as a shell calls it, that a rule, a skill or a page has the model run.

    >>> command_named("run `'/my env/bin/kds' route --json 'MESSAGE'` in it")
    "'/my env/bin/kds'"
    """
    match = _COMMAND.search(text)
    return None if match is None else match[1]


def cursor_rule(kds: str) -> GeneratedFile:
    """The rule for Cursor, of which only the description is always read.

    ``kds`` is the program as a shell calls it, here as in `with_section`.
    """
    fields = {"description": _WHEN, "alwaysApply": False}
    text = with_front_matter(fields, f"{_words(kds)}\n{mark_comment(_SOURCE)}")
    return GeneratedFile(PurePosixPath(CURSOR_RULE), stamped(text))


def with_section(text: str, kds: str) -> str:
    """A page with our part in it, at its end unless it is there already."""
    end = "\r\n" if "\r\n" in text else "\n"
    part = f"{_BEGIN}\n## KDS\n\n{_words(kds)}{_END}\n".replace("\n", end)
    found = _PART.search(text)
    if found is not None:
        gap = end if found[0].startswith(("\r", "\n")) else ""
        return text[: found.start()] + gap + part + text[found.end() :]
    gap = "" if not text else end if text.endswith(("\n", "\r")) else end * 2
    return text + gap + part


def without_section(text: str) -> str:
    """The page without our part, and without the blank line before it."""
    return _PART.sub("", text, count=1)


def section_in(text: str) -> str | None:
    """Our part of the page, None where there is none."""
    found = _PART.search(text)
    return None if found is None else found[0]


def _words(kds: str) -> str:
    text = files(__package__).joinpath(_SOURCE).read_text(encoding="utf-8")
    return text.replace(_COMMAND_MARK, kds)
