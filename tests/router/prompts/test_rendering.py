import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import DispatchError
from kds.router.prompts.rendering import MAX_OUTPUT_CHARS, TemplateSet, TemplateSource

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
        '{% for entry in context %}{% include "_entry.md" %}{% endfor %}{{ range(2) }}',
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
        ('{% include "/etc/passwd" %}', "/p/main.md:11: includes '/etc/passwd'"),
        ("{% include message %}", "/p/main.md:11: includes '', which is not"),
        ("a\n{{ message.__class__ }}", "/p/main.md:12: uses '__class__'"),
        ('{{ message["__class__"] }}', "/p/main.md:11: uses '__class__'"),
        ("{{ ''.__class__.mro() }}", "/p/main.md:11: uses '__class__'"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "/p/main.md:11: is nested too deeply"),
    ],
)
def test_a_wrong_template_is_a_problem_with_its_line(text: str, expected: str) -> None:
    found = problems(main=text, _part="x")
    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x\n{{ message['__cl' ~ 'ass__'] }}", "unsafe"),
        ("x\n{{ message|map(attribute='__class__')|join }}", "unsafe"),
        ("x\n{{ (message.format)(1) }}", "unsafe"),
        ("x\n{% for a in range(10**9) %}{% endfor %}", "'**'"),
        ("x\n{% for a in range(1000000000) %}{% endfor %}", "100000"),
        ('x\n{% include "main.md" %}', "recursion"),
        ("x\n{{ message.upper() }}", "unsafe"),
        ("x\n{{ 'a' * 1000000000 }}", "only for numbers"),
        ("x\n{{ '%99999999d' % 1 }}", "only for numbers"),
        ("x\n{{ unknown }}", "'unknown' is undefined"),
        ("x\n{{ message.nothing }}", "nothing"),
        ("x\n{{ 1 / 0 }}", "division by zero"),
        ("x\n{{ message + 1 }}", "rendered"),
        ("x\n{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
    ],
)
def test_what_fails_when_rendering_is_an_error_with_its_line(text: str, part: str) -> None:
    with pytest.raises(DispatchError) as caught:
        rendered(text, message="hello")
    assert caught.value.where == "/p/main.md:12"
    assert part in caught.value.message
    assert caught.value.hint


def test_a_rendering_that_grows_without_end_is_stopped() -> None:
    text = "{% for a in range(100000) %}{{ message }}{% endfor %}"
    with pytest.raises(DispatchError, match=f"longer than {MAX_OUTPUT_CHARS}"):
        rendered(text, message="x" * 1000)


def test_values_cannot_be_changed_by_a_template() -> None:
    context = ["a"]
    with pytest.raises(DispatchError, match="unsafe"):
        rendered("{{ context.append('b') }}", context=context)
    assert context == ["a"]


WORDS = " ".join(["word"] * 40)
NESTED = "{% set all = message|list %}" + "".join(f"{{% for {name} in all %}}" for name in "abcdef")
DOUBLE = "{% set ns = namespace(s=message, n=9) %}"


def sixty_times(change: str) -> str:
    return f"{DOUBLE}{{% for i in range(60) %}}{{% set ns.s = {change} %}}{{% endfor %}}"


@pytest.mark.parametrize(
    "text",
    [
        NESTED + "{% endfor %}" * 6,
        "{% macro m(n) %}{{ m(n - 1) ~ m(n - 1) if n }}{% endmacro %}{{ m(60) }}",
        sixty_times("ns.s ~ ns.s"),
        sixty_times("ns.s + ns.s"),
        sixty_times("[ns.s, ns.s]") + "{{ ns.s|tojson }}",
        sixty_times("(ns.s, ns.s)") + "{{ ns.s }}",
        sixty_times("(ns.s|string) ~ ([ns.s, ns.s]|tojson)"),
        sixty_times("ns.s|replace('o', 'oooooooooo')"),
        sixty_times("[ns.s, ns.s]|join(ns.s)"),
        sixty_times("(ns.s|list) + (ns.s|list)"),
        "{{ (5).to_bytes(9999999999, 'big') }}",
        "{{ {}.fromkeys(range(100000)) }}",
        "{% macro m() %}{% for i in range(9999) %}" + "text " * 1000 + "{% endfor %}{% endmacro %}"
        "{{ m() }}",
        "{% for a in [[1], [2]] recursive %}{{ loop(range(99999)) }}{% endfor %}",
    ],
)
def test_a_template_cannot_freeze_or_fill_the_machine(text: str) -> None:
    with bounded(), pytest.raises(DispatchError) as caught:
        rendered(text, message=WORDS)
    assert (caught.value.where or "").startswith("/p/main.md:1")
    assert len(caught.value.message) < 400


def test_includes_that_multiply_are_stopped() -> None:
    layers = {f"l{i}": f'{{% include "l{i + 1}.md" %}}' * 10 for i in range(9)}
    many = templates(main='{% set x %}{% include "l0.md" %}{% endset %}', **layers, l9="")
    with bounded(), pytest.raises(DispatchError, match="longer than 2 s"):
        many.render("main.md", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% for a in items %}{{ loop.index }}/{{ loop.length }}{{ a }}{{ ',' if not loop.last }}"
         "{% endfor %}", "1/3b,2/3a,3/3c"),
        ("{{ items|sort|join(', ') }} {{ items|map('upper')|list|tojson }}", 'a, b, c ["B", "A", "C"]'),  # noqa: E501
        ("{{ items|select('equalto', 'a')|first }}{{ items[1:]|length }}{{ items|last }}", "a2c"),
        ("{{ 1.256|round(2) }} {{ 5|round(-1000000000) }} {{ [1, 2]|sum }}", "1.26 5.0 3"),
        ("{% macro m(a, b='x') %}<{{ a }}{{ b }}{{ caller() if b == 'y' }}>{% endmacro %}"
         "{{ m(1) }}{% call m(2, 'y') %}in{% endcall %}", "<1x><2yin>"),
        ("{% set ns = namespace(n=0) %}{% for a in items if a != 'b' %}{% set ns.n = ns.n + 1 %}"
         "{% endfor %}{{ ns.n }}", "2"),
        ("{% for k, v in {'a': 1}|dictsort %}{{ k ~ v }}{% endfor %}{{ 1 < 2 < 3 }}", "a1True"),
        ("{% for a in [[[], 1], 2] recursive %}{{ a if a is number else loop(a) }}{% endfor %}", "12"),  # noqa: E501
        ("{{ 'a\nb'|indent(2) }}{% filter upper %}x{% endfilter %}", "a\n  bX"),
        ("{% for g in items|groupby(0) %}{% endfor %}{{ missing is defined }}", "False"),
        ("{{ missing|default('none') }}{{ 'x' if missing is not defined }}", "nonex"),
        ("{% for a in [] %}{% else %}nothing{% endfor %}{% for a, b in [(1, 2)] %}{{ b }}{% endfor %}",  # noqa: E501
         "nothing2"),
    ],
)  # fmt: skip
def test_what_prompts_need_of_jinja_works(text: str, expected: str) -> None:
    assert rendered(text, items=["b", "a", "c"]) == expected


def test_a_number_of_thousands_of_digits_is_a_problem() -> None:
    assert "is not a Jinja template" in problems(main="{{ " + "9" * 5000 + " }}")[0]
