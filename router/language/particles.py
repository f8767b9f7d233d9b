"""Phrasal verbs: when "up" in "clean it up" is part of the verb and not a preposition."""

from typing import Final

from kds.router.language import closed_class as cc
from kds.router.language.tokens import Sentence


def _verbs(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PAIRS: Final = {
    "up": _verbs(
        """back bring build call catch clean come end fire follow gear hook keep line look make
        mix open pick pop pull read roll set show shut sign speed spin split stand start sum
        take tear throw tidy turn type wake warm wire wrap write fix scale give free beef"""
    ),
    "down": _verbs(
        """break bring calm close come cut dial go lock narrow pull roll scale scroll shut slow
        spin take tear track turn write tone"""
    ),
    "out": _verbs(
        """break bring call check comment fade figure fill find fix flush get give hand leave
        log opt phase point print pull push roll rule scale send set shut sign single sort
        spell split swap take test throw time try turn wash work write zoom"""
    ),
    "off": _verbs(
        """back call close cut finish hand hold kick lay log pay pull put set shut sign split
        spin switch take tear throw top turn write"""
    ),
    "on": _verbs("""carry go hang hold keep move put switch sign turn try log"""),
    "in": _verbs("""check fill log opt plug pull sign swap type zoom merge hand fade"""),
    "back": _verbs(
        """bring call change come cut dial fall get give go hand move pay port pull put revert
        roll scale send set step switch take turn write"""
    ),
    "over": _verbs("""carry go hand move port roll start switch take turn"""),
    "away": _verbs("""give go put take throw"""),
    "around": _verbs("""move play turn swap work"""),
    "apart": _verbs("""take pull"""),
    "through": _verbs("""go follow"""),
    "together": _verbs("""put bring"""),
    "along": _verbs("""move go bring"""),
    "about": frozenset(),
}


def is_particle(s: Sentence, i: int) -> bool:
    """True when word ``i`` belongs to a phrasal verb in front of it.

    Either right behind the verb ("turn on the light"), or behind a short object when nothing
    follows that a preposition could govern ("turn it on for beta users", "clean it up").
    """
    verbs = _PAIRS.get(s.lower(i))
    if not verbs:
        return False
    if s.drafts[i - 1].reading.verb in verbs and i >= 1 and s.pos(i - 1) != "DET":
        return s.lower(i) not in {"in", "on", "through", "over"} or _nothing_to_govern(s, i)
    for j in range(i - 1, max(-1, i - 5), -1):
        if s.drafts[j].reading.verb in verbs:
            return _nothing_to_govern(s, i)
        if s.pos(j) in {"PUNCT", "ADP"}:
            return False
    return False


def _nothing_to_govern(s: Sentence, i: int) -> bool:
    after = s.lower(i + 1)
    if not after or not after[0].isalnum():
        return True
    return after in cc.PREPOSITIONS | cc.COORDINATORS | cc.SUBORDINATORS | cc.ADVERBS | {
        "to",
        "please",
    }
