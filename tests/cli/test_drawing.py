"""QR codes in a terminal."""

import io
import re

from rich.console import Console

from telegram_assistant.cli.drawing import drawing, picture

FIRST, SECOND = (f"tg://login?token={letter * 43}" for letter in "AB")
LINE_ERASED = "\x1b[2K"


def test_a_code_takes_the_place_of_the_one_before_and_none_is_left() -> None:
    out = io.StringIO()
    terminal = Console(file=out, force_terminal=True, width=120, height=24)
    with drawing(terminal) as draw:
        draw(FIRST)
        height = len(picture(FIRST).plain.splitlines())
        draw(SECOND)
        assert out.getvalue().count(LINE_ERASED) >= height
    after = out.getvalue().rpartition("█")[2]
    assert after.count(LINE_ERASED) >= height


def test_a_code_keeps_its_colours_on_a_light_terminal() -> None:
    out = io.StringIO()
    with drawing(Console(file=out, force_terminal=True, width=120, color_system="standard")) as draw:
        draw(FIRST)
    assert re.search("\x1b\\[97;40m█", out.getvalue())


def test_in_a_file_one_stands_below_the_other() -> None:
    out = io.StringIO()
    with drawing(Console(file=out, width=120)) as draw:
        draw(FIRST)
        draw(SECOND)
    assert out.getvalue().count("Scan this with Telegram") == 2
    assert "\x1b" not in out.getvalue()
