"""The language layer: text in, a frozen Analysis out. The only module that imports spaCy.

spaCy cuts a text into tokens; our tagger, clauses and phrases read them. When the user names an
installed pipeline (``en_core_web_sm`` ...), its tags and lemmas replace the tagger's.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from kds.brain.errors import KdsError
from kds.router.english import English, load_english
from kds.router.language.chunker import find_clauses, find_phrases
from kds.router.language.shapes import shape, whole_token
from kds.router.language.tagger import Tag, phrasal_nouns, tag
from kds.router.language.words import Analysis, Word

if TYPE_CHECKING:
    from spacy.language import Language as SpacyLanguage

ANALYSED_CHARS: Final = 2_000
"""Only this much of a message is analysed; follow-ups are short, pasted logs are not."""

CACHED_TEXTS: Final = 256
"""Analyses kept: ten context lines and their expansions for a dozen workspaces."""

_MARKS: Final = ('"', "`", "“", "'")
_QUOTED: Final = re.compile(
    r'(?s:```.*?(?:```|\Z))|"[^"\n]{1,120}"|“[^”\n]{1,120}”|`[^`\n]{1,120}`|(?<!\w)\'[^\'\n]{1,80}\'(?!\w)'
)

_CLITICS: Final = frozenset({"re", "ve", "ll", "s"})

Span = tuple[int, int]
"""Where something starts and ends."""


@dataclass(frozen=True, slots=True)
class EntityPattern:
    """One entry: every way to write it, its label, and its canonical id ("" when none)."""

    label: str
    forms: tuple[str, ...]
    canonical: str = ""


class Language:
    """Analyses text. Building one loads spaCy (about a second of CPU); reuse it."""

    def __init__(
        self,
        entities: Iterable[EntityPattern] = (),
        *,
        model: str | None = None,
        english: English | None = None,
    ) -> None:
        """``english`` has the word lists of a workspace; without it there are the packaged ones."""
        self._english = english or load_english()
        self._nlp, self._exceptions = _load(model)
        self._trained = model is not None
        self._entities: dict[str, tuple[str, str]] = {}
        for entity in entities:
            for form in entity.forms:
                self._entities[" ".join(form.lower().split())] = (entity.label, entity.canonical)
        self._beginnings = {key[:n] for key in self._entities for n in range(len(key) + 1)}
        self._one_at_a_time = threading.Lock()  # a memory zone belongs to the whole pipeline
        self._kept = lru_cache(maxsize=CACHED_TEXTS)(self._analyse)

    def analyse(self, text: str) -> Analysis:
        """Words, phrases, clauses and entities of ``text`` (its first 2,000 characters)."""
        return self._kept(text[:ANALYSED_CHARS])

    def _analyse(self, text: str) -> Analysis:
        spans = self._tokens(text)
        if not self._trained:
            cut = phrasal_nouns([text[start:end] for start, end in spans], self._english)
            spans = [(spans[i][0], spans[i + size - 1][1]) for i, size in cut]
        texts = [text[start:end] for start, end in spans]
        tags = (
            self._model_tags(texts) if self._trained else tag(_apart(texts, spans), self._english)
        )
        words = tuple(
            _word(i, one, start, found)
            for i, (one, (start, _), found) in enumerate(zip(texts, spans, tags, strict=True))
        )
        clauses = find_clauses(words)
        phrases = find_phrases(words, clauses, self._english)
        return Analysis(text, words, phrases, clauses, self._found_in(words), self._english)

    def _tokens(self, text: str) -> list[Span]:
        """spaCy's tokens but white space; what stands in quotes is one: a name, not grammar.

        In a memory zone, or spaCy would keep every new word for good: 2 MB in 1,000 messages of
        new words, against 0.1 MB with it (measured). English has 1,300 exceptions for the
        tokenizer, which take 80 ms to learn: each is taught when a text first has it.
        """
        with self._one_at_a_time:
            begins = {text[i : i + n] for n in (1, 2, 3) for i in range(len(text))}
            for begin in sorted(begins & self._exceptions.keys()):
                known = self._exceptions[begin]
                for term in [term for term in known if term in text]:
                    self._nlp.tokenizer.add_special_case(term, known.pop(term))  # type: ignore[union-attr]  # the stub allows any callable
            with self._nlp.memory_zone():
                tokens = [(one.idx, one.idx + len(one.text)) for one in self._nlp.make_doc(text)]
        quotes: list[Span] = []
        if any(mark in text for mark in _MARKS):
            quotes = [found.span() for found in _QUOTED.finditer(text)]
        merged: list[Span] = []
        last = None
        for start, end in tokens:
            quote = next((one for one in quotes if one[0] < end and start < one[1]), None)
            if quote and quote == last:
                merged[-1] = (merged[-1][0], end)
            else:
                merged.append((start, end))
            last = quote
        return [(start, end) for start, end in merged if not text[start:end].isspace()]

    def _model_tags(self, texts: Sequence[str]) -> list[Tag]:
        from spacy.tokens import Doc  # late, as all of spaCy

        doc = self._nlp(Doc(self._nlp.vocab, words=list(texts)))
        return [(one.pos_, "VB" if one.tag_ == "VBP" else one.tag_, one.lemma_) for one in doc]

    def _found_in(self, words: Sequence[Word]) -> tuple[tuple[int, int, str, str], ...]:
        """The entities, the longest first where they overlap."""
        found: list[tuple[int, int, str, str]] = []
        for first in range(len(words)):
            key, end = "", words[first].start
            for word in words[first:]:
                key += " " * (word.start > end) + word.lower
                end = word.end
                if key not in self._beginnings:
                    break
                if known := self._entities.get(key):
                    found.append((first, word.i + 1, *known))
        chosen: list[tuple[int, int, str, str]] = []
        for one in sorted(found, key=lambda one: one[0] - one[1]):
            if all(one[1] <= other[0] or other[1] <= one[0] for other in chosen):
                chosen.append(one)
        return tuple(sorted(chosen))


@lru_cache(maxsize=4)
def open_language(
    entities: tuple[EntityPattern, ...],
    model: str | None = None,
    english: English | None = None,
) -> Language:
    """The language layer for these entities, one for the whole process. Raises KdsError."""
    return Language(entities, model=model, english=english)


def _apart(texts: Sequence[str], spans: Sequence[Span]) -> list[str]:
    """The texts of tokens, with the apostrophe that "theyre" and "whats" lack."""
    glued = [before[1] == after[0] for before, after in pairwise(spans)]
    return [
        f"'{text}" if joined and text.lower() in _CLITICS else text
        for text, joined in zip(texts, [False, *glued], strict=False)
    ]


def _word(i: int, text: str, start: int, found: Tag) -> Word:
    pos, penn, lemma = found
    quoted = len(text) > 2 and text[0] in "\"“`'" and text[-1] in "\"”`'"
    kind = "quote" if quoted else shape(text)
    pos = "PROPN" if kind and kind != "number" else pos
    penn = penn if penn.startswith("VB") else ""
    return Word(i, text, start, start + len(text), pos, lemma, penn, kind)


def _load(model: str | None) -> tuple[SpacyLanguage, dict[str, dict[str, Any]]]:
    """A pipeline, and by their beginnings the exceptions that its tokenizer is yet to learn.

    Without a model it is blank English, which works out of a new word only what is used here: a
    message has dozens of new words.
    """
    import_spacy()  # late: it costs half a second of CPU
    import spacy
    from spacy.attrs import IS_SPACE, LOWER, NORM  # type: ignore[import-not-found]  # Cython
    from spacy.lang.en import English

    exceptions: dict[str, dict[str, Any]] = {}
    if model is not None:
        try:
            nlp = spacy.load(model)
        except OSError as error:
            raise KdsError(
                f"the spaCy model '{model}' cannot be loaded: {error}",
                hint="install it, or unset KDS_SPACY_MODEL to use the built-in tagger",
            ) from error
    else:
        for term, tokens in English.Defaults.tokenizer_exceptions.items():
            exceptions.setdefault(term[:3], {})[term] = tokens
        defaults = type("Defaults", (English.Defaults,), {"tokenizer_exceptions": {}})
        nlp = type("Bare", (English,), {"Defaults": defaults})()
        vocab: Any = nlp.vocab  # its stub does not know the getters
        used = (LOWER, NORM, IS_SPACE)
        vocab.lex_attr_getters = {name: vocab.lex_attr_getters[name] for name in used}
    nlp.tokenizer.token_match = whole_token  # type: ignore[union-attr]  # the stub allows any callable
    return nlp, exceptions


_CLI: Final = "spacy.cli"
_INFO: Final = "spacy.cli.info"


def import_spacy() -> None:
    """Import spaCy. Its command line is loaded when somebody imports it, or calls `spacy.info`."""
    if "spacy" in sys.modules or _CLI in sys.modules:
        return
    cli, info = ModuleType(_CLI), ModuleType(_INFO)
    cli.__path__ = []
    info.__dict__["info"] = lambda *args, **options: import_module(_INFO).info(*args, **options)
    sys.modules |= {_CLI: cli, _INFO: info}
    try:
        import_module("spacy")
    finally:
        for name in (_CLI, _INFO):
            sys.modules.pop(name, None)
