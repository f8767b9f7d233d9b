"""Function words that have one part of speech, and those that need a look around.

Every rule takes the sentence and a position and returns a Universal part of speech.
"""

from collections.abc import Callable
from typing import Final

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.tokens import Draft, Sentence

OPENERS: Final = frozenset({"", "PUNCT", "CCONJ", "SCONJ", "INTJ"})
"""Parts of speech behind which a clause can begin; "" is the start of the sentence."""

_CLOSED: Final = (
    (cc.ARTICLES, "DET"),
    (cc.POSSESSIVES, "DET"),
    (cc.QUANTIFIERS, "DET"),
    (cc.DETERMINERS - cc.WH, "DET"),
    (cc.PERSONAL, "PRON"),
    (cc.INDEFINITE, "PRON"),
    (frozenset({"who", "whom", "what", "which"}), "PRON"),
    (cc.BE | cc.MODALS, "AUX"),
    (cc.NEGATIONS, "PART"),
    (cc.COORDINATORS, "CCONJ"),
    (cc.SUBORDINATORS - {"when", "where", "so", "once", "since", "until"}, "SCONJ"),
    (cc.NUMBERS, "NUM"),
    (cc.ORDINALS - {"same", "other", "next"}, "ADJ"),
    (cc.ADVERBS - {"back", "next", "most", "more", "less", "least"}, "ADV"),
    (cc.PREPOSITIONS - {"like", "up", "out", "off", "down", "about", "past", "near"}, "ADP"),
    (cc.INTERJECTIONS - {"right", "sure", "great", "cool", "wait", "thanks"}, "INTJ"),
)


RESULTATIVE: Final = words("verbs", "resultative")
_DEGREE: Final = frozenset("much more less even slightly far way really very too so".split())
_GOING_ON: Final = cc.PARTICLES | frozenset("to so please when where until before after".split())
_SAYING: Final = cc.COMPLEMENT_VERBS | frozenset(
    "so such important possible likely clear sure".split()
)


def closed_pos(lower: str) -> str:
    """The part of speech of a word that has only one; "" for all others."""
    for listed, pos in _CLOSED:
        if lower in listed:
            return pos
    return ""


def that_pos(s: Sentence, i: int) -> str:
    """Complementizer, relative, determiner or pronoun."""
    before, after = s.lower(i - 1), s.at(i + 1)
    if after is None or not after.text[:1].isalnum():
        return "PRON"
    if (changed := _changed_pos(s, i)) or (changed := _acting_pos(s, i)):
        return changed
    starts_clause = after.lower in cc.ARTICLES | cc.POSSESSIVES | cc.PERSONAL | {
        "there",
        "this",
        "that",
        "these",
        "all",
    }
    if (
        after.lower
        in cc.FINITE_AUX | cc.BE | cc.PREPOSITIONS | cc.NEGATIONS | cc.COORDINATORS | cc.WH
    ):
        return "SCONJ" if after.lower in cc.PREPOSITIONS and before in _SAYING else "PRON"
    told = before in _SAYING and after.nominal and not after.third
    if starts_clause or (told and _verb_follows(s, i + 2)):
        return "SCONJ"
    if after.lower in cc.ADVERBS | cc.SUBORDINATORS:
        return "PRON"
    previous = s.at(i - 1)
    commanded = previous is not None and previous.base and _opens(s, i - 1)
    if commanded and (after.nominal or after.kind):
        return "DET"
    if previous and _noun_like(previous) and (after.third or after.past or after.base):
        return "PRON"
    if not previous and after.third and not after.noun_first:
        return "PRON"
    return "DET" if after.nominal or after.kind else "PRON"


def _verb_follows(s: Sentence, i: int) -> bool:
    """ "check that tests pass", not "show that chart to the admins"."""
    for at in range(i, len(s.drafts)):
        word, before = s.drafts[at], s.lower(at - 1)
        governed = before in cc.PREPOSITIONS | cc.ARTICLES | cc.POSSESSIVES | {"to"}
        if word.lower in cc.FINITE_AUX | cc.BE or word.lower in cc.NEGATIONS:
            return True
        if not governed and (word.third or word.past or word.base):
            return True
    return False


def _changed_pos(s: Sentence, i: int) -> str:
    """ "make that wider": the object of a verb that says what it becomes; in "make that bar wider"
    a noun stands between. "" where neither is sure.
    """
    verb = s.at(i - 1)
    at = _behind_degree(s, i + 1)
    quality = s.at(at)
    if verb is None or verb.reading.verb not in RESULTATIVE or quality is None:
        return ""
    if closed_pos(quality.lower) or quality.kind or not quality.text[:1].isalnum():
        return ""
    if at > i + 1 or (quality.rather_verb and not quality.gerund):
        return "PRON"  # "make that much wider", "make this look better"
    if _ends_phrase(s, at + 1):
        made = verb.reading.verb == "make" and quality.reading.adjective
        named = quality.reading.noun and not (made or quality.adjective_first)
        named = named or (quality.gerund and not _ends_phrase(s, at))
        return "DET" if named else "PRON"
    return "DET"


