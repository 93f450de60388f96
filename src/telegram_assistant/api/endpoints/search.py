"""Search."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Query
from pydantic import Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    CursorText,
    PageResponse,
    PostReferenceResponse,
    ResponseModel,
    Storable,
    Zone,
)
from telegram_assistant.domain.search.facets import Facet, Facets
from telegram_assistant.domain.search.query import SearchOrder
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.search.meaning import WordsOnly
from telegram_assistant.features.search.results import FoundStory, SearchPage, SearchResult
from telegram_assistant.features.search.search import MAX_FOUND, search
from telegram_assistant.features.search.words import Relaxed
from telegram_assistant.reasons import Reason

area = Area("Search", "Search posts by words and by meaning.")

FOUND_EXAMPLE = {
    "post_id": "1234567890/42",
    "channel_id": 1234567890,
    "message_id": 42,
    "channel": "City news",
    "link": "https://t.me/citynews/42",
    "posted_at": "2026-11-15T08:00:00Z",
    "text": "Bridges open at night",
    "snippet": {
        "text": "Bridges open at night",
        "marks": [[0, 7]],
        "is_cut_before": False,
        "is_cut_after": False,
    },
    "language": "en",
    "kind": "news",
    "tags": ["bridges"],
    "copies": ["1234567891/7"],
    "by_words": True,
    "by_meaning": True,
    "by_names": False,
    "is_edited": False,
    "deleted_at": None,
    "story": {
        "story_id": "1234567890/42",
        "more": [
            {
                "post_id": "1234567892/9",
                "channel_id": 1234567892,
                "message_id": 9,
                "channel": "Roads",
                "link": "https://t.me/roads/9",
                "posted_at": "2026-11-15T08:10:00Z",
            }
        ],
    },
}
FACETS_EXAMPLE = {
    "posts": 1,
    "channels": [{"channel_id": 1234567890, "channel": "City news", "posts": 1}],
    "languages": [{"value": "en", "posts": 1}],
    "kinds": [{"value": "news", "posts": 1}],
    "tags": [{"value": "bridges", "posts": 1}],
    "days": [{"day": "2026-11-15", "posts": 1}],
}
EXAMPLE = {
    "query": "bridges since:2026-11-01",
    "items": [FOUND_EXAMPLE],
    "facets": FACETS_EXAMPLE,
    "searched_back_to": None,
    "words_only": None,
    "notice": None,
    "relaxed": None,
    "mended": [],
    "gave_up": [],
    "notes": [],
    "next": None,
}


class SnippetResponse(ResponseModel):
    """An excerpt around the words that matched, as plain text.

    `marks`: start and end of each matching word in it.
    """

    text: str
    marks: list[tuple[int, int]]
    is_cut_before: bool
    is_cut_after: bool


class FoundStoryPostResponse(PostReferenceResponse):
    """Another post of the story of a result."""


class FoundStoryResponse(ResponseModel):
    """The story of a result.

    `more` are its other posts in your channels, oldest first, whether they match or not.
    """

    story_id: str
    more: list[FoundStoryPostResponse]


class SearchResultResponse(PostReferenceResponse):
    """A post that matches. `copies` are posts with the same text, which are not listed themselves."""

    text: str
    snippet: SnippetResponse
    language: str | None
    kind: str | None
    tags: list[str]
    copies: list[str]
    by_words: bool
    by_meaning: bool
    by_names: bool = Field(
        description="The post was found by names and numbers of the best results, and is of the same days."
    )
    is_edited: bool = Field(description="The post was changed after you began to follow its channel.")
    deleted_at: datetime | None = Field(description="When its channel deleted it; only with `deleted:yes`.")
    story: FoundStoryResponse | None = Field(
        description="The rest of its story; null: there is no more, or `by_story` is false."
    )


class ChannelFacet(ResponseModel):
    """The number of matching posts in a channel."""

    channel_id: int
    channel: str
    posts: int


class ValueFacet(ResponseModel):
    """The number of matching posts with a value."""

    value: str
    posts: int


class DayFacet(ResponseModel):
    """The number of matching posts of a day."""

    day: date
    posts: int


class FacetsResponse(ResponseModel):
    """Counts over all posts that matched in the searched period, copies included.

    The most frequent values come first; days, newest first.
    """

    posts: int
    channels: list[ChannelFacet]
    languages: list[ValueFacet]
    kinds: list[ValueFacet]
    tags: list[ValueFacet]
    days: list[DayFacet]


class MendedResponse(ResponseModel):
    """A word that no post has, and the word that was searched instead."""

    typed: str
    meant: str


class SearchResponse(PageResponse):
    """A page of results: the best match first; or the newest post first, if you ask for it or the query has
    no words.
    """

    query: str = Field(description="The query as it was parsed; sent again, it means the same.")
    items: list[SearchResultResponse]
    facets: FacetsResponse
    searched_back_to: datetime | None = Field(
        description="The time back to which this page searched; null: it searched everything."
    )
    words_only: WordsOnly | None = Field(
        description="Why meaning was not used, or not for all posts; null: it was used for all, "
        "or was not needed."
    )
    notice: str | None = Field(description="`words_only` as a sentence, with what to do about it.")
    relaxed: Relaxed | None = Field(
        description="Which of the words a post needed, because few posts have all of them; null: all of them."
    )
    mended: list[MendedResponse]
    gave_up: list[str] = Field(
        description="Words that no post has, and for which there was no time to look for similar ones."
    )
    notes: list[str] = Field(description="`mended`, `gave_up` and `relaxed` as sentences.")


@area.get("/search", scope=KeyScope.READ, example=EXAMPLE, is_expensive=True)
async def search_posts(
    context: Context,
    q: Annotated[
        Storable,
        Query(
            min_length=1,
            max_length=1000,
            description="The query.",
            examples=["bridges since:2026-11-01 -toll"],
        ),
    ],
    zone: Zone = "UTC",
    limit: Annotated[
        int, Query(ge=1, le=MAX_FOUND, description="Maximum number of results in the page.")
    ] = 20,
    cursor: CursorText = None,
    order: Annotated[
        SearchOrder,
        Query(
            description="Which results come first. With `newest`, posts that have only some of the words, or "
            "only mean the same, follow the others."
        ),
    ] = SearchOrder.BEST,
    *,
    by_story: Annotated[
        bool,
        Query(
            description="Whether posts of one story are one result: the best match, "
            "with the others in `story`."
        ),
    ] = True,
) -> SearchResponse:
    """Search the posts of all followed channels by words and by meaning.

    Words match in all their forms, names in Cyrillic and in Latin letters. If few posts have all words, posts
    with some of them follow; a word that no post has is taken for a typing error if a similar one is found. A
    query may contain `"a phrase"`, `-without`, `or`; `from:@channel`, `has:image`, `has:link`, `lang:ru`,
    `tag:…`, `kind:…`; `since:`, `until:`, `after:`, `before:` and `on:` with a day; `edited:yes` and
    `deleted:yes`. Advertising is found only with `ads:yes`. An unknown operator is refused.
    If search by meaning is unavailable, only words are searched, and the response says why.
    """
    answer = await search(
        q,
        tenant_id=context.caller.tenant_id,
        stores=context.stores,
        index=context.app.meaning_search,
        now=context.now,
        zone=ZoneInfo(zone),
        limit=limit,
        cursor=cursor,
        by_story=by_story,
        order=order,
    )
    return search_response(answer, context.translate)


def search_response(answer: SearchPage, translate: Callable[[Reason], str]) -> SearchResponse:
    return SearchResponse(
        query=answer.query,
        items=[_result_response(result) for result in answer.results],
        facets=_facets(answer.facets),
        searched_back_to=answer.searched_back_to,
        words_only=answer.words_only,
        notice=translate(answer.words_only.words) if answer.words_only else None,
        relaxed=answer.relaxed,
        mended=[MendedResponse(typed=mended.typed, meant=mended.meant) for mended in answer.mended],
        gave_up=list(answer.gave_up),
        notes=[translate(note) for note in answer.notes],
        next=answer.cursor,
    )


def _result_response(result: SearchResult) -> SearchResultResponse:
    snippet = result.snippet
    return SearchResultResponse(
        post_id=str(result.post_id),
        channel_id=result.post_id.channel_id,
        message_id=result.post_id.message_id,
        channel=result.channel,
        link=result.link,
        posted_at=result.posted_at,
        text=result.text,
        snippet=SnippetResponse(
            text=snippet.text,
            marks=list(snippet.marks),
            is_cut_before=snippet.is_cut_before,
            is_cut_after=snippet.is_cut_after,
        ),
        language=result.lang,
        kind=result.kind,
        tags=list(result.tags),
        copies=[str(copy_post_id) for copy_post_id in result.copies],
        by_words=result.by_words,
        by_meaning=result.by_meaning,
        by_names=result.by_names,
        is_edited=result.is_edited,
        deleted_at=result.deleted_at,
        story=_story(result.story) if result.story else None,
    )


def _story(story: FoundStory) -> FoundStoryResponse:
    story_posts = [
        FoundStoryPostResponse(
            post_id=str(post.post_id),
            channel_id=post.post_id.channel_id,
            message_id=post.post_id.message_id,
            channel=post.channel,
            link=post.link,
            posted_at=post.posted_at,
        )
        for post in story.more
    ]
    return FoundStoryResponse(story_id=str(story.story_id), more=story_posts)


def _facets(facets: Facets) -> FacetsResponse:
    return FacetsResponse(
        posts=facets.posts,
        channels=[
            ChannelFacet(channel_id=channel.value, channel=channel.name, posts=channel.posts)
            for channel in facets.channels
        ],
        languages=_values(facets.languages),
        kinds=_values(facets.kinds),
        tags=_values(facets.tags),
        days=[DayFacet(day=day.value, posts=day.posts) for day in facets.days],
    )


def _values(facets: tuple[Facet[str], ...]) -> list[ValueFacet]:
    return [ValueFacet(value=facet.value, posts=facet.posts) for facet in facets]
