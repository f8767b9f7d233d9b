"""What may be stored of a text: secrets replaced by `[secret: <kind>]`, code by its size.

The one door to the disk: the journal sends every text through `storable` (DESIGN 3). Secrets
are found by the rules of `rules.yaml`; those that several lines make are found by `lines`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kds.brain.message import well_formed
from kds.brain.secrets.code_block import summarise_code
from kds.brain.secrets.lines import line_findings
from kds.brain.secrets.rules import BLANK, Span, findings, may_hold_secret
from kds.brain.secrets.value_tests import DATA, TESTS

__all__ = ["KINDS", "may_hold_secret", "redact_secrets", "redacted", "storable"]

KINDS: Final = frozenset(
    {"password", "token", "api key", "secret", *DATA["tokens"], *DATA["former_kinds"]}
    | {rule["kind"] for rule in DATA["free"]}
)
"""The kinds a mark may name. Closed, so that a text cannot hide a secret in a false mark."""

_BLANKED: Final = re.compile(
    r"\[secret: (?:" + "|".join(sorted(map(re.escape, KINDS), key=len, reverse=True)) + r")\]|"
    + "|".join(DATA["public"])
)  # fmt: skip
_PRIVATE_KEY: Final = re.compile(DATA["private_key"], re.VERBOSE | re.DOTALL)
"""The body is the secret, not the first line only. A key without its end goes
as far as its lines look like one."""
_REST: Final = re.compile(r"\n\s*(?P<rest>[\w+/=-]{6,})[\s\"',]*(?:\n|\Z)")
"""The rest of a token that was wrapped stands alone on the next line."""
_WRAPPED: Final = 40
"""Characters: a line that ends in a token and is shorter was not wrapped."""


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
    if "PRIVATE" in text or "PuTTY" in text:
        text = _PRIVATE_KEY.sub("[secret: private key]", text)
    view = text.replace(BLANK, " ")
    view = _BLANKED.sub(lambda found: BLANK * len(found[0]), view)
    low = _lowered(view)
    parts: list[str] = []
    at = 0
    for span in _joined((*findings(view, low), *line_findings(view, low))):
        end = span.end
        wrapped = end - text.rfind("\n", 0, end) > _WRAPPED
        if wrapped and (rest := _REST.match(text, end)) and TESTS["strong"](rest["rest"]):
            end = rest.end("rest")
        parts += [text[at : span.start], f"[secret: {span.kind}]"]
        at = end
    return "".join((*parts, text[at:]))


def _lowered(text: str) -> str:
    """Return ``text`` in lower case, as long as before."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(one.lower()[:1] for one in text)


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Join spans that overlap; the first rule that found the longest of them names the kind."""
    current: Span | None = None
    longest = 0
    for span in sorted(spans, key=lambda span: span.start):
        if current is None or span.start >= current.end:
            if current is not None:
                yield current
            current, longest = span, span.end - span.start
            continue
        kind = span.kind if span.end - span.start > longest else current.kind
        longest = max(longest, span.end - span.start)
        current = Span(current.start, max(current.end, span.end), kind)
    if current is not None:
        yield current
