"""The rules of `rules.yaml`: what they find in a text, as spans."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

from kds.brain.secrets.value_tests import DATA, LOGINS, TESTS, may_be_strong

BLANK: Final = "\ue000"
"""Stands for each character of what is no text: a mark, or a public key."""

_NAMED: Final = re.compile(r"\{([a-z_]+)\}")
_PARTS: Final[Mapping[str, str]] = {
    **DATA["parts"],
    "logins": "|".join(sorted(LOGINS)),
    "other_keys": DATA["other_keys"],
}
_STEM: Final = re.compile("|".join(map(re.escape, DATA["stems"])))
_TOLD: Final = re.compile(DATA["told"])
_SUFFIX: Final = re.compile(DATA["suffix"])
_SPACED: Final = re.compile(r"[^\S\n]+[\w\"'`„«“$]")
_CLOSING: Final = ".,;:)]}>。，、；"
"""What closes a sentence or a bracket is no part of a value without quotes."""
_BEFORE: Final = 100
"""Characters before a name that a rule looks at."""
_SEGMENT: Final = 400
"""Characters of a command that are looked at."""
_LONG: Final = 16
"""Characters that a token has at least, without a break."""
_TAIL: Final = re.compile(r"[\w+/=.~-]*(?<![.])")
_LONG_NUMBER: Final = 12
"""A shorter number behind "token" is an id or a count."""


class Span(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str


class Rule:
    """Regexes whose group `value`, or all of it, is a secret if the test of the rule says so."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.kind = entry.get("kind", "password")
        find = entry["find"]
        self._sources: list[str] = find if isinstance(find, list) else [find]
        self._before: str | None = entry.get("before")
        self.accept: Callable[[str], bool] = TESTS[entry.get("if", "anything")]
        self.run: bool = entry.get("run", False)
        self.needs: tuple[str, ...] = tuple(entry.get("needs", ()))
        self.strong = entry.get("if") in ("strong", "told", "digits")
        self.near: tuple[str, ...] = tuple(entry.get("near", ()))
        self.after: tuple[str, ...] = tuple(entry.get("after", ()))
        self.case: bool = entry.get("case", False)

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """The regexes, compiled when a text first has what they need."""
        return [compiled(source) for source in self._sources]

    @cached_property
    def before(self) -> re.Pattern[str] | None:
        """What must stand before a name."""
        return compiled(rf"(?:{self._before})\Z") if self._before else None

    def may_fit(self, past: str, future: str) -> bool:
        """Say, cheaply, whether the rule could find something between two texts."""
        if self.near:
            for near in self.near:
                if near in past:
                    break
            else:
                return False
        for after in self.after:
            if after in future:
                return True
        return not self.after

    def values_between(
        self, text: str, low: str, start: int, end: int
    ) -> Iterator[tuple[int, int]]:
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
        start += len(value) - len(value.lstrip())
        end = start + len(value.strip() if "text" in groups else value.strip().rstrip(_CLOSING))
        return (start, end) if end > start and self.accept(text[start:end]) else None


def compiled(source: str) -> re.Pattern[str]:
    """Compile a regex of the file."""
    while (longer := _NAMED.sub(lambda found: _PARTS[found[1]], source)) != source:
        source = longer
    return re.compile(source.replace(r"\h", r"[^\S\n]"), re.MULTILINE)


def findings(text: str, low: str) -> Iterator[Span]:
    """Find secrets in ``text``, a text without marks; ``low`` is the same in lower case."""
    words = set(low.split())
    vocabulary = _vocabulary(words)
    if _STEM.search(vocabulary):
        yield from _named(text, low)
    if any(len(word) >= _LONG for word in words):
        yield from _tokens(text)
    for rule in _rules("free"):
        if not rule.needs or any(need in vocabulary for need in rule.needs):
            yield from _free(rule, text, text if rule.case else low)
    yield from _commands(text, low, words)


def _free(rule: Rule, text: str, view: str) -> Iterator[Span]:
    for pattern in rule.patterns:
        at = 0
        while found := pattern.search(view, at):
            at = max(found.end(), at + 1)
            if value := rule.value(text, found):
                end = _tail(text, value[1]) if rule.run else value[1]
                at = max(at, end)
                yield Span(value[0], end, rule.kind)


def may_hold_secret(text: str) -> bool:
    """Say, cheaply, whether any rule could find something; it may be wrong only with yes."""
    words = set(text.lower().split())
    vocabulary = _vocabulary(words)
    return (
        any(len(word) >= _LONG for word in words)
        or _STEM.search(vocabulary) is not None
        or any(need in vocabulary for need in _needs())
        or not _command_words().isdisjoint(map(_command, words))
    )


