"""Markdown: sections by its headings, the text as it was written."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kds.brain.documents.chunking import cut
from kds.readers.markdown import read_markdown

from .document_files import headings, said

TEXT = """\
---
title: The Guide
---

Before the first heading.

# Part `one` *here*

A paragraph
over two lines.

- one
  - inside
- two

## 1.2 Table

| Term | Meaning |
|---|---|
| **Fee** | What is paid |
| Sum | a \\| b |

```python
# no heading
x = 1
```

Underlined
----------

> Quoted

[link]: http://example.test/
"""


def test_sections_follow_the_headings() -> None:
    content = read_markdown(TEXT, "file")
    assert content.title == "The Guide"
    assert headings(content.parts) == ["  Part one here", "    1.2 Table", "    Underlined"]
    assert content.parts[0].heading is None
    assert content.parts[2].heading is not None
    assert content.parts[2].heading.number == "1.2"


def test_blocks_are_the_lines_as_they_stand_with_their_numbers() -> None:
    lines = TEXT.split("\n")
    for part in read_markdown(TEXT, "file").parts:
        for block in part.blocks:
            assert block.first_line is not None
            assert block.last_line is not None
            assert block.text == "\n".join(lines[block.first_line - 1 : block.last_line])
    kinds = [block.kind for part in read_markdown(TEXT, "file").parts for block in part.blocks]
    assert kinds == ["paragraph", "paragraph", "item", "item", "item", "row", "row", "row", "code",
                     "paragraph", "paragraph"]  # fmt: skip


def test_a_table_of_terms_says_which_cell_a_row_defines() -> None:
    rows = [one for part in read_markdown(TEXT, "file").parts for one in part.blocks
            if one.kind == "row"]  # fmt: skip
    assert [(row.term, row.defines) for row in rows] == [
        ("", False), ("**Fee**", True), ("Sum", True),
    ]  # fmt: skip
    assert rows[1].columns == "Term Meaning"


def test_headings_that_are_only_bold_are_headings() -> None:
    text = (
        "# Agreement\n\n**ARTICLE I**\n\n**DEFINITIONS**\n\n**Section 1.01 Terms.** In short:\n\n"
        '**"Fee"** means 1 %.\n\nSection 1.02. Review. The clerk reviews it.\n\n**Bold** word.\n'
    )
    parts = read_markdown(text, "file").parts
    assert headings(parts) == [
        "  Agreement", "    ARTICLE I DEFINITIONS", "      Section 1.01 Terms",
        "      Section 1.02. Review",
    ]  # fmt: skip
    assert said(parts) == ["In short:", '**"Fee"** means 1 %.', "The clerk reviews it.",
                           "**Bold** word."]  # fmt: skip


@given(st.text(alphabet='abc #*-|>`_=1.\n"“: ', max_size=300))
def test_no_word_is_lost(text: str) -> None:
    words: dict[str, int] = {}
    for part in read_markdown(text, "file").parts:
        section = cut(part.blocks)
        found = [section.text[one.start : one.start + one.length] for one in section.pieces]
        if part.heading:
            found.append(part.heading.text)
        for word in re.findall(r"[a-c]+", " ".join(found)):
            words[word] = words.get(word, 0) + 1
    if not text.startswith("---"):  # front matter is not text
        assert sorted(set(re.findall(r"[a-c]+", text)) - set(words)) == [] or "](" in text
