import pytest

from kds.brain.secrets.code_block import summarise_code


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Fix:\n```python\na\nb\n```\nnow", "Fix:\n[code: python, 2 lines]\nnow"),
        ("```\na\n```", "[code: 1 line]"),
        ("~~~js\na\n~~~", "[code: js, 1 line]"),
        ("````md\n```\na\n```\n````", "[code: md, 3 lines]"),
        ('```C++ title="a.cc"\na\n```', "[code: c++, 1 line]"),
        ("why ```py\na\n```\n?", "why [code: py, 1 line]\n?"),
        ("in `a.py`: ```py\na\n``` please do", "in `a.py`: [code: py, 1 line] please do"),
        ("`a.py` and `b.py`, e.g. ```\na\n```", "`a.py` and `b.py`, e.g. [code: 1 line]"),
        ("it is in ```3:5:src/a.cs\nx();\n```\nok", "it is in [code: 1 line]\nok"),
        ("see\n```py\na = 1```\nok", "see\n[code: py, 1 line]\nok"),
        ("```\na\n``` make it faster", "[code: 1 line] make it faster"),
        ("> ```\n> a\n> ```", "> [code: 1 line]"),
        ("open\n```go\na\nb", "open\n[code: go, 2 lines]"),
        ("```\na\n```\nand\n```\nb\n```", "[code: 1 line]\nand\n[code: 1 line]"),
        # pasted code without a fence becomes a mark
        ("def f(x):\n    return x\n\nprint(f(2))\nwhy 3?", "[code: 4 lines]\nwhy 3?"),
        ("What is it?\nconst a = 1;\nif (a) {\n  b();\n}", "What is it?\n[code: 4 lines]"),
        (
            'It says\n  File "a.py", line 3, in f\n    x()\n  File "b.py", line 4, in g\n'
            '    y()\n  File "c.py", line 5, in h\nValueError: no',
            "It says\n[code: 5 lines]\nValueError: no",
        ),
        ("<div>\n  <p>a</p>\n</div>\nis wrong", "[code: 3 lines]\nis wrong"),
    ],
)
def test_a_block_of_code_becomes_a_mark(text: str, short: str) -> None:
    assert summarise_code(text) == short


@pytest.mark.parametrize(
    "text",
    [
        "rename `foo` to `bar`",
        "rename ```foo``` to\n```bar``` please",
        "``` is not closed in the parser\nwhy?",
        "the ~~~ sign and\nthe ``` sign are fences",
        "- add x;\n- add y;\n- add z;",
        "1. do this;\n2. do that;\n3. stop;",
        "First do this\nthen do that\nand then stop",
        "name\n  age\n  email",
        "2025-11-03 10:00 INFO started\n2025-11-03 10:01 WARN slow\n2025-11-03 10:02 ERROR died",
        "    indented\n    prose\n    here",
        "x = 1\ny = 2",
    ],
)
def test_what_is_not_clearly_a_block_of_code_stays(text: str) -> None:
    assert summarise_code(text) == text


@pytest.mark.parametrize(
    "code",
    [
        "const total = items.reduce((a, b) => a + b, 0);",
        "x = y + 1",
        "if (user == null) return;",
        "user.save(force=True)",
        '<Button color="red">Save</Button>',
        "{ color: 'red' }",
        "SELECT * FROM users WHERE id = 1",
        "from a.b import c",
        "import numpy as np",
        "return None",
        "a && b",
        "rows[0].id",
        "x => x * 2",
        "x" * 201,
    ],
)
def test_an_inline_statement_leaves_a_mark(code: str) -> None:
    assert summarise_code(f"why does `{code}` fail in `app.py`?") == (
        "why does [code: 1 line] fail in `app.py`?"
    )
    assert summarise_code(f"Why?\n```{code}``` fails") == "Why?\n[code: 1 line] fails"


NAMES = """\
UserForm | user_id | get_user() | src/app/page.tsx:12 | C:\\src\\app.py | --force | make test |
npm run build -- --watch | old_name => new_name | Ctrl + Shift + P | Ctrl + C | Settings > Profile |
git push origin feature/x-1 | docker compose up -d | <Button> | @scope/pkg@1.2.3 | #save-button |
.btn:hover | data-testid | *.py | NODE_ENV=production | --port=80 | import wizard | update users |
500 Internal Server Error | TypeError: x is undefined | std::vector | kds-brain/ | v1.2.3
"""


@pytest.mark.parametrize("name", [one.strip() for one in NAMES.split("|")])
def test_an_inline_name_path_or_command_stays(name: str) -> None:
    text = f"rename `{name}` in `app.py` please"
    assert summarise_code(text) == text
