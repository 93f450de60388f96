"""The vocabulary grows by what several channels speak of."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.vocabulary import CHANNELS_THAT_AGREE, Vocabulary
from telegram_assistant.stores.postgres.database import Pool, SystemTransactions
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.postgres.understanding.tenant_tags import TagChoice
from telegram_assistant.stores.postgres.understanding.vocabularies import Proposal, TagState, Vocabularies
from testkit.factories import World, fresh_number


def proposal(tag: str, channel: int, text: int, topic: str = "city") -> Proposal:
    return Proposal("ru", tag, topic, ChannelId(channel), str(text).encode())


async def active(system: SystemStores, tag: str) -> bool:
    return tag in (await system.vocabularies.current()).tags_of("ru")


async def test_what_several_channels_propose_becomes_a_tag_with_their_topic(system: SystemStores) -> None:
    tag = f"тег {fresh_number()}"
    for channel in range(CHANNELS_THAT_AGREE - 1):
        assert await system.vocabularies.propose([proposal(tag, channel, channel, "transport")]) == ()
    assert not await active(system, tag)
    assert await system.vocabularies.propose([proposal(tag, 99, 99, "city")]) == (tag,)
    assert (await system.vocabularies.current()).tags_of("ru")[tag] == "transport"
    (line,) = [line for line in await system.vocabularies.lines("ru") if line.tag == tag]
    assert (line.state, line.posts, line.channels) == (TagState.ACTIVE, 5, 5)


async def test_one_channel_cannot_add_a_tag_however_often_it_tries(system: SystemStores) -> None:
    tag = f"тег {fresh_number()}"
    await system.vocabularies.propose([proposal(tag, 1, text) for text in range(1000)])
    assert not await active(system, tag)
    (line,) = [line for line in await system.vocabularies.lines("ru") if line.tag == tag]
    assert (line.state, line.posts, line.channels) == (TagState.PROPOSED, 1000, 1)


async def test_one_advertisement_in_many_channels_adds_no_tag(system: SystemStores) -> None:
    tag = f"тег {fresh_number()}"
    await system.vocabularies.propose([proposal(tag, channel, 1) for channel in range(100)])
    assert not await active(system, tag)


async def test_what_is_retired_stays_so_whoever_proposes_it_and_whatever_is_packaged(
    system: SystemStores,
) -> None:
    tag = f"тег {fresh_number()}"
    packaged = Vocabulary({"ru": {tag: "city"}})
    await system.vocabularies.seed(packaged)
    assert await active(system, tag)
    assert await system.vocabularies.set_state("ru", tag, TagState.RETIRED)
    await system.vocabularies.propose([proposal(tag, channel, channel) for channel in range(10)])
    await system.vocabularies.seed(packaged)
    assert not await active(system, tag)
    assert not await system.vocabularies.set_state("ru", f"{tag} unknown", TagState.RETIRED)


async def test_proposals_without_support_are_forgotten(system: SystemStores) -> None:
    tag = f"тег {fresh_number()}"
    await system.vocabularies.propose([proposal(tag, 1, 1)])
    assert await system.vocabularies.forget(datetime.now(UTC) + timedelta(minutes=1)) >= 1
    assert tag not in {line.tag for line in await system.vocabularies.lines("ru")}


async def test_a_vocabulary_that_was_read_again_unchanged_is_the_same_object(system_pool: Pool) -> None:
    always_read = Vocabularies(SystemTransactions(system_pool), kept_seconds=-1.0)
    assert await always_read.current() is await always_read.current()


async def test_a_tenant_hides_and_renames_tags_for_itself_only(world: World) -> None:
    mine = TagChoice("ru", "погода", shown_as="метео"), TagChoice("ru", "спорт", hidden=True)
    for choice in mine:
        await world.stores_a.tags.choose(choice)
    assert await world.stores_a.tags.choices() == mine
    assert await world.stores_b.tags.choices() == ()
    await world.stores_a.tags.choose(TagChoice("ru", "спорт"))
    assert await world.stores_a.tags.choices() == mine[:1]
