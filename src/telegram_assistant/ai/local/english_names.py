"""Finds English names by capital letters, with a list of places and without words that are no names."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from telegram_assistant.ai.outputs import EntityKind

_PIECE = re.compile(r"\S+")
_RUN = re.compile(r"(?<![\w#@/&-])[A-Z][\w’'.-]*(?: (?:of |de |van |von |al-)?[A-Z][\w’'.-]*)*")
_WORD = re.compile(r"[A-Za-z][\w’'-]*")
_BEGINS = re.compile(r"(?:^|[.!?…:;\n«\"“‘'(—–•|-]\s*|[^\w\s,]\s*)$")
_POSSESSIVE = re.compile(r"[’']s?$")
_SUFFIX = re.compile(r"-(?:based|led|born|backed|owned|area)$")
_IN = re.compile(r"\b(?:in|near)\s$")
_ARTICLE = re.compile(r"\b(?:the|a|an|its|their|our|The|A|An)\s$")
_ORGANISATION = re.compile(
    r"\b(?:Inc|Corp|Ltd|LLC|GmbH|Bank|University|Ministry|Agency|Council|Committee|Party|Club|Group|"
    r"Institute|"
    r"Museum|Court|Parliament|Association|Department|Company|Airlines|Union|Commission|League|United|FC|Post|"
    r"Times|News|Office|Police|Holdings|Society|Federation|Authority|Service|Services|Army|Foundation|House|"
    r"School|College|Hospital|Church|Fund|Board|Bureau|Congress|Senate|Systems|Motors|Energy|Media|Network|"
    r"Forum|Academy|Sciences|Limited|Cricket|Town|Rovers|Athletic|Albion|Wanderers|Record|Herald|"
    r"Journal|Tribune|"
    r"Telegraph|Technologies|Industries|Partners|Capital|Airways|Studios|Records|Guard|Front|Alliance|"
    r"Finance)\b"
)
_PLACE_BEGINS = re.compile(
    r"^(?:New|San|Santa|Los|Las|Cape|Port|Fort|Saint|Mount|Lake|North|South|East|West|Northern|Southern|"
    r"Eastern|Western|Central|Middle) [A-Z][a-z]+$"
)
_PLACE_ENDS = re.compile(
    r" (?:Street|Square|River|Islands?|Bay|Beach|County|Province|State|Valley|Park|Airport|Road|City|Sea|"
    r"Ocean|Mountains?|District|Region|Bridge|Station|Avenue|Lake|Strait)$"
)
_NO_PERSON = re.compile(
    r"\b(?:Price|Forces|Derby|Details|Premiership|Knockout|Invitational|Enforcement|Championships?|"
    r"Programme|Program|Cup|Finals?|Tour|Prix|Open|Festival|Awards?|Music|Villa|"
    r"Centre|Center|"
    r"Buildings?|Canyon|Manor|Store|Day|Night|Games?|Series|Show|World|International|Masters|Trophy|"
    r"Test|Street|"
    r"Maps|Week|Year|War|Act|Plan|Deal|Bill|Project|Dancing|Air|Summit|Conference|Election|Prize|"
    r"Stadium|Hall|"
    r"Theatre|Theater|Tower|Gallery|Hotel|Phone|Pro|Premier|Champions|Olympics?|Olympic)\b"
)
_MARKED = re.compile(r"[A-Z][A-Z&]+")
_PLAIN = re.compile(r"(?:[A-Z][’']|Mc|Mac|De|Di|La|Le|al-)?[A-ZÀ-Ž][a-zß-ž]+(?:[-’'][A-ZÀ-Ž]?[a-zß-ž]+)*")
"""A word of a person's or a place's name: a capital, then small letters."""


def _words_of(line: str) -> frozenset[str]:
    return frozenset(line.split())


_NO_ORGANISATIONS = _words_of(
    "AGM AI AM API AQI AR ATM BA BBQ BPD BST CBD CCTV CD CEO CFO CGI COO CPI CPU CTO CV DIY DJ "
    "DNA DVD EST ETF EV FAQ FM FPS GDP GMT GPS GPU HD HDR HIV HR ICU ID IED II III IPO IQ ISP IST "
    "IT IV IX KM LCD LED LGBT LGBTQ LTE MA MBA MD MMA MP MPS MVP NFT ODI OLED OS PC PCR PDF PE "
    "PHD PIN PM PPE PR PST QIP QR RAM RNA ROM RSVP RV SIM SMS SOS SSD STEM SUV TBA TOF TV UFO UI "
    "URL USB UTC UV VAT VI VII VIII VIP VPN VR WWI WWII XI XII XL"
)
"""Abbreviations of things, offices and measures."""
_TITLES = _words_of(
    "mr mrs ms dr fr sir president vice prime minister mayor governor senator judge captain professor king "
    "queen "
    "prince princess pope general chief former secretary chancellor chairman chairwoman director justice "
    "congressman rep sen gov sgt lt col officer detective attorney foreign defence defense ex coach "
    "ambassador "
    "commissioner sheriff deputy executive spokesman spokeswoman lord lady"
)
_NO_NAMES = _words_of(
    "january february march april may june july august september october november december jan feb mar "
    "apr jun "
    "jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue wed "
    "thu fri "
    "sat sun the a an and or but if in on at to of for from by with without as is are was were be been "
    "has have "
    "had do does did will would can could should may might must not no yes it its he she they we you i "
    "his her "
    "their our my your this that these those there here what who where when why how which after before since "
    "while during until once also however meanwhile although though because so then than more most some all "
    "many few one two three four five six seven eight nine ten first second third last next read full "
    "article watch see get let breaking update exclusive report reports sources says said just only even now "
    "today tomorrow yesterday according editor christmas easter halloween thanksgiving ceo cfo pm am "
    "gdp tv dna "
    "ap afp us-led covid internet photo video image source share click subscribe follow every each "
    "another other "
    "such both either neither us-based about over under between into against around among up down out "
    "off i'm "
    "it's he's she's that's there's we're they're don't i've facebook-owned"
)
MIN_TITLE_WORDS = 4
MIN_LONG_WORD = 4
TITLE_SHARE = 0.7
MAX_ABBREVIATION = 5
_PERSON_WORDS = 2


@dataclass(frozen=True, slots=True)
class _Lists:
    """Names and words, folded."""

    places: frozenset[str]
    """Without the cities that share their name with people."""
    cities: frozenset[str]
    adjectives: frozenset[str]
    """Of nations."""
    country_beginnings: frozenset[str]
    given_names: frozenset[str]
    surnames: frozenset[str]
    words: frozenset[str]
    """The most frequent words."""

    def may_be_place(self, name: str) -> bool:
        """Whether an unknown name behind `in` is that of a place: no word, no nation, nobody's name."""
        last_word = name.rpartition(" ")[2]
        return name in self.cities or not (
            last_word in self.words
            or last_word in self.adjectives
            or name in self.given_names
            or name in self.surnames
        )

    def is_no_person(self, word: str) -> bool:
        return word in self.words or word in self.places or word in self.adjectives


