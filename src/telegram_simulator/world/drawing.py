"""Pictures drawn in code: scenes with words on them that can be read,
and what others do to pictures when they take them over.
"""

import io
import random
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from PIL import Image, ImageDraw, ImageFont

from telegram_simulator.world.post import Drawing

type Colour = tuple[int, int, int]
type Pen = ImageDraw.ImageDraw

PAPER: Colour = (250, 249, 245)
INK: Colour = (24, 26, 30)
WHITE: Colour = (255, 255, 255)
MARGIN = 40
"""Words stand so far from the edge that a crop does not touch them."""
DARK: tuple[Colour, ...] = (
    (22, 48, 79),
    (63, 31, 61),
    (20, 66, 58),
    (84, 44, 20),
    (45, 45, 52),
    (92, 24, 36),
    (26, 60, 92),
    (54, 58, 20),
)
BRIGHT: tuple[Colour, ...] = (
    (238, 178, 76),
    (92, 176, 216),
    (226, 96, 76),
    (118, 190, 110),
    (190, 140, 220),
    (240, 214, 120),
    (110, 200, 190),
)


def draw(drawing: Drawing, width: int, height: int, *, moment: float = 0.0) -> Image.Image:
    """The picture; in a film something moves with `moment`, which goes from 0 to 1."""
    picture = Image.new("RGB", (width, height), PAPER)
    SCENES[drawing.scene](ImageDraw.Draw(picture), drawing, random.Random(drawing.number), moment)
    return CHANGES.get(drawing.change, _as_it_was)(picture, drawing)


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """The same letters on every machine: the font comes with the package, and so does the layout."""
    letters = (files("telegram_simulator.world") / "fonts" / "DejaVuSans.ttf").read_bytes()
    return ImageFont.truetype(io.BytesIO(letters), size, layout_engine=ImageFont.Layout.BASIC)


