"""What the rules know about the world of developers: kinds of things, parts, preferences.

Read from `rules/knowledge.yaml`, so that users can add the vocabulary of their own field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kds.router.discourse.mention import Mention


@dataclass(frozen=True, slots=True)
class Selection:
    """What is usually done to what: ``verbs`` or ``predicates`` prefer these ``things``.

    A thing is a head noun ("migration"), or the label of an entity in capitals ("UI").
    """

    things: frozenset[str]
    verbs: frozenset[str] = frozenset()
    predicates: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Selections, and which shapes, labels and heads a type noun stands for."""

    selections: tuple[Selection, ...] = ()
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Type noun -> heads, labels or shape kinds that it covers ("file" -> path)."""
    surfaces: frozenset[str] = frozenset()
    """Heads and labels of things that one puts something *on* (page, screen)."""

    def prefers(self, verb: str, complement: str, mention: Mention) -> bool:
        """True when the verb or the predicate is known to go with such a thing."""
        return any(
            (verb in one.verbs or complement in one.predicates) and _is_one_of(mention, one.things)
            for one in self.selections
        )

    def is_a(self, mention: Mention, type_noun: str) -> bool:
        """True when ``type_noun`` ("file", "page") can stand for the mention."""
        covered = self.types.get(type_noun, frozenset())
        return mention.head == type_noun or _is_one_of(mention, covered)

    def is_surface(self, mention: Mention) -> bool:
        """True for things that one puts something on and not in."""
        return _is_one_of(mention, self.surfaces)


def _is_one_of(mention: Mention, things: frozenset[str]) -> bool:
    return not things.isdisjoint((mention.head, mention.label, mention.kind))
