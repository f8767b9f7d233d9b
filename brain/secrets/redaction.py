"""What may be stored of a text: secrets replaced by `[secret: <kind>]`, code by its size.

The one door to the disk: the journal sends every text through `storable` (DESIGN 3). Secrets
are found by the rules of detect-secrets and by ours (`own_rules` says why there are any).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from kds.brain.message import well_formed
from kds.brain.secrets.code_block import summarise_code
from kds.brain.secrets.key_form import PRIVATE_KEY
from kds.brain.secrets.own_rules import OWN_RULES, STEMS
from kds.brain.secrets.secret_block import masked_blocks, public_lines
from kds.brain.secrets.secret_library import LIBRARY_KINDS, library_rules
from kds.brain.secrets.secret_rule import SecretRule

PRIVATE_KEY_KIND: Final = "private key"

KINDS: Final = LIBRARY_KINDS | {rule.kind for rule in OWN_RULES} | {PRIVATE_KEY_KIND}
"""The kinds a mark may name. Closed, so that a text cannot hide a secret in a false mark."""

_MARK: Final = re.compile(
    r"\[secret: (?:" + "|".join(sorted(map(re.escape, KINDS), key=len, reverse=True)) + r")\]"
)

_SIGN: Final = re.compile(r"[^\w\s.,;]|\d|[^\x00-\x7f]")
_SHAPE: Final = re.compile(
    r"""://
      | [\w+/=.\\-]{16}
      | (?-i:AKC[A-Za-z0-9]|AP[\dA-F][A-Za-z0-9]{8}|eyJ)
      | xox[a-z]-
      | \d{8}:
      | [?&](?:sig|code)
      | \b(?:mysql|curl|sshpass)
    """,
    re.VERBOSE | re.IGNORECASE,
)

_WINDOW: Final = 1200
_OVERLAP: Final = 300
"""Characters. A longer line is looked at in windows, so that a rule that tries every pair of
places costs no more than the square of a window. A secret that has more than the overlap is
found by its start and taken to its end."""

_TOKEN_TAIL: Final = re.compile(r"[\w+/=.~-]*(?<![.])")


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
    text = PRIVATE_KEY.sub(f"[secret: {PRIVATE_KEY_KIND}]", text)
    lines = masked_blocks(text.split("\n"))
    public = public_lines(lines)
    return "\n".join(
        line if number in public else _redact_line(line) for number, line in enumerate(lines)
    )


def may_hold_secret(text: str) -> bool:
    """Say, cheaply, whether any rule could find something; it may be wrong only with yes.

    Every pattern needs one of: a word of STEMS and, on the same line, a digit or a sign
    other than full stop, comma and semicolon; "://"; an unbroken run of 16 signs; one of the
    few short forms. A test draws
    strings from each pattern and holds this function against them.
    """
    if _SHAPE.search(text):
        return True
    return STEMS.search(text) is not None and _SIGN.search(text) is not None


def _redact_line(line: str) -> str:
    if not may_hold_secret(line):
        return line
    # What is marked already is no context for a finding: the parts between stand alone.
    marks = [found[0] for found in _MARK.finditer(line)]
    parts = [_redact_part(part) for part in _MARK.split(line)]
    return "".join(part + mark for part, mark in zip(parts, [*marks, ""], strict=True))


def _redact_part(part: str) -> str:
    if not may_hold_secret(part):
        return part
    tails = _Tails(part)
    spans: list[_Span] = []
    for start in range(0, max(len(part) - _OVERLAP, 1), _WINDOW - _OVERLAP):
        window = part[start : start + _WINDOW]
        if may_hold_secret(window):
            spans.extend(_found(tails, window, start))
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
    folded = window.casefold()
    for rule in (*OWN_RULES, *library_rules()):
        if rule.needles and not any(needle in folded for needle in rule.needles):
            continue
        for match in rule.pattern.finditer(window):
            if rule.accept(match[rule.group]):
                yield _span(tails, rule, match.span(rule.group), offset)


def _span(tails: _Tails, rule: SecretRule, found: tuple[int, int], offset: int) -> _Span:
    part = tails.text
    start, end = found[0] + offset, found[1] + offset
    reaches_edge = found[1] == _WINDOW
    if rule.token or reaches_edge:
        end = tails.end(end)
    while start < end and part[start].isspace():
        start += 1
    while end > start and part[end - 1].isspace():
        end -= 1
    return _Span(start, end, rule.kind)


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
