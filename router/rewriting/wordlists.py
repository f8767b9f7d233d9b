"""Words that the checks of a rewrite know, and forms that no message has.

The words are `router/english/rewriting.yaml`. In other languages the checks of a rewrite know no
such words, and turn more rewrites down.
"""

import re
from typing import Final

from kds.router.english import words
from kds.router.rewriting.text import word_key


def _keys(name: str) -> frozenset[str]:
    return frozenset(map(word_key, words("rewriting", name)))


NEGATIONS: Final = _keys("negations")
POINTING: Final = _keys("pointing")
FILLING: Final = _keys("filling")
CARRYING: Final = _keys("carrying")
FAILING: Final = _keys("failing")
LIGHT: Final = _keys("light")

POLITE: Final = re.compile(
    r"^\s*(?:(?:please|ok|okay|now|also|and|so|then|hey|hi)\b[\s,]*)*"
    r"(?:(?:can|could|would|will)\s+you(?:\s+please)?|(?:i|we)(?:'d| would)?\s+"
    r"(?:want|need|like|would like)(?:\s+you)?\s+to|let's|let us|please)\b",
    re.IGNORECASE,
)
"""A wish around an order: it may be left out, and the order then stands alone."""

OBEYING: Final = re.compile(
    r"\b(?:ignor|disregard|forget|overrid|bypass)\w*\b.{0,60}\b(?:instruct|prompt|rule|above|"
    r"previous|prior|earlier|context|guideline|polic)"
    r"|\bsystem\s+(?:prompt|message)|\bjailbreak|\byou\s+are\s+now\b|\bas\s+an?\s+(?:ai|language|llm)\b"
    r"|\bi(?:'m|\s+am)\s+(?:an?\s+(?:ai|assistant|language)|sorry|unable|not\s+able)"
    r"|\bi\s+(?:can\s?not|can't|won't|will\s+not)\b|<\||\|>|\[/?inst\]|\{\{|\}\}|\{%"
    r"|</?(?:message|history|system|user|assistant|rules?|conversation)\b"
    r"|\b(?:system|assistant|user|human|ai)\s*:",
    re.IGNORECASE | re.DOTALL,
)
"""What is left of an instruction in the conversation that a model obeyed, or of its own role."""

PREFIX: Final = re.compile(
    r"^\W*(?:(?:sure|certainly|of course|okay|ok|here)\b[^:]{0,80}:|"
    r"(?:the\s+|my\s+)?(?:\w+\s+){0,2}(?:rewrit\w*|rewrote|rephras\w*|output|answer|result|"
    r"self-contained|standalone|stand-alone|expanded|resolved|final)\b[^:]{0,40}:)",
    re.IGNORECASE,
)
"""How a model announces what it was asked for."""

MARKUP: Final = re.compile(
    r"```|\*\*|__(?=\w+ )|^\s{0,3}(?:#{1,6}|>|[-*+]|\d+[.)])\s|</?\w+[^<>]*>|\]\("
    r"|^\s*[\[{].*[\]}]\s*$|&\w+;"
)
"""Markdown, tags, JSON, entities."""
