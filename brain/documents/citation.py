"""How a passage is cited: document, section, defined term, page."""

from collections.abc import Sequence


def cite(title: str, section: Sequence[str], *, term: str = "", page: int | None = None) -> str:
    """Return where something stands, for people.

    A numbered heading stands for those above it; one without a number takes its parent along.

    >>> path = ("ARTICLE I DEFINITIONS", "1.01 Definitions")
    >>> cite("Servicing Agreement", path, term="Cut-off Date", page=3)
    'Servicing Agreement, Section 1.01 Definitions > Cut-off Date (p. 3)'
    >>> cite("API guide", ("Limits", "Retries"))
    'API guide, Limits > Retries'
    """
    shown = [part for part in section if part]
    if shown and shown[-1][:1].isdigit():
        shown = [f"Section {shown[-1]}"]
    elif shown and any(letter.isdigit() for letter in shown[-1].partition(" ")[2][:2]):
        shown = shown[-1:]  # "Section 4.02 ...", "Clause 9 ..."
    places = [*shown[-2:], *([term] if term and term not in shown[-1:] else [])]
    where = f", {' > '.join(places)}" if places else ""
    return f"{title}{where}{f' (p. {page})' if page is not None else ''}"
