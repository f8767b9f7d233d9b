"""The language layer: text in, a frozen Analysis out. The only module that imports spaCy.

Default: spaCy's blank English with our tokens, tagger, noun-phrase chunker and an EntityRuler
fed from YAML; no downloaded model. When the user names an installed pipeline
(``en_core_web_sm`` ...), its tags and lemmas replace the lexicon tagger's.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from kds.brain.errors import KdsError
from kds.router.english import English, load_english, words
from kds.router.language import closed_class as cc
from kds.router.language.chunker import find_phrases
from kds.router.language.clauses import find_clauses
from kds.router.language.late_terms import EntityPattern, LateTerms
from kds.router.language.lexicon import readings
from kds.router.language.shapes import shape, whole_token
from kds.router.language.tagger import tag
from kds.router.language.words import Analysis, Word

if TYPE_CHECKING:
    from spacy.language import Language as SpacyLanguage
    from spacy.tokens import Doc, Token

ANALYSED_CHARS: Final = 2_000
"""Only this much of a message is analysed; follow-ups are short, pasted logs are not."""

CACHED_TEXTS: Final = 256
"""Analyses kept: ten context lines and their expansions for a dozen workspaces."""

_ENGLISH: Final = "kds_english"
"""The key in the data of a Doc under which its word lists are."""

_TEXT: Final = "kds_text"
"""The same for its text, which spaCy would put together from the tokens again."""

_MARKS: Final = ('"', "`", "“", "'")

_OWNED: Final = cc.ARTICLES | cc.POSSESSIVES | cc.DEMONSTRATIVES | {"another", "each", "every"}
_ENTERING: Final = frozenset({"in", "on"})
_OF_ENTERING: Final = words("nouns", "of_entering")
_OF_TWO_VERBS: Final = words("nouns", "of_two_verbs")
_BEFORE_VERBS: Final = cc.ADVERBS | cc.INTERJECTIONS | cc.COORDINATORS | {"to", ",", "."}
_IN_PHRASAL_NOUNS: Final = cc.PARTICLES | {"to", "and", "&"}

_QUOTED: Final = re.compile(
    r'(?s:```.*?(?:```|\Z))|"[^"\n]{1,120}"|“[^”\n]{1,120}”|`[^`\n]{1,120}`|(?<!\w)\'[^\'\n]{1,80}\'(?!\w)'
)


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
        self._nlp = _load(model)
        self._trained = model is not None
        self._terms = _late_terms(self._nlp, entities, trained=self._trained)
        self._one_at_a_time = threading.Lock()  # a memory zone belongs to the whole pipeline
        self._kept = lru_cache(maxsize=CACHED_TEXTS)(self._analyse)

    def analyse(self, text: str) -> Analysis:
        """Words, phrases, clauses and entities of ``text`` (its first 2,000 characters)."""
        return self._kept(text[:ANALYSED_CHARS])

    def _analyse(self, start: str) -> Analysis:
        """The analysis of a text that is short enough.

        In a memory zone, or spaCy would keep every new word for good: 2 MB in 1,000 messages of
        new words, against 0.1 MB with it (measured). Nothing of the Doc leaves the zone.
        """
        with self._one_at_a_time:
            self._terms.teach(start)
            with self._nlp.memory_zone():
                return self._read(start)

    def _read(self, text: str) -> Analysis:
        doc = self._nlp.make_doc(text)
        doc.user_data |= {_ENGLISH: self._english, _TEXT: text}
        doc = self._nlp(doc)
        tokens = [token for token in doc if not token.is_space]
        words = tuple(_words(tokens, trained=self._trained))
        clauses = find_clauses(words)
        phrases = find_phrases(words, clauses, self._english)
        index = {token.i: i for i, token in enumerate(tokens)} if doc.ents else {}
        entities = tuple(
            (index[ent.start], index[ent.end - 1] + 1, ent.label_, ent.ent_id_)
            for ent in doc.ents
            if ent.start in index and ent.end - 1 in index
        )
        return Analysis(text, words, phrases, clauses, entities, self._english)


@lru_cache(maxsize=4)
def open_language(
    entities: tuple[EntityPattern, ...],
    model: str | None = None,
    english: English | None = None,
) -> Language:
    """The language layer for these entities, one for the whole process. Raises KdsError."""
    return Language(entities, model=model, english=english)


def _load(model: str | None) -> SpacyLanguage:
    import_spacy()  # late: it costs half a second of CPU
    import spacy
    from spacy.language import Language as Pipeline

    if model is not None:
        try:
            nlp = spacy.load(model)
        except OSError as error:
            raise KdsError(
                f"the spaCy model '{model}' cannot be loaded: {error}",
                hint="install it, or unset KDS_SPACY_MODEL to use the built-in tagger",
            ) from error
    else:
        nlp = _blank()
    nlp.tokenizer.token_match = whole_token  # type: ignore[union-attr]  # the stub allows any callable
    if not Pipeline.has_factory("kds_quotes"):
        Pipeline.component("kds_quotes", func=_merge_quotes, retokenizes=True)
        Pipeline.component("kds_phrasal", func=_merge_phrasal_nouns, retokenizes=True)
        Pipeline.component("kds_tagger", func=_tag_doc, assigns=["token.pos", "token.lemma"])
    nlp.add_pipe("kds_quotes", first=True)
    if model is None:
        nlp.add_pipe("kds_phrasal", after="kds_quotes")
        nlp.add_pipe("kds_tagger")
    return nlp


def _late_terms(
    nlp: SpacyLanguage, entities: Iterable[EntityPattern], *, trained: bool
) -> LateTerms:
    """What ``nlp`` is yet to learn: a trained pipeline brings its exceptions along."""
    from spacy.lang.en import English

    patterns = [
        {"label": entity.label, "pattern": form, "id": entity.canonical}
        for entity in entities
        for form in entity.forms
    ]
    exceptions = {} if trained else English.Defaults.tokenizer_exceptions
    return LateTerms(nlp, exceptions, patterns)


def _blank() -> SpacyLanguage:
    """English without the exceptions of its tokenizer: see `kds.router.language.late_terms`.

    Of a new word it works out what is used here alone: a message has dozens of new words.
    """
    from spacy.attrs import IS_SPACE, LOWER, NORM  # type: ignore[import-not-found]  # Cython
    from spacy.lang.en import English

    defaults = type("Defaults", (English.Defaults,), {"tokenizer_exceptions": {}})
    nlp: SpacyLanguage = type("Bare", (English,), {"Defaults": defaults})()
    vocab: Any = nlp.vocab  # its stub does not know the getters
    used = (LOWER, NORM, IS_SPACE)
    vocab.lex_attr_getters = {name: vocab.lex_attr_getters[name] for name in used}
    return nlp


def _merge_quotes(doc: Doc) -> Doc:
    """Make a quoted string one token: what stands in quotes is a name, not grammar."""
    text = doc.user_data[_TEXT]
    if not any(mark in text for mark in _MARKS):
        return doc
    spans = [doc.char_span(*m.span(), alignment_mode="expand") for m in _QUOTED.finditer(text)]
    from spacy.util import filter_spans  # late, as all of spaCy

    whole = filter_spans([s for s in spans if s is not None and len(s) > 1])
    with doc.retokenize() as retokenizer:
        for span in whole:
            retokenizer.merge(span)
    return doc


def _merge_phrasal_nouns(doc: Doc) -> Doc:
    """Make "sign up" of "a sign up form" one token: it is a noun, as "signup" is."""
    said = [token.lower_ for token in doc]
    if _IN_PHRASAL_NOUNS.isdisjoint(said):
        return doc
    english = doc.user_data[_ENGLISH]
    spans = [doc[i : i + 2] for i in range(1, len(said) - 1) if _is_phrasal_noun(said, i, english)]
    spans += [doc[i : i + 3] for i in range(1, len(said) - 2) if _is_of_two_verbs(said, i)]
    with doc.retokenize() as retokenizer:
        for span in spans:
            retokenizer.merge(span)
    return doc


def _is_of_two_verbs(said: list[str], i: int) -> bool:
    """ "Add drag and drop", not "now drag and drop the file"."""
    pair = f"{said[i]}/{said[i + 2]}" if said[i + 1] in {"and", "&"} else ""
    follows = said[i + 3] if i + 3 < len(said) else "."
    has_object = follows in cc.DETERMINERS or follows in cc.PERSONAL
    return pair in _OF_TWO_VERBS and said[i - 1] not in _BEFORE_VERBS and not has_object


def _is_phrasal_noun(said: list[str], i: int, english: English) -> bool:
    verb, particle, follows = said[i], said[i + 1], said[i + 2] if i + 2 < len(said) else "."
    if (verb, particle) == ("to", "do"):
        return said[i - 1] in _OWNED and bool(readings(follows).noun)
    joined = bool(readings(verb + particle).noun)
    if not joined and verb not in english.particles.get(particle, ()):
        return False
    new = said[i - 1] not in _OWNED and bool(readings(said[i - 1]).adjective)
    owner = said[i - 2] if new and i > 1 else said[i - 1]
    if owner not in _OWNED:
        return False
    if particle in _ENTERING:
        return follows in _OF_ENTERING
    asked = said[i - 2] in cc.FINITE_AUX if i > 1 else False  # "does this roll back migrations"
    if readings(follows).noun == follows and follows not in cc.PREPOSITIONS and not asked:
        return True
    ends = not follows.isalnum() or follows in cc.PREPOSITIONS or follows in cc.COORDINATORS
    return joined and ends and owner not in cc.DEMONSTRATIVES


def _tag_doc(doc: Doc) -> Doc:
    tokens = [token for token in doc if not token.is_space]
    found = tag([token.text for token in tokens], doc.user_data[_ENGLISH])
    for token, (pos, penn, lemma, _) in zip(tokens, found, strict=True):
        token.pos_ = pos or "X"
        token.tag_ = penn
        token.lemma_ = lemma
    return doc


def _words(tokens: Iterable[Token], *, trained: bool) -> Iterator[Word]:
    for i, token in enumerate(tokens):
        kind = _kind(token.text)
        pos = "PROPN" if kind and kind != "number" else token.pos_
        penn = token.tag_ if token.tag_.startswith("VB") else ""
        if trained and penn == "VBP":
            penn = "VB"
        start = token.idx
        yield Word(i, token.text, start, start + len(token.text), pos, token.lemma_, penn, kind)


def _kind(text: str) -> str:
    if len(text) > 2 and text[0] in "\"“`'" and text[-1] in "\"”`'":
        return "quote"
    return shape(text)


_CLI: Final = "spacy.cli"
_INFO: Final = "spacy.cli.info"


def import_spacy() -> None:
    """Import spaCy. Its command line is loaded when somebody imports it, or calls `spacy.info`."""
    if "spacy" in sys.modules or _CLI in sys.modules:
        return
    cli, info = ModuleType(_CLI), ModuleType(_INFO)
    cli.__path__ = []
    info.__dict__["info"] = _info
    sys.modules |= {_CLI: cli, _INFO: info}
    try:
        import_module("spacy")
    finally:
        for name in (_CLI, _INFO):
            sys.modules.pop(name, None)


def _info(*args: Any, **options: Any) -> Any:
    """What `spacy.info` is: the real one, loaded now."""
    return import_module(_INFO).info(*args, **options)
