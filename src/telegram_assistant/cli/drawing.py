"""QR codes in the terminal."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import segno
from rich.console import Console
from rich.live import Live
from rich.text import Text

BORDER = 2
"""Light modules around the code. The standard asks for four, but phones find it with two."""
SCAN = (
    "Scan this with Telegram on your phone: Settings, Devices, Link Desktop Device. "
    "A new code is drawn every half minute."
)


@contextmanager
def drawing(console: Console) -> Iterator[Callable[[str], None]]:
    """Draws each code over the previous one and erases the last.

    If the output is no terminal, it prints one below the other.
    """
    if not console.is_terminal:
        yield lambda link: console.print(picture(link))
        return
    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="visible") as live:
        yield lambda link: live.update(picture(link), refresh=True)


def picture(link: str) -> Text:
    """Renders two modules per character.

    Colours are fixed, because on a light terminal the code would be inverted.
    """
    drawn_text = io.StringIO()
    segno.make_qr(link, error="l").terminal(drawn_text, border=BORDER, compact=True)
    return Text.assemble(f"{SCAN}\n", (drawn_text.getvalue(), "bright_white on black"))
