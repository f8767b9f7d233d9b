"""English function words: a closed set, so a table and not a model.

Sources: the closed word classes of the Universal Dependencies guidelines for English
(DET, PRON, ADP, AUX, CCONJ, SCONJ, PART) and Quirk et al., A Comprehensive Grammar of the
English Language, chapters 2, 6, 8 and 9.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES: Final = _words("the a an")
POSSESSIVES: Final = _words("my your his her its our their whose")
DETERMINERS: Final = _words(
    "the a an this that these those each every any some no all both either neither "
    "another such what which whatever whichever enough several many few more most less"
)
QUANTIFIERS: Final = _words("all both half several many few more most some any each every enough")
DEMONSTRATIVES: Final = _words("this that these those")
PERSONAL: Final = _words(
    "i me you he him she her it we us they them myself yourself himself herself itself "
    "ourselves yourselves themselves mine yours hers ours theirs one's"
)
INDEFINITE: Final = _words(
    "everything something anything nothing everyone someone anyone nobody everybody "
    "somebody anybody none"
)
WH: Final = _words("who whom whose what which when where why how")
BE: Final = _words("be am is are was were been being 's 're 'm ai")
HAVE: Final = _words("have has had having 've")
DO: Final = _words("do does did done doing")
MODALS: Final = _words("can could should would must may might will shall 'll 'd ca wo cannot ought")
FINITE_AUX: Final = (_words("am is are was were has have had does do did") | MODALS) - {"'d"}
PREPOSITIONS: Final = _words(
    "of in on at by for with without from to into onto upon over under above below "
    "between among through during across against along around behind beside besides "
    "beyond inside outside near next toward towards via per within throughout about off "
    "out up down than like as after before since until till despite except instead "
    "underneath beneath alongside versus vs"
)
PARTICLES: Final = _words(
    "up down out off on in over back away around through along apart together"
)
COORDINATORS: Final = _words("and or but nor & yet")
SUBORDINATORS: Final = _words(
    "if because while whereas although though unless whether when whenever where "
    "wherever since until till so once"
)
NEGATIONS: Final = _words("not n't never n’t")
ADVERBS: Final = _words(
    "also too again now then just only even still already soon later first here there "
    "actually really very quite so almost instead maybe perhaps please always often "
    "sometimes once twice ever yet else anyway however therefore otherwise rather well "
    "far away back together today tomorrow yesterday tonight afterwards next somehow "
    "everywhere anywhere much more most less least as how when where why wherever "
    "whenever"
)
INTERJECTIONS: Final = _words(
    "yes no ok okay hey hi hello thanks please sorry oops wait hmm yeah nope sure right "
    "great cool nah ah oh alright yep hm ugh argh"
)
NUMBERS: Final = _words(
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty "
    "forty fifty sixty hundred thousand million dozen"
)
ORDINALS: Final = _words(
    "first second third fourth fifth sixth seventh eighth ninth tenth last next "
    "previous other same final"
)
INFINITIVE_GOVERNORS: Final = _words(
    "want wants wanted need needs needed like try tries tried trying plan plans "
    "planning have has had going used how what where when whether able ready order way "
    "time easy hard possible impossible difficult important necessary better best "
    "decide start starts begin continue forget remember seem seems fail fails failing "
    "ought supposed allowed hope wish love prefer expect refuse about enough too happy "
    "unable going gonna meant intend aim manage appear appears tend tends help needs "
    "attempt required about willing sure not made safe cheap sense ask tell"
)
COMPLEMENT_VERBS: Final = _words(
    "think know believe say see hope guess suppose assume ensure check verify confirm "
    "mean feel find notice realize understand remember forget suggest tell show seem "
    "appear look make sure certain told said thought noticed realized found sense "
    "believe agree wish doubt"
)
COPULAS: Final = _words("be seem look appear become get stay remain feel sound keep turn go")
TIME_NOUNS: Final = _words(
    "second minute hour day week weekend month year quarter sprint morning afternoon "
    "evening night today tomorrow yesterday time moment while ago monday tuesday "
    "wednesday thursday friday saturday sunday january february march april may june "
    "july august september october november december"
)
