"""Whether a message is in another language than English."""

from pathlib import Path

import pytest
import yaml

from kds.router.language.other_languages import is_foreign

FOREIGN = yaml.safe_load(Path(__file__).with_name("foreign_messages.yaml").read_text("utf-8"))
DIALOGUES = Path(__file__).parents[2] / "dialogues"


@pytest.mark.parametrize("language", FOREIGN)
def test_a_message_in_another_language_is_seen(language: str) -> None:
    unseen = [message for message in FOREIGN[language] if not is_foreign(message, doubted=True)]
    assert unseen == []


def test_most_foreign_messages_are_seen_before_their_intent_is_doubted() -> None:
    messages = [message for found in FOREIGN.values() for message in found]
    assert len(messages) >= 60
    assert sum(map(is_foreign, messages)) >= 0.85 * len(messages)


def test_no_message_of_the_dialogues_is_taken_for_foreign() -> None:
    said = [
        turn["user"]
        for file in sorted(DIALOGUES.glob("*.yaml"))
        for dialogue in yaml.safe_load(file.read_text("utf-8"))
        for turn in dialogue["turns"]
    ]
    assert len(said) > 500
    found = [message for message in said if is_foreign(message, doubted=True)]
    assert found == ["ajoute encore un bouton rouge ici"]  # it is: the dialogue is about that


@pytest.mark.parametrize(
    "message",
    [
        'Translate "Guten Morgen, wie geht es dir" for the start page',
        "rename `Einstellungen für den Benutzer`",
        "the label 保存 is cut off",
        "add the prices of Los Angeles and La Jolla",
        "use α, β and Δx in the formula",
        "deploy es-de and de-DE locales",
        "add de, es and en",
        "TODO in the pod: un-taint the nodes",
        "ja",
        "um",
        "rename var le to la",
        "naïve café résumé matching",
        "",
        "!!! 42",
    ],
)
def test_english_with_a_foreign_word_in_it_stays_english(message: str) -> None:
    assert not is_foreign(message, doubted=True)


def test_code_says_nothing_about_the_language() -> None:
    code = "```python\nder = das + dem  # ist nicht kaputt\n```"
    assert not is_foreign(f"why does it fail?\n{code}")
    assert is_foreign(f"warum geht das nicht?\n{code}")


def test_one_short_foreign_word_tells_nothing_while_the_intent_is_clear() -> None:
    assert not is_foreign("danke")
    assert is_foreign("danke", doubted=True)
