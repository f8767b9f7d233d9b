"""The counting of work sees what it has to see, and ends what has no end."""

import re

import pytest

from .effort import LINEAR, EndlessError, bounded, growth, steps


def each_once(length: int) -> None:
    for number in range(length):
        str(number)


def each_with_each(length: int) -> None:
    for _ in range(length):
        sum(number for number in range(length))


def halves(length: int) -> None:
    for _ in range(length):
        rest = length
        while rest:
            rest //= 2


def test_the_same_work_has_the_same_steps() -> None:
    assert steps(lambda: each_once(100)) == steps(lambda: each_once(100))
    assert steps(lambda: each_once(200)) > 1.9 * steps(lambda: each_once(100))


def test_growth_tells_the_length_from_its_square() -> None:
    assert growth(each_once, 50) < 1.5
    assert growth(halves, 50) < LINEAR
    assert growth(each_with_each, 50) > 2 * LINEAR


def test_a_regular_expression_without_an_end_is_ended() -> None:
    said = r"the search was not done after 0\.1 s of CPU time"
    with pytest.raises(EndlessError, match=said), bounded("the search", cpu_s=0.1):
        re.search(r"(a+)+$", "a" * 60 + "!")


def test_what_ends_is_left_alone() -> None:
    with bounded(cpu_s=5):
        each_once(100)
