"""Ways to make a follow-up stand alone that need no model, for `peers.py`."""

import re
from collections.abc import Callable, Mapping

from kds.evaluation.examples import RewriteExample
from kds.evaluation.rewrite_scoring import rewrite
from kds.router.discourse.mentions import mentions_in
from kds.router.references.resolver import Resolver

Rewrite = Callable[[RewriteExample], str]

_PRONOUN = re.compile(r"\b(it|they|them|he|him|she|this|that|these|those)\b", re.IGNORECASE)
_OWNER = re.compile(r"\b(its|their|his|her)\b", re.IGNORECASE)


def rewrite_peers(resolver: Resolver) -> Mapping[str, Rewrite]:
    """Name -> rewriter, KDS first."""
    return {
        "KDS": lambda example: rewrite(example, resolver).text,
        "pronoun -> last noun phrase": lambda example: _last_noun_phrase(example, resolver),
        "copy": lambda example: example.query,
    }


def _last_noun_phrase(example: RewriteExample, resolver: Resolver) -> str:
    """Put the newest noun phrase of the user in place of the first pronoun."""
    said = [message.text for message in example.history if message.role == "user"]
    found = (mentions_in(resolver.analyse(text), 0) for text in reversed(said))
    phrase = next((mentions[-1].text for mentions in found if mentions), None)
    if phrase is None:
        return example.query
    text, count = _OWNER.subn(lambda _: f"{phrase}'s", example.query, count=1)
    return text if count else _PRONOUN.sub(lambda _: phrase, example.query, count=1)
