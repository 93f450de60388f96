"""A tenant with something of everything that a page can show."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.posts.post import PostKind, TextEntity
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit.factories import follow_long_ago, fresh_number, make_channel, make_page, make_post
from testkit.stories import store_story
from tests.conftest import Admin
from tests.features.shelf import draw_picture

BRIDGE = (
    "Мост через реку закрыли для грузовиков до первого апреля: осмотр опор нашёл трещины, "
    "объезд через посёлок"
)
FORMATTED = (
    "Ferry line 3 moves to the winter timetable\n\n"
    "From midnight it runs every 25 minutes. The vote is on Thursday. #ferries"
)


@dataclass(frozen=True, slots=True)
class ReadingWorld:
    city: ChannelId
    ferries: ChannelId
    copier: ChannelId


async def build_world(app: App, admin: Admin, tenant_id: TenantId, folder: Path) -> ReadingWorld:
    now = datetime.now(UTC).replace(microsecond=0)
    city, ferries, copier = [
        await make_channel(app.system, title=title, username=f"{name}_{fresh_number()}")
        for title, name in (
            ("Городские новости", "city"),
            ("Harbour Lines", "ferries"),
            ("Пересказ дня", "copier"),
        )
    ]
    for channel_id, name in ((city, "Город"), (ferries, "Transport"), (copier, "Город")):
        await follow_long_ago(app.system, admin, tenant_id, channel_id, folder=name)
    entities = (
        TextEntity("bold", 0, 11),
        TextEntity("spoiler", FORMATTED.index("The vote"), len("The vote is on Thursday.")),
        TextEntity("hashtag", FORMATTED.index("#"), len("#ferries")),
        TextEntity(
            "text_url",
            FORMATTED.index("winter"),
            len("winter timetable"),
            url="https://ferries.example/winter",
        ),
    )
    await _land(
        app,
        ferries,
        make_post(
            channel_id=ferries,
            message_id=1,
            text=FORMATTED,
            entities=entities,
            posted_at=now - timedelta(minutes=50),
        ),
        make_post(
            channel_id=ferries,
            message_id=2,
            text="The timetable as a file",
            kind=PostKind.DOCUMENT,
            posted_at=now - timedelta(minutes=40),
        ),
        *(
            make_post(
                channel_id=ferries,
                message_id=number,
                text="Four pictures from the pier" if number == 3 else "",
                kind=PostKind.PHOTO,
                grouped_id=9,
                posted_at=now - timedelta(minutes=30),
            )
            for number in range(3, 7)
        ),
    )
    await _land(
        app,
        city,
        make_post(
            channel_id=city, message_id=1, text="Движение откроют в марте", posted_at=now - timedelta(hours=3)
        ),
        make_post(channel_id=city, message_id=2, text=BRIDGE, posted_at=now - timedelta(minutes=20)),
        make_post(
            channel_id=city, message_id=3, text="Пост, который исчезнет", posted_at=now - timedelta(hours=2)
        ),
    )
    await _land(
        app,
        city,
        make_post(
            channel_id=city,
            message_id=1,
            text="Движение откроют в апреле",
            posted_at=now - timedelta(hours=3),
            edited_at=now,
        ),
    )
    await _land(
        app,
        copier,
        make_post(channel_id=copier, message_id=1, text=BRIDGE, posted_at=now - timedelta(minutes=19)),
    )
    await admin.execute("UPDATE posts SET deleted_at = now() WHERE channel_id = $1 AND message_id = 3", city)
    for number in range(3, 7):
        await _store(
            app,
            admin,
            ferries,
            number,
            draw_picture(size=(900, 600)),
            folder,
            kind="photo",
            width=900,
            height=600,
        )
    await _store(
        app, admin, ferries, 2, b"every 25 minutes", folder, kind="document", file_name="timetable <b>.txt"
    )
    for ago, views in ((50, 10), (30, 900), (5, 4200)):
        await admin.execute(
            "INSERT INTO post_counts (channel_id, message_id, seen_at, views, forwards) "
            "VALUES ($1, 1, $2, $3, 3)",
            ferries,
            now - timedelta(minutes=ago),
            views,
        )
    await admin.execute(
        """
        INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
            revision, data)
        VALUES ($1, 1, 'tags', 'local', '', 'rules', '', 1, '{"tags": ["ferries"], "topic": "transport"}')
        """,
        ferries,
    )
    await admin.execute(
        "INSERT INTO post_search SELECT channel_id, message_id, posted_at, to_tsvector('russian', text) "
        "FROM posts WHERE channel_id = ANY($1)",
        [city, ferries, copier],
    )
    await _tell_story(admin, city, ferries, copier)
    return ReadingWorld(city, ferries, copier)


async def _tell_story(admin: Admin, city: ChannelId, ferries: ChannelId, copier: ChannelId) -> None:
    """The bridge: told, copied, with a post that was edited, one that was deleted, and an album."""
    edited, rewritten, deleted = (PostId(city, MessageId(number)) for number in (1, 2, 3))
    copied, album = (
        PostId(copier, MessageId(1)),
        [PostId(ferries, MessageId(number)) for number in range(3, 7)],
    )
    links = [
        (deleted, edited, LinkKind.REPLY, 20.0, False),
        (rewritten, edited, LinkKind.REWRITE, 3.0, False),
        (copied, rewritten, LinkKind.COPY, 9.0, False),
    ]
    links += [
        (album[0], edited, LinkKind.TRANSLATION, 3.5, False),
        *((post_id, album[0], LinkKind.ALBUM, 20.0, False) for post_id in album[1:]),
    ]
    await store_story(admin, [edited, rewritten, deleted, copied, *album], links)


async def _land(app: App, channel_id: ChannelId, *posts: object) -> None:
    await app.system.landing.land(make_page(*posts), Claim(channel_id, 0))  # type: ignore[arg-type]  # posts


async def _store(
    app: App, admin: Admin, channel_id: ChannelId, message_id: int, data: bytes, folder: Path, **more: object
) -> None:
    name = sha256(data).digest()
    columns = {
        "channel_id": channel_id,
        "message_id": message_id,
        "media_id": fresh_number(),
        "size_bytes": len(data),
        "state": "stored",
        **more,
    }
    names = [*columns, "sha256"]
    places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
    await admin.execute(
        f"INSERT INTO post_media ({', '.join(names)}) VALUES ({places})", *columns.values(), name
    )
    await app.system.media.reserve(name, len(data), None)
    (folder / "upload").write_bytes(data)
    assert app.files is not None
    await app.files.put(name, folder / "upload")


async def build_list(admin: Admin, tenant_id: TenantId, world: ReadingWorld) -> UUID:
    """A list with a story, a post with a note, and a post that the tenant does not see."""
    list_id: UUID = await admin.fetchval(
        "INSERT INTO lists (tenant_id, name, created_by) VALUES ($1, $2, 'Ева') "
        "ON CONFLICT (tenant_id, name) DO UPDATE SET changed_at = now() RETURNING list_id",
        tenant_id,
        "Мост через реку: что обещали",
    )
    await admin.execute(
        """
        INSERT INTO list_items (tenant_id, list_id, kind, channel_id, message, place, note, noted_by,
            noted_at, added_by)
        VALUES ($1, $2, 'story', $3, 2, 1, '', NULL, NULL, 'Ева'),
            ($1, $2, 'post', $4, 1, 2, $5, 'Иван', now(), 'Ева'),
            ($1, $2, 'post', 1, 1, 3, '', NULL, NULL, 'Ева')
        ON CONFLICT DO NOTHING
        """,
        tenant_id,
        list_id,
        world.city,
        world.ferries,
        "Спросить в порту, когда пойдут паромы.\nОтвета пока нет.",
    )
    return list_id
