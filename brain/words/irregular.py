"""Words whose forms share no stem: "When did she go?" is answered by "I went".

General English, from grammar and not from any data set: the irregular verbs and plurals in
daily use. Forms that the suffix rules of `stem` reach anyway ("shows", "showed") are left out.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kds.brain.words.stem import stem

_FORMS: Final = """
arise arose arisen|bear bore borne|beat beaten|become became|begin began begun|bend bent
bind bound|bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought
build built|burn burnt|buy bought|catch caught|choose chose chosen|cling clung|come came
creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven
eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled|fly flew flown
forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten
give gave given|go goes went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held
keep kept|kneel knelt|know knew known|lay laid|lead led|leap leapt|learn learnt|leave left|lend lent
lie lay lain|light lit|lose lost|make made|mean meant|meet met|overcome overcame|override overrode
pay paid|rebuild rebuilt|redo redid redone|rewrite rewrote rewritten|ride rode ridden
ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent
shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung
sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|spend spent|spin spun
spring sprang sprung|stand stood|steal stole stolen|stick stuck|sting stung|strike struck
swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught
tear tore torn|tell told|think thought|throw threw thrown|understand understood|undo undid undone
wake woke woken|wear wore worn|weave wove woven|win won|wind wound|withdraw withdrew withdrawn
write wrote written|child children|man men|woman women|person people|foot feet|tooth teeth
mouse mice|goose geese|wife wives|life lives|knife knives|leaf leaves|shelf shelves|half halves
wolf wolves|loaf loaves|thief thieves|index indices|matrix matrices|vertex vertices
"""


def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _FORMS.replace("\n", "|").strip("|").split("|"):
        forms = tuple(group.split())
        for form in forms:
            known = found.get(stem(form), ())
            found[stem(form)] = tuple(dict.fromkeys((*known, *forms)))
    return MappingProxyType(found)


FORMS: Final = _by_stem()
"""Stem -> every form of the word, or of both words where two share a form ("lay", "leaves")."""


def forms_of(word: str) -> tuple[str, ...]:
    """Return ``word`` and its forms that share no stem with it.

    >>> forms_of("went")
    ('went', 'go', 'goes', 'gone')
    >>> forms_of("deploy")
    ('deploy',)
    """
    return tuple(dict.fromkeys((word, *FORMS.get(stem(word), ()))))
