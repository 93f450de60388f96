"""Contents that were made to keep a program busy or to fill its memory: texts, edits, pages, robots.txt,
pictures, lists, bodies.

Each kind comes with an ordinary content of the same kind, so that two runs differ in nothing but what
strangers wrote.
"""

import gzip
import io
import json
import random
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice

from PIL import Image

LENGTH = 4096
"""Characters of a post, at most."""
ORDINARY_TEXT = (
    "Мост через Неву закрыли на 15 дней после удара баржи, сообщил Иван Петров. Автобусы пойдут в объезд, "
    "водителей просят не ждать."
)
ORDINARY_PAGE = (
    "<html><title>Мост закрыт</title><article>"
    + "<p>Автобусы пойдут в объезд, водителей просят выбрать другой путь.</p>" * 20
    + "</article>"
)
ORDINARY_ROBOTS = "User-agent: *\nDisallow: /private/\n"
LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"


def _of(pattern: str) -> str:
    return "".join(islice(cycle(pattern), LENGTH))


def _words(make: str) -> str:
    return " ".join(make.format(first=first, second=second) for first in LETTERS for second in LETTERS)[
        :LENGTH
    ]


@cache
def texts() -> dict[str, str]:
    """One post each, as long as Telegram lets it be."""
    return {
        "one word": "щ" * LENGTH,
        "one name": "Ж" + "ж" * (LENGTH - 1),
        "one prefix a thousand times": "Пере" + "пере" * 1000,
        "names that no dictionary knows": _words("Абв{first}где{second}жзи{first}"),
        "names of many prefixes": _words("Пере{first}архи{second}сверх"),
        "names in a row": _of("Аб Вг "),
        "capital letters": _of("А "),
        "hyphens": _of("а-"),
        "punctuation": _of("!?.,"),
        "hashtags": _of("#а "),
        "nothing but hashes": "#" * LENGTH,
        "mentions": _of("@a "),
        "addresses without an end": _of("http://a"),
        "addresses": _of("www.a t.me/"),
        "lines": _of("a\n"),
        "blanks": "a" + " " * (LENGTH - 2) + "b",
        "accents on accents": _of("а\u0301\u0302\u0303"),
        "families": _of("👨\u200d👩\u200d👧"),
        "turned round": _of("\u202eа"),
        "numbers": _of("1."),
        "the word that everybody looks for": _of("снег "),
        "fences": _of("===== END "),
        "chat marks": _of("<|im_start|>[INST]<think>"),
        "quotes": _of("«А» "),
    }


@cache
def edits() -> dict[str, tuple[str, str]]:
    """Before and after."""
    numbered = [f"w{number}" for number in range(800)]
    shuffled = random.Random(1).sample(numbered, len(numbered))
    every_other = [word if number % 2 else f"x{number}" for number, word in enumerate(numbered)]
    return {
        "one letter": (_of("а "), _of("б а ")),
        "punctuation": (_of(".,"), _of(",.!")),
        "turned round": (" ".join(numbered), " ".join(reversed(numbered))),
        "shuffled": (" ".join(numbered), " ".join(shuffled)),
        "every other word": (" ".join(numbered), " ".join(every_other)),
        "out of step": (_of("ab "), _of("ba  a")),
        "nothing in common": (_words("а{first}{second}"), _words("б{first}{second}")),
        "one long number": ("1" * LENGTH, "1" * (LENGTH - 1) + "2"),
    }


@cache
def pages() -> dict[str, bytes]:
    """Bodies of pages; those that begin with the two bytes of gzip are sent as packed."""
    return {
        "paragraphs that never end": b"<p>a" * 300_000,
        "divs in divs": b"<div>" * 200_000,
        "tables in tables": b"<table><tr><td>" * 60_000,
        "lists in lists": b"<ul><li>" * 100_000,
        "marks in marks": b"<b><i>" * 150_000,
        "attributes": b"<p " + b"".join(b"a%d=1 " % number for number in range(100_000)) + b">a</p>",
        "one tag": b"<" + b"a" * 2_000_000 + b">",
        "entities": b"<p>" + b"&lt;" * 500_000,
        "links": b"<a href=x>a</a>" * 100_000,
        "comments": b"<!--" * 400_000,
        "zeros": b"\x00" * 2_000_000,
        "a bomb": gzip.compress(b"<p>a</p>" * 3_000_000, 1),
        "packed nothing": gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * 700_000,
        "a script that builds it": b"<script>" + b"x" * 1_000_000 + b"</script>",
        "dates": b"<p>2026-11-16 " * 100_000,
    }


