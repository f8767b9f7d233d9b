"""Words as they are compared and counted: stems, identifiers, tokens.

The stems are M. F. Porter's ("An algorithm for suffix stripping", 1980) as SQLite's FTS5 index
makes them, so that a word the index matched is recognised when a hit is judged. The stemmer of
snowballstemmer differs in 25 of 7,193 words of our texts ("assembly", "ecology", "os").
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

import regex

WORD: Final = re.compile(r"[^\W_]+")
"""What the index takes for a word."""

_POSSESSIVE: Final = re.compile(r"[’']s\b")

_LONGEST: Final = 40
"""Letters. A longer "word" is a key or a hash, and has no stem."""

_CACHED: Final = 50_000
"""Words whose stem is remembered: about 10 MB, the vocabulary of a large store."""

_CONSONANTS: Final = r"[^aeiou][^aeiouy]*"
_VOWELS: Final = r"[aeiouy][aeiou]*"
_HAS_VOWEL: Final = re.compile(rf"(?:{_CONSONANTS})?[aeiouy]")
_SYLLABLE: Final = re.compile(rf"(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}")
"""At the beginning of a word: Porter's measure is above 0."""
_ONE_SYLLABLE: Final = re.compile(rf"(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}(?:{_VOWELS})?\Z")
_SYLLABLES: Final = re.compile(rf"(?:{_CONSONANTS})?(?:{_VOWELS}{_CONSONANTS}){{2}}")
_SHORT_END: Final = re.compile(r".*[^aeiou][aeiouy][^aeiouwxy]\Z")
_DOUBLED: Final = re.compile(r"([^aeioulsz])\1\Z")

_STEP_2: Final = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize",
    "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3: Final = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4: Final = re.compile(
    r"(.*?)(?:ement|ance|ence|able|ible|ment|ant|ent|ism|ate|iti|ous|ive|ize|(?<=[st])ion|al|er|ic"
    r"|ou)\Z"
)
_DERIVED: Final = tuple(
    (re.compile(rf"(.*?)({'|'.join(sorted(rules, key=len, reverse=True))})\Z"), rules)
    for rules in (_STEP_2, _STEP_3)
)