def _acting_pos(s: Sentence, i: int) -> str:
    """ "now that that works, ...": the subject of a clause that ends with its verb."""
    verb, after = s.at(i + 1), s.at(i + 2)
    joined = s.pos(i - 1) == "SCONJ" or s.lower(i - 1) in {"that", "once", "since", "until"}
    ends = after is None or not after.text[:1].isalnum()
    acts = verb is not None and verb.third and bool(verb.reading.verb)
    return "PRON" if joined and ends and acts else ""


def _behind_degree(s: Sentence, i: int) -> int:
    """Where "wider" of "a bit wider" stands, or "compact" of "more compact"."""
    if s.lower(i) == "a" and s.lower(i + 1) in {"bit", "little", "lot"}:
        i += 2
    while s.lower(i) in _DEGREE:
        i += 1
    return i


def _ends_phrase(s: Sentence, i: int) -> bool:
    """Nothing at ``i`` that a noun phrase could go on with."""
    after = s.at(i)
    if after is None or not after.text[:1].isalnum():
        return True
    return closed_pos(after.lower) not in {"", "NUM"} or after.lower in _GOING_ON


def _opens(s: Sentence, i: int) -> bool:
    return i == 0 or s.lower(i - 1) in {",", "please", "and", "then", "also", "now", "just", "to"}


def _noun_like(token: Draft) -> bool:
    if token.pos:
        return token.pos in {"NOUN", "PROPN"}
    known = token.reading
    return (bool(known.noun) and not token.verb_first) or not known.known


def demonstrative_pos(s: Sentence, i: int) -> str:
    """This, these, those: determiner or pronoun."""
    if (changed := _changed_pos(s, i)) or (changed := _acting_pos(s, i)):
        return changed
    after = s.at(i + 1)
    if after is None or closed_pos(after.lower) in {
        "AUX",
        "ADP",
        "PRON",
        "DET",
        "CCONJ",
        "SCONJ",
        "PART",
    }:
        return "PRON"
    if not after.text[:1].isalnum() and not after.kind:
        return "PRON"
    if closed_pos(after.lower) in {"ADV", "ADJ"} and after.lower not in cc.ORDINALS:
        return "PRON"
    if after.lower in {"to", "like", "up", "out", "off", "down"}:
        return "PRON"
    inverted = s.lower(i - 1) in cc.DO | cc.MODALS
    if inverted and after.base and (after.verb_first or i + 2 >= len(s.drafts) - 1):
        return "PRON"
    return "DET" if after.nominal or after.kind else "PRON"


def her_pos(s: Sentence, i: int) -> str:
    """ "send her the link" or "her link"."""
    after = s.at(i + 1)
    if after is None or closed_pos(after.lower) or not after.nominal:
        return "PRON"
    return "DET" if after.text[:1].isalnum() else "PRON"


def one_pos(s: Sentence, i: int) -> str:
    """The number, or the pronoun of "another one"."""
    after = s.at(i + 1)
    plain = after is not None and after.text[:1].isalnum() and not closed_pos(after.lower)
    plain = plain and after is not None and after.lower not in cc.PARTICLES
    before = s.lower(i - 1)
    anaphoric = (
        before in cc.DETERMINERS | cc.ORDINALS | {"the"}
        or (i > 0 and s.pos(i - 1) == "ADJ")
        or (i > 1 and s.lower(i - 2) == "the" and bool(s.drafts[i - 1].reading.adjective))
    )
    if anaphoric and before not in {"a", "an"} and not (plain and after and after.reading.noun):
        return "PRON"
    return "NUM" if plain and after and after.nominal and not anaphoric else "PRON"


def no_pos(s: Sentence, i: int) -> str:
    """ "no, green" or "no errors"."""
    return "INTJ" if i == 0 or s.lower(i + 1) in {",", ".", ""} else "DET"


def so_pos(s: Sentence, i: int) -> str:
    """ "so that", "so which", "so slow"."""
    if s.lower(i + 1) == "that":
        return "SCONJ"
    return "CCONJ" if i == 0 else "SCONJ" if s.lower(i - 1) == "," else "ADV"


def there_pos(s: Sentence, i: int) -> str:
    """ "there is" or the place."""
    after, before = s.lower(i + 1), s.lower(i - 1)
    existential = cc.BE | {
        "exists",
        "exist",
        "'s",
        "seems",
        "are",
        "may",
        "might",
        "must",
        "should",
    }
    if after in existential or (before in cc.BE and after not in {"", ".", "?", "!"}):
        return "PRON"
    return "ADV"