@cache
def robots() -> dict[str, bytes]:
    """Files robots.txt, packed where they are large."""
    many = "\n".join(["User-agent: *", *(f"Disallow: /{number}/*a*b*c$" for number in range(120_000))])
    each_for_each = "\n".join(
        [
            *(f"User-agent: {number}" for number in range(10_000)),
            *(f"Disallow: /{number}" for number in range(10_000)),
        ]
    )
    stars = "\n".join(["User-agent: *", *(f"Disallow: /{'*a' * 200}$" for _ in range(1_000))])
    return {
        "three megabytes of rules": gzip.compress(many.encode(), 1),
        "each rule for each name": gzip.compress(each_for_each.encode()),
        "stars": gzip.compress(stars.encode()),
        "one line": gzip.compress(b"Disallow: /" + b"a" * 3_000_000),
        "a bomb": gzip.compress(b"#" * 30_000_000, 1),
        "blanks": gzip.compress(b" \n" * 2_000_000),
    }


@cache
def pictures() -> dict[str, bytes]:
    """Files that say they are pictures."""
    return {
        "a bomb of pixels": _png(30_000, 30_000, b""),
        "more pixels than it says": _png(10, 10, zlib.compress(bytes(30_000_000), 1)),
        "no end": _png(4_000, 4_000, zlib.compress(bytes(1_000)))[:-20],
        "noise": _save_image(Image.effect_noise((2_500, 2_500), 100), "PNG"),
        "stripes": _save_image(Image.frombytes("L", (4_000, 4_000), b"\x00\xff" * 8_000_000), "PNG"),
        "a line": _save_image(Image.new("L", (60_000, 1)), "PNG"),
        "words": b"not a picture " * 10_000,
        "half a photograph": _save_image(Image.effect_noise((2_000, 2_000), 80), "JPEG")[:50_000],
    }


@cache
def lists() -> dict[str, str]:
    """Lists of channels, as feed readers write them."""
    return {
        "folders in folders": f"<opml><body>{'<outline>' * 100_000}{'</outline>' * 100_000}</body></opml>",
        "entities": '<!DOCTYPE x [<!ENTITY a "aaaa">]><opml/>',
        "channels without number": "<opml><body>"
        + '<outline url="https://t.me/a"/>' * 200_000
        + "</body></opml>",
    }


@cache
def bodies() -> dict[str, bytes]:
    """Requests to follow channels."""
    wishes: dict[str, object] = {
        "unknown fields": {f"{number:05}": 1 for number in range(80_000)},
        "wrong items": {"references": [1] * 300_000},
        "a long name": {"x" * 900_000: 1},
        "a long value": {"references": ["@a"], "folder": "x" * 900_000},
        "lists in items": {"references": [[[[]]]] * 100_000},
    }
    deep = {
        "deep": b"[" * 500_000,
        "deep objects": b'{"a":' * 200_000,
        "a number": b'{"history_days": ' + b"9" * 900_000 + b"}",
    }
    return {name: json.dumps(wish).encode() for name, wish in wishes.items()} | deep


def count_contents() -> int:
    return (
        len(texts())
        + len(edits())
        + len(pages())
        + len(robots())
        + len(pictures())
        + len(lists())
        + len(bodies())
    )


def ordinary_picture(number: int) -> bytes:
    return _save_image(Image.effect_noise((600, 400), 20 + number % 50), "JPEG")


def _save_image(image: Image.Image, kind: str) -> bytes:
    written = io.BytesIO()
    image.save(written, kind)
    return written.getvalue()


def _png(width: int, height: int, data: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunks(width, height, data))


def _chunks(width: int, height: int, data: bytes) -> Iterator[bytes]:
    for name, body in (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", data),
        (b"IEND", b""),
    ):
        yield struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
