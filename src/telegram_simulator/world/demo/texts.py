"""The words of a planned post, in its channel's voice and in each version it had."""

import random
from collections.abc import Iterable
from typing import NamedTuple

from telegram_simulator.world.demo.links import link_of
from telegram_simulator.world.demo.packs import Manner, packs
from telegram_simulator.world.demo.plan import Edit, Piece, Planned, Planted, Role
from telegram_simulator.world.demo.wording import Values, fill_template, names_somebody
from telegram_simulator.world.post import Entity

NOTHING_PLANTED = Planted(kinds=())


class Core(NamedTuple):
    """The content of a post before the channel's voice shapes it."""

    head: str
    sentences: tuple[str, ...]


class Text(NamedTuple):
    """A text with its marks, as clients show it."""

    text: str
    entities: tuple[Entity, ...] = ()


class Writer:
    """Puts pieces together and marks them; offsets count UTF-16 units, as the schema wants."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._entities: list[Entity] = []
        self._at = 0

    def add(self, piece: str, kind: str = "", url: str = "") -> "Writer":
        length = len(piece.encode("utf-16-le")) // 2
        if kind and length:
            self._entities.append(Entity(kind, self._at, length, url))
        self._pieces.append(piece)
        self._at += length
        return self

    def build(self) -> Text:
        return Text("".join(self._pieces), tuple(self._entities))


def version_at(post: Planned, moment: int) -> int:
    return int(post.edit_at is not None and post.edit_at <= moment)


def values_of(post: Planned, version: int) -> Values:
    """The values that the post states; until a correction, the wrong ones if the post is wrong."""
    assert post.story is not None
    is_corrected = post.edit is Edit.CORRECTION and version > 0
    return post.story.wrong if post.wrong and not is_corrected else post.story.values


def text_of(post: Planned, version: int, *, site: str) -> Text:
    """`site` is where linked articles are found."""
    if post.part > 0:
        return Text("")
    if post.role is Role.FORWARD:
        return text_of(post.root, version_at(post.root, post.date), site=site)
    if post.source is not None and post.planted is not None and post.planted.is_verbatim:
        return text_of(post.source, version_at(post.source, post.date), site=site)
    if post.planted is not None and post.planted.pieces:
        return _add_pieces(Writer(), post.planted.pieces).build()
    if post.filling is not None or post.story is None:
        return _filler(post)
    return _write_text(post, version, site)


def core_of(post: Planned, version: int) -> Core:
    """The story in the post's own words; with the typo until an edit mends it."""
    core = _core(post, version)
    if post.edit is Edit.TYPO and version == 0:
        first_sentence, *later_sentences = core.sentences
        return Core(core.head, (_mistype(first_sentence), *later_sentences))
    return core


def _core(post: Planned, version: int) -> Core:
    source, rng = post.source, random.Random(post.key)
    if post.role is Role.FORWARD:
        return core_of(post.root, version_at(post.root, post.date))
    planted_facts = post.planted or NOTHING_PLANTED
    if post.role is Role.COPY and source is not None:
        return _copy_core(core_of(source, version_at(source, post.date)), post.channel, rng)
    if planted_facts.sentences:
        return Core("", planted_facts.sentences)
    assert post.story is not None
    language, values = post.channel.language, values_of(post, version)
    words, wording = post.story.event.words[language], post.wording
    if post.role is Role.FOLLOW_UP:
        sentence = words["deny" if post.denies else "later"][wording.head]
        return Core("", (fill_template(sentence, values, language, rng),))
    head = fill_template(words["head"][wording.head], values, language, rng)
    templates = [words["lead"][wording.lead], *(words["fact"][number] for number in wording.facts)]
    if wording.quote is not None:
        templates.append(words["quote"][wording.quote])
    lead, *facts = (fill_template(template, values, language, rng) for template in templates)
    return Core(head, (planted_facts.dateline + lead, *facts, *planted_facts.beside))


def _write_text(post: Planned, version: int, site: str) -> Text:
    core, channel = core_of(post, version), post.channel
    rng, language, marks = random.Random(post.key + 1), channel.language, packs().marks[channel.language]
    before, after = (rng.choice(side[language]) for side in (channel.voice.before, channel.voice.after))
    emoji = rng.choice(channel.voice.emoji) if channel.voice.emoji else ""
    writer = Writer().add(f"{emoji} " if emoji else "")
    if post.role is Role.FOLLOW_UP:
        writer.add("" if post.denies else rng.choice(marks["follow"])).add(" ".join(core.sentences))
    elif rng.random() < 0.8 or not _says_where(post):
        writer.add(before).add(core.head, "bold").add("\n\n")
        _body(writer, core, as_list=channel.voice is packs().voices["analyst"])
    else:
        writer.add(before)
        _body(writer, core, as_list=False)
    if after and post.role is not Role.FOLLOW_UP:
        writer.add(f"\n\n{after}")
    if version > 0:
        _mend(writer, post, rng)
    _sign(writer, post, rng, site)
    if post.planted is not None and post.planted.signature:
        _add_pieces(writer.add("\n\n"), post.planted.signature)
    return writer.build()


