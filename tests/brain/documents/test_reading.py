"""What documents and questions about them say, told by their form alone: headings, definitions,
passages, concepts."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.documents.chunking import CHUNK_TOKENS, cut
from kds.brain.documents.definitions import definitions, leading
from kds.brain.documents.question import read_asked
from kds.brain.documents.values import Block, read_heading
from kds.brain.words.terms import phrase_key


@pytest.mark.parametrize(
    ("text", "label", "number", "title"),
    [
        ("ARTICLE II: CONVEYANCE", "article", "II", "CONVEYANCE"),
        ("ARTICLE II", "article", "II", ""),
        ("2. Leave", "", "2", "Leave"),
        ("Appendix A - Forms", "appendix", "A", "Forms"),
        ("§ 9 Fees", "section", "9", "Fees"),
        ("Chapter 3: Pay", "chapter", "3", "Pay"),
        ("Part of the plan", "", "", "Part of the plan"),
        ("404 errors", "", "", "404 errors"),
    ],
)
def test_a_heading_is_taken_apart(text: str, label: str, number: str, title: str) -> None:
    found = read_heading(text, 1)
    assert (found.label, found.number, found.title) == (label, number, title)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("“Agreement” shall have the meaning set forth in Section 2.", "Agreement"),
        ('**"Closing Date"** means June 1.', "Closing Date"),
        ("- **Grace period** — five days.", "Grace period"),
        ("_Business Day_ means any day but Sunday.", "Business Day"),
        ("`page_size` - how many to return.", "page_size"),
        ('(a) "Eligible Account" or "Account" means an account.', "Eligible Account"),
        ('The term "Advance" has the meaning given below.', "Advance"),
        ("Probation period means the first six months.", "Probation period"),
        ("Core Hours: from ten to three.", "Core Hours"),
        ("A **cursor** is an opaque text.", "cursor"),
        ('"Premises" (as shown on the plan) means the cellar.', "Premises"),
    ],
)
def test_a_paragraph_that_begins_with_its_term_is_its_definition(text: str, term: str) -> None:
    found = leading(Block(text))
    assert found is not None
    assert (found.term, found.strength >= 0.75) == (term, True)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ('Oak Ltd (the "Seller") and Elm Inc. (each a "Party")', {"Seller", "Party"}),
        ('"Staff" are employees. "Contractors" are people who invoice us.',
         {"Staff", "Contractors"}),
        ("A webhook is an address of yours that we call.", {"webhook"}),
        ("Such a delay is called a *grace period* in this text.", {"grace period"}),
        ("Payment is due on the first day of June.", set()),
        ("It is a date like any other.", set()),
        ("Note: bring your badge.", set()),
        ("Payments are due on Monday: bring cash.", set()),
        ("We pay on the Closing Date and on each Payment Date.", set()),
        ("", set()),
    ],
)  # fmt: skip
def test_terms_are_defined_in_passing_not_by_any_sentence(text: str, terms: set[str]) -> None:
    assert {one.term for one in definitions(Block(text))} == terms
    assert leading(Block(text)) is None or "Staff" in terms


def test_an_entry_of_a_list_of_terms_is_a_definition_whatever_it_says() -> None:
    [found] = definitions(Block("TTL: seconds to keep", "item", term="TTL", defines=True))
    assert (found.term, found.strength) == ("TTL", 1.0)


WORDS = st.text(alphabet='abcdefg ABC.,;:"“”()*\n-1290é漢', max_size=400)
KINDS = st.sampled_from(["paragraph", "item", "row", "code"])


@given(st.lists(st.builds(Block, WORDS, KINDS), max_size=12), st.integers(5, 60))
def test_passages_hold_every_word_of_the_text(blocks: Sequence[Block], limit: int) -> None:
    section = cut(blocks, limit=limit)
    at, said = 0, ""
    for piece in section.pieces:
        end = piece.start + piece.length
        assert piece.start >= at
        assert section.text[at : piece.start].strip() == ""
        assert section.text[piece.start : end].strip()
        at, said = end, said + section.text[piece.start : end]
    assert section.text[at:].strip() == ""
    assert "".join(said.split()) == "".join("".join(one.text for one in blocks).split())


TERMS_TABLE = [Block(f"{name} | meaning", "row", term=name, defines=True) for name in ("A1", "B2")]
LINES = "\n".join(f"x{number} = y{number}" for number in range(60))


@pytest.mark.parametrize(
    ("blocks", "passages"),
    [
        ([Block("In this Agreement the following holds."), Block('"Fee" means 1 % of the sum.'),
          Block('"Term" means a year.'), Block("(a) ending in June; or", "item"),
          Block("(b) ending in July.", "item"), Block("All else follows the law.")],
         [("prose", []), ("definition", ["Fee"]), ("definition", ["Term"]), ("prose", [])]),
        ([Block("Term | Meaning", "row"), *TERMS_TABLE],
         [("table", []), ("definition", ["A1"]), ("definition", ["B2"])]),
        # other blocks than prose are cut only when they must be
        ([Block(LINES, "row")], [("table", [])]),
        ([Block(LINES, "code")], [("code", [])]),
        ([Block("word " * 60) for _ in range(8)], [("prose", [])] * 3),
    ],
)  # fmt: skip
def test_a_definition_is_a_passage_and_paragraphs_are_put_together(
    blocks: list[Block], passages: list[tuple[str, list[str]]]
) -> None:
    pieces = cut(blocks).pieces
    assert [(one.kind, [term.term for term in one.terms]) for one in pieces] == passages
    assert all(one.tokens <= 2 * CHUNK_TOKENS for one in pieces)


DEFINED = ("Determination Date", "Closing Date", "Date", "Trustee", "Trustee Fee", "webhook")
TERMS = {phrase_key(term): {at: 1.0} for at, term in enumerate(DEFINED)}


def known(keys: Sequence[str]) -> Mapping[str, Mapping[int, float]]:
    return {key: TERMS[key] for key in keys if key in TERMS}


@pytest.mark.parametrize(
    ("text", "concepts", "meaning"),
    [
        ("what are determination dates", ["determination dates"], True),
        ("What does Determination Date mean?", ["Determination Date"], True),
        ("define Determination Date", ["Determination Date"], True),
        ("Determination Date", ["Determination Date"], True),
        ("And what about the Closing Date?", ["Closing Date"], True),
        ("When is the Closing Date?", ["Closing Date"], True),
        ('What does "weekly sweep" mean?', ["weekly sweep"], True),
        ("Is the trustee fee paid by the trustee?", ["trustee fee", "trustee"], False),
        ("Who pays the Custodial Bond?", ["Custodial Bond"], False),
        ("May the Trustee resign?", ["Trustee"], False),
        ("What must the Trustee do?", ["Trustee"], False),
        ("how do I pay", [], False),
    ],
)
def test_concepts_of_a_question_are_found(text: str, concepts: list[str], meaning: bool) -> None:
    asked = read_asked(text, known)
    assert ([one.text for one in asked.concepts], asked.asks_meaning) == (concepts, meaning)


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("What does Section 4.02(b) say?", [("4.2", "section")]),
        ("clause 9", [("9", "clause")]),
        ("§ 12.1", [("12.1", "section")]),
        ("what is in 4.02", [("4.2", "")]),
        ("Appendix B", [("b", "appendix")]),
        ("it costs 2.5 percent", []),
        ("part a of it", []),
        ("3 days", []),
        ("pay $4.50", []),
    ],
)
def test_a_section_is_named_by_its_number_and_not_by_a_quantity(
    text: str, references: list[tuple[str, str]]
) -> None:
    found = read_asked(text, known).references
    assert [(one.key, one.label) for one in found] == references
