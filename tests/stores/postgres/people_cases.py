"""People, invitations and saved searches of a tenant, method by method: the rest of the cases in cases.py."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.people.person import new_token
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.factories import World
from tests.conftest import Admin

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]


def _channel_id_in(name: str) -> ChannelId:
    return ChannelId(int(name.split(maxsplit=1)[0]))


async def _members_all(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {_channel_id_in(member.name) for member in await stores.members.all()}


async def _members_set_role(stores: TenantStores, world: World) -> set[ChannelId]:
    """Everybody of both tenants tries it with everybody; owners change the roles of their own tenant."""
    people = [member for tenant in (world.stores_a, world.stores_b) for member in await tenant.members.all()]
    return {
        _channel_id_in(member.name)
        for owner in people
        for member in people
        if await stores.members.set_role(member.public_id, MemberRole.OWNER, session=owner.name)
    }


async def _members_remove(stores: TenantStores, world: World) -> set[ChannelId]:
    """All but the last owner go. The first of each tenant removes the others."""
    tenants = [await tenant.members.all() for tenant in (world.stores_a, world.stores_b)]
    people = [member for members in tenants for member in members]
    removed = {
        _channel_id_in(member.name)
        for members in tenants
        for member in people
        if member != members[0] and await stores.members.remove(member.public_id, session=members[0].name)
    }
    return removed | await _members_all(stores, world)


async def _members_things(stores: TenantStores, world: World) -> set[ChannelId]:
    """Keys that are named after the tenant's channels."""
    people = [member for tenant in (world.stores_a, world.stores_b) for member in await tenant.members.all()]
    return {
        _channel_id_in(thing.name)
        for member in people
        for thing in await stores.members.things(member.public_id)
    }


async def _members_invite(stores: TenantStores, world: World) -> set[ChannelId]:
    """Every owner of both tenants tries; the invitation belongs to the tenant of its author."""
    names = [
        member.name for tenant in (world.stores_a, world.stores_b) for member in await tenant.members.all()
    ]
    lasts = timedelta(hours=1)
    return {
        _channel_id_in(name)
        for name in names
        if await stores.members.invite(new_token(), MemberRole.VIEWER, session=name, lifetime=lasts)
    }


async def _members_invitations(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {_channel_id_in(invitation.created_by) for invitation in await stores.members.invitations()}


async def _members_withdraw(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        invitation
        for tenant in (world.stores_a, world.stores_b)
        for invitation in await tenant.members.invitations()
    ]
    return {
        _channel_id_in(everybody.created_by)
        for everybody in everybodys
        if await stores.members.withdraw(everybody.public_id)
    }


async def _saved_searches_all(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {_channel_id_in(saved_search.name) for saved_search in await stores.saved_searches.all()}


async def _saved_searches_save(stores: TenantStores, world: World) -> set[ChannelId]:
    """One more for each that is there already; what another tenant calls the same is no obstacle."""
    for saved_search in await stores.saved_searches.all():
        assert await stores.saved_searches.save(
            f"{saved_search.name} again", saved_search.query, created_by="test"
        )
    return await _saved_searches_all(stores, world)


async def _saved_searches_delete(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        saved_search
        for tenant in (world.stores_a, world.stores_b)
        for saved_search in await tenant.saved_searches.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.saved_searches.delete(everybody.search_id)
    }


async def _news_state(stores: TenantStores, world: World) -> set[ChannelId]:
    """`await_news` has made the sum of a tenant's channels its counter."""
    state = await stores.news.state()
    return next((channels for channels in (world.of_a, world.of_b) if sum(channels) == state), set())


PEOPLE_METHODS: dict[str, Case] = {
    "members.all": _members_all,
    "members.set_role": _members_set_role,
    "members.remove": _members_remove,
    "members.things": _members_things,
    "members.invite": _members_invite,
    "members.invitations": _members_invitations,
    "members.withdraw": _members_withdraw,
    "saved_searches.all": _saved_searches_all,
    "saved_searches.save": _saved_searches_save,
    "saved_searches.delete": _saved_searches_delete,
    "news.state": _news_state,
}


async def await_news(admin: Admin, tenant_id: TenantId, own: set[ChannelId]) -> None:
    """The counter of the tenant's new posts is the sum of its channels."""
    await admin.execute(
        "INSERT INTO tenant_news (tenant_id, arrivals, awaited_until) VALUES ($1, $2, 'infinity')",
        tenant_id,
        sum(own),
    )


async def invite_people(admin: Admin, tenant_id: TenantId, own: set[ChannelId]) -> None:
    """Members, invitations and saved searches that are named after the tenant's channels.

    The name of a member is the token of their session.
    """
    await admin.execute(
        """
        WITH made AS (INSERT INTO users (name) SELECT c || ' ' || $1::bigint FROM unnest($2::bigint[]) c
            RETURNING user_id, name),
        logged_in AS (
            INSERT INTO sessions (hash, user_id, expires_at) SELECT sha256(name::bytea), user_id, now()
                + interval '1 day' FROM made
        )
        INSERT INTO memberships (tenant_id, user_id, role) SELECT $1::bigint, user_id, 'owner' FROM made
        """,
        tenant_id,
        list(own),
    )
    await admin.execute(
        """
        INSERT INTO api_keys (tenant_id, hash, user_id, name, prefix, scopes, created_by)
        SELECT $1, sha256(concat('key ', name)::bytea), user_id, split_part(name, ' ', 1), 'tga_', '{read}',
            name
        FROM users JOIN memberships m USING (user_id) WHERE m.tenant_id = $1
        """,
        tenant_id,
    )
    await admin.execute(
        """
        INSERT INTO one_time_links (hash, kind, tenant_id, role, created_by, expires_at)
        SELECT sha256(concat($1::bigint, ' link ', c)::bytea), 'invitation', $1, 'viewer', c::text, now()
            + interval '1 day'
        FROM unnest($2::bigint[]) c
        """,
        tenant_id,
        list(own),
    )
    await admin.execute(
        "INSERT INTO saved_searches (tenant_id, name, query, created_by) SELECT $1, c::text, 'snow', 'test' "
        "FROM unnest($2::bigint[]) c",
        tenant_id,
        list(own),
    )
