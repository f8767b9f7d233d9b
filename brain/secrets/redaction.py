"""What may be stored of a text: secrets replaced by `[secret: <kind>]`, code by its size.

The one door to the disk: every text that is stored goes through `storable`. Secrets are found by
the rules of `rules.yaml`; `value_tests` says whether a value is a secret or a word.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

from kds.brain.message import well_formed
from kds.brain.secrets.code_block import summarise_code
from kds.brain.secrets.value_tests import DATA, LOGINS, TESTS, stands_for_token

KINDS: Final = frozenset(
    {"password", "token", "api key", "secret", *DATA["tokens"], *DATA["former_kinds"]}
    | {rule["kind"] for rule in DATA["free"]}
)
"""The kinds a mark may name. Closed, so that a text cannot hide a secret in a false mark."""

BLANK: Final = "\ue000"
"""Stands for each character that is not looked at: of a mark, or of a public key."""

_BEFORE: Final = 100
"""Characters before a name that a rule looks at."""
_AFTER: Final = 500
"""Characters behind a name that decide whether it has a value."""
_PREFIX: Final = 14
"""Characters of the longest word before "key"."""
_SEGMENT: Final = 400
"""Characters of a command that are looked at."""
_LONG: Final = 16
"""Characters that a token has at least, without a break."""
_LONG_NUMBER: Final = 12
"""A shorter number behind "token" is an id or a count."""
_WRAPPED: Final = 40
"""Characters: a line that ends in a token and is shorter was not wrapped."""
_NAME_LIMIT: Final = 200
"""Characters of a line that may be a name: a longer one is not looked at."""
_CODES: Final = 20
"""Lines of recovery codes that are looked at."""
_CLOSING: Final = ".,;:)]}>。，、；"
"""What closes a sentence or a bracket does not belong to a value without quotes."""


LATELY: Final = 16
"""Texts that are looked at once: a message is stored, and asked for what it withholds, in turn."""


class Span(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str


def storable(text: str) -> str:
    """Return what may be stored of ``text``; applying it again changes nothing.

    >>> storable("log in with password: hunter2")
    'log in with password: [secret: password]'
    """
    text = well_formed(text)
    if (shorter := summarise_code(text)) == text:
        return redacted(text)
    return _settled(shorter, lambda one: redact_secrets(summarise_code(one)))


@lru_cache(maxsize=LATELY)
def redacted(text: str) -> str:
    """Return ``text`` with its secrets replaced, code too; applying it again changes nothing."""
    return _settled(text, redact_secrets)


def redact_secrets(text: str) -> str:
    """Replace every secret found in ``text`` by its mark, once."""
    if "PRIVATE" in text or "PuTTY" in text:
        text = _PRIVATE_KEY.sub("[secret: private key]", text)
    view = text.replace(BLANK, " ")
    view = _BLANKED.sub(lambda found: BLANK * len(found[0]), view)
    low = _lowered(view)
    parts: list[str] = []
    at = 0
    for span in _joined((*_findings(view, low), *_line_findings(view, low))):
        end = span.end
        wrapped = end - text.rfind("\n", 0, end) > _WRAPPED
        if wrapped and (rest := _REST.match(text, end)) and TESTS["strong"](rest["rest"]):
            end = rest.end("rest")
        parts += [text[at : span.start], f"[secret: {span.kind}]"]
        at = end
    return "".join((*parts, text[at:]))


def withheld(*texts: str) -> frozenset[str]:
    """Return the words of ``texts`` that only stand in secrets.

    "DB_PASSWORD=swordfish" is redacted, "swordfish" alone is a word. To store a piece of a text
    (a term, a name, a snippet), ask what the whole text withholds, and drop pieces that reveal it.

    >>> sorted(withheld("Why does DB_PASSWORD=swordfish fail?"))
    ['swordfish']
    """
    return frozenset(word for text in texts for word in _words(text) - _words(redacted(text)))


def reveals(piece: str, hidden: Collection[str]) -> bool:
    """Tell whether a piece has a word that is withheld."""
    return any(word in hidden for word in _words(piece)) if hidden else False


def without(piece: str, hidden: Collection[str]) -> str:
    """Replace whatever of ``piece`` has a word that is withheld.

    >>> without("fix DB_PASSWORD=swordfish now", {"swordfish"})
    'fix [secret: secret] now'
    """
    if not reveals(piece, hidden):
        return piece
    parts = re.split(r"(\s+)", piece)
    return "".join("[secret: secret]" if reveals(part, hidden) else part for part in parts)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{3,}", text.casefold()))


def _settled(text: str, change: Callable[[str], str]) -> str:
    """Change ``text`` until nothing does: what a mark leaves beside it may be a secret by itself.

    Each round that changes something leaves less text, so this ends; usually in the second round.
    """
    while (changed := change(text)) != text:
        text = changed
    return text


def _lowered(text: str) -> str:
    """Return ``text`` in lower case, as long as before."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(one.lower()[:1] for one in text)


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Join spans that overlap; the first rule that found the longest of them names the kind."""
    current, longest = Span(0, 0, ""), 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= current.end:
            if longest:
                yield current
            current, longest = span, 0
        kind = span.kind if span.end - span.start > longest else current.kind
        longest = max(longest, span.end - span.start)
        current = Span(current.start, max(current.end, span.end), kind)
    if longest:
        yield current


# Rules


_NAMED: Final = re.compile(r"\{([a-z_]+)\}")
_PARTS: Final[Mapping[str, str]] = {
    **DATA["parts"],
    "logins": "|".join(sorted(LOGINS)),
    "other_keys": DATA["other_keys"],
}


def _compiled(source: str) -> re.Pattern[str]:
    """Compile a regex of the file."""
    while (longer := _NAMED.sub(lambda found: _PARTS[found[1]], source)) != source:
        source = longer
    return re.compile(source.replace(r"\h", r"[^\S\n]"), re.MULTILINE)


class _Rule:
    """Regexes whose group `value`, or all of it, is a secret if the test of the rule accepts it."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        find = entry["find"]
        self.kind: str = entry.get("kind", "password")
        self.sources: list[str] = find if isinstance(find, list) else [find]
        self.accept: Callable[[str], bool] = TESTS[entry.get("if", "anything")]
        self.run: bool = entry.get("run", False)
        self.case: bool = entry.get("case", False)
        self.needs: tuple[str, ...] = tuple(map(str, entry.get("needs", ())))
        self.of: tuple[str, ...] = tuple(entry.get("of", ()))
        self.at: str = entry.get("at", "space")
        self.names: Sequence[str] = entry.get("for", ("password", "token", "api key", "secret"))
        self.behind: str | None = entry.get("before")

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """The regexes, compiled when a text first has what they need."""
        return [_compiled(source) for source in self.sources]

    @cached_property
    def before(self) -> re.Pattern[str] | None:
        """What must stand before a name."""
        return _compiled(rf"(?:{self.behind})\Z") if self.behind else None

    def values_at(self, text: str, low: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the secrets are behind a name that has this start and end."""
        for pattern in self.patterns:
            found = pattern.match(low, end)
            if found and (value := self.value(text, found)):
                past = max(0, start - _BEFORE)
                if not self.before or self.before.search(low, past, start):
                    yield value

    def value(self, text: str, found: re.Match[str]) -> tuple[int, int] | None:
        """Where the secret is that the rule accepts."""
        groups = found.re.groupindex
        start, end = found.span("value" if "value" in groups else "text" if "text" in groups else 0)
        value = text[start:end]
        if _ELLIPSIS.search(value):
            return None
        start += len(value) - len(value.lstrip())
        end = start + len(value.strip() if "text" in groups else value.strip().rstrip(_CLOSING))
        return (start, end) if end > start and self.accept(text[start:end]) else None


@cache
def _rules(part: str) -> tuple[_Rule, ...]:
    return tuple(map(_Rule, DATA[part]))


@cache
def _rules_for(kind: str, groups: str) -> tuple[_Rule, ...]:
    """The rules for what follows a name of a kind."""
    also = {"foreign": {"foreign", "password"}, "hump": {"password"}, "secret key": {"secret"}}
    kinds = also.get(kind, {kind})
    at = groups.split()
    return tuple(one for one in _rules("named") if one.at in at and kinds.intersection(one.names))


_STEM: Final = re.compile("|".join(map(re.escape, DATA["stems"])))
_TOLD: Final = _compiled(DATA["told"])
_SUFFIX: Final = re.compile(DATA["suffix"])
_ELLIPSIS: Final = re.compile(r"[-_]\.{3}\W*\Z")
"""What follows the prefix of a token was left out: "sk_test_..."."""
_SPACED: Final = re.compile(r"[^\S\n]++[\w\"'`„«“$]")
_TAIL: Final = re.compile(r"[\w+/=.~-]*(?<![.])")
_BLANKED: Final = re.compile(
    r"\[secret: (?:" + "|".join(sorted(map(re.escape, KINDS), key=len, reverse=True)) + r")\]|"
    + "|".join(DATA["public"])
)  # fmt: skip
_PRIVATE_KEY: Final = re.compile(DATA["private_key"], re.VERBOSE | re.DOTALL)
"""All of the body is the secret. A key without its end goes as far as its lines look like one."""
_REST: Final = re.compile(r"\n\s*(?P<rest>[\w+/=-]{6,})[\s\"',]*(?:\n|\Z)")
"""The rest of a token that was wrapped stands alone on the next line."""
_MARKS: Final = {"token": "token", "api key": "api key", "secret": "secret", "secret key": "secret"}


def _findings(text: str, low: str) -> Iterator[Span]:
    """Find secrets in ``text``, a text without marks; ``low`` is the same in lower case."""
    words = set(low.split())
    vocabulary = _vocabulary(words)
    if _STEM.search(vocabulary):
        yield from _named(text, low)
    if any(len(word) >= _LONG for word in words):
        yield from _tokens(text)
    for rule in _rules("free"):
        if not rule.needs or any(map(vocabulary.__contains__, rule.needs)):
            yield from _free(rule, text, text if rule.case else low)
    yield from _commands(text, low, words)


def _vocabulary(words: set[str]) -> str:
    """Each word once: what a long text has is found much faster in it."""
    return f" {' '.join(words)} "


def _free(rule: _Rule, text: str, view: str) -> Iterator[Span]:
    for pattern in rule.patterns:
        at = 0
        while found := pattern.search(view, at):
            at = max(found.end(), at + 1)
            if value := rule.value(text, found):
                end = _tail(text, value[1]) if rule.run else value[1]
                at = max(at, end)
                yield Span(value[0], end, rule.kind)


def _named(text: str, low: str) -> Iterator[Span]:
    """Find the values of names such as "password", in assignments and in sentences."""
    done = 0
    empty: set[tuple[str, str]] = set()
    """Surroundings of a name in which nothing was found: generated texts repeat them."""
    for stem in _STEM.finditer(low):
        at = stem.start()
        around = text[at : at + _AFTER], text[max(0, at - _BEFORE) : at]
        if at < done or around in empty:
            continue
        spans = list(_values_of_name(text, low, at))
        if not spans:
            empty.add(around)
        done = max((done, *(span.end for span in spans)))
        yield from spans


def _values_of_name(text: str, low: str, at: int) -> Iterator[Span]:
    """The values of the name that has its stem at a place."""
    if not (name := _name_at(text, low, at)):
        return
    kind, start, end = name
    if suffix := _SUFFIX.match(low, end):
        end = suffix.end()
    follows = low[end : end + 1]
    if follows == "_" or (follows.isascii() and follows.isalnum()):
        return
    groups, inside = "sign", False
    if _SPACED.match(low, end):
        groups = "space told" if _TOLD.match(low, end) else "space"
        inside = low[start - 1 : start].isalnum() or "_" in low[name[2] : end]
    mark = _MARKS.get(kind, "password")
    for rule in _rules_for(kind, groups):
        if rule.behind or not inside:
            for value in rule.values_at(text, low, start, end):
                found = text[slice(*value)]
                if mark == "password" or not found.isdigit() or len(found) >= _LONG_NUMBER:
                    yield Span(*value, mark)


@cache
def _names() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str] | None], ...]:
    return tuple(
        (
            kind,
            _compiled(name["find"]),
            _compiled(rf"(?:{name['before']})\Z") if "before" in name else None,
        )
        for kind, name in DATA["names"].items()
    )


def _name_at(text: str, low: str, at: int) -> tuple[str, int, int] | None:
    """The kind, start and end of the name that has its stem at a place."""
    for kind, find, before in _names():
        if found := find.match(low, at):
            if kind == "hump" and not (text[at].isupper() and low[at - 1] == text[at - 1]):
                continue
            if before is None:
                return kind, at, found.end()
            if first := before.search(low, max(0, at - _PREFIX), at):
                return kind, first.start(), found.end()
    return None


def _tokens(text: str) -> Iterator[Span]:
    """What is known by its form alone, taken to the end of the unbroken run."""
    kinds, at = tuple(DATA["tokens"]), 0
    while found := _token_pattern().search(text, at):
        at = _tail(text, found.end())
        if stands_for_token(text[found.start() : at]):
            continue
        yield Span(found.start(), at, kinds[int(str(found.lastgroup)[1:])])


@cache
def _token_pattern() -> re.Pattern[str]:
    kinds = (f"(?P<k{at}>{'|'.join(forms)})" for at, forms in enumerate(DATA["tokens"].values()))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(kinds)})")


def _tail(text: str, at: int) -> int:
    found = _TAIL.match(text, at)
    return max(at, found.end()) if found else at


def _commands(text: str, low: str, words: set[str]) -> Iterator[Span]:
    here = {word.rpartition("/")[2].lstrip("`\"'$(|;&>") for word in words}
    for rule in _rules("commands"):
        if here.isdisjoint(rule.of):
            continue
        places = re.finditer(rf"(?<![\w.-])(?:{'|'.join(rule.of)})(?=[^\S\n])", low)
        starts = [place.end() for place in places]
        for start, following in pairwise((*starts, len(low))):
            end = min(following, start + _SEGMENT)
            if (line := low.find("\n", start, end)) >= 0 and low[line - 1] != "\\":
                end = line
            for found in rule.patterns[0].finditer(low, start, end):
                value = rule.value(text, found)
                if value and TESTS["given"](text[slice(*value)]):
                    yield Span(*value, rule.kind)


# Values on another line than their name: below it (YAML, JSON, "the password is" and the password
# under it), or in the column of a table or CSV file that the name heads.

_LINES: Final = {name: _compiled(source) for name, source in DATA["lines"].items()}
_SEPARATORS: Final = tuple(map(re.compile, (r"\|", r"\t", r";", r",", r"\s{2,}")))
_FRAME: Final = " \"'*`\r"
"""Around the text of a cell."""
_Found = tuple[int, tuple[int, int], str]
"""The row of a value, its place there, and its kind."""


def _line_findings(text: str, low: str) -> Iterator[Span]:
    """Find the values that stand below their names."""
    if "\n" not in text or not _LINES["hint"].search(low):
        return
    lines, lows = text.split("\n"), low.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    table = 0
    hints = (bisect_right(starts, one.start()) - 1 for one in _LINES["hint"].finditer(low))
    for at in dict.fromkeys(hints):
        if at == len(lows) - 1 or len(lows[at]) > _NAME_LIMIT:
            continue
        found = list(_below(lines, lows, at))
        if at >= table:
            columns = list(_columns(lines, lows[at], at))
            table = max((at + 1, *(row + 1 for row, _, _ in columns)))
            found += (one for one in columns if one[2])
        for row, (start, end), kind in found:
            yield Span(starts[row] + start, starts[row] + end, kind)


def _below(lines: Sequence[str], lows: Sequence[str], at: int) -> Iterator[_Found]:
    """What stands below a name."""
    line = lows[at]
    last = line.rstrip()[-1:]
    if (last in ":=|>-\"'" or "#" in line) and (head := _LINES["head"].match(line)):
        yield from _indented(lines, at, head)
    elif named := _LINES["named"].match(line):
        yield from _word(lines, at + 1, "value", "bare", _kind(named))
    elif _LINES["login"].fullmatch(line):
        yield from _word(lines, at + 1, "netrc", "bare", "password")
    elif "variable" in line and (named := _LINES["variable"].match(line)):
        for row in range(at + 1, min(at + 8, len(lines))):
            yield from _word(lines, row, "default", "value", _kind(named))
    blank = at + 1 < len(lines) - 1 and not lines[at + 1].strip()
    below = at + 2 if blank else at + 1
    if _LINES["codes"].search(line):
        yield from _codes(lines, at)
    elif _LINES["phrase"].search(line):
        yield from _word(lines, below, "words", "anything", "secret")
    elif told := _LINES["told"].search(line):
        accept = "told_below" if told["password"] else "strong"
        yield from _word(lines, below, "alone", accept, _kind(told))


def _codes(lines: Sequence[str], at: int) -> Iterator[_Found]:
    """The lines below "backup codes" that hold nothing but codes."""
    for row in range(at + 1, min(at + _CODES, len(lines))):
        found = list(_word(lines, row, "code", "code", "one-time code"))
        if not found and lines[row].strip():
            return
        yield from found


def _word(lines: Sequence[str], row: int, form: str, accept: str, kind: str) -> Iterator[_Found]:
    """The value of a line that has a form, if a test accepts it."""
    found = _LINES[form].fullmatch(lines[row]) if row < len(lines) else None
    if found and not found["value"].endswith(":") and TESTS[accept](found["value"]):
        yield row, found.span("value"), kind


def _indented(lines: Sequence[str], at: int, head: re.Match[str]) -> Iterator[_Found]:
    """What is indented more than its name: all of a block, else the first line, if it is a word."""
    margin, kind = len(head["lead"].removesuffix("- ")), _kind(head)
    for row in range(at + 1, len(lines)):
        line = lines[row]
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip(" \t>"))
        if indent <= margin:
            return
        if head["block"]:
            yield row, (indent, len(line.rstrip())), kind
            continue
        found = _LINES["value"].fullmatch(line)
        if found and not found["value"].endswith((":", "{", "[")):
            sure = kind == "password" or found["quote"]
            if TESTS["bare" if sure else "strong"](found["value"]):
                yield row, found.span("value"), kind
        return


def _kind(found: re.Match[str]) -> str:
    return "password" if found["password"] else "secret"


def _columns(lines: Sequence[str], head: str, at: int) -> Iterator[_Found]:
    """What stands in the columns of a table that a line names; rows without have no kind."""
    sign = _separator(head)
    if sign is None:
        return
    heads = sign.split(head)
    is_row = at and sign.pattern == r"\|" and len(sign.split(lines[at - 1])) == len(heads)
    named = ((at, _LINES["column"].fullmatch(cell.strip(_FRAME))) for at, cell in enumerate(heads))
    columns = {} if is_row else {at: _kind(name) for at, name in named if name}
    plain = _may_be_head(heads[0])
    for row in range(at + 1, len(lines)) if columns else ():
        line = lines[row]
        bounds = [0, *(edge for found in sign.finditer(line) for edge in found.span()), len(line)]
        if len(bounds) != 2 * len(heads):
            return
        yield row, (0, 0), ""
        for at, kind in columns.items():
            first, last = bounds[2 * at : 2 * at + 2]
            body = line[first:last].strip(_FRAME)
            if not body or " " in body or BLANK in body:
                continue
            if TESTS["strong"](body) or (kind == "password" and plain and TESTS["said"](body)):
                start = line.index(body, first)
                yield row, (start, start + len(body)), kind


def _separator(line: str) -> re.Pattern[str] | None:
    """What divides the cells of a line that may be the head of a table."""
    for sign in _SEPARATORS:
        cells = [cell for cell in sign.split(line) if cell.strip()]
        # The first may have a sentence before it: "use this: user,password".
        if len(cells) > 1 and all(map(_may_be_head, cells[1:])):
            return sign
    return None


def _may_be_head(cell: str) -> bool:
    return len(cell.split()) <= 3 and "=" not in cell
