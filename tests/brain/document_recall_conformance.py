"""Recall, of whatever keeps the documents: the passage that answers comes first, with the reasons
and the place it stands at."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.brain.documents.store import Documents
from kds.brain.errors import StoreError

from .document_conformance import Stocked
from .document_texts import Put


class LetterEmbedder:
    """Counts letters: texts with the same letters are near."""

    name = "letters"

    def __init__(self) -> None:
        self.down = False

    def embed_query(self, text: str) -> list[float]:
        if self.down:
            raise ConnectionError("no answer")
        return [text.lower().count(letter) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def place(library: Documents, question: str, snippet: str, **more: object) -> int:
    """Return at which place what has ``snippet`` was found; 99: not at all."""
    found = library.search(question, limit=5, **more)  # type: ignore[arg-type]
    wanted = " ".join(snippet.split())
    return next(
        (
            at
            for at, hit in enumerate(found.hits, 1)
            if wanted in " ".join(hit.passage.text.split())
        ),
        99,
    )


class RecallConformance(Stocked):
    """Questions, and what answers them."""

    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("What is the Payment Date?", "means the first day of each month"),
            ("what does base rent mean", "means 4,200"),
            ("Service Charge", "means the Tenant's share"),
            ("Who is the Landlord?", 'Oakfield Properties Ltd (the "Landlord")'),
            ("How much is the deposit?", "the sum of 12,600"),
            ("What is a manifest?", "list of all shipments"),
            ("define consignee", "receives a shipment"),
            ("What is an idempotency key?", "a text of your own"),
            # a question for a rule finds the rule first
            ("What happens if the Payment Date is a Saturday?", "if that is not a Business Day"),
            ("What happens if the rent is paid late?", "interest of 4 %"),
            ("When do I get my deposit back?", "returns the Deposit within 30 days"),
            ("Who fixes the roof?", "repairs the roof"),
            ("Can I cancel after the manifest is closed?", "can be cancelled until"),
            ("How long must I wait after a 429?", "Retry-After"),
            ("what is the maximum weight", "At most 31,500"),
            ("weightGrams", "At most 31,500"),
            ("do you deliver to other countries", "to 34 countries"),
            # a section is found by its number
            ("Section 4.03", "may not alter the structure"),
            ("what does clause 6.2 say", "third anniversary"),
            ("what is in section 5.02", "returns the Deposit"),
            ("Article V", "keeps the Deposit"),
            ("Schedule 1", "14 Mill Lane"),
        ],
    )
    def test_the_answer_comes_first(self, library: Documents, question: str, answer: str) -> None:
        assert place(library, question, answer) == 1

    def test_a_definition_comes_before_uses_of_its_term(self, store: Documents, put: Put) -> None:
        users = [
            (f"Section {number}.01 Determination Date Reports {number}",
             ["On the Determination Date, and each Determination Date after it, the Servicer "
              f"reports the Determination Date figures of account {number}."])
            for number in range(2, 42)
        ]  # fmt: skip
        definition = '"Determination Date": With respect to any month, its 15th day.'
        terms = ("Section 1.01 Terms", [definition, '"Fee": 1 %.'])
        put("/x/a.txt", *users[:20], terms, *users[20:])
        for question in ("What is the Determination Date?", "determination date"):
            assert store.search(question).hits[0].passage.text == definition

    @pytest.mark.parametrize(
        ("question", "answers"),
        [
            ("Which comes first, the Commencement Date or the Expiry Date?",
             ["shall mean 1 April 2024", "means the day five years after"]),
            ("What is the difference between Base Rent and Service Charge?",
             ["means 4,200", "means the Tenant's share"]),
            ("a label vs a manifest", ["with the bar code", "list of all shipments"]),
            ("Are webhook attempts longer than retries?", ["eight times", "Repeat requests"]),
            # what only a synonym finds
            ("How do I authenticate on weekends?", ["X-Parcel-Key"]),
        ],
    )  # fmt: skip
    def test_all_that_answers_is_among_the_first_three(
        self, library: Documents, question: str, answers: list[str]
    ) -> None:
        assert max(place(library, question, answer) for answer in answers) <= 3

    def test_the_document_asked_about_is_lifted(self, store: Documents, put: Put) -> None:
        text = "The notice period is two months for everybody."
        one = put("/x/one.txt", ("Notice", [text]))
        two = put("/x/two.txt", ("Notice", [text]))
        for asked in (one, two):
            hits = store.search("notice period", document=asked.id).hits
            assert hits[0].passage.document == asked.id
            assert [hit.bias for hit in hits] == [1.15, 1.0]
            assert hits[0].score == pytest.approx(1.15 * hits[1].score)
            assert "x1.15" in hits[0].why[-1]

    def test_the_bias_does_not_beat_a_better_passage(self, library: Documents) -> None:
        hits = library.search("What is the Payment Date?", document="guide.md").hits
        assert hits[0].passage.title == "Commercial Lease"

    def test_a_document_named_in_the_question_is_lifted(self, store: Documents, put: Put) -> None:
        text = "The notice period is two months for everybody."
        put("/x/one.txt", ("Notice", [text]), title="Staff Handbook")
        put("/x/two.txt", ("Notice", [text]), title="Freelance Guide")
        for title in ("Staff Handbook", "Freelance Guide"):
            hits = store.search(f"What is the notice period in the {title.lower()}?").hits
            assert hits[0].passage.title == title

    def test_a_scope_hides_other_documents(self, library: Documents) -> None:
        found = library.search("What is the Payment Date?", scope="guide.md").hits
        assert all(hit.passage.title == "Parcel API" for hit in found)
        found = library.search("What is a manifest?", scope="Parcel API").hits
        assert found[0].passage.terms == ("Manifest",)

    def test_unknown_documents_are_noted_and_scopes_refused(self, library: Documents) -> None:
        found = library.search("deposit", document="nowhere.md")
        assert found.hits
        assert "nowhere.md" in found.notes[0]
        with pytest.raises(StoreError, match=r"no document 'nowhere\.md'"):
            library.search("deposit", scope="nowhere.md")

    def test_a_hit_says_where_it_stands_and_why(self, library: Documents) -> None:
        hit = library.search("What is the Payment Date?").hits[0]
        assert hit.citation == "Commercial Lease, Section 1.01 Terms > Payment Date"
        assert hit.passage.section == ("ARTICLE I DEFINITIONS", "Section 1.01 Terms")
        assert (hit.passage.kind, hit.passage.number) == ("definition", "1.01")
        assert hit.passage.first_line is not None
        assert "defines 'Payment Date'" in hit.why
        assert hit.parts["definition"] > hit.parts["reference"] == 0.0

    def test_any_text_may_be_asked(self, library: Documents) -> None:
        odd = st.sampled_from(["   ", "?", "the of and", '"', "NEAR(", "a* OR b:", "\x00"])

        @settings(max_examples=60)
        @given(text=odd | st.text(max_size=200))
        def ask(text: str) -> None:
            found = library.search(text).hits
            scores = [hit.score for hit in found]
            assert scores == sorted(scores, reverse=True)
            assert library.search(text).hits == found

        ask()

    def test_meaning_is_searched_too_where_there_are_vectors(self, library: Documents) -> None:
        embedder = LetterEmbedder()
        library.use_model(embedder.name)
        while jobs := library.pending_embeddings(64):
            vectors = embedder.embed_documents([job.text for job in jobs])
            ids = [job.chunk_id for job in jobs]
            library.store_embeddings(embedder.name, dict(zip(ids, vectors, strict=True)))
        found = library.search("What is the Payment Date?", embedder=embedder)
        assert "Payment Date" in found.hits[0].passage.terms
        assert found.hits[0].parts["meaning"] > 0.0
        assert found.notes == ()
        inside = library.search("qqqq zzzz", embedder=embedder, scope="guide.md")
        assert {hit.passage.title for hit in inside.hits} == {"Parcel API"}

    def test_a_model_that_fails_leaves_the_words(self, library: Documents) -> None:
        embedder = LetterEmbedder()
        embedder.down = True
        found = library.search("What is the Payment Date?", embedder=embedder)
        assert "Payment Date" in found.hits[0].passage.terms
        assert "words only" in found.notes[0]
        embedder.down = False
        assert "no vectors" in library.search("rent", embedder=embedder).notes[0]
