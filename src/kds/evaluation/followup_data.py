"""Follow-up files: conversations about documents, with the passages that answer each question.

docs/evaluation.md has the form. A turn with `expanded` is a follow-up: it needs what was said
before. A turn without it stands alone, and must come back unchanged.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, RootModel, model_validator

from kds.api.same_text import matches
from kds.brain.document import Document, parse_yaml, read_text, validate
from kds.brain.errors import ConfigError, Problem
from kds.evaluation.data_files import Strict, Text, listed

FOLLOW_UP_FORM: Final = """\
- id: agreement-dates
  document: pooling-agreement.md
  turns:
    - user: What is the Determination Date?
      find: {section: Section 1.01, contains: the 15th day}
    - user: And what happens if it falls on a weekend?
      expanded: And what happens if the Determination Date falls on a weekend?
      refers_to: Determination Date
      find: {section: Section 1.02, contains: not a Business Day}"""
"""What a file looks like, for help texts."""


class FollowUpFileError(ConfigError):
    """A follow-up file cannot be used."""


_Texts = Annotated[list[Text], BeforeValidator(listed)]


class Place(Strict):
    """A passage: how the heading of its section begins, and some words of it ("": any)."""

    section: Text
    contains: str = ""
    _where: str = ""

    @property
    def where(self) -> str:
        """``path:line`` of the file that names it."""
        return self._where


_Places = Annotated[list[Place], BeforeValidator(listed)]


class Question(Strict):
    """One turn: what is asked, how it reads on its own, and where the answer stands."""

    user: Text
    expanded: _Texts = Field(default=[])
    refers_to: _Texts = Field(default=[])
    """Names that a self-contained wording contains."""
    find: _Places = Field(default=[])
    """Any one of these answers it."""
    find_all: _Places = Field(default=[])
    """It takes all of these."""
    note: str = ""

    @property
    def follows_up(self) -> bool:
        """Whether the turn needs what was said before it."""
        return bool(self.expanded)

    @property
    def has_places(self) -> bool:
        """Whether it is said where the answer stands."""
        return bool(self.find or self.find_all)

    def resolved(self, text: str) -> bool:
        """Tell whether ``text`` says on its own what the turn means.

        It is one of the accepted wordings, or it names everything that the turn refers to.
        """
        if matches(text, self.expanded):
            return True
        said = f" {plain(text)} "
        return bool(self.refers_to) and all(f" {plain(name)}" in said for name in self.refers_to)

    @model_validator(mode="after")
    def _consistent(self) -> "Question":
        if self.find and self.find_all:
            raise ValueError("has both 'find' and 'find_all': keep one")
        if self.refers_to and not self.expanded:
            raise ValueError("has 'refers_to' but no 'expanded': add how it reads on its own")
        return self


class Talk(Strict):
    """A conversation about one document."""

    id: Text
    document: Text
    turns: Annotated[list[Question], Field(min_length=1)]
    note: str = ""
    _folder: Path = Path()

    @property
    def path(self) -> Path:
        """Where the document is."""
        return self._folder / self.document


def plain(text: str) -> str:
    """``text`` in lower case, without articles, punctuation and markup, for comparing.

    >>> plain("The **Closing Date** means April 28, 2021.")
    'closing date means april 28 2021'
    """
    words = "".join(sign if sign.isalnum() or sign in "&%$€£" else " " for sign in text.lower())
    return " ".join(word for word in words.split() if word not in ("a", "an", "the"))


def read_follow_ups(path: Path) -> tuple[Talk, ...]:
    """Read a follow-up file. Raises FollowUpFileError with everything that is wrong in it."""
    text = read_text(path)
    if isinstance(text, Problem):
        raise FollowUpFileError([text])
    document = parse_yaml(text, path=str(path))
    if not isinstance(document.data, list) or document.problems:
        problem = Problem(f"{path}:1", "is no list of conversations", "begin with '- id: ...'")
        raise FollowUpFileError(document.problems or [problem])
    found = validate(document, RootModel[list[Talk]])
    problems = [*(found if isinstance(found, tuple) else ()), *_missing(document, path)]
    if problems or isinstance(found, tuple):
        raise FollowUpFileError(problems)
    for index, talk in enumerate(found.root):
        _place(talk, document, index, path)
    return tuple(found.root)


def _missing(document: Document, path: Path) -> Iterator[Problem]:
    """The documents that are not there."""
    for index, talk in enumerate(document.data if isinstance(document.data, list) else ()):
        name = talk.get("document") if isinstance(talk, dict) else None
        if isinstance(name, str) and name and not (path.parent / name).is_file():
            yield Problem(
                document.where((index, "document")),
                f"there is no document '{name}'",
                f"name a file, from {path.parent} on",
            )


def _place(talk: Talk, document: Document, index: int, path: Path) -> None:
    """Note where the file is, and where in it each place is named."""
    talk._folder = path.parent
    for turn, question in enumerate(talk.turns):
        for key in ("find", "find_all"):
            for place in getattr(question, key):
                place._where = document.where((index, "turns", turn, key))
