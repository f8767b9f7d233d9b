"""Words that a rewrite may leave out, and words that it may bring in.

English, from grammar (the closed classes of `closed_class`) and not from any data set. In other
languages the checks of `rewriting_checks` know no such words, and turn more rewrites down.
"""

import re
from typing import Final

from kds.router.language import closed_class as cc
from kds.router.rewriting.text import word_key


def _keys(text: str) -> frozenset[str]:
    return frozenset(map(word_key, text.split()))


NEGATIONS: Final = _keys("not never no none nobody nothing nor neither nowhere without hardly")
"""Words that turn a request into its opposite: as many must come back, before the same words."""

POINTING: Final = _keys(
    "it its itself they them their theirs themselves he him his himself she her hers herself "
    "this that these those one ones there here both former latter "
    "such other others another else then rest thing things"
)
"""Words that point back: what they stand for may take their place."""

FILLING: Final = _keys(
    "and but so or ok okay well now also then too please actually yes yeah sure great thanks sorry "
    "oops wait hmm oh ah just really again instead rather right anyway still even next likewise "
    "alright hey hi hello yep"
)
"""Words that say nothing about what is wanted, where a message leans on the one before."""

CARRYING: Final = _keys("be do have the a an 's to of")
"""Words that go with another: they change, come and go as the words around them do."""

JOINING: Final = _keys(
    "the a an of for in on to with by about at as and or 's that which who whom whose be do "
    "have than between there during around regarding concerning related called named"
)
"""Words that may join what is brought in to what was there."""

BESIDES: Final = _keys("besides aside addition apart than other from except")
"""Words that say what "else" and "other" set apart; only where the message has such a word."""

SETTING_APART: Final = _keys("other others else another more any besides")

RANKING: Final = _keys(
    "first second third fourth fifth last next previous former latter other same left right"
)
"""Words that say which one of several: they go with "one"."""

SEVERAL: Final = frozenset(
    """they them their theirs themselves these those both which ones all others between each
    we us""".split()
)
"""Words that may point to several things: "and" may then come in between them."""

LIMITING: Final = _keys(
    "all only every each any some few many several most more less least both either half can "
    "could should would must may might will shall ought cannot 'll 'd from before after "
    "until since without within except unless instead if when while because though although "
    "whether over under above below up down off out into onto against again always often "
    "sometimes rarely seldom first second third last next previous new old same other "
    "another i you we my your our me us mine yours ours yes ok okay sure please sorry too "
    "also even just very really almost already still yet stop avoid"
)
"""Words that change what is asked: brought in only where the conversation has them before the
same word ("the only open ticket")."""

ASKING: Final = frozenset({*cc.WH})

POLITE: Final = re.compile(
    r"^\s*(?:(?:please|ok|okay|now|also|and|so|then|hey|hi)\b[\s,]*)*"
    r"(?:(?:can|could|would|will)\s+you(?:\s+please)?|(?:i|we)(?:'d| would)?\s+"
    r"(?:want|need|like|would like)(?:\s+you)?\s+to|let's|let us|please)\b",
    re.IGNORECASE,
)
"""A wish around an order: it may be left out, and the order then stands alone."""

CUE: Final = re.compile(
    r"^\s*(?:(?:and|but|so|ok|okay|no|nope|nah|sorry|actually|wait|then|now|also|oh|well)\b"
    r"[\s,.!-]*)*"
    r"(?P<cue>(?:what|how)(?:\s+about|'s about|\s+of)|(?:(?:do|apply|repeat|make)\s+)?"
    r"(?:exactly\s+)?(?:the\s+)?same(?:\s+(?:thing|change|rule|question|here))?|(?:do|repeat)\s+(?:it|this|that)"
    r"(?:\s+again)?|i\s+mean|i\s+meant|make\s+that|likewise|not)?\b",
    re.IGNORECASE,
)
"""The opening of a message that goes on with the sentence before: what follows it is new."""

TAIL: Final = re.compile(
    r"[\s,;:–—-]+(?:(?:is|does)\s+(?:it|that)\s+)?(?:the\s+)?same(?:\s+(?:thing|rule|question|"
    r"answer|here|there|for\s+(?:it|that)))?(?:\s+apply)?[\s?.!]*$|[\s,]+(?:too|as well)[\s?.!]*$",
    re.IGNORECASE,
)
"""The end of such a message: "the Closing Date - same rule?"."""

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
