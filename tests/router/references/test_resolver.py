"""What holds for every message and every context."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.brain.turn import ContextEntry
from kds.router.discourse.history import Discourse, Moment
from kds.router.language.misspelling import spelt
from kds.router.references.resolver import Resolution, Resolver, apply_edits

from ...effort import bounded, steps
from .replay import FAULTS

MOST_STEPS = 7_000_000
"""Lines of Python for one message, with and without a context: three times what the most laborious
needs, "the one the one ..."."""

WORDS = (
    "it its them their this that these those the a an another one ones both former latter there "
    "same add make change use put open color button page file src/a.py getUser() FAB Maria her he "
    "user users tests red 5 16px and or , . ? ! : ; not no actually instead what about for do to "
    "in on of with as called dark mode toggle header 🙂 שלום let's first I want is are failing "
    "started forget never mind don't who which is start when"
).split()
MESSAGE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
CONTEXT = st.lists(MESSAGE, max_size=3).map(tuple)

CONVERSATIONS = [
    ["I want to add a rating widget", "Make it orange", "Add a fade animation", "Test it"],
    ["Create a settings page", "Put a logout link there", "Move the link to the top", "Style it"],
    ["Add two sliders", "Align them to the left", "Change their color", "Remove them"],
    ["Add a mute button and a skip button", "Enlarge both", "Hide the second one", "Print it"],
    ["Edit conf/nginx.conf", "Format that file", "Commit it", "What about conf/redis.conf?"],
    ["How do I deploy to staging?", "What about production?", "And on weekends?", "Is it safe?"],
    ["Set the margin to 8px", "No, 12px", "and the padding to 4px", "Make that 6px"],
    ["Ask Priya for the budget", "Send her the plan", "Did she like it?", "Thank her"],
    ["Should we use Deno or Bun?", "Which one is faster?", "Go with the latter", "Install it"],
    ["I want to add offline mode", "Use a checkbox, not a button", "Put it in the footer"],
    ["Add a map", "Actually, let's build a login page first", "Make it responsive", "Ship it"],
    ["The nightly export is failing", "When did this start?", "Restart it", "Do it again"][:3],
    ["Add a retry to the mail worker", "Same for the sms worker", "Test it", "Deploy both"],
    ["Create a thumbnail view", "Create another one for videos", "Make the view wider"],
    ["Open src/a.py", "Wrong file! It should be src/b.py", "Format it", "Explain that file"],
    ["Write a Dockerfile", "Use Alpine as the base image", "Change the port to 80", "Build it"],
]
FOLLOW_UPS = [
    (tuple(conversation[:i]), conversation[i])
    for conversation in CONVERSATIONS
    for i in range(1, len(conversation))
]


def check(message: str, resolution: Resolution) -> None:
    """References quote the message, edits lie inside it and apart from each other."""
    for reference in resolution.references:
        assert message[reference.start : reference.end] == reference.text
        assert reference.target
        assert reference.rule
        assert 0.0 <= reference.score <= 1.0
    edits = sorted(resolution.edits, key=lambda edit: (edit.start, edit.end))
    assert all(0 <= edit.start <= edit.end <= len(message) for edit in edits)
    assert all(a.end <= b.start for a, b in pairwise(edits))
    assert bool(resolution.references) == bool(resolution.edits)
    assert resolution.notes or not resolution.edits


@given(context=CONTEXT, message=MESSAGE)
@settings(max_examples=100)
def test_references_quote_the_message_and_edits_lie_apart(
    resolver: Resolver, context: tuple[str, ...], message: str
) -> None:
    check(message, resolver.resolve(message, resolver.replay(context)))


@given(message=MESSAGE | st.text(st.characters(codec="utf-8", exclude_characters="`\"'“”")))
@settings(max_examples=60)
def test_a_message_without_a_context_is_never_changed(resolver: Resolver, message: str) -> None:
    assert resolver.resolve(message, Discourse()) == Resolution()
    assert resolver.switch(message, Discourse()) is None


def shown(moments: Sequence[Moment]) -> list[tuple[object, ...]]:
    """What moments say; their analyses are compared by identity."""
    return [(m.expanded, m.mentions, m.focus, m.replies) for m in moments]


def check_replay(resolver: Resolver, messages: Sequence[str]) -> None:
    """Each message of a replayed context reads as it does when it is the newest."""
    fresh = Resolver(resolver._language, resolver.rules, resolver.knowledge)
    for i, message in enumerate(messages):
        before = resolver.replay(messages[:i])
        after = fresh.replay(messages[: i + 1])
        written = apply_edits(message, resolver.resolve(message, before).edits)
        assert after.last.expanded == resolver.analyse(spelt(written, before.words).text).text
        earlier = () if resolver.switch(message, before) else before.moments
        assert shown(after.moments[:-1]) == shown(earlier)
        assert shown(resolver.replay(messages[: i + 1]).moments) == shown(after.moments)


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda messages: messages[0])
def test_replaying_a_context_equals_resolving_it_step_by_step(
    resolver: Resolver, conversation: list[str]
) -> None:
    check_replay(resolver, conversation)


@pytest.mark.parametrize(("context", "message"), FOLLOW_UPS, ids=lambda part: str(part)[-30:])
def test_an_expanded_message_stands_alone_and_stays_as_it_is(
    resolver: Resolver, context: tuple[str, ...], message: str
) -> None:
    told = resolver.replay(context)
    resolution = resolver.resolve(message, told)
    check(message, resolution)
    expanded = apply_edits(message, resolution.edits)
    assert apply_edits(expanded, resolver.resolve(expanded, told).edits) == expanded


@pytest.mark.parametrize(
    "message", ["...", "?!", "🙂", "🙂🙂 🎉", "   ", "", "\n", "- - -", "—", "()", "$$$"]
)
def test_a_message_without_words_is_left_alone(rewrite: Callable[..., str], message: str) -> None:
    assert rewrite("Add a map", message) == message
    assert rewrite("Add a map", message, "Make it wider") == "Make the map wider"
    assert rewrite(message, "Make it wider") == "Make it wider"


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("Make it כחול", "Make the map כחול"),
        ("הפוך אותו לסגול", "הפוך אותו לסגול"),
        ("MAKE IT PURPLE", "MAKE the map PURPLE"),
        ("PLEASE DISABLE IT", "PLEASE DISABLE the map"),
        ("Make it purple 🎉", "Make the map purple 🎉"),
        ("🎉 make it purple", "🎉 make the map purple"),
        ("  Make it purple  ", "  Make the map purple  "),
        ("Make it purple\n\nThanks!", "Make the map purple\n\nThanks!"),
        ("```\nit = 1\n```\nmake it wider", "```\nit = 1\n```\nmake the map wider"),
        ("Why does it print\n```\nit = 1\n```\n?", "Why does the map print\n```\nit = 1\n```\n?"),
    ],
)
def test_what_surrounds_a_reference_is_kept_to_the_letter(
    rewrite: Callable[..., str], message: str, written: str
) -> None:
    assert rewrite("Add a map", message) == written


@pytest.mark.parametrize(
    "unit", ["make it red. ", "the parser fails, ", "no, ", "the one ", "a file and ", "🙂", "?! "]
)
def test_a_message_of_100_kb_takes_no_more_work_than_its_head(
    resolver: Resolver, unit: str
) -> None:
    message = (unit * 100_000)[:100_000]

    def both() -> None:
        check(message, resolver.resolve(message, resolver.replay(("Add a map",))))
        resolver.resolve("Make it wider", resolver.replay(("Add a map", message)))

    with bounded():
        assert steps(both) < MOST_STEPS


@pytest.mark.parametrize("unit", ["it is that of the one, ", "no, not that, "])
def test_pointing_words_alone_take_bounded_work_whatever_was_said_before(
    resolver: Resolver, unit: str
) -> None:
    said = [" ".join(f"open box{a}{i} and chart{a}{i}." for a in range(70)) for i in range(3)]
    discourse = resolver.replay(said)
    with bounded():
        assert steps(lambda: resolver.resolve((unit * 200)[:1_900], discourse)) < MOST_STEPS


def test_the_end_of_a_long_message_is_never_lost(rewrite: Callable[..., str]) -> None:
    message = "No, " + "the log says nothing. " * 5_000 + "The end"
    assert rewrite("Paint the tab green", message).endswith("The end")
    assert len(rewrite("Paint the tab green", message)) >= 100_000


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("Make the the sidebar wide", "Same for the menu"),
        ("Run '\ufeffid'", "Run it again"),
        ("Add a \u200bmap", "Make it wide"),
    ],
)
def test_a_fault_of_an_earlier_message_is_not_written_into_the_next(
    rewrite: Callable[..., str], before: str, message: str
) -> None:
    assert FAULTS.search(rewrite(before, message)) is None


def test_a_note_tells_what_points_where_and_by_which_rule(
    resolve: Callable[..., Resolution],
) -> None:
    (note,) = resolve("Add a map", "Make it wider").notes
    assert note.startswith("'it' -> 'the map' (pron.it, ")


def _entry(message: str, context_ref: str | None) -> ContextEntry:
    return ContextEntry(datetime(2025, 11, 3, tzinfo=UTC), message, "EXECUTE", None, context_ref)


@pytest.mark.parametrize("thing", ["FAB button", "login form", "React", "src/app.py"])
def test_what_a_message_referred_to_counts_when_nothing_else_names_it_any_more(
    resolver: Resolver, thing: str
) -> None:
    context = [_entry("Make it purple", thing), _entry("Make it bigger", thing)]
    resolution = resolver.resolve("Make it round", resolver.discourse(context))
    assert [reference.target for reference in resolution.references] == [thing]
