"""PDFs with text in them: a page that can be searched and copied from, in any language the font has."""

import struct
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from telegram_simulator.world.drawing import wrap_text

WIDTH, HEIGHT, LEFT, TOP = 595, 842, 56, 770
TITLE, BODY = 18, 12


def paper(lines: Sequence[str]) -> bytes:
    """A page of A4: the first line is its title."""
    content: list[str] = []
    y = TOP
    for line_index, text in enumerate(lines):
        size = TITLE if line_index == 0 else BODY
        for line in wrap_text(text, size, WIDTH - 2 * LEFT):
            content.append(f"BT /F1 {size} Tf {LEFT} {y} Td <{_glyphs(line)}> Tj ET")
            y -= size * 3 // 2
        y -= size // 2
    page = "\n".join(content).encode()
    used_letters = sorted({letter for text in lines for letter in text})
    return _document(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            (
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R >> "
                b">> /Contents 4 0 R >>"
            ),
            _stream(page),
            (
                b"<< /Type /Font /Subtype /Type0 /BaseFont /DejaVuSans /Encoding /Identity-H "
                b"/DescendantFonts [6 0 R] /ToUnicode 9 0 R >>"
            ),
            _letters(used_letters),
            _description(),
            _pack_font(),
            _stream(_to_unicode(used_letters)),
        ]
    )


def _letters(used: Sequence[str]) -> bytes:
    system = b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
    font_head = b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /DejaVuSans /CIDToGIDMap /Identity /DW 600"
    return b"%b /W [%b] %b /FontDescriptor 7 0 R >>" % (font_head, _widths(used), system)


def _description() -> bytes:
    measures = (
        b"/FontBBox [-1021 -463 1793 1232] /ItalicAngle 0 /Ascent 928 /Descent -236 /CapHeight 730 /StemV 80"
    )
    return b"<< /Type /FontDescriptor /FontName /DejaVuSans /Flags 4 %b /FontFile2 8 0 R >>" % measures


def _document(objects: Sequence[bytes]) -> bytes:
    written_bytes, byte_offsets = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, body in enumerate(objects, 1):
        byte_offsets.append(len(written_bytes))
        written_bytes += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(written_bytes)
    written_bytes += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    written_bytes += b"".join(b"%010d 00000 n \n" % place for place in byte_offsets)
    written_bytes += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        table,
    )
    return bytes(written_bytes)


def _stream(content: bytes, *more: bytes) -> bytes:
    packed_bytes = zlib.compress(content, 6)
    return b"<< /Length %d /Filter /FlateDecode%b >>\nstream\n%b\nendstream" % (
        len(packed_bytes),
        b"".join(more),
        packed_bytes,
    )


@cache
def _font() -> bytes:
    return (files("telegram_simulator.world") / "fonts" / "DejaVuSans.ttf").read_bytes()


@cache
def _pack_font() -> bytes:
    return _stream(_font(), b" /Length1 %d" % len(_font()))


@cache
def _table(name: bytes) -> bytes:
    """One of the font's tables."""
    (count,) = struct.unpack_from(">H", _font(), 4)
    for number in range(count):
        tag, _, offset, length = struct.unpack_from(">4sIII", _font(), 12 + number * 16)
        if tag == name:
            return _font()[offset : offset + length]
    raise LookupError(name)


@cache
def _characters() -> dict[int, int]:
    """Glyphs by character: the font's table of format 4, which has everything below U+10000."""
    cmap = _table(b"cmap")
    (count,) = struct.unpack_from(">H", cmap, 2)
    starts = [struct.unpack_from(">I", cmap, 8 + number * 8)[0] for number in range(count)]
    at = next(start for start in starts if struct.unpack_from(">H", cmap, start)[0] == 4)
    segments = struct.unpack_from(">H", cmap, at + 6)[0] // 2
    ends, begins, deltas, ranges = (
        struct.unpack_from(f">{segments}H", cmap, at + 14 + part * segments * 2 + (2 if part else 0))
        for part in range(4)
    )
    glyphs: dict[int, int] = {}
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        for code in range(begin, min(end, 0xFFFE) + 1):
            glyph = code
            if ranges[number]:
                byte_offset = at + 16 + segments * 6 + number * 2 + ranges[number] + (code - begin) * 2
                (glyph,) = struct.unpack_from(">H", cmap, byte_offset)
            glyphs[code] = (glyph + deltas[number]) % 0x10000
    return glyphs


def _glyph(letter: str) -> int:
    return _characters().get(ord(letter), 0)


def _glyphs(line: str) -> str:
    return "".join(f"{_glyph(letter):04X}" for letter in line)


def _widths(letters: Sequence[str]) -> bytes:
    """Widths in thousandths, of the glyphs that are used."""
    (units,) = struct.unpack_from(">H", _table(b"head"), 18)
    (measured,) = struct.unpack_from(">H", _table(b"hhea"), 34)
    parts = []
    for letter in letters:
        glyph = _glyph(letter)
        (advance,) = struct.unpack_from(">H", _table(b"hmtx"), min(glyph, measured - 1) * 4)
        parts.append(f"{glyph} [{advance * 1000 // units}]")
    return " ".join(parts).encode()


def _to_unicode(letters: Sequence[str]) -> bytes:
    """The character of each glyph, so that readers can copy the text of a PDF."""
    pairs = [f"<{_glyph(letter):04X}> <{letter.encode('utf-16-be').hex().upper()}>" for letter in letters]
    blocks = [pairs[start : start + 100] for start in range(0, len(pairs), 100)]
    mapped_text = "\n".join(
        f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar" for block in blocks
    )
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Letters def /CMapType 2 "
        "def\n"
        f"1 begincodespacerange <0000> <FFFF> endcodespacerange\n{mapped_text}\nendcmap end end"
    ).encode()
