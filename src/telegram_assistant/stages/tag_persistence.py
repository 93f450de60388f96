"""tag_persistence: saves tags of a replayed or foreign event for a post without tags. posts.tagged -> saved;
emits nothing.
"""

from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.domain.understanding.vocabulary import MAX_TAGS, language_for
from telegram_assistant.events import PostTagged
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.stores.postgres.understanding.ai_policies import AiPolicies
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Enrichments, Kind
from telegram_assistant.stores.postgres.understanding.vocabularies import Vocabularies
from telegram_assistant.streams.stage import stage


@stage(consumes=PostTagged, batch=200, concurrency=2, timeout_seconds=60)
async def tag_persistence(
    events: list[PostTagged],
    *,
    posts: Posts,
    enrichments: Enrichments,
    vocabularies: Vocabularies,
    ai_policies: AiPolicies,
) -> None:
    """A tagging stage saves before it emits, so there is rarely anything to do.

    Skips posts that do not exist or have changed since, tags outside the vocabulary, and channels whose
    policy is off for all tenants.
    """
    tagged_events = {event.post: event for event in events if event.tags}
    if not tagged_events:
        return
    saved_revisions = {
        (row.post_id, row.revision) for row in await enrichments.load(list(tagged_events), Kind.TAGS)
    }
    missing_events = [
        event for post_id, event in tagged_events.items() if (post_id, event.revision) not in saved_revisions
    ]
    if not missing_events:
        return
    policies_by_channel = await ai_policies.of_channels(
        list({event.post.channel_id for event in missing_events})
    )
    stored_posts = {
        stored_post.post.id: stored_post
        for stored_post in await posts.load([event.post for event in missing_events])
    }
    vocabulary = await vocabularies.current()
    rows = []
    for event in missing_events:
        current_post = stored_posts.get(event.post)
        if (
            current_post is None
            or current_post.revision != event.revision
            or policies_by_channel[event.post.channel_id].policy is AiPolicy.OFF
        ):
            continue
        vocabulary_tags = vocabulary.tags_of(language_for(current_post.post.text))
        tags = [tag for tag in dict.fromkeys(event.tags) if tag in vocabulary_tags][:MAX_TAGS]
        if tags:
            rows.append(
                Enrichment(
                    event.post,
                    event.revision,
                    Kind.TAGS,
                    Tier.LOCAL,
                    {"tags": tags, "topic": vocabulary_tags[tags[0]]},
                    provider="event",
                )
            )
    await enrichments.save(rows)