def wrap_text(text: str, size: int, width: int) -> list[str]:
    """Lines of at most that width."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font(size).getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _write(pen: Pen, texts: Sequence[str], top: int, *, size: int, colour: Colour) -> None:
    """Each text in lines of its own, smaller after the first, smaller still where it would not fit."""
    width, height = int(pen.im.size[0]) - 2 * MARGIN, int(pen.im.size[1]) - MARGIN
    for text_index, text in enumerate(texts):
        letters = size if text_index == 0 else size * 3 // 4
        for line in wrap_text(text, letters, width):
            if top + letters <= height:
                pen.text((MARGIN, top), line, fill=colour, font=font(letters))
                top += letters * 5 // 4
        top += letters // 3


def _photo(pen: Pen, drawing: Drawing, rng: random.Random, moment: float) -> None:
    """A street, a hill, a sky, and a band with words."""
    width, height = pen.im.size
    sky, ground = rng.choice(BRIGHT), rng.choice(DARK)
    for y in range(height):
        pen.line((0, y, width, y), fill=_mix_colours(sky, WHITE, y / height))
    sun = int(width * (0.1 + 0.6 * rng.random() + 0.1 * moment))
    pen.ellipse((sun, 20, sun + 70, 90), fill=WHITE)
    x = -20
    while x < width:
        wide, tall = rng.randrange(40, 120), rng.randrange(60, 190)
        pen.rectangle(
            (x, height - 130 - tall, x + wide, height), fill=_mix_colours(ground, sky, rng.random() * 0.4)
        )
        for window in range(rng.randrange(2, 8)):
            left, up = x + 8 + window % 3 * 18, height - 115 - tall + window // 3 * 22
            pen.rectangle((left, up, left + 9, up + 12), fill=_mix_colours(sky, WHITE, 0.5))
        x += wide + rng.randrange(0, 25)
    pen.rectangle((0, height - 140, width, height), fill=ground)
    _write(pen, drawing.lines, height - 125, size=34, colour=WHITE)


def _map(pen: Pen, drawing: Drawing, rng: random.Random, moment: float) -> None:
    width, height = pen.im.size
    pen.rectangle((0, 0, width, height), fill=(232, 236, 226))
    river = rng.randrange(140, height - 60)
    pen.line(
        [(x, river + 30 * ((x // 160) % 2)) for x in range(0, width + 160, 160)],
        fill=(150, 196, 226),
        width=34,
    )
    for _ in range(9):
        across, along = rng.randrange(width), rng.randrange(height)
        pen.line((across, 0, rng.randrange(width), height), fill=WHITE, width=rng.choice((6, 10, 14)))
        pen.line((0, along, width, rng.randrange(height)), fill=(250, 240, 200), width=8)
    x, y = rng.randrange(200, width - 100) + int(60 * moment), rng.randrange(200, height - 60)
    pen.ellipse((x - 16, y - 16, x + 16, y + 16), fill=(206, 44, 44), outline=WHITE, width=4)
    pen.rectangle((20, 20, width - 20, 170), fill=WHITE, outline=INK, width=2)
    _write(pen, drawing.lines, 34, size=34, colour=INK)


def _notice(pen: Pen, drawing: Drawing, rng: random.Random, _moment: float) -> None:
    """A sheet on a wall."""
    width, height = pen.im.size
    frame = rng.choice(DARK)
    pen.rectangle((12, 12, width - 12, height - 12), outline=frame, width=6)
    pen.rectangle((12, 12, width - 12, 76), fill=frame)
    for corner in ((26, 26), (width - 50, 26)):
        pen.ellipse((*corner, corner[0] + 24, corner[1] + 24), fill=rng.choice(BRIGHT))
    _write(pen, drawing.lines, 120, size=40, colour=INK)


def _screenshot(pen: Pen, drawing: Drawing, rng: random.Random, _moment: float) -> None:
    width, height = pen.im.size
    pen.rectangle((0, 0, width, height), fill=(236, 238, 241))
    pen.rectangle((0, 0, width, 44), fill=rng.choice(DARK))
    for number in range(3):
        pen.ellipse((16 + number * 26, 14, 32 + number * 26, 30), fill=rng.choice(BRIGHT))
    _write(pen, drawing.lines, 66, size=34, colour=INK)
    for row in range(7):
        end = rng.randrange(width // 2, width - MARGIN)
        pen.rectangle((MARGIN, 240 + row * 20, end, 248 + row * 20), fill=(200, 204, 210))


def _chart(pen: Pen, drawing: Drawing, rng: random.Random, moment: float) -> None:
    width, height = pen.im.size
    ink = rng.choice(DARK)
    _write(pen, drawing.lines, 30, size=34, colour=ink)
    level, columns = rng.randrange(60, 120), 14
    for number in range(columns):
        level = max(20, min(180, level + rng.randrange(-30, 38)))
        left = MARGIN + number * (width - 2 * MARGIN) // columns
        bar = level if number < columns * (1 - moment / 2) else level // 2
        pen.rectangle(
            (left, height - MARGIN - bar, left + 26, height - MARGIN),
            fill=_mix_colours(ink, rng.choice(BRIGHT), 0.6),
        )
    pen.line((MARGIN, height - MARGIN, width - MARGIN, height - MARGIN), fill=ink, width=3)


def _poster(pen: Pen, drawing: Drawing, rng: random.Random, moment: float) -> None:
    width, height = pen.im.size
    ground, shape = rng.choice(DARK), rng.choice(BRIGHT)
    pen.rectangle((0, 0, width, height), fill=ground)
    for _ in range(5):
        x, y, size = rng.randrange(width), rng.randrange(240, height), rng.randrange(40, 130)
        pen.ellipse((x, y + int(40 * moment), x + size, y + size), fill=_mix_colours(ground, shape, 0.7))
    _write(pen, drawing.lines, 60, size=44, colour=WHITE)


def _score(pen: Pen, drawing: Drawing, rng: random.Random, moment: float) -> None:
    width, height = pen.im.size
    for stripe in range(8):
        pen.rectangle(
            (stripe * width // 8, 0, (stripe + 1) * width // 8, height), fill=(46, 122 + stripe % 2 * 14, 62)
        )
    pen.ellipse((width // 2 - 60, height - 160, width // 2 + 60, height - 40), outline=WHITE, width=4)
    ball = rng.randrange(60, width - 160) + int(80 * moment)
    pen.ellipse((ball, height - 90, ball + 24, height - 66), fill=WHITE)
    pen.rectangle((20, 24, width - 20, 190), fill=INK)
    _write(pen, drawing.lines, 44, size=36, colour=WHITE)


def _paper(pen: Pen, drawing: Drawing, _rng: random.Random, _moment: float) -> None:
    _write(pen, drawing.lines, MARGIN, size=30, colour=INK)


def _mix_colours(colour: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (
        int(first + (second - first) * share) for first, second in zip(colour, other, strict=True)
    )
    return red, green, blue


def _as_it_was(picture: Image.Image, _drawing: Drawing) -> Image.Image:
    return picture


def _recompress(picture: Image.Image, _drawing: Drawing) -> Image.Image:
    """Made smaller, saved badly, and made large again."""
    small = picture.resize((picture.width * 3 // 4, picture.height * 3 // 4), Image.Resampling.BILINEAR)
    saved = io.BytesIO()
    small.save(saved, "JPEG", quality=40)
    return Image.open(saved).convert("RGB").resize(picture.size, Image.Resampling.BILINEAR)


def _crop(picture: Image.Image, _drawing: Drawing) -> Image.Image:
    left, top = picture.width // 20, picture.height // 25
    cut = picture.crop((left, top, picture.width - left // 2, picture.height - top // 2))
    return cut.resize(picture.size, Image.Resampling.BILINEAR)


def _watermark(picture: Image.Image, drawing: Drawing) -> Image.Image:
    layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    right = picture.width - int(font(20).getlength(drawing.mark)) - 12
    ImageDraw.Draw(layer).text(
        (max(right, 0), picture.height - 30),
        drawing.mark,
        fill=(255, 255, 255, 170),
        font=font(20),
        stroke_width=1,
        stroke_fill=(0, 0, 0, 110),
    )
    return Image.alpha_composite(picture.convert("RGBA"), layer).convert("RGB")


SCENES: dict[str, Callable[[Pen, Drawing, random.Random, float], None]] = {
    "photo": _photo,
    "map": _map,
    "notice": _notice,
    "screenshot": _screenshot,
    "chart": _chart,
    "poster": _poster,
    "score": _score,
    "paper": _paper,
}
CHANGES: dict[str, Callable[[Image.Image, Drawing], Image.Image]] = {
    "recompressed": _recompress,
    "cropped": _crop,
    "watermarked": _watermark,
}
