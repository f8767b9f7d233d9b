"""What the place of a pronoun asks for, and how what was mentioned fits it."""

import pytest

from kds.router.discourse.fitness import Slot, dealt_with, fitness, slot_of
from kds.router.discourse.history import Discourse
from kds.router.discourse.mention import Mention
from kds.router.language.analysis import Language
from kds.router.language.words import Role


def asked(language: Language, text: str) -> tuple[Discourse, dict[str, Mention]]:
    discourse = Discourse().then(language.analyse(text))
    return discourse, {mention.text: mention for mention in discourse.last.mentions}


@pytest.mark.parametrize(
    ("text", "pronoun", "slot"),
    [
        ("How long do they have", "they", "actor"),
        ("What price does it pay?", "it", "actor"),
        ("Are they allowed to sublet it?", "they", "actor"),
        ("Can it change the fee?", "it", "actor"),
        ("Is it liable for damage?", "it", "actor"),
        ("When does it have to be returned?", "it", "thing"),
        ("Is it paid in advance?", "it", "thing"),
        ("How long is it valid?", "it", "thing"),
        ("What if it falls on a weekend?", "it", "thing"),
        ("Does it change in winter?", "it", "thing"),
    ],
)
def test_the_predicate_tells_who_acts_from_what_is_acted_on(
    language: Language, text: str, pronoun: str, slot: Slot
) -> None:
    analysis = language.analyse(text)
    at = next(word.i for word in analysis.words if word.lower == pronoun)
    assert slot_of(analysis, at, "subj", "") == slot


@pytest.mark.parametrize(
    ("verb", "role", "slot"),
    [
        ("return", "obj", "thing"),
        ("notify", "obj", ""),
        ("pay", "pobj", ""),
        ("deduct", "pobj", "thing"),
    ],
)
def test_an_object_is_a_thing_unless_the_verb_is_one_of_dealing_with_people(
    language: Language, verb: str, role: Role, slot: Slot
) -> None:
    analysis = language.analyse("Who does it?")
    assert slot_of(analysis, 2, role, verb) == slot


def test_a_party_fits_where_somebody_acts_and_misfits_where_a_thing_is_meant(
    language: Language,
) -> None:
    discourse, said = asked(language, "When must the Lessor return the Security Deposit?")
    lessor, deposit = [said["Lessor"]], [said["Security Deposit"]]
    assert fitness(lessor, "actor", discourse) > fitness(deposit, "actor", discourse)
    assert fitness(lessor, "thing", discourse) < fitness(deposit, "thing", discourse)
    assert fitness(lessor, "", discourse) == fitness(deposit, "", discourse) == 1.0


def test_what_has_a_duty_is_somebody_whatever_it_is_called(language: Language) -> None:
    discourse, said = asked(language, "How quickly must the clinic send a lab report?")
    assert fitness([said["clinic"]], "thing", discourse) < 1.0
    other, capable = asked(language, "How quickly can the pump drain a pool?")
    assert fitness([capable["pump"]], "thing", other) == 1.0


def test_somebody_fits_less_with_every_message_in_between(language: Language) -> None:
    discourse, said = asked(language, "When may the Lessor enter the flat?")
    later = discourse.then(language.analyse("Where is the boiler?"))
    lessor = [said["Lessor"]]
    assert fitness(lessor, "actor", discourse) > fitness(lessor, "actor", later) > 1.0


def test_the_object_of_a_duty_is_dealt_with(language: Language) -> None:
    discourse, said = asked(language, "How quickly must the Custodian release a file?")
    assert dealt_with(said["file"], discourse)
    assert not dealt_with(said["Custodian"], discourse)
