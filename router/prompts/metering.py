"""Makes a template count what it does: its tree is changed before it is compiled.

Jinja's sandbox asks about calls and operators alone. Here loops, `~`, comparisons, lists and
slices go through filters too, whose names no template can write.
"""

from typing import Any, Final

from jinja2 import TemplateSyntaxError, nodes
from jinja2.visitor import NodeTransformer

ROUNDS: Final = " rounds"
JOINED: Final = " joined"
WEIGHED: Final = " weighed"


class Metering(NodeTransformer):
    """Puts the hidden filters into a tree. Raises TemplateSyntaxError for `autoescape`."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        """Each round of a loop is a step."""
        self.generic_visit(node)
        node.iter = _through(ROUNDS, node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        """Texts are joined where their length can be counted first."""
        self.generic_visit(node)
        return _through(JOINED, node.nodes[0], node.nodes[1:])

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        """What is compared is read, to its end at the worst."""
        self.generic_visit(node)
        node.expr = _through(WEIGHED, node.expr)
        for operand in node.ops:
            operand.expr = _through(WEIGHED, operand.expr)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        """A slice is a copy."""
        self.generic_visit(node)
        return _through(WEIGHED, node) if isinstance(node.arg, nodes.Slice) else node

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        """A list that holds the same list twice doubles it."""
        self.generic_visit(node)
        return _through(WEIGHED, node)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        """As lists do."""
        self.generic_visit(node)
        return _through(WEIGHED, node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        """As lists do; the targets of a loop are written as tuples too, and hold nothing."""
        self.generic_visit(node)
        return _through(WEIGHED, node) if node.ctx == "load" else node

    def visit_ScopedEvalContextModifier(self, node: nodes.Node) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        """Prompts are no HTML, and text that escapes itself would pass the checks by."""
        raise TemplateSyntaxError("'autoescape' is for HTML", node.lineno)


def _through(name: str, value: Any, more: list[nodes.Expr] | None = None) -> nodes.Filter:
    return nodes.Filter(
        value, name, more or [], [], None, None, lineno=value.lineno, environment=value.environment
    )
