"""Parts of speech of developer chat."""

import pytest

from kds.router.english import load_english
from kds.router.language.tagger import tag


def tags(text: str) -> list[str]:
    return [pos for pos, *_ in tag(text.split(), load_english())]


@pytest.mark.parametrize(
    "message",
    [
        "Test the build",
        "Cache the results",
        "Log the errors",
        "Style the menu",
        "Refactor the parser",
        "Frobnicate the widget",
        "Please document the class",
        "Then format the file",
        "Run the linter and fix the warnings",
    ],
)
def test_a_command_begins_with_a_verb(message: str) -> None:
    assert "VERB" in tags(message)[:2]
    assert tags(message)[-1] == "NOUN"


@pytest.mark.parametrize(
    ("message", "word", "pos"),
    [
        ("Add a test", "test", "NOUN"),
        ("the build is broken", "build", "NOUN"),
        ("Why does the cache crash ?", "cache", "NOUN"),
        ("Why does the cache crash ?", "crash", "VERB"),
        ("Make the red button wider", "red", "ADJ"),
        ("Make the button purple", "purple", "ADJ"),
        ("Rerun the failing tests", "tests", "NOUN"),
        ("I want to plan a release", "plan", "VERB"),
        ("Show me the plan", "plan", "NOUN"),
        ("Do the tests pass ?", "pass", "VERB"),
        ("Did the deploy finish ?", "deploy", "NOUN"),
        ("Open that file", "that", "DET"),
        ("Explain that", "that", "PRON"),
        ("I think that caching helps", "that", "SCONJ"),
        ("the file that fails", "that", "PRON"),
        ("Send her the report", "her", "PRON"),
        ("Ask her manager", "her", "DET"),
        ("There is a bug", "There", "PRON"),
        ("Put the chart there", "there", "ADV"),
        ("Move it to src/app.py", "src/app.py", "PROPN"),
        ("Set the margin to 8px", "8px", "NUM"),
        ("a & b", "&", "CCONJ"),
        ("wait !", "!", "PUNCT"),
    ],
)
def test_a_word_is_read_by_its_place(message: str, word: str, pos: str) -> None:
    assert dict(zip(message.split(), tags(message), strict=True))[word] == pos


@pytest.mark.parametrize(
    ("message", "penn"),
    [
        ("Fix the parser", "VB"),
        ("The parser fails", "VBZ"),
        ("The parser is failing", "VBG"),
    ],
)
def test_verbs_carry_their_form(message: str, penn: str) -> None:
    assert penn in [verb for pos, verb, *_ in tag(message.split(), load_english()) if pos == "VERB"]


def test_every_token_gets_a_tag() -> None:
    assert all(tags('Hmm , why not : 3 x 🙂 שלום -- it \'s " fine " ?'))


def test_no_tokens_no_tags() -> None:
    assert tag([], load_english()) == []


def test_what_follows_a_full_stop_is_tagged_as_a_sentence_of_its_own() -> None:
    assert tags("The build broke . Test the build")[4] == tags("Test the build")[0] == "VERB"
