"""Decides whether posts tell a line in their own words, by the plan of the unruly world.

Posts are in the same words if one repeats the other by plan, if both tell the event in the same sentence, or
if both contain the sentence of the line itself. In the last case the plan let two channels choose the same
words, but no reader calls them words of their own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.workloads.story_world import LabelledPost
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.near_copies import fold_text
from telegram_assistant.domain.stories.wordings import Voices
from telegram_assistant.language.sentences import split_sentences
from telegram_assistant.summaries.values import CitedSentence
from telegram_simulator.world.demo.texts import core_of
from telegram_simulator.world.unruly.pack import unruly_pack

MIN_WORDINGS = 2


@dataclass(slots=True)
class WordingTruth:
    """The true wordings of all posts of a world."""

    posts: Mapping[PostId, LabelledPost]
    owners: Mapping[ChannelId, ChannelId]
    _sentences: dict[PostId, tuple[str, ...]] = field(default_factory=dict)

    def is_in_own_words(self, line: CitedSentence) -> bool:
        """Whether different owners say it in different words."""
        wordings: dict[PostId, PostId] = {}
        first: dict[object, PostId] = {}
        for post in line.posts:
            same = {wordings[first[key]] for key in self._keys(post, line.text) if key in first}
            wordings[post] = min(same, default=post)
            for other, wording in wordings.items():
                if wording in same:
                    wordings[other] = wordings[post]
            for key in self._keys(post, line.text):
                first.setdefault(key, post)
        return Voices(wordings, self.owners).count(line.posts) >= MIN_WORDINGS

    def is_of_two_events(self, line: CitedSentence) -> bool:
        return len({self.posts[post].truth for post in line.posts}) > 1

    def _keys(self, post: PostId, text: str) -> tuple[object, ...]:
        """Equal keys mean equal words."""
        sentences = self._sentences_of(post)
        words = set(fold_text(text).split())
        nearest = max(sentences, key=lambda sentence: len(words & set(sentence.split())), default="")
        return id(self.posts[post].planned.author), *sentences[:1], nearest

    def _sentences_of(self, post_id: PostId) -> tuple[str, ...]:
        """The planned sentences of the post: the sentence about the event first, its headline last."""
        if post_id not in self._sentences:
            post = self.posts[post_id]
            self._sentences[post_id] = tuple(map(fold_text, _sentences_of(post)))
        return self._sentences[post_id]


def _sentences_of(post: LabelledPost) -> Sequence[str]:
    planned = post.planned
    if planned.story is None:
        return split_sentences(post.post.text)
    core = core_of(planned, 0)
    lead, *others = core.sentences
    dateline = planned.author.planted.dateline if planned.author.planted is not None else ""
    return lead[len(dateline) :], *others, *((core.head,) if core.head else ())


def owners_of(posts: Iterable[LabelledPost]) -> dict[ChannelId, ChannelId]:
    """The channel that names the network of each channel."""
    pack = unruly_pack()
    owners: dict[ChannelId, ChannelId] = {}
    first: dict[str, ChannelId] = {}
    for post in posts:
        channel_id, owner = post.post.channel_id, pack.owner_of(post.planned.channel)
        owners.setdefault(channel_id, first.setdefault(owner, channel_id) if owner else channel_id)
    return owners
