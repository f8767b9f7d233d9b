"""Where clauses begin, what their verb is, and whether they ask, tell or command."""

import pytest

from kds.router.language.analysis import Language
from kds.router.language.words import Clause


def clauses(language: Language, text: str) -> list[tuple[str, Clause]]:
    analysis = language.analyse(text)
    return [(analysis.span(c.start, c.end), c) for c in analysis.clauses]


@pytest.mark.parametrize(
    ("text", "mood"),
    [
        ("Rename the helper", "imperative"),
        ("Please rename the helper", "imperative"),
        ("And then rename the helper", "imperative"),
        ("Who owns the helper?", "question"),
        ("Is the helper tested?", "question"),
        ("On which port does it listen?", "question"),
        ("The helper is gone?", "question"),
        ("The helper leaks memory", "statement"),
        ("I want to add a helper", "statement"),
        ("a tiny helper", "fragment"),
        ("dark mode", "fragment"),
        ("Don't rename the helper", "imperative"),
    ],
)
def test_the_first_words_tell_the_mood(language: Language, text: str, mood: str) -> None:
    assert clauses(language, text)[0][1].mood == mood


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Rename the helper and move the tests", ["Rename the helper", "and move the tests"]),
        ("Rename the helper. Run the tests.", ["Rename the helper.", "Run the tests."]),
        ("Rename the helper, run the tests", ["Rename the helper,", "run the tests"]),
        ("Keep the cache because the API is slow", ["Keep the cache", "because the API is slow"]),
        ("Open the file that broke", ["Open the file", "that broke"]),
        ("Add salt and pepper", ["Add salt and pepper"]),
    ],
)
def test_each_verb_group_is_a_clause(language: Language, text: str, parts: list[str]) -> None:
    assert [part for part, _ in clauses(language, text)] == parts


@pytest.mark.parametrize(
    ("text", "subordinate"),
    [
        ("Keep the cache because the API is slow", [False, True]),
        ("Open the file that broke", [False, True]),
        ("Rename the helper and move the tests", [False, False]),
        ("If the API is slow, keep the cache", [True, False]),
    ],
)
def test_dependent_clauses_are_marked(
    language: Language, text: str, subordinate: list[bool]
) -> None:
    assert [clause.subordinate for _, clause in clauses(language, text)] == subordinate


def test_a_chain_of_verbs_has_its_last_as_main_verb(language: Language) -> None:
    analysis = language.analyse("I want to start using the cache")
    verb = analysis.clauses[0].verb
    assert verb is not None
    assert analysis.words[verb].lemma == "use"


def test_every_word_lies_in_one_clause(language: Language) -> None:
    analysis = language.analyse("If it fails, retry. What then? A file, a folder and so on; done")
    covered = [i for clause in analysis.clauses for i in range(clause.start, clause.end)]
    assert covered == list(range(len(analysis.words)))
    assert [analysis.clause_of(i) for i in covered] == sorted(
        analysis.clause_of(i) for i in covered
    )
