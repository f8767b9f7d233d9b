"""What may be stored of a text: secrets replaced by `[secret: <kind>]`, code by its size.

The one door to the disk: the journal sends every text through `storable` (DESIGN 3). Secrets
are found by the rules of `rules.yaml`; those that several lines make are found by `spread`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple

from kds.brain.message import well_formed
from kds.brain.secrets.code_block import summarise_code
from kds.brain.secrets.rules import (
    LONG_RUN,
    findings,
    folded,
    is_strong,
    secret_kinds,
    secret_rules,
    token_kind,
    token_pattern,
)
from kds.brain.secrets.spread import masked_lines, public_lines

_PRIVATE_KEY_KIND: Final = "private key"

KINDS: Final = secret_kinds() | {_PRIVATE_KEY_KIND}
"""The kinds a mark may name. Closed, so that a text cannot hide a secret in a false mark."""

_MARK: Final = re.compile(
    r"\[secret: (?:" + "|".join(sorted(map(re.escape, KINDS), key=len, reverse=True)) + r")\]"
)

_PRIVATE_KEY: Final = re.compile(
    r"""-{4,5}\ ?BEGIN\ (?P<what>[A-Z0-9\ ]{0,30}PRIVATE\ KEY(?:\ BLOCK)?)\ ?-{4,5}
        (?:
          (?:(?!-{4,5}\ ?BEGIN\ ).)*?-{4,5}\ ?END\ (?P=what)\ ?-{4,5}     # to its end,
        | (?:(?:\r?\n|\\r|\\n)[>|\ \t]*(?:[A-Za-z-]{4,20}:\ [^\n]*|[A-Za-z0-9+/=]*)[\ \t"',+]*
              (?=\r?\n|\\|\Z)
            |\ [A-Za-z0-9+/=]{20,}
          )*
        )
      | PuTTY-User-Key-File-\d:.*?(?:Private-MAC:\ \w+|\Z)""",
    re.VERBOSE | re.DOTALL,
)
"""The body is the secret, not the first line only. A key without its end goes
as far as its lines look like one."""

_WINDOW: Final = 1200
_OVERLAP: Final = 300
"""Characters. A longer line is looked at in windows, so that a rule that tries every pair of
places costs no more than the square of a window. A secret that has more than the overlap is
found by its start and taken to its end."""

_TOKEN_TAIL: Final = re.compile(r"[\w+/=.~-]*(?<![.])")
_REST: Final = re.compile(r"\s*(?P<rest>[\w+/=-]{6,})[\s\"',]*")
"""The rest of a token that was wrapped stands alone on the next line."""
_WRAPPED: Final = 40
"""Characters: a line that ends in a token and is shorter was not wrapped."""


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


def storable(text: str) -> str:
    """Return what may be stored of ``text``; applying it again changes nothing.

    >>> storable("log in with password: hunter2")
    'log in with password: [secret: password]'
    """
    return _settled(well_formed(text), lambda one: redact_secrets(summarise_code(one)))


def redacted(text: str) -> str:
    """Return ``text`` with its secrets replaced, code too; applying it again changes nothing."""
    return _settled(text, redact_secrets)


def _settled(text: str, change: Callable[[str], str]) -> str:
    """Change ``text`` until nothing does: what a mark leaves beside it may be a secret by itself.

    Each round that changes something leaves less that is no mark, so this ends; nearly always in
    the second round.
    """
    while (changed := change(text)) != text:
        text = changed
    return text


def redact_secrets(text: str) -> str:
    """Replace every secret found in ``text`` by its mark, once."""
    if not may_hold_secret(text):
        return text
    text = _PRIVATE_KEY.sub(f"[secret: {_PRIVATE_KEY_KIND}]", text)
    lines = masked_lines(text.split("\n"))
    public = public_lines(lines)
    kept: list[str] = []
    wrapped = False
    for number, line in enumerate(lines):
        done = line if number in public else _redact_line(line)
        if wrapped and (rest := _REST.fullmatch(line)) and is_strong(rest["rest"]):
            done = f"{line[: rest.start('rest')]}[secret: random text]{line[rest.end('rest') :]}"
        wrapped = done != line and done.endswith("]") and len(line) > _WRAPPED
        kept.append(done)
    return "\n".join(kept)


def may_hold_secret(text: str) -> bool:
    """Say, cheaply, whether any rule could find something; it may be wrong only with yes."""
    return LONG_RUN.search(text) is not None or _needs().search(folded(text)) is not None


@cache
def _needs() -> re.Pattern[str]:
    """What a text needs for any of the rules."""
    needles = {needle for rule in secret_rules() for needle in (rule.needs or [()])[0]}
    shortest = [one for one in needles if not any(two != one and two in one for two in needles)]
    return re.compile("|".join(map(re.escape, sorted(shortest))))


def _redact_line(line: str) -> str:
    if not may_hold_secret(line):
        return line
    # What is marked already is no context for a finding: the parts between stand alone.
    marks = [found[0] for found in _MARK.finditer(line)]
    parts = [_redact_part(part) for part in _MARK.split(line)]
    return "".join(part + mark for part, mark in zip(parts, [*marks, ""], strict=True))


def _redact_part(part: str) -> str:
    tails = _Tails(part)
    spans: list[_Span] = []
    for start in range(0, max(len(part) - _OVERLAP, 1), _WINDOW - _OVERLAP):
        spans.extend(_found(tails, part[start : start + _WINDOW], start))
    redacted: list[str] = []
    at = 0
    for span in _joined(spans):
        redacted += [part[at : span.start], f"[secret: {span.kind}]"]
        at = span.end
    return "".join((*redacted, part[at:]))


class _Tails:
    """Where the unbroken runs of a text end, each looked for once: a run of 100,000 characters may
    have a finding every four."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._run = (0, -1)

    def end(self, at: int) -> int:
        """The end of the run that ``at`` is in."""
        begins, ends = self._run
        if not begins <= at <= ends:
            tail = _TOKEN_TAIL.match(self.text, at)
            ends = tail.end() if tail else at
            self._run = (at, ends)
        return max(at, ends)


def _found(tails: _Tails, window: str, offset: int) -> Iterator[_Span]:
    if LONG_RUN.search(window):
        for match in token_pattern().finditer(window):
            yield _span(tails, token_kind(match), match.span(), offset, run=True)
    for rule, match in findings(window):
        yield _span(tails, rule.kind, match.span(rule.group), offset, run=rule.run)


def _span(tails: _Tails, kind: str, found: tuple[int, int], offset: int, *, run: bool) -> _Span:
    part = tails.text
    start, end = found[0] + offset, found[1] + offset
    if run or found[1] == _WINDOW:
        end = tails.end(end)
    while start < end and part[start].isspace():
        start += 1
    while end > start and part[end - 1].isspace():
        end -= 1
    return _Span(start, end, kind)


def _joined(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Join spans that overlap; the first rule that found the longest of them names the kind."""
    current: _Span | None = None
    longest = 0
    for span in sorted(spans, key=lambda span: span.start):
        if current is None or span.start >= current.end:
            if current is not None:
                yield current
            current, longest = span, span.end - span.start
            continue
        kind = span.kind if span.end - span.start > longest else current.kind
        longest = max(longest, span.end - span.start)
        current = _Span(current.start, max(current.end, span.end), kind)
    if current is not None:
        yield current
