"""QR codes in the terminal."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import segno
from rich.console import Console
from rich.live import Live
from rich.text import Text

BORDER = 2
"""Light modules around the code: phones find it with less than the four that the standard asks for."""
SCAN = "Scan this with Telegram on your phone: Settings, Devices, Link Desktop Device. A new code is drawn every half minute."


@contextmanager
def drawing(console: Console) -> Iterator[Callable[[str], None]]:
    """Draws one code in the place of the other, and leaves none behind. Where nothing can be taken back, one below the other."""
    if not console.is_terminal:
        yield lambda link: console.print(picture(link))
        return
    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="visible") as live:
        yield lambda link: live.update(picture(link), refresh=True)


def picture(link: str) -> Text:
    """Two modules are one character. Its colours are set: on a light terminal it would be the negative of a code."""
    drawn = io.StringIO()
    segno.make_qr(link, error="l").terminal(drawn, border=BORDER, compact=True)
    return Text.assemble(f"{SCAN}\n", (drawn.getvalue(), "bright_white on black"))
