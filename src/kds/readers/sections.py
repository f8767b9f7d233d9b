"""Headings and blocks in the order of a file become its sections."""

from collections.abc import Iterable, Iterator

from kds.brain.documents.content import Block, Heading, Part


def in_sections(found: Iterable[Heading | Block]) -> Iterator[Part]:
    """Yield each heading with the blocks up to the next; the first part may have no heading."""
    heading: Heading | None = None
    blocks: list[Block] = []
    for one in found:
        if isinstance(one, Block):
            blocks.append(one)
            continue
        if heading or blocks:
            yield Part(heading, tuple(blocks))
        heading, blocks = one, []
    if heading or blocks:
        yield Part(heading, tuple(blocks))