def _add_pieces(writer: Writer, pieces: Iterable[Piece]) -> Writer:
    for words, kind, url in pieces:
        writer.add(words, kind, url)
    return writer


def _says_where(post: Planned) -> bool:
    """Whether the first sentence can do without its headline."""
    assert post.story is not None
    return names_somebody(post.story.event.words["ru"]["lead"][post.wording.lead], post.story.values)


def _body(writer: Writer, core: Core, *, as_list: bool) -> None:
    lead_sentence, *later_sentences = core.sentences
    writer.add(lead_sentence)
    if as_list and len(later_sentences) > 1:
        writer.add("\n" + "".join(f"\n— {sentence}" for sentence in later_sentences))
    elif len(later_sentences) > 2:
        writer.add(f" {later_sentences[0]}\n\n{' '.join(later_sentences[1:])}")
    elif later_sentences:
        writer.add(" " + " ".join(later_sentences))


def _mend(writer: Writer, post: Planned, rng: random.Random) -> None:
    """Adds the text of an edit: a correction or a further fact; an edit of a typo adds nothing."""
    language, story = post.channel.language, post.story
    assert story is not None
    words, marks = story.event.words[language], packs().marks[language]
    if post.edit is Edit.CORRECTION:
        correction = fill_template(words["lead"][(post.wording.lead + 1) % 3], story.values, language, rng)
        writer.add("\n\n").add(rng.choice(marks["correction"]).strip(), "bold").add(f" {correction}")
    elif post.edit is Edit.UPDATE:
        unsaid = next((number for number in range(len(words["fact"])) if number not in post.wording.facts), 0)
        writer.add("\n\n").add(rng.choice(marks["updated"]).strip(), "bold").add(
            f" {fill_template(words['fact'][unsaid], story.values, language, rng)}"
        )


def _sign(writer: Writer, post: Planned, rng: random.Random, site: str) -> None:
    channel, source = post.channel, post.source
    marks = packs().marks[channel.language]
    link = link_of(post)
    if (
        post.role in {Role.COPY, Role.TRANSLATION}
        and source is not None
        and source.channel.name
        and rng.random() < 0.5
    ):
        sentence = rng.choice(marks["source"])
        start, _, end = sentence.partition("{0}")
        writer.add(f"\n\n{start}").add(f"@{source.channel.name}", "mention").add(end)
    if link is not None:
        writer.add("\n\n")
        if rng.random() < 0.6:
            writer.add(rng.choice(marks["read"]), "text_url", f"{site}{link.path}")
        else:
            writer.add(f"{site}{link.path}", "url")
    if channel.index % 3 == 0:
        writer.add("\n\n").add(f"#{packs().hashtags[post.topic][channel.language == 'en']}", "hashtag")
    if channel.index % 4 == 1 and channel.name:
        writer.add("\n\n").add(f"@{channel.name}", "mention")


def _filler(post: Planned) -> Text:
    filling, channel, rng = post.filling, post.channel, random.Random(post.key + 2)
    if filling is None or filling.poll is not None:
        return Text("")
    emoji = rng.choice(channel.voice.emoji) if channel.voice.emoji and rng.random() < 0.4 else ""
    return (
        Writer()
        .add(f"{emoji} " if emoji else "")
        .add(fill_template(filling.template, filling.values, channel.language, rng))
        .build()
    )


def _copy_core(core: Core, channel: Manner, rng: random.Random) -> Core:
    """The text as a channel copies it: it may lose its last sentence and its typography."""
    sentences = list(core.sentences)
    if len(sentences) > 1 and rng.random() < 0.35:
        sentences.pop()
    head = core.head
    if channel.index % 2:
        head, *sentences = (
            sentence.replace("«", '"').replace("»", '"').replace("ё", "е").replace(" — ", " - ")
            for sentence in (head, *sentences)
        )
    return Core(head, tuple(sentences))


def _mistype(sentence: str) -> str:
    """Two different letters changed places in the longest word that is no name."""
    word = max((word for word in sentence.split() if word.isalpha() and word.islower()), key=len)
    at = next((index for index in range(1, len(word) - 1) if word[index] != word[index + 1]), 0)
    return sentence.replace(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :], 1)
