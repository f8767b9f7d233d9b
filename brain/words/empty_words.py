"""Words of questions that say how something is asked, not what.

Two lists, because each was measured: what costs nothing to leave out of a search among messages
is a pronoun more; among documents a preposition and "happens"."""

from typing import Final

from kds.brain.words.stem import stem

EMPTY_WORDS: Final = frozenset(
    """a about all am an and any are as at be been being but by can could did do does doing for
    from had has have having he her hers him his how i if in into is it its itself let me might
    mine must my of on or our ours s she should so t than that the their theirs them then there
    these they this those to us was we were what when where which who whom whose why will with
    would you your yours ll ve re d m""".split()
)
"""Words that say how something is asked, not what: they cost the most to look up and change
nothing (LoCoMo: 0.1 points)."""

ABOUT_MEANING: Final = frozenset(
    map(
        stem,
        "mean means meaning definition define defined term word explain describe stand refer tell "
        "exactly work works calculated calculate determined computed called know say says said "
        "please information info detail details summary understand question count qualify".split(),
    )
)
"""Words that ask for what a thing is, whatever it is."""

EMPTY: Final = frozenset(
    map(
        stem,
        "a about all also am an and any are as at be been being but by can could did do does doing "
        "for from had has have how i if in into is it its just let may me might must my no not now "
        "of off ok on or our please s shall should so that the their them then there these they "
        "this those to too under up us was we were what when where which who whom whose happens "
        "happen happened why will with would yes you your".split(),
    )
)
"""Of questions about documents, as stems."""