@lru_cache(maxsize=_CACHED)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; anything but English letters comes back as it is.

    >>> [stem(word) for word in ("marries", "hopping", "relational", "v2", "é")]
    ['marri', 'hop', 'relat', 'v2', 'é']
    """
    if not 2 < len(word) <= _LONGEST or not (word.isascii() and word.isalpha()):
        return word
    word = _inflected(word)
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    for pattern, endings in _DERIVED:
        if (found := pattern.match(word)) and _SYLLABLE.match(found[1]):
            word = found[1] + endings[found[2]]
    if (found := _STEP_4.match(word)) and _SYLLABLES.match(found[1]):
        word = found[1]
    if word.endswith("e"):
        body = word[:-1]
        short = _ONE_SYLLABLE.match(body) and _SHORT_END.match(body)
        word = body if _SYLLABLE.match(body) and not short else word
    return word[:-1] if word.endswith("ll") and _SYLLABLES.match(word) else word


def _inflected(word: str) -> str:
    """Take plurals, pasts and progressives back (Porter's step 1)."""
    if (len(word) > 3 and word.endswith("ies")) or (len(word) > 4 and word.endswith("sses")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _SYLLABLE.match(word[:-3]) else word
    body = word.removesuffix("ed")
    body = body if body != word else word.removesuffix("ing")
    if body == word or not _HAS_VOWEL.match(body):
        return word
    if body.endswith(("at", "bl", "iz")):
        return body + "e"
    if _DOUBLED.search(body):
        return body[:-1]
    return body + "e" if _ONE_SYLLABLE.match(body) and _SHORT_END.match(body) else body


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text, in order.

    >>> stems("The Servicer's Determination Dates")
    ['the', 'servic', 'determin', 'date']
    """
    return [stem(word) for word in WORD.findall(_POSSESSIVE.sub("", text).casefold())]


def phrase_key(text: str) -> str:
    """Return what every spelling of a phrase shares.

    >>> phrase_key("Cut-off Dates") == phrase_key("cut off date")
    True
    """
    return " ".join(stems(text))


def stem_line(text: str) -> str:
    """Return the stems of a text, each between blanks of its own: count them with `said`.

    >>> stem_line("Closing Dates")
    ' close  date '
    """
    return _line(stems(text))


def stem_set(text: str) -> str:
    """Return the stems of a text as `stem_line` does, each once."""
    return _line(dict.fromkeys(stems(text)))


def seen_stems(text: str, also: str) -> str:
    """Return the stems of a text in order, and behind them those that only ``also`` has.

    >>> seen_stems("set page_size", "page size pagesize")
    ' set  page  size  pages '
    """
    own = stems(text)
    return _line([*own, *(one for one in dict.fromkeys(stems(also)) if one not in own)])


def _line(words: Iterable[str]) -> str:
    return "".join(f" {one} " for one in words)


def said(line: str, word: str) -> int:
    """Count how often a stem is in a line of stems."""
    return line.count(f" {word} ")


def has_phrase(line: str, key: str) -> bool:
    """Tell whether a phrase is in a line of stems.

    >>> has_phrase(stem_line("on each Closing Date"), phrase_key("closing dates"))
    True
    """
    return f" {key.replace(' ', '  ')} " in line


EMPTY_WORDS: Final = frozenset(
    """a about all am an and any are as at be been being but by can could did do does doing for
    from had has have having he her hers him his how i if in into is it its itself let me might
    mine must my of on or our ours s she should so t than that the their theirs them then there
    these they this those to us was we were what when where which who whom whose why will with
    would you your yours ll ve re d m""".split()
)
"""Words of a question that say how it is asked: looking them up costs the most and changes nothing
(LoCoMo: 0.1 points)."""

EMPTY: Final = frozenset(
    stems(
        """a about all also am an and any are as at be been being but by can could did do does doing
        for from had has have how i if in into is it its just let may me might must my no not now of
        off ok on or our please s shall should so that the their them then there these they this
        those to too under up us was we were what when where which who whom whose happens happen
        happened why will with would yes you your"""
    )
)
"""The same of questions about documents, as stems: measured apart, other words cost nothing."""

ABOUT_MEANING: Final = frozenset(
    stems(
        """mean means meaning definition define defined term word explain describe stand refer tell
        exactly work works calculated calculate determined computed called know say says said please
        information info detail details summary understand question count qualify"""
    )
)
"""Stems that ask for what a thing is, whatever it is."""

_IRREGULAR: Final = """
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
"""Irregular verbs and plurals of daily English, from grammar and not from any data set."""


FORMS: Final[dict[str, tuple[str, ...]]] = {}
"""Stem -> every form of the word, or of both words where two share a form ("lay", "leaves")."""

for _group in _IRREGULAR.replace("\n", "|").strip("|").split("|"):
    for _form in _group.split():
        _known = FORMS.get(stem(_form), ())
        FORMS[stem(_form)] = tuple(dict.fromkeys((*_known, *_group.split())))


def forms_of(word: str) -> tuple[str, ...]:
    """Return ``word`` and its forms that share no stem with it: "When did she go?" - "I went".

    >>> forms_of("went"), forms_of("deploy")
    (('went', 'go', 'goes', 'gone'), ('deploy',))
    """
    return tuple(dict.fromkeys((word, *FORMS.get(stem(word), ()))))


# Identifiers

_NAME: Final = re.compile(r"(?<!\w)[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*")
"""A name, with the names it is reached through: ``os.path.join``, ``std::move``."""

_LINK: Final = re.compile(r"\.|::|->")
_INNER_CAPITAL: Final = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
_LIKE_NAME: Final = re.compile(rf"[_(`]|{_INNER_CAPITAL.pattern}|\w(?:{_LINK.pattern})[^\W\d]")
"""What prose has where there is an identifier in it."""
_ASCII_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_UNICODE_WORD: Final = regex.compile(
    r"\p{Lu}+(?=\p{Lu}[^\p{Lu}\W\d_])|\p{Lu}?[^\p{Lu}\W\d_]+|\p{Lu}+|\d+", regex.VERSION1
)
_MANY_NAMES: Final = 2000
"""Identifiers kept of one text: a generated file must not fill the index."""


def parts_of(identifier: str) -> tuple[str, ...]:
    """Split an identifier into its words, in lower case.

    ``getUserName``, ``get_user_name`` and ``get user name`` share the words ``get user name``; the
    first two also share ``getusername``, which is rare and therefore says more.

    >>> parts_of("getUserName"), parts_of("HTTP_Server2"), parts_of("os.path.join")
    (('get', 'user', 'name'), ('http', 'server', '2'), ('os', 'path', 'join'))
    """
    words = _ASCII_WORD if identifier.isascii() else _UNICODE_WORD  # the first is much faster
    return tuple(word.lower() for word in words.findall(identifier))


def joined(identifier: str) -> str:
    """Return the one spelling that all spellings of an identifier share.

    >>> joined("getUserName") == joined("get_user_name") == joined("GET-USER-NAME")
    True
    """
    return "".join(parts_of(identifier))


def joined_forms(identifiers: Iterable[str]) -> tuple[str, ...]:
    """Return the joined spelling of each identifier that has one, each once."""
    return tuple(dict.fromkeys(filter(None, map(joined, identifiers))))


def is_compound(name: str) -> bool:
    """Tell whether a word can only be an identifier: it has an underscore or an inner capital.

    >>> [is_compound(word) for word in ("load_rows", "loadRows", "HTMLPage", "API", "load", "_x")]
    [True, True, True, False, False, False]
    """
    return "_" in name.strip("_") or _INNER_CAPITAL.search(name) is not None


def names_in(text: str, *, code: bool) -> Iterator[str]:
    """Yield the identifiers of a text, each once: in prose only what cannot be a plain word.

    >>> list(names_in("Call os.path.join or load_rows() here.", code=False))
    ['os.path.join', 'load_rows']
    """
    if not (code or _LIKE_NAME.search(text)):
        return
    seen: set[str] = set()
    for found in _NAME.finditer(text):
        name = found[0]
        if name not in seen and len(name) > 1 and (code or _is_identifier(text, found)):
            seen.add(name)
            yield name
            if len(seen) == _MANY_NAMES:
                return


def ident_words(text: str, *, code: bool) -> str:
    """Return what the index knows of a text's identifiers: parts and joined forms, each once.

    >>> ident_words("x = getUserName(db.session)", code=True)
    'get user name getusername db session dbsession'
    """
    words: dict[str, None] = {}
    for name in names_in(text, code=code):
        pieces = _LINK.split(name)
        for piece in pieces:
            parts = parts_of(piece)
            words.update(dict.fromkeys(parts))
            if len(parts) > 1:
                words["".join(parts)] = None
        if len(pieces) > 1:
            words[joined(name)] = None
    return " ".join(words)


def _is_identifier(text: str, found: re.Match[str]) -> bool:
    links = _LINK.split(found[0])
    if len(links) > 1 or is_compound(found[0]):
        return True
    after = text[found.end() : found.end() + 1]
    return after == "(" or (after == "`" and text[found.start() - 1 : found.start()] == "`")


# Tokens

TokenCounter = Callable[[str], int]
"""Returns the number of tokens of a text; 0 for an empty one, and never less for more text."""

_PIECE: Final = re.compile(
    r"(?P<word>[^\W\d_]+)|(?P<number>\d+)|(?P<space>\n\s*|[ \t]{2,})|(?P<sign>[^\w\s]|_)"
)
_PER_TOKEN: Final = {"word": 8, "number": 3, "space": 8, "sign": 1}
"""Characters that make one token as a rule: most words of chat are a token, long names several.
Indentation is counted, which WordPiece drops."""
_ASCII_TOKEN: Final = re.compile(r"[a-zA-Z]{1,8}|[0-9]{1,3}|[^\w\s]|_")
_ASCII_SPACE: Final = re.compile(r"\n\s*|[ \t]{2,}")


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens ``text`` has for a language model.

    KDS brings no tokenizer; users of one hand its counter to the store. Against WordPiece (whole
    text / mean error of a message): chat +2 % / 4 %, documentation +0 % / 7 %, code +5 % / 5 %.
    Rather too many than too few: what keeps to the estimate should keep to the model's budget.

    >>> estimate_tokens("Make the FAB button purple"), estimate_tokens("")
    (5, 0)
    """
    if text.isascii():  # most texts: the same in a fifth of the time
        spaces = sum(-(-len(one) // _PER_TOKEN["space"]) for one in _ASCII_SPACE.findall(text))
        return len(_ASCII_TOKEN.findall(text)) + spaces
    return sum(map(_cost, _PIECE.finditer(text)))


def _cost(piece: re.Match[str]) -> int:
    text, kind = piece[0], piece.lastgroup or ""
    if kind == "word" and not text.isascii():  # a sign of Chinese: one or two
        return len(text.encode("utf-8", "surrogatepass")) // 3 + 1
    return -(-len(text) // _PER_TOKEN[kind])
