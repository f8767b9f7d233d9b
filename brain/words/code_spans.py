"""Where a message has code: fenced blocks (``` and ~~~, closed or not) and indented ones."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

INDENTED_LINES: Final = 3
"""An indented block counts as code from this many lines on: fewer may be a quotation."""

_OPENING: Final = re.compile(
    r"""^(?P<lead>[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?)  # inside a quotation or a list
         (?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$""",
    re.VERBOSE,
)
_OPENING_BEHIND_PROSE: Final = re.compile(
    r"^(?P<lead>.*[\s:(])(?P<fence>`{3,})(?P<info>[\w+#.-]*)$"
)

_FILE: Final = r"[\w./\\@-]*\w\.[A-Za-z]\w{0,5}"
_FILE_ONLY: Final = re.compile(_FILE)
_NAMED_FILE: Final = re.compile(r"""(?:title|file|filename|path)\s*=\s*["']?([^"'\s}]+)""")
_FILE_BEFORE: Final = re.compile(rf"(?:^|[\s(`*\"'])({_FILE})[`*\"')]*(:)?[`*]*\s*$")
_FILE_COMMENT: Final = re.compile(
    rf"^\s*(?:\#|//|/\*|--|<!--|;)+\s*(?:file(?:name)?:?\s*)?({_FILE})\s*(?:\*/|-->)?\s*$", re.I
)
_LANGUAGE: Final = re.compile(r"[A-Za-z][\w+#-]{0,19}")
_DEFINITION: Final = re.compile(
    r"""^[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async
                   |override|pub(?:\(\w+\))?|unsafe|inline|virtual|partial)\s+)*
        (?:(?:def|class|function\*?|func|fn|fun|interface|struct|enum|trait|impl|module|namespace
            |type|record|protocol|sub|proc|macro_rules!)\s+[\w$<(]
          |(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:function|\([^)\n]*\)\s*=>|\w+\s*=>)
          |create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|index|trigger)\s
        ).*$""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_HEADER_LIMIT: Final = 120
_LIST_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """A block of code: ``text[start:end]``, fences included; ``file`` is "" when not named."""

    start: int
    end: int
    language: str | None
    file: str
    first_line: int
    """Offset of the first line behind the fence."""

    def header(self, text: str) -> str:
        """Return the name of the file and the first definition, whichever there are."""
        found = _DEFINITION.search(text, self.first_line, self.end)
        definition = found[0].strip()[:_HEADER_LIMIT] if found else ""
        return " ".join(filter(None, (self.file, definition)))


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str


def code_spans(text: str) -> tuple[CodeSpan, ...]:
    """Return the blocks of code in order; they do not overlap.

    >>> [text] = ["see app.py:\\n```python\\nx = 1\\n```\\ndone"]
    >>> [(span.language, span.file, text[span.start : span.end]) for span in code_spans(text)]
    [('python', 'app.py', '```python\\nx = 1\\n```\\n')]
    """
    if not ("```" in text or "~~~" in text or "\n    " in text or "\n\t" in text):
        return ()
    return tuple(_spans(_lines(text)))


def _lines(text: str) -> list[_Line]:
    lines = []
    at = 0
    for line in text.split("\n"):
        end = min(at + len(line) + 1, len(text))
        lines.append(_Line(at, end, line))
        at = end
    return lines


def _spans(lines: list[_Line]) -> Iterator[CodeSpan]:
    at = 0
    unclosed: set[str] = set()  # fences that nothing closes from here on
    while at < len(lines):
        if (opening := _opening(lines[at].text)) is not None:
            fence = opening["fence"]
            last = None if fence in unclosed else _closing(lines, at + 1, fence)
            if last is None:
                unclosed.add(fence)
            # Prose may talk of a fence; one that names more than a language and never closes.
            if last is not None or len(opening["info"].split()) <= 1:
                last = len(lines) - 1 if last is None else last
                yield _fenced(lines, at, last, opening)
                at = last + 1
                continue
        elif (last := _indented_until(lines, at)) is not None:
            yield CodeSpan(lines[at].start, lines[last].end, None, "", lines[at].start)
            at = last + 1
            continue
        at += 1


def _opening(line: str) -> re.Match[str] | None:
    if "```" not in line and "~~~" not in line:
        return None
    return _OPENING.match(line) or _OPENING_BEHIND_PROSE.match(line)


def _closing(lines: list[_Line], start: int, fence: str) -> int | None:
    """Return the index of the line that ends a block."""
    for index in range(start, len(lines)):
        bare = lines[index].text.strip(" \t>")
        if bare.startswith(fence) and not bare.strip(fence[0]):
            return index
        if fence[0] == "`" and bare.endswith(fence) and not bare.startswith(fence):
            return index  # the last line of the code has the fence behind it
    return None


def _fenced(lines: list[_Line], first: int, last: int, opening: re.Match[str]) -> CodeSpan:
    lead = opening["lead"]
    inside_line = bool(lead.strip(" \t>-*+.)0123456789"))
    language, file = _info(opening["info"])
    before = lead if inside_line else _line_before(lines, first)
    start = lines[first].start + (len(lead) if inside_line else 0)
    file = file or _file_before(before) or _file_comment(lines, first + 1)
    return CodeSpan(start, lines[last].end, language, file, lines[first].end)


def _info(info: str) -> tuple[str | None, str]:
    """Read what stands behind a fence: the language and, in some dialects, the file."""
    named = _NAMED_FILE.search(info)
    file = named[1] if named else ""
    word = info.strip().strip("{}").split(maxsplit=1)[0] if info.strip(" {}\t") else ""
    word, _, rest = word.partition(":")
    if not file and _FILE_ONLY.fullmatch(rest):
        file = rest
    if _FILE_ONLY.fullmatch(word) and not _LANGUAGE.fullmatch(word):
        return word.rpartition(".")[2].lower(), file or word
    language = _LANGUAGE.match(word.lstrip("."))
    return (language[0].lower() if language else None), file


def _line_before(lines: list[_Line], at: int) -> str:
    for line in reversed(lines[max(at - 2, 0) : at]):
        if line.text.strip():
            return line.text
    return ""


def _file_before(line: str) -> str:
    found = _FILE_BEFORE.search(line)
    if found is None:
        return ""
    alone = not line[: found.start(1)].strip(" \t#>*`\"'(")
    return found[1] if found[2] or alone else ""


def _file_comment(lines: list[_Line], at: int) -> str:
    found = _FILE_COMMENT.match(lines[at].text) if at < len(lines) else None
    return found[1] if found else ""


def _indented_until(lines: list[_Line], at: int) -> int | None:
    """Return the last line of an indented block that starts at ``at``, None when none does."""
    if not _is_indented(lines[at].text) or (at and lines[at - 1].text.strip()):
        return None
    above = _line_before(lines, at)
    if _LIST_ITEM.match(above) or _is_indented(above):
        return None  # the rest of a list item
    last, count = at, 0
    for index in range(at, len(lines)):
        text = lines[index].text
        if _is_indented(text):
            last, count = index, count + 1
        elif text.strip():
            break
    return last if count >= INDENTED_LINES else None


def _is_indented(line: str) -> bool:
    return line.startswith(("    ", "\t")) and bool(line.strip())
