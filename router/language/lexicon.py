"""Which parts of speech a word can have, and its lemma: lemminflect's tables.

lemminflect (MIT, 0.8 MB) lists the forms of the SPECIALIST lexicon; it knows no frequencies,
so PREFERENCES says for the words that developer chat uses ambiguously which reading is the
usual one. Only the look-up tables are used, never lemminflect's guesser for unknown words.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kds.router.language.jargon import forms
from kds.router.language.word_forms import lemmas

VERB_FIRST: Final = frozenset(
    """
    add make put use get set run fix create build write show move remove delete rename change
    update let keep give go take open close handle support return need want work include
    require accept store survive cover allow expect contain break happen fail start stop begin
    continue come fall depend mean apply belong cause occur explain describe compare check
    ensure verify convert replace refactor implement deploy install configure generate send
    tell ask enable disable extend resize scale turn turns roll wrap hide shrink align sort
    split merge commit push pull fetch render load save expire resign pay owe terminate end
    provide receive bind govern exist differ fit matter look seem crash hang leak throw catch
    parse validate persist lock block retry point respond connect listen emit subscribe
    publish trigger execute call invoke inherit override import export compile serve listen
    schedule restart reset revert rotate drop raise lower increase decrease speed compress
    encrypt decrypt cap flush benchmark document unset translate summarize email ping bump
    tweak animate undo redo rerun retest reuse rework redesign style theme format lint
    """.split()
)
"""Ambiguous words that are verbs more often than nouns where a verb is possible at all."""

NOUN_FIRST: Final = frozenset(
    """
    file cache test tests build button log search user query form table list code design plan
    report page column row field view model class function method module screen menu bar box
    card panel icon link label text image color colour font size width height style theme mode
    state event error bug issue request response server client host port name type value key
    index time date data map set group role team project task job queue message note comment
    post blog bot flag switch toggle filter chart graph tab window frame grid header footer
    layout template script command process service version release branch tag patch change
    changes result results point address account order price rate limit limits cost share
    stock contract clause section notice term terms interest payment advance fee default
    balance record contact profile feature endpoint route hook handler listener store stream
    stage sprint standup review check head body top bottom side back front left right object
    subject part base core end start line word sentence paragraph title figure network pool
    thread lock signal pipe shell schedule backup upload download import export login logout
    signup display output input plot scale step steps rule rules track score level sound share
    animation spinner banner badge avatar modal dialog sidebar timeout timeouts cron rows
    columns fields
    """.split()
)
"""Ambiguous words that are nouns more often than verbs inside a phrase."""

ADJECTIVE_FIRST: Final = frozenset(
    """
    red due better worse best green blue black white yellow orange purple pink gray grey brown
    dark light open clean empty clear secure dirty slow fast quick smooth warm cool dry free
    live early late wide narrow long short separate complete duplicate correct direct subject
    present current last first second third next wrong responsible previous original new old
    good bad big small large little high low hard soft easy simple sticky stale alive bold
    flat round square level custom main primary secondary default static dynamic local remote
    global public private native daily weekly monthly annual nightly hourly upper lower
    """.split()
)
"""Words that are adjectives when they stand before a noun or as a complement."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The readings of a word form: lemma per part of speech; empty when unknown."""

    noun: str = ""
    verb: str = ""
    adjective: str = ""
    adverb: str = ""

    @property
    def known(self) -> bool:
        """True when the lexicon has the word at all."""
        return bool(self.noun or self.verb or self.adjective or self.adverb)


@lru_cache(maxsize=8192)
def readings(lower: str) -> Reading:
    """Every reading of a lower-case word form.

    >>> readings("tests")
    Reading(noun='test', verb='test', adjective='', adverb='')
    >>> readings("frobnicate").known
    False
    """
    known = lemmas(lower) if lower.isascii() and lower.isalpha() else {}
    first = {pos: found[0] for pos, found in known.items() if found} | forms().get(lower, {})
    return Reading(
        noun=first.get("NOUN", "") or first.get("PROPN", ""),
        verb=first.get("VERB", "") or first.get("AUX", ""),
        adjective=first.get("ADJ", ""),
        adverb=first.get("ADV", ""),
    )


def singular(noun: str) -> str:
    """The singular of a noun form, by the lexicon, else by its ending.

    >>> singular("tests"), singular("queries"), singular("status")
    ('test', 'query', 'status')
    """
    known = readings(noun.lower()).noun
    if known:
        return noun if known == noun.lower() else known
    lower = noun.lower()
    if lower.endswith("ies") and len(lower) > 4:
        return noun[:-3] + "y"
    if lower.endswith(("ches", "shes", "xes", "sses", "zes")):
        return noun[:-2]
    if lower.endswith("s") and not lower.endswith(("ss", "us", "is")):
        return noun[:-1]
    return noun


def is_plural(noun: str) -> bool:
    """True when the noun form is a plural.

    >>> is_plural("endpoints"), is_plural("status"), is_plural("people"), is_plural("CSS")
    (True, False, True, False)
    """
    lower = noun.lower()
    if lower in {"people", "children", "data", "men", "women", "criteria", "indices", "media"}:
        return lower != "data"
    if noun.isupper() or lower in _SINGULAR_S:
        return False
    return singular(lower) != lower


_SINGULAR_S: Final = frozenset(
    "redis kubernetes postgres sass css https aws dns tls ios macos canvas alias status "
    "bus news analytics metrics_exporter less jenkins pandas rails express series keras "
    "address process access class progress success business atlas nginx bias lens "
    "radius focus corpus js os gps sms".split()
)
