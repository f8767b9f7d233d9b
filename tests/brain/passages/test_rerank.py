"""The second look: what stands around a hit counts."""

from spoken import passage

from kds.brain.passages.question import read_question
from kds.brain.passages.rerank import Reranked, rerank
from kds.brain.passages.values import ChunkKind, Passage


def _passages(*bodies: str, kind: ChunkKind = "prose", speaker: str = "Ann") -> dict[int, Passage]:
    return {
        number: passage(number, body, kind, speaker=speaker)
        for number, body in enumerate(bodies, start=1)
    }


def _judged(query: str, passages: dict[int, Passage]) -> dict[int, Reranked]:
    question = read_question(query)
    weights = {term.word: 5.0 for term in question.terms}
    return rerank(question, list(passages), passages, weights)


def _best(query: str, *bodies: str) -> int:
    found = _judged(query, _passages(*bodies))
    return max(found, key=lambda one: found[one].score)


def test_the_answer_to_a_question_beats_the_question() -> None:
    assert _best("staging port", "What is the staging port?", "It is 8081.", "Fine.") in (1, 2)
    found = _judged("staging port", _passages("What is the staging port?", "It is 8081.", "Fine."))
    assert found[2].score > 0.75 * found[1].score > found[3].score


def test_a_word_of_a_neighbour_counts_less_with_the_distance() -> None:
    found = _judged("port", _passages("the port", "a", "b", "c", "d", "e", "f"))
    scores = [found[one].score for one in sorted(found)]
    assert scores == sorted(scores, reverse=True)
    assert set(found) == {1, 2, 3, 4, 5}
    assert (found[1].words, found[2].near) == (("port",), ("port",))


def test_who_is_named_is_not_a_word_to_look_for_but_who_said_it() -> None:
    passages = _passages("Ann, I like tea.", "I like tea.")
    passages[2] = _passages("", "I like tea.", speaker="Bob")[2]
    found = _judged("What does Bob like?", passages)
    assert found[2].score > found[1].score
    assert found[2].notes == ("said by Bob",)


def test_what_tells_a_time_comes_first_when_a_time_is_asked_for() -> None:
    other, told = "The server crashed badly.", "The server crashed last week."
    assert _best("When did the server crash?", other, "x", "x", "x", "x", "x", told) == 7
