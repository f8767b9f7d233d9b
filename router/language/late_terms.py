"""Names of entities, and terms that a spaCy pipeline is taught when a text first has them.

English has 1,300 exceptions for its tokenizer and KDS 760 forms of entities. Teaching spaCy all of
them takes 0.3 s of CPU before the first message, which has a handful of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kds.router.english import load_english
from kds.router.language.lexicon import is_plural
from kds.router.language.word_forms import with_s

if TYPE_CHECKING:
    from spacy.language import Language as SpacyLanguage

_RULER: Final = {"phrase_matcher_attr": "LOWER", "overwrite_ents": True}
_LETTERS: Final = "etaoinsrhldcumfpgwybvkxjqz"
"""Letters of English by frequency: terms are kept by the rarest sign that they have."""


@dataclass(frozen=True, slots=True)
class EntityPattern:
    """One entry: every way to write it, its label, and its canonical id ("" when none)."""

    label: str
    forms: tuple[str, ...]
    canonical: str = ""


def with_plurals(term: str) -> tuple[str, ...]:
    """The term and its regular plural.

    >>> with_plurals("dialog box"), with_plurals("query")
    (('dialog box', 'dialog boxes'), ('query', 'queries'))
    """
    last = term.split()[-1]
    if is_plural(last, load_english()) or not last.isalpha():
        return (term,)
    stem = term[: len(term) - len(last)]
    return (term, stem + with_s(last))


class Waiting:
    """Terms that no text had yet."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_sign: dict[str, list[str]] = {}
        for term in terms:
            self._by_sign.setdefault(max(term, key=_rarity), []).append(term)

    def called_by(self, text: str) -> Iterator[str]:
        """Take out, and yield, the terms that occur in ``text``."""
        for sign in self._by_sign.keys() & {*text}:
            waiting = self._by_sign[sign]
            if found := [term for term in waiting if term in text]:
                self._by_sign[sign] = [term for term in waiting if term not in found]
                yield from sorted(found)


class LateTerms:
    """Teaches a pipeline its exceptions and its entities, text by text. Not for two threads."""

    def __init__(
        self,
        nlp: SpacyLanguage,
        exceptions: Mapping[str, Any],
        entities: Iterable[Mapping[str, str]],
    ) -> None:
        """``entities`` are patterns of an EntityRuler, all in lower case."""
        self._nlp = nlp
        self._ruler: Any = None
        self._exceptions = exceptions
        self._entities: dict[str, list[Mapping[str, str]]] = {}
        for entity in entities:
            self._entities.setdefault(_squeezed(entity["pattern"]), []).append(entity)
        self._words = Waiting(exceptions)
        self._forms = Waiting(self._entities)

    def teach(self, text: str) -> None:
        """Teach the pipeline what ``text`` has of them. Outside of any memory zone: it stays."""
        forms = sorted(self._forms.called_by(_squeezed(text.lower())))
        entities = [entity for form in forms for entity in self._entities[form]]
        for source in (text, *(entity["pattern"] for entity in entities)):
            for word in self._words.called_by(source):
                self._nlp.tokenizer.add_special_case(word, self._exceptions[word])  # type: ignore[union-attr]  # the stub allows any callable
        if entities:
            self._ruler = self._ruler or self._nlp.add_pipe("entity_ruler", config=_RULER)
            with self._nlp.select_pipes(enable=[]):
                self._ruler.add_patterns([dict(entity) for entity in entities])


def _squeezed(text: str) -> str:
    """Without white space: how many spaces stand between the tokens of a term does not matter."""
    return "".join(text.split())


def _rarity(sign: str) -> int:
    place = _LETTERS.find(sign.lower())
    return place if place >= 0 else len(_LETTERS)