def both_pos(s: Sentence, i: int) -> str:
    """ "both tests" or "both need tests"."""
    after = s.at(i + 1)
    stands_for_subject = i == 0 and after is not None and after.base and after.verb_first
    asked = s.lower(i - 1) in cc.DO | cc.MODALS and after is not None and after.base
    return "PRON" if stands_for_subject or asked or s.lower(i + 1) in cc.FINITE_AUX else "DET"


_NEVER_ASKED_FOR: Final = (
    cc.PREPOSITIONS | cc.DETERMINERS | cc.DO | cc.HAVE | {"to", "there", "'s", "so", "one", "ones"}
)


def which_pos(s: Sentence, i: int) -> str:
    """ "which file" or "which is faster"; also for "what"."""
    after = s.at(i + 1)
    if (
        after is None
        or after.lower in _NEVER_ASKED_FOR
        or closed_pos(after.lower)
        or not after.nominal
    ):
        return "PRON"
    if after.past and not after.reading.noun and not after.reading.adjective:
        return "PRON"
    subject_noun = after.reading.noun and s.lower(i + 2) in cc.FINITE_AUX
    verb_like = after.third and not subject_noun and not (after.reading.noun and after.noun_first)
    return "PRON" if verb_like or not after.text[:1].isalnum() else "DET"


def wh_adverb_pos(s: Sentence, i: int) -> str:
    """When, where: asking, or joining clauses."""
    opens = i == 0 or s.pos(i - 1) in {"CCONJ", "PUNCT", "INTJ"}
    return "ADV" if opens and s.lower(i + 1) not in cc.SUBJECTS - {"this", "that"} else "SCONJ"


def first_pos(s: Sentence, i: int) -> str:
    """ "first fix the page" or "the first page"."""
    after = s.at(i + 1)
    opens = i == 0 or s.pos(i - 1) in {"PUNCT", "CCONJ"}
    commands = after is not None and after.base and after.verb_first
    return "ADV" if opens and commands else "ADJ"


def next_pos(s: Sentence, i: int) -> str:
    """ "next to", "the next task", "next"."""
    if s.lower(i + 1) == "to":
        return "ADP"
    follow = s.at(i + 1)
    return "ADJ" if follow and follow.nominal and follow.text[:1].isalnum() else "ADV"


def comparative_pos(s: Sentence, i: int) -> str:
    """More, most, less: before an adjective or a noun."""
    follow = s.at(i + 1)
    if follow and follow.reading.adjective and not follow.reading.noun:
        return "ADV"
    plain = follow is not None and follow.text[:1].isalnum() and not closed_pos(follow.lower)
    return "DET" if plain and follow and follow.nominal else "ADV"


def is_particle(s: Sentence, i: int) -> bool:
    """True when word ``i`` belongs to a phrasal verb in front of it.

    Either right behind the verb ("turn on the light"), or behind a short object when nothing
    follows that a preposition could govern ("turn it on for beta users", "clean it up").
    """
    verbs = s.english.particles.get(s.lower(i))
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
    return after in _NO_OBJECT


_NO_OBJECT: Final = (
    cc.PREPOSITIONS | cc.COORDINATORS | cc.SUBORDINATORS | cc.ADVERBS | {"to", "please"}
)


Rule = Callable[[Sentence, int], str]
"""Decides the part of speech of a word in its sentence."""


def _to(s: Sentence, i: int) -> str:
    after = s.at(i + 1)
    if after is None or after.kind or not (after.base or after.lower in {"be", "have", "do"}):
        unknown_verb = (
            after is not None
            and not after.reading.known
            and after.text.islower()
            and s.lower(i - 1) in cc.INFINITIVE_GOVERNORS
            and closed_pos(after.lower) == ""
            and s.lower(i + 2)
            in cc.ARTICLES | cc.POSSESSIVES | {"it", "them", "this", "that", "all"}
        )
        return "PART" if unknown_verb else "ADP"
    if i == 0 or s.lower(i - 1) in cc.INFINITIVE_GOVERNORS:
        return "PART"
    if _goal_of_change(s, i) or (after.text[:1].isupper() and not after.text.isupper()):
        return "ADP"
    if not after.reading.noun:
        return "PART"
    nxt = s.at(i + 2)
    if nxt is not None and (
        nxt.lower in cc.ARTICLES | cc.POSSESSIVES | cc.PERSONAL | cc.DEMONSTRATIVES | cc.QUANTIFIERS
        or nxt.lower in cc.WH
        or nxt.kind
    ):
        return "PART"
    return "PART" if after.rather_verb else "ADP"


def _goal_of_change(s: Sentence, i: int) -> bool:
    """ "set LOG_LEVEL to debug", "upgrade X to version 5": what follows is the new value."""
    if not any(d.reading.verb in _CHANGES for d in s.drafts[: max(0, i - 1)]):
        return False
    after_that = s.at(i + 2)
    return after_that is None or bool(after_that.kind) or not after_that.text[:1].isalnum()


