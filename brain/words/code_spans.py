"""Where a message has code: fenced blocks (``` and ~~~, closed or not) and indented ones."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_OPENING: Final = re.compile(
    r"""^(?P<lead>[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?)  # inside a quotation or a list
         (?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$""",
    re.VERBOSE | re.MULTILINE,
)
_OPENING_BEHIND_PROSE: Final = re.compile(
    r"^(?P<lead>.*[ \t:(])(?P<fence>`{3,})(?P<info>[^\s`]*)$", re.MULTILINE
)
_FENCED: Final = (_OPENING, _OPENING_BEHIND_PROSE)
_INDENTED: Final = re.compile(r"^(?:(?:[ ]{4}|\t).*\S.*(?:\n|\Z)(?:[ \t]*\n)*+){3,}", re.MULTILINE)
"""Fewer than three lines may be a quotation."""

_FILE: Final = r"[\w./\\@-]*\w\.[A-Za-z]\w{0,5}"
_NAMED_FILE: Final = re.compile(rf"""(?:^|[=:]\s*["']?)({_FILE})""")
_FILE_BEFORE: Final = re.compile(rf"(?:^|[\s(`*\"'])({_FILE})[`*\"')]*(:)?[`*]*\s*$")
_FILE_COMMENT: Final = re.compile(
    rf"^[ \t]*(?:\#|//|/\*|--|<!--|;)+\s*(?:file(?:name)?:?\s*)?({_FILE})\s*(?:\*/|-->)?\s*$",
    re.IGNORECASE | re.MULTILINE,
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
    fence: int
    """Offset of the opening fence."""
    first_line: int
    """Offset of the first line behind it."""
    last_line: int
    """Offset behind the last line before the closing fence."""

    def header(self, text: str) -> str:
        """Return the name of the file and the first definition, whichever there are."""
        found = _DEFINITION.search(text, self.first_line, self.end)
        definition = found[0].strip()[:_HEADER_LIMIT] if found else ""
        return " ".join(filter(None, (self.file, definition)))


def code_spans(text: str) -> tuple[CodeSpan, ...]:
    """Return the blocks of code in order; they do not overlap.

    >>> [text] = ["see app.py:\\n```python\\nx = 1\\n```\\ndone"]
    >>> [(span.language, span.file, text[span.start : span.end]) for span in code_spans(text)]
    [('python', 'app.py', '```python\\nx = 1\\n```\\n')]
    """
    if not ("```" in text or "~~~" in text or "\n    " in text or "\n\t" in text):
        return ()
    return tuple(_spans(text, (*_FENCED, _INDENTED)))


def fenced_spans(text: str) -> Iterator[CodeSpan]:
    """Yield the blocks between fences alone."""
    return _spans(text, _FENCED if "```" in text or "~~~" in text else ())


def _spans(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[CodeSpan]:
    starts = (found for pattern in patterns for found in pattern.finditer(text))
    end = 0
    unclosed: set[str] = set()  # fences that nothing closes from here on
    for found in sorted(starts, key=re.Match.start):
        if found.start() < end:
            continue
        span = _indented(text, found) if found.re is _INDENTED else _fenced(text, found, unclosed)
        if span is not None:
            yield span
            end = span.end


def _fenced(text: str, opening: re.Match[str], unclosed: set[str]) -> CodeSpan | None:
    fence, info, lead = opening["fence"], opening["info"], opening["lead"]
    closing = None if fence in unclosed else _closing(fence).search(text, opening.end())
    if closing is None:
        unclosed.add(fence)
        if len(info.split()) > 1:
            return None  # prose that talks of a fence
    language, file = _info(info)
    behind_prose = bool(lead.strip(" \t>-*+.)0123456789"))
    start = opening.start("fence") if behind_prose else opening.start()
    first_line = min(opening.end() + 1, len(text))
    if not file:
        file = _file_before(lead if behind_prose else _line_before(text, opening.start()))
    if not file and (comment := _FILE_COMMENT.match(text, first_line)):
        file = comment[1]
    end = last_line = len(text)
    if closing:
        end = closing.end() + text.startswith("\n", closing.end())
        last_line = max(closing.start(), closing.end("code"))
    fence_at = opening.start("fence")
    return CodeSpan(start, end, language, file, fence_at, first_line, last_line)


def _closing(fence: str) -> re.Pattern[str]:
    """Return what ends a block: a line of the fence, also with prose or code right beside it."""
    sign = fence[0]
    alone = (
        rf"[ \t>]*{fence}{sign}*(?:[ \t>]*$|(?=[ \t]+[^\s{sign}]+[ \t]+[^\s{sign}][^\n{sign}]*$))"
    )
    behind = (
        rf"|(?![ \t>]*{fence})(?P<code>.*){fence}[ \t>]*$" if sign == "`" else "|(?P<code>(?!))"
    )
    return re.compile(rf"(?<=\n)(?:{alone}{behind})", re.MULTILINE)


def _info(info: str) -> tuple[str | None, str]:
    """Read what stands behind a fence: the language and, in some dialects, the file."""
    said = info.strip(" \t{}").lstrip(".")
    named = _NAMED_FILE.search(said)
    file = named[1] if named else ""
    if file and said.startswith(file):
        return file.rpartition(".")[2].lower(), file
    language = _LANGUAGE.match(said)
    return (language[0].lower() if language else None), file


def _line_before(text: str, at: int) -> str:
    """Return the line above, or the one above that if it is blank."""
    lines = text[max(at - 1000, 0) : at].split("\n")[:-1]
    return next((line for line in reversed(lines[-2:]) if line.strip()), "")


def _file_before(line: str) -> str:
    found = _FILE_BEFORE.search(line)
    if found is None:
        return ""
    alone = not line[: found.start(1)].strip(" \t#>*`\"'(")
    return found[1] if found[2] or alone else ""


def _indented(text: str, found: re.Match[str]) -> CodeSpan | None:
    """Return an indented block, unless it continues a paragraph or an item of a list."""
    above = text[max(found.start() - 1000, 0) : found.start()].split("\n")[-2:]
    before = _line_before(text, found.start())
    if above[0].strip() or _LIST_ITEM.match(before) or before.startswith(("    ", "\t")):
        return None
    end = found.start() + len(found[0].rstrip())
    line_end = text.find("\n", end)
    start, end = found.start(), line_end + 1 or len(text)
    return CodeSpan(start, end, None, "", start, start, end)