@cache
def _lists() -> _Lists:
    package = files("telegram_assistant.ai.local")
    kinds: dict[str, set[str]] = {"country": set(), "place": set(), "adjective": set()}
    for line in (package / "gazetteer.txt").read_text(encoding="utf-8").splitlines():
        kind, _, name = line.partition(" ")
        kinds[kind].add(name.casefold())
    names_by_kind = {
        kind: frozenset(names.split(","))
        for kind, _, names in (
            line.partition(": ")
            for line in (package / "name_lists.txt").read_text(encoding="utf-8").splitlines()
        )
    }
    people = names_by_kind["given"] | names_by_kind["surname"]
    place_names = kinds["place"] | kinds["country"]
    return _Lists(
        places=frozenset(place_names | (names_by_kind["place"] - people - names_by_kind["word"])),
        cities=frozenset(names_by_kind["place"] - names_by_kind["word"]),
        adjectives=frozenset(kinds["adjective"]),
        country_beginnings=frozenset(name[:4] for name in kinds["country"]),
        given_names=names_by_kind["given"] - names_by_kind["word"] - place_names,
        surnames=names_by_kind["surname"] - names_by_kind["word"] - place_names,
        words=names_by_kind["word"],
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Words of a run of capitals that may be one name."""

    words: list[str]
    name: str
    is_first: bool
    """Whether it begins a sentence."""
    is_in: bool
    """Whether `in` or `near` stands before it."""
    is_titled: bool
    has_article: bool


def find_english_names(text: str) -> Iterator[tuple[str, EntityKind]]:
    """Names in their order. A line in title case shows only places; a first word is a name if the text has it
    within a sentence, too, or if it is a place.
    """
    text = _PIECE.sub(_blank_address, text)
    lower = {word for word in _WORD.findall(text) if word.islower()}
    runs = list(_runs(text))
    within = {
        _POSSESSIVE.sub("", word)
        for words, before, is_title in runs
        if not is_title and not _BEGINS.search(before)
        for word in words
    }
    lone_words = frozenset(_POSSESSIVE.sub("", words[0]) for words, _, _ in runs if len(words) == 1)
    people: set[str] = set()
    for words, before, is_title in runs:
        is_sentence_start = _BEGINS.search(before) is not None
        for part, is_titled in _parts(words):
            is_at_start = part[0] == _POSSESSIVE.sub("", words[0])
            name = " ".join(part)
            candidate = _Part(
                part,
                name,
                is_first=is_sentence_start and is_at_start,
                is_in=is_at_start and _IN.search(before) is not None,
                is_titled=is_titled,
                has_article=is_at_start and _ARTICLE.search(before) is not None,
            )
            kind = _kind_of(candidate, lone_words)
            if kind is None or (is_title and not _is_place(name)):
                continue
            if name.isupper() and _is_place(name) and len(name) > MAX_ABBREVIATION - 1:
                name = name.title()
            elif candidate.is_first and not _is_place(name) and not name.isupper():
                if len(part) == 1 and name not in within:
                    continue
                if part[0].casefold() in lower:
                    continue
            if kind is EntityKind.PERSON:
                if name in people:
                    continue
                people.update(part)
            yield name, kind


def _blank_address(piece: re.Match[str]) -> str:
    text = piece.group()
    return " " * len(text) if "/" in text or "@" in text or text.startswith("www.") else text


def _runs(text: str) -> Iterator[tuple[list[str], str, bool]]:
    """The words of each run of capitals, the text before it, and whether its line is in title case."""
    for line in re.split(r"\n|(?<=[.!?]) ", text):
        long = [word for word in _WORD.findall(line) if len(word) >= MIN_LONG_WORD]
        capitals = sum(word[0].isupper() for word in long)
        is_long = len(long) >= MIN_TITLE_WORDS and not line.rstrip().endswith(".")
        is_title = is_long and capitals >= TITLE_SHARE * len(long)
        for run in _RUN.finditer(line):
            words = [_SUFFIX.sub("", word).rstrip(".,-") for word in run.group().split()]
            if len(words) > 1 and run.group().isupper() and not _is_place(" ".join(words)):
                continue
            yield [word for word in words if word], line[max(0, run.start() - 8) : run.start()], is_title


def _parts(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """The run cut at words that are no names; titles and nationalities before a name are no part of it."""
    part: list[str] = []
    is_titled = False
    for written_word in words:
        word = _POSSESSIVE.sub("", written_word)
        folded_text = word.casefold()
        if (
            folded_text in _TITLES
            or folded_text in _NO_NAMES
            or len(word) == 1
            or (_is_of_nation(folded_text) and not part)
        ):
            if part:
                yield part, is_titled
            part, is_titled = [], folded_text in _TITLES
        else:
            part.append(word)
            if word != written_word:
                yield part, is_titled
                part, is_titled = [], False
    if part:
        yield part, is_titled


def _is_of_nation(word: str) -> bool:
    """Whether the word is an adjective like `Russian`, which is the name of a language, or `Syrian`."""
    lists = _lists()
    return word in lists.adjectives or (
        word.endswith(("an", "ese", "ish", "i"))
        and word[:4] in lists.country_beginnings
        and word not in lists.places
    )


def _is_place(name: str) -> bool:
    return _fold(name) in _lists().places


def _kind_of(run: _Part, lone_words: frozenset[str]) -> EntityKind | None:
    name, words = run.name, run.words
    is_organisation = _ORGANISATION.search(name) is not None
    if _is_place(name) or _is_compound_place(words, name, is_organisation=is_organisation):
        return EntityKind.PLACE
    if _NO_PERSON.search(words[-1]) or name in _NO_ORGANISATIONS:
        return None
    if is_organisation or _is_team(run):
        return EntityKind.ORGANISATION if len(words) > 1 else None
    if name.isupper():
        is_short = len(name) <= MAX_ABBREVIATION and _MARKED.fullmatch(name) is not None
        return EntityKind.ORGANISATION if is_short else None
    if _NO_PERSON.search(name) is None:
        return _kind_by_context(run, lone_words)
    return None


def _kind_by_context(run: _Part, lone_words: frozenset[str]) -> EntityKind | None:
    is_plain = all(_PLAIN.fullmatch(word) for word in run.words)
    if not is_plain:
        return None
    if (
        run.is_in
        and not run.is_titled
        and len(run.words) <= _PERSON_WORDS
        and _lists().may_be_place(_fold(run.name))
    ):
        return EntityKind.PLACE
    return EntityKind.PERSON if _is_person(run, lone_words) else None


def _is_compound_place(words: list[str], name: str, *, is_organisation: bool) -> bool:
    """Whether the name is that of a place by its first or last word: `Cape Town`, `Baker Street`."""
    if len(words) == 1 or (is_organisation and len(words) > _PERSON_WORDS):
        return False
    return _PLACE_ENDS.search(name) is not None or (
        len(words) == _PERSON_WORDS
        and _PLACE_BEGINS.match(name) is not None
        and _fold(words[1]) not in _lists().words
        and _fold(words[1]) not in _lists().adjectives
    )


def _is_team(run: _Part) -> bool:
    """`the Boston Celtics`: an article, a place and a plural."""
    return (
        run.has_article
        and len(run.words) == _PERSON_WORDS
        and (_is_place(run.words[0]) or _fold(run.words[0]) in _lists().cities)
        and run.words[1].endswith("s")
    )


def _is_person(run: _Part, lone_words: frozenset[str]) -> bool:
    """A title or a given name stands before the name, or a surname ends it; another pair of words is a person
    if the text repeats its second word alone.
    """
    words = run.words
    if run.is_titled:
        return True
    if len(words) != _PERSON_WORDS or run.has_article:
        return False
    lists = _lists()
    first_word, last_word = map(_fold, words)
    if first_word in lists.given_names:
        return last_word not in lists.words or last_word in lists.surnames
    if lists.is_no_person(first_word) or lists.is_no_person(last_word):
        return False
    return last_word in lists.surnames or (words[1] in lone_words and not last_word.endswith("s"))


def _fold(name: str) -> str:
    if name.isascii():
        return name.lower()
    decomposed_text = unicodedata.normalize("NFKD", name.replace("’", "'"))
    return "".join(letter for letter in decomposed_text if not unicodedata.combining(letter)).lower()
