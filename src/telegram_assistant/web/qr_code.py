"""QR codes as SVG: a path for the page to draw."""

from dataclasses import dataclass

import segno

BORDER = 4
"""Light modules around the code, as the standard asks."""


@dataclass(frozen=True, slots=True)
class QrPicture:
    """The dark modules as an SVG path, and the size of the picture in modules."""

    path: str
    size: int


def draw_qr_code(text: str) -> QrPicture:
    rows = segno.make_qr(text, error="l").matrix
    path = "".join(
        f"M{x + BORDER} {y + BORDER}h1v1h-1z"
        for y, row in enumerate(rows)
        for x, is_dark in enumerate(row)
        if is_dark
    )
    return QrPicture(path, len(rows) + 2 * BORDER)