_CHANGES: Final = words("verbs", "to_a_value")


def _like(s: Sentence, i: int) -> str:
    return (
        "VERB"
        if s.lower(i - 1) in {"i", "you", "we", "they", "to", "would", "'d", "i'd"}
        else "ADP"
    )


def _apostrophe_s(s: Sentence, i: int) -> str:
    before = s.at(i - 1)
    if before is not None and before.lower == "let":
        return "PRON"
    if before is not None and (
        before.lower in cc.WH | cc.SUBJECTS | cc.PERSONAL or before.lower == "here"
    ):
        return "AUX"
    after = s.lower(i + 1)
    if after in cc.ARTICLES | cc.NEGATIONS | cc.PREPOSITIONS | {"been", "going", "gone", "done"}:
        return "AUX"
    return "PART"


def _do(s: Sentence, i: int) -> str:
    after, before = s.lower(i + 1), s.lower(i - 1)
    if after in {"not", "n't"} or before in cc.WH:
        return "AUX"
    opens = i == 0 or s.pos(i - 1) in OPENERS
    if opens and s.lower(i) != "do":
        return "AUX"
    nominative = {"i", "you", "we", "they", "he", "she"}
    if opens and after in nominative:
        return "AUX"
    if opens and s.lower(i) == "do":
        rest = s.drafts[i + 2 :]
        object_like = after in {
            "it",
            "that",
            "this",
            "the",
            "so",
            "both",
            "these",
            "those",
            "a",
            "all",
        }
        if object_like and not (s.lower(len(s.drafts) - 1) == "?" and any(d.base for d in rest)):
            return "VERB"
        asked = s.lower(len(s.drafts) - 1) == "?"
        return "AUX" if (asked and any(d.base for d in rest)) or _plural_does(s, i) else "VERB"
    if before in {"i", "you", "we", "they", "he", "she", "it", "that", "this", "which", "who"}:
        follow = s.at(i + 1)
        return "AUX" if follow and follow.base and not follow.reading.noun else "VERB"
    return "VERB" if before in {"to", "please", "'s", "and", "then"} | cc.MODALS else "AUX"


def _plural_does(s: Sentence, i: int) -> bool:
    """ "do late fees bear interest", without a question mark: a plural, then its verb."""
    for j in range(i + 2, len(s.drafts) - 1):
        before = s.drafts[j - 1]
        if closed_pos(before.lower):
            return False
        if before.lower.endswith("s") and before.reading.noun and s.drafts[j].base:
            return True
    return False


def _have(s: Sentence, i: int) -> str:
    for j in range(i + 1, min(i + 4, len(s.drafts))):
        token = s.drafts[j]
        if token.lower in {"been", "had", "done", "n't", "not", "to"} or token.past:
            return "AUX" if token.lower != "to" else "VERB"
        if closed_pos(token.lower) not in {"ADV", "PRON", "PART"}:
            break
    return "VERB"


def _adverb_or_preposition(s: Sentence, i: int) -> str:
    if s.lower(i + 1) in {"", ".", "?", "!", ","} and s.lower(i) in cc.PARTICLES:
        return "ADV"
    return "ADV" if is_particle(s, i) else "ADP"


def _temporal(s: Sentence, i: int) -> str:
    nxt = s.lower(i + 1)
    return "SCONJ" if nxt in cc.SUBJECTS - {"this", "that", "these", "those"} else "ADP"


def _right(s: Sentence, i: int) -> str:
    """ "right away", "right now"; else an open-class word."""
    return "ADV" if s.lower(i + 1) in {"away", "now", "here", "there", "after", "before"} else ""


def _always(pos: str) -> Rule:
    return lambda s, i: pos


_WORDS_BY_RULE: Final[dict[Rule, str]] = {
    that_pos: "that",
    demonstrative_pos: "this these those",
    both_pos: "both",
    which_pos: "which what",
    _to: "to",
    her_pos: "her",
    one_pos: "one",
    _always("PRON"): "ones",
    no_pos: "no",
    so_pos: "so",
    _like: "like",
    there_pos: "there",
    _apostrophe_s: "'s",
    _do: "do does did",
    _have: "have has had",
    wh_adverb_pos: "when where",
    first_pos: "first",
    next_pos: "next",
    _right: "right",
    comparative_pos: "more most less",
    _temporal: "before after since until once",
    _always("ADP"): "as",
    _adverb_or_preposition: " ".join([*cc.PARTICLES, "about"]),
}

AMBIGUOUS: Final = {word: rule for rule, words in _WORDS_BY_RULE.items() for word in words.split()}
"""Function words that need a look around, each with its rule."""
