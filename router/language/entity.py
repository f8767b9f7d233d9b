"""Entity patterns: names that the EntityRuler labels, from `rules/entities.yaml` and overlays."""

from dataclasses import dataclass

from kds.router.english import load_english
from kds.router.language.inflection import with_s
from kds.router.language.lexicon import is_plural


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
