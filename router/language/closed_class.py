"""English function words by their class: the lists of `english/closed_class.yaml` by name."""

from typing import Final

from kds.router.english import table

_LISTS: Final = table("closed_class")

ARTICLES: Final = _LISTS["articles"]
POSSESSIVES: Final = _LISTS["possessives"]
DETERMINERS: Final = _LISTS["determiners"]
DEMONSTRATIVES: Final = _LISTS["demonstratives"]
PERSONAL: Final = _LISTS["personal"]
WH: Final = _LISTS["wh"]
BE: Final = _LISTS["be"]
HAVE: Final = _LISTS["have"]
DO: Final = _LISTS["do"]
MODALS: Final = _LISTS["modals"]
_FINITE: Final = frozenset("am is are was were has have had does do did".split())
FINITE_AUX: Final = (_FINITE | MODALS) - {"'d"}
PREPOSITIONS: Final = _LISTS["prepositions"]
PARTICLES: Final = _LISTS["particles"]
COORDINATORS: Final = _LISTS["coordinators"]
SUBORDINATORS: Final = _LISTS["subordinators"]
NEGATIONS: Final = _LISTS["negations"]
ADVERBS: Final = _LISTS["adverbs"]
INTERJECTIONS: Final = _LISTS["interjections"]
NUMBERS: Final = _LISTS["numbers"]
ORDINALS: Final = _LISTS["ordinals"]
COPULAS: Final = _LISTS["copulas"]
TIME_NOUNS: Final = _LISTS["time_nouns"]
