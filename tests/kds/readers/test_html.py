"""HTML: what a reader of the page sees, in sections."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.brain.documents.definitions import definitions
from kds.readers.html import read_html
from kds.readers.text import DocumentError

from ...effort import LINEAR, bounded, growth
from .document_files import headings, said

PAGE = """<!DOCTYPE html><html><head><title>Payments guide</title><style>p {color: red}</style>
<script>var hidden = 1;</script></head><body>
<nav><ul><li>Menu entry</li></ul></nav>
<main><h1>Guide</h1><p>Read <b>this</b> first.<br>Then that.</p>
<h2>Terms</h2>
<dl><dt>Payout</dt><dd>Money to your bank.</dd>
<dt>Refund</dt><dt>Return</dt><dd>Money back.</dd></dl>
<h3>1.2 Lists</h3>
<ul><li>One <ul><li>Inside</li></ul></li><li>Two</li></ul><ol><li>First</li><li>Second</li></ol>
<table><caption>Codes</caption><tr><th>Code</th><th>Meaning</th></tr>
<tr><td>401</td><td>No key</td></tr></table>
<pre><code>curl -X POST
  /payments</code></pre>
Loose text. <p>A <strong>dispute</strong> is opened by a bank.</p><p hidden>Not seen.</p>
</main><footer>Imprint</footer></body></html>"""


def test_a_page_is_read_as_it_is_seen() -> None:
    content = read_html(PAGE, "file")
    assert content.title == "Payments guide"
    assert headings(content.parts) == ["  Guide", "    Terms", "      1.2 Lists"]
    assert said(content.parts) == [
        "Read this first. Then that.", "Payout: Money to your bank.",
        "Refund, Return: Money back.", "- One", "- Inside", "- Two", "1. First", "2. Second",
        "Codes", "Code | Meaning", "401 | No key", "curl -X POST\n  /payments", "Loose text.",
        "A dispute is opened by a bank.",
    ]  # fmt: skip
    blocks = [block for part in content.parts for block in part.blocks]
    defined = {one.term: one.strength for block in blocks for one in definitions(block)}
    assert defined["Payout"] == defined["Refund"] == defined["401"] == 1.0
    assert defined["dispute"] >= 0.6
    assert "Menu entry" not in defined


def test_a_page_without_headings_or_title_has_the_name_of_its_file() -> None:
    content = read_html("<p>Only this.</p>", "my page")
    assert (content.title, said(content.parts)) == ("my page", ["Only this."])


@settings(max_examples=100)
@given(st.text(alphabet="<>/abdhlipt123 \n&;=\"'", max_size=300))
def test_any_page_can_be_read(text: str) -> None:
    read_html(text, "file")


@pytest.mark.parametrize(
    "page",
    [
        lambda count: "<body>" + "text <b>x</b> <hr>" * count,
        lambda count: "<body>" + "<h3>H</h3>Some text." * count,
        lambda count: "a<hr>" * count,
        lambda count: "<table>" + "<tr><td>a<td>x" * count,
        lambda count: "<table><tr><td>a" * count,
        lambda count: "<b>" * count + "x",
        lambda count: "<dl><dt>a<dd>b" * count,
        lambda count: "<ul><li>a" * count,
        lambda count: "<!--" * count,
        lambda count: "<a " * count,
        lambda count: "<div>" * count + "<i>a</i>" * count,
    ],
)
def test_the_work_grows_with_the_length_of_a_page_alone(page: Callable[[int], str]) -> None:
    with bounded():
        read_html(page(500), "file")
    assert growth(lambda count: read_html(page(count), "file"), 40) < LINEAR


def test_elements_inside_each_other_are_read_up_to_a_limit() -> None:
    assert said(read_html("<div>" * 400 + "deep" + "</div>" * 400, "file").parts) == ["deep"]
    with pytest.raises(DocumentError, match="more than 2,000 elements inside each other"):
        read_html("<div>" * 20_000, "file")
    with pytest.raises(DocumentError, match="more than 500,000 elements"):
        read_html("<b>" * 500_001, "file")


def test_elements_without_their_ends_are_read_as_they_are_seen() -> None:
    page = "<p>One<p>Two<h2>Head</h2><ul><li>a<li>b</ul><table><tr><td>c<td>d<tr><td>e<td>f</table>"
    content = read_html(page, "file")
    assert headings(content.parts) == ["    Head"]
    assert said(content.parts) == ["One", "Two", "- a", "- b", "c | d", "e | f"]
    assert said(read_html("<pre>a<br>b<i hidden>c</i></pre>", "file").parts) == ["a\nb"]


def test_bold_words_belong_to_their_own_text() -> None:
    content = read_html("<body><b>Fee</b> is paid.<hr>Other <i>words</i>.", "file")
    [first, second] = content.parts[0].blocks
    assert (first.term, first.marked) == ("Fee", ("Fee",))
    assert (second.term, second.marked) == ("", ("words",))


def test_cells_and_lists_inside_each_other_are_read_in_order() -> None:
    page = (
        "<table><tr><td>a<table><tr><td>b<td>c</table>d<td>e<script>x</script></table>"
        "<dl><dt>Term<dd><ul><li>Meaning</ul>More<dt>Open</dl>"
    )
    assert said(read_html(page, "file").parts) == ["a b c d | e", "Term: - Meaning", "More", "Open"]
