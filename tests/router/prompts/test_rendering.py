import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import DispatchError
from kds.router.prompts.rendering import TemplateSet, TemplateSource

from ...effort import bounded


def templates(**texts: str) -> TemplateSet:
    """Templates by keyword: `main` becomes "main.md", which begins on line 11 of its file."""
    return TemplateSet(
        {f"{name}.md": TemplateSource(text, f"/p/{name}.md", 11) for name, text in texts.items()}
    )


def problems(**texts: str) -> list[str]:
    return [str(problem).split("\n")[0] for problem in templates(**texts).problems()]


def rendered(text: str, **values: object) -> str:
    return templates(main=text).render("main.md", values)


def test_a_template_and_its_partial_are_filled_in() -> None:
    both = templates(main='A\n{% include "_part.md" %}\nB', _part="{{ message }}\n")
    assert both.render("main.md", {"message": "<b>"}) == "A\n<b>B"


@given(st.text(max_size=60), st.sampled_from(["{{ 7*7 }}", '{% include "x.md" %}', "{#", "}}"]))
def test_text_of_the_user_is_never_a_template(text: str, code: str) -> None:
    message = f"{text}{code}"
    assert rendered("[{{ message }}]", message=message) == f"[{message}]"


def test_variables_are_counted_through_partials_and_loops() -> None:
    both = templates(
        main='{% set mood = "x" %}\n{{ message }}\n'
        '{% for entry in context %}{% include "_entry.md" %}{% endfor %}',
        _entry="{{ entry.text }} {{ mood }}\n{{ workspace }}",
    )
    assert both.variables("main.md") == {
        "message": "/p/main.md:12",
        "context": "/p/main.md:13",
        "workspace": "/p/_entry.md:12",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n{% if x %}", "/p/main.md:12: is not a Jinja template: Unexpected end"),
        ("a\n{{ x|nofilter }}", "/p/main.md:12: is not a Jinja template: No filter named"),
        ("{{ x|center(10) }}", "/p/main.md:11: is not a Jinja template: No filter named"),
        ('a\n{% include "_prt.md" %}', "/p/main.md:12: includes '_prt.md', which is not"),
        ('{% include "../../secret.md" %}', "/p/main.md:11: includes '../../secret.md'"),
        ("{% include message %}", "/p/main.md:11: includes '', which is not"),
        ("a\n{{ message.__class__ }}", "/p/main.md:12: uses '__class__'"),
        ('{{ message["__class__"] }}', "/p/main.md:11: uses '__class__'"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "/p/main.md:11: is nested too deeply"),
        ("{{ " + "9" * 5000 + " }}", "/p/main.md:11: is not a Jinja template"),
    ],
)
def test_a_wrong_template_is_a_problem_with_its_line(text: str, expected: str) -> None:
    found = problems(main=text, _part="x")
    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{{ message.upper() }}", "call"),
        ("{{ ''.__class__.mro() }}", "__class__"),
        ("{% for a in range(10**9) %}{% endfor %}", "call"),
        ("{{ 'a' * 1000000000 }}", "*"),
        ("{{ message[message ~ 'x'] }}", "concat"),
        ("{% set s = message + message %}", "+"),
        ("{% set s %}{{ message }}{{ message }}{% endset %}", "assignblock"),
        ("{% set s = [message, message] %}", "list"),
        ("{% for a in message recursive %}{% endfor %}", "for"),
        ("{% macro m() %}{% endmacro %}", "macro"),
        ("{{ {'a': message} }}", "dict"),
    ],
)
def test_a_template_shows_values_and_does_not_compute(text: str, what: str) -> None:
    assert f"/p/main.md:12: uses '{what}', which templates must not" in problems(main=f"a\n{text}")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x\n{{ message|map(attribute='__class__')|join }}", "unsafe"),
        ('x\n{% include "main.md" %}', "recursion"),
        ("x\n{{ unknown }}", "'unknown' is undefined"),
        ("x\n{{ message.nothing }}", "nothing"),
        ("x\n{{ message.upper }}", "unsafe"),
        ("x\n{{ '%99999999999999d' is even }}", "invalid literal"),
        ("x\n{{ message|round }}", "rendered"),
    ],
)
def test_what_fails_when_rendering_is_an_error_with_its_line(text: str, part: str) -> None:
    with pytest.raises(DispatchError) as caught:
        rendered(text, message="hello")
    assert caught.value.where == "/p/main.md:12"
    assert part in caught.value.message
    assert caught.value.hint


WORDS = " ".join(["word"] * 40)
NESTED = "{% set all = message|list %}" + "".join(f"{{% for {name} in all %}}" for name in "abcdef")
GROWING = "{% set s = s|replace('o', 'oooooooooo') %}" * 60


@pytest.mark.parametrize(
    "text",
    [
        NESTED + "{% endfor %}" * 6,
        NESTED[: NESTED.index("{% for e")] + "{{ message }}" + "{% endfor %}" * 4,
        "{% set s = message %}" + GROWING,
        "{% set s = message %}" + "{% set s = s|list|join(s) %}" * 60,
        "{% set s = message|replace(' ', '\n') %}" + "{% set s = s|indent(9999999) %}" * 60,
        "{{ message|list|map('replace', '', message * 1)|list }}".replace(" * 1", ""),
        "{{ message" + "|list|upper" * 12 + "|length }}",
    ],
)
def test_a_template_cannot_freeze_or_fill_the_machine(text: str) -> None:
    with bounded(), pytest.raises(DispatchError, match="longer than") as caught:
        rendered(text, message=WORDS * 10)
    assert (caught.value.where or "").startswith("/p/main.md:1")
    assert len(caught.value.message) < 400


def test_includes_that_multiply_are_stopped() -> None:
    layers = {f"l{i}": f'{{% include "l{i + 1}.md" %}}' * 10 for i in range(9)}
    many = templates(main='{% include "l0.md" %}', **layers, l9="")
    with bounded(), pytest.raises(DispatchError, match="longer than 2 s"):
        many.render("main.md", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% for a in items %}{{ loop.index }}/{{ loop.length }}{{ a }}{{ ',' if not loop.last }}"
         "{% endfor %}", "1/3b,2/3a,3/3c"),
        ("{{ items|sort|join(', ') }} {{ items|map('upper')|list|tojson }}", 'a, b, c ["B", "A", "C"]'),  # noqa: E501
        ("{{ items|select('equalto', 'a')|first }}{{ items[1:]|length }}{{ items|last }}", "a2c"),
        ("{{ 1.256|round(2) }} {{ 5|round(-1000000000) }} {{ 1 < 2 < 3 }}", "1.26 5.0 True"),
        ("{{ 2 is even }}{{ 2 is odd }}{{ 9 is divisibleby 3 }}", "TrueFalseTrue"),
        ("{% for a in items if a not in ['b', 'c'] %}{{ a }}{% endfor %}", "a"),
        ("{{ 'a\nb'|indent(2) }}{{ missing is defined }}", "a\n  bFalse"),
        ("{{ missing|default('none') }}{{ 'x' if missing is not defined }}", "nonex"),
        ("{% for a in [] %}{% else %}nothing{% endfor %}{% set n = items|length %}{{ n }}", "nothing3"),  # noqa: E501
        ("{% for a, b in pairs %}{{ b.c }}{{ b['c'] }}{% endfor %}", "22"),
    ],
)  # fmt: skip
def test_what_prompts_need_of_jinja_works(text: str, expected: str) -> None:
    assert problems(main=text) == []
    assert rendered(text, items=["b", "a", "c"], pairs=[(1, {"c": 2})]) == expected
