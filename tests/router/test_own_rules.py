"""Rules of a workspace's own: what one may decide, each tried as the only rule there is."""

from collections.abc import Callable

import pytest

Rewrite = Callable[..., str]
By = Callable[[str], Rewrite]

MAP = "Add a map"

RULES = {
    "which-words-count": (
        "signal: {kind: pronoun, lemma: [it]}, antecedent: {number: sg}",
        [
            ([MAP, "Make it wider"], "Make the map wider"),
            (["Add two maps", "Make them wider"], "Make them wider"),
        ],
    ),
    "where-it-does-not-apply": (
        'signal: {kind: pronoun, lemma: [it], unless: ["\\\\bship it\\\\b"]}',
        [([MAP, "Ship it"], "Ship it"), ([MAP, "Test it"], "Test the map")],
    ),
    "how-far-back-it-looks": (
        "signal: {kind: pronoun, lemma: [it]}, antecedent: {max_age: 0}",
        [([MAP, "Test it"], "Test the map"), ([MAP, "Hello", "Test it"], "Test it")],
    ),
    "which-score-is-enough": (
        "signal: {kind: pronoun, lemma: [it]}, antecedent: {min_score: 0.6}",
        [
            ([MAP, "Test it"], "Test the map"),
            (["Log in with the map", "Hello", "Hi", "Test it"], "Test it"),
        ],
    ),
    "which-margin-is-enough": (
        "signal: {kind: pronoun, lemma: [it]}, antecedent: {min_margin: 0.9}",
        [(["Add a map to the page", "Test it"], "Test it")],
    ),
    "determiners-and-the-same-noun": (
        "signal: {kind: noun, determiners: [that]}, antecedent: {match: head}",
        [
            (["Fix the memory leak", "Explain that leak"], "Explain the memory leak"),
            (["Fix the memory leak", "Explain the leak"], "Explain the leak"),
            (["Edit conf/nginx.conf", "Open that file"], "Open that file"),
        ],
    ),
    "the-same-kind-of-thing": (
        "signal: {kind: noun, determiners: [that]}, antecedent: {match: type}",
        [(["Edit conf/nginx.conf", "Open that file"], "Open conf/nginx.conf")],
    ),
    "verbs-attributes-and-a-preposition": (
        "signal: {kind: attribute, verbs: [tune], nouns: [gain]}, render: {preposition: in}",
        [
            (["Build a mixer", "Tune the gain"], "Tune the gain in the mixer"),
            (["Build a mixer", "Tune the color"], "Tune the color"),
            (["Build a mixer", "Change the gain"], "Change the gain"),
        ],
    ),
    "verbs-and-parts": (
        "signal: {kind: part, verbs: [solder], nouns: [jack]}",
        [
            (["Build a mixer", "Solder a jack"], "Solder a jack to the mixer"),
            (["Build a mixer", "Solder a fuse"], "Solder a fuse"),
        ],
    ),
    "the-cue-of-a-repetition": (
        'signal: {kind: repeat, cues: ["^ditto for\\\\s+"]}',
        [
            (["Restart the web server", "Ditto for the database"], "Restart the database"),
            (["Restart the web server", "Same for the database"], "Same for the database"),
        ],
    ),
    "what-a-correction-replaces": (
        'signal: {kind: correction, cues: ["^swap out (?P<old>\\\\w+) for\\\\s+"]}',
        [(["Paint the tab green", "Swap out green for teal"], "Paint the tab teal")],
    ),
    "which-nouns-are-places": (
        "signal: {kind: place, lemma: [there], nouns: [attic]}",
        [(["Move the boxes to the attic", "Put the lamp there"], "Put the lamp in the attic")],
    ),
    "how-far-back-both-looks": (
        "signal: {kind: both}, antecedent: {max_age: 0}",
        [
            (["Add a map and a list", "Print both"], "Print both the map and the list"),
            (["Add a map and a list", "Hello", "Print both"], "Print both"),
        ],
    ),
    "a-wording-with-a-text-at-any-time": (
        'signal: {kind: pattern, cues: ["the usual place"]}, render: {text: the staging cluster}',
        [
            (["Deploy to the usual place"], "Deploy to the staging cluster"),
            ([MAP, "Deploy to the usual place"], "Deploy to the staging cluster"),
            (["The usual place is down"], "The staging cluster is down"),
            ([MAP, "The usual place is down"], "The staging cluster is down"),
            (["Deploy to production"], "Deploy to production"),
            ([MAP, "Deploy to production"], "Deploy to production"),
        ],
    ),
    "a-wording-for-what-is-being-worked-on": (
        'signal: {kind: pattern, cues: ["\\\\bdat ding\\\\b"]}',
        [
            ([MAP, "Make dat ding wider"], "Make the map wider"),
            (["Make dat ding wider"], "Make dat ding wider"),
        ],
    ),
    "which-part-of-a-wording-is-replaced": (
        'signal: {kind: pattern, cues: ["paint (?P<ref>yonder) red"]}',
        [([MAP, "Paint yonder red"], "Paint the map red"), ([MAP, "Move yonder"], "Move yonder")],
    ),
    "where-a-wording-does-not-apply": (
        'signal: {kind: pattern, cues: ["\\\\bstg\\\\b"], unless: ["stg-\\\\w+", "not stg"]}, '
        "render: {text: staging}",
        [
            (["Deploy to stg"], "Deploy to staging"),
            (["Deploy to not stg"], "Deploy to not stg"),
        ],
    ),
}


@pytest.mark.parametrize(("rule", "said"), RULES.values(), ids=RULES)
def test_a_rule_of_ones_own_decides(
    rewrite_by: By, rule: str, said: list[tuple[list[str], str]]
) -> None:
    rewrite = rewrite_by(rule)
    for messages, written in said:
        assert rewrite(*messages) == written


def test_without_a_margin_a_rule_of_ones_own_decides_between_equals(rewrite_by: By) -> None:
    rewrite = rewrite_by("signal: {kind: pronoun, lemma: [it]}, antecedent: {min_margin: 0.0}")
    assert rewrite("Add a map and a list", "Test it") != "Test it"
