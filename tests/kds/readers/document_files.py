"""Files of every kind, made here: nothing binary lies in the repository."""

import zlib
from collections.abc import Sequence

from kds.brain.documents.values import Part

LEFT, TOP, STEP = 72, 720, 14


SIZES = {"#": 20, "##": 14}


def pdf_bytes(
    pages: Sequence[Sequence[str]], *, title: str = "", packed: bool = False, pictures: bool = False
) -> bytes:
    """Write a PDF by hand: a line of Helvetica for each text. ``pictures``: no text at all.

    "# ", "## " before a line set it in 20 and 14 points, and are not written; the others have 10.
    """
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica "
                   b"/Encoding /WinAnsiEncoding >>")  # fmt: skip
    for lines in pages:
        drawn = b"" if pictures else _content(lines)
        stream = zlib.compress(drawn) if packed else drawn
        how = b" /Filter /FlateDecode" if packed else b""
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(stream), how, stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    info = 0
    if title:
        objects.append(b"<< /Title (%s) >>" % title.encode("cp1252"))
        info = len(objects)
    return _file(objects, info)


def _content(lines: Sequence[str]) -> bytes:
    parts = [b"BT /F1 10 Tf %d %d Td %d TL" % (LEFT, TOP, STEP)]
    for line in lines:
        mark, space, rest = line.partition(" ")
        size = SIZES.get(mark, 10) if space else 10
        text = (rest if size > 10 else line).encode("cp1252", "replace")
        for sign in (b"\\", b"(", b")"):
            text = text.replace(sign, b"\\" + sign)
        parts.append(b"/F1 %d Tf %d TL (%s) Tj T*" % (size, STEP if size == 10 else 2 * size, text))
    parts.append(b"ET")
    return b"\n".join(parts)


def _file(objects: Sequence[bytes], info: int) -> bytes:
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    named = b" /Info %d 0 R" % info if info else b""
    out += b"trailer\n<< /Size %d /Root 1 0 R%s >>\n" % (len(objects) + 1, named)
    return out + b"startxref\n%d\n%%%%EOF\n" % start


def headings(parts: Sequence[Part]) -> list[str]:
    """Return the headings of a document, indented by their level."""
    return ["  " * one.heading.level + one.heading.text for one in parts if one.heading]


def said(parts: Sequence[Part]) -> list[str]:
    """Return the texts of all blocks."""
    return [block.text for part in parts for block in part.blocks]