def _vocabulary(words: set[str]) -> str:
    """Each word once: what a long text has is found much faster in it."""
    return f" {' '.join(words)} "


@cache
def _needs() -> tuple[str, ...]:
    needles = {need for rule in _rules("free") for need in rule.needs}
    return tuple(one for one in needles if not any(two != one and two in one for two in needles))


@cache
def _rules(part: str) -> tuple[Rule, ...]:
    return tuple(Rule(entry) for entry in DATA[part])


@cache
def _names() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str] | None], ...]:
    return tuple(
        (
            kind,
            compiled(name["find"]),
            compiled(rf"(?:{name['before']})\Z") if "before" in name else None,
        )
        for kind, name in DATA["names"].items()
    )


@cache
def _rules_for(kind: str, groups: str, strong: bool) -> tuple[Rule, ...]:
    """The rules for what follows a name of a kind."""
    kinds = {"foreign": {"foreign", "password"}, "hump": {"password"}, "secret key": {"secret"}}
    usual = ("password", "token", "api key", "secret")
    return tuple(
        rule
        for entry, rule in zip(DATA["named"], _rules("named"), strict=True)
        if entry.get("at", "space") in groups.split()
        and (strong or not rule.strong)
        and kinds.get(kind, {kind}).intersection(entry.get("for", usual))
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


def _named(text: str, low: str) -> Iterator[Span]:
    for stem in _STEM.finditer(low):
        if not (name := _name_at(text, low, stem.start())):
            continue
        kind, start, named = name
        end = _SUFFIX.match(low, named).end()  # type: ignore[union-attr]  # may be empty
        follows = low[end : end + 1]
        if follows == "_" or (follows.isalnum() and follows.isascii()):
            continue
        if not _SPACED.match(low, end):
            groups, inside = "sign", False
        else:
            groups = "space told" if _TOLD.match(low, end) else "space"
            inside = low[start - 1 : start].isalnum() or "_" in low[named:end]
        strong = any(map(may_be_strong, text[end : end + _BEFORE].split()))
        past, future = low[max(0, start - _BEFORE) : start], low[end : end + _BEFORE]
        mark = _MARKS.get(kind, "password")
        for rule in _rules_for(kind, groups, strong):
            if (rule.before or not inside) and rule.may_fit(past, future):
                for value in rule.values_between(text, low, start, end):
                    if mark == "password" or not _is_short_number(text[slice(*value)]):
                        yield Span(*value, mark)


_PREFIX: Final = 14
"""Characters of the longest word before "key"."""
_MARKS: Final = {"token": "token", "api key": "api key", "secret": "secret", "secret key": "secret"}


def _is_short_number(text: str) -> bool:
    return text.isdigit() and len(text) < _LONG_NUMBER


def _tokens(text: str) -> Iterator[Span]:
    """What is known by its form alone, taken to the end of the unbroken run."""
    at = 0
    while found := _token_pattern().search(text, at):
        at = _tail(text, found.end())
        yield Span(
            found.start(), at, tuple[str, ...](DATA["tokens"])[int(str(found.lastgroup)[1:])]
        )


@cache
def _token_pattern() -> re.Pattern[str]:
    kinds = (f"(?P<k{at}>{'|'.join(forms)})" for at, forms in enumerate(DATA["tokens"].values()))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(kinds)})")


def _tail(text: str, at: int) -> int:
    found = _TAIL.match(text, at)
    return max(at, found.end()) if found else at


@cache
def _command_words() -> frozenset[str]:
    return frozenset(word for entry in DATA["commands"] for word in entry["of"])


def _command(word: str) -> str:
    return word.rpartition("/")[2].lstrip("`\"'$(|;&>")


def _commands(text: str, low: str, words: set[str]) -> Iterator[Span]:
    here = _command_words() & set(map(_command, words))
    for entry, rule in zip(DATA["commands"], _rules("commands"), strict=True) if here else ():
        if not here.intersection(entry["of"]):
            continue
        places = re.finditer(rf"(?<![\w.-])(?:{'|'.join(entry['of'])})(?=[^\S\n])", low)
        starts = [place.end() for place in places]
        for start, following in pairwise((*starts, len(low))):
            end = min(following, start + _SEGMENT)
            if (line := low.find("\n", start, end)) >= 0 and low[line - 1] != "\\":
                end = line
            for found in rule.patterns[0].finditer(low, start, end):
                value = rule.value(text, found)
                if value and TESTS["given"](text[slice(*value)]):
                    yield Span(*value, rule.kind)
