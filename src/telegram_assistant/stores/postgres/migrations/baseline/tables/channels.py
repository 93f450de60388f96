"""Channels: subscriptions, requests to follow, and folders."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import subscribed_table, system_table, tenant_table


def create() -> None:
    channels()
    followed_folders()
    subscriptions()
    account_channels()
    channel_requests()
    folder_channels()


def channels() -> None:
    op.execute(
        """
        CREATE TABLE channels (
            channel_id bigint PRIMARY KEY CHECK (channel_id > 0),
            username text,
            title text NOT NULL,
            kind text NOT NULL DEFAULT 'channel',
            is_private boolean NOT NULL DEFAULT false,
            protected boolean NOT NULL DEFAULT false,
            ai_blocked boolean NOT NULL DEFAULT false,
            is_active boolean NOT NULL DEFAULT true,
            last_parsed_at timestamptz,
            newest_message_id bigint,
            newest_posted_at timestamptz,
            parked_reason text,
            parked_until timestamptz,
            created_at timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor=80)
        """
    )
    op.execute("CREATE INDEX channels_username ON channels (lower(username)) WHERE (username IS NOT NULL)")


def followed_folders() -> None:
    op.execute(
        """
        CREATE TABLE followed_folders (
            folder_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            number int NOT NULL,
            title text NOT NULL,
            subscription jsonb NOT NULL,
            trouble text,
            looked_at timestamptz,
            next_look_at timestamptz NOT NULL DEFAULT now(),
            created_at timestamptz NOT NULL DEFAULT now(),
            UNIQUE (tenant_id, account_id, number)
        )
        """
    )
    op.execute("CREATE INDEX followed_folders_due ON followed_folders (account_id, next_look_at)")
    system_table(
        "followed_folders",
        "Folders of an account at Telegram whose channels a tenant follows, "
        "with what is put in or taken out later.",
    )


def subscriptions() -> None:
    """A tenant may not insert or activate rows: whether it may follow a private channel is not its own
    decision.

    The indexes hold every column that the policies of other tables ask for.
    """
    op.execute(
        """
        CREATE TABLE subscriptions (
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            channel_id bigint NOT NULL REFERENCES channels,
            active boolean NOT NULL DEFAULT true,
            suspended_reason text,
            folder text,
            priority text NOT NULL DEFAULT 'normal' CHECK (priority IN ('high', 'normal', 'low')),
            ai_policy text NOT NULL DEFAULT 'local' CHECK (ai_policy IN ('off', 'local', 'provider')),
            history_days int NOT NULL DEFAULT 7 CHECK (history_days >= 0),
            retention_days int CHECK (retention_days > 0),
            wants_media boolean NOT NULL DEFAULT true,
            created_at timestamptz NOT NULL DEFAULT now(),
            keeps_protected boolean NOT NULL DEFAULT false,
            from_folder bigint REFERENCES followed_folders ON DELETE SET NULL,
            visible_from timestamptz NOT NULL,
            PRIMARY KEY (tenant_id, channel_id) INCLUDE (active, visible_from, created_at)
        )
        """
    )
    op.execute(
        """
        CREATE INDEX subscriptions_channel ON subscriptions (channel_id, tenant_id) INCLUDE (visible_from,
            created_at) WHERE active
        """
    )
    op.execute(
        "CREATE INDEX subscriptions_from_folder ON subscriptions (from_folder) WHERE (from_folder IS NOT "
        "NULL)"
    )
    tenant_table(
        "subscriptions",
        "Which tenant follows which channel. Everything a tenant sees, it sees through an active row here.",
        "SELECT, DELETE",
        "UPDATE (folder, priority, ai_policy, history_days, retention_days, wants_media, keeps_protected, "
        "from_folder)",
    )
    # The policy of channels looks into subscriptions.
    subscribed_table("channels", "Channels, once, whoever follows them.")
    op.execute(
        """
        COMMENT ON COLUMN subscriptions.created_at
            IS 'Since when the tenant follows the channel; what was noticed before, it does not see.'
        """
    )
    op.execute(
        """
        COMMENT ON COLUMN subscriptions.keeps_protected
            IS 'Media are kept although the channel is private or protects its content.'
        """
    )
    op.execute(
        "COMMENT ON COLUMN subscriptions.from_folder IS 'The folder that brought it; "
        "none where a person has asked for it.'"
    )
    op.execute(
        """
        COMMENT ON COLUMN subscriptions.visible_from
            IS 'The tenant sees what was posted since this UTC midnight; -infinity: everything.'
        """
    )


def account_channels() -> None:
    op.execute(
        """
        CREATE TABLE account_channels (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            access_hash bigint NOT NULL,
            joined boolean NOT NULL DEFAULT false,
            read_at timestamptz,
            lost_at timestamptz,
            lost_reason text,
            PRIMARY KEY (account_id, channel_id)
        )
        """
    )
    op.execute("CREATE INDEX account_channels_channel ON account_channels (channel_id)")
    system_table(
        "account_channels",
        "Which account can open which channel: an access hash is valid for one account only.",
    )


def channel_requests() -> None:
    """One open request for each reference, unless it is asked of a certain account."""
    op.execute(
        """
        CREATE TABLE channel_requests (
            request_id uuid DEFAULT gen_random_uuid() PRIMARY KEY,
            tenant_id bigint DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE CASCADE,
            kind text NOT NULL DEFAULT 'username' CHECK (kind = ANY (ARRAY['username', 'invite', 'dialogs',
                'list',
                'folder', 'access'])),
            reference text NOT NULL,
            reference_key text GENERATED ALWAYS AS (
        CASE kind
            WHEN 'username' THEN lower(reference)
            ELSE reference
        END) STORED,
            options jsonb NOT NULL DEFAULT '{}',
            state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed')),
            channel_id bigint,
            outcome text,
            progress text,
            next_try_at timestamptz NOT NULL DEFAULT now(),
            taken_at timestamptz,
            created_at timestamptz NOT NULL DEFAULT now(),
            answered_at timestamptz,
            party bigint GENERATED ALWAYS AS (COALESCE(tenant_id, (0)::bigint)) STORED,
            CHECK ((tenant_id IS NULL) = (kind = 'access'))
        )
        """
    )
    op.execute(
        "CREATE INDEX channel_requests_access ON channel_requests (reference, "
        "created_at) WHERE (kind = 'access')"
    )
    op.execute("CREATE INDEX channel_requests_newest ON channel_requests (tenant_id, created_at, request_id)")
    op.execute(
        """
        CREATE INDEX channel_requests_next ON channel_requests (party, kind, created_at, request_id)
            WHERE (state = 'open')
        """
    )
    op.execute(
        """
        CREATE UNIQUE INDEX channel_requests_open ON channel_requests (tenant_id, kind, reference_key)
            WHERE ((state = 'open') AND
            (account_id IS NULL))
        """
    )
    op.execute(
        "CREATE INDEX channel_requests_turns ON channel_requests (party, kind, "
        "taken_at) WHERE (taken_at IS NOT NULL)"
    )
    tenant_table(
        "channel_requests",
        "Requests to follow channels, which an account or a public preview answers. "
        "Those of no tenant ask for an account''s access.",
        "SELECT",
        "INSERT (account_id, kind, reference, options, created_at)",
        "UPDATE (options)",
    )
    op.execute("COMMENT ON COLUMN channel_requests.account_id IS 'Only this account may serve it.'")
    op.execute(
        "COMMENT ON COLUMN channel_requests.reference_key IS 'A column, "
        "as row-level security uses no index on lower().'"
    )
    op.execute(
        "COMMENT ON COLUMN channel_requests.options IS 'How the channels shall be followed, "
        "as far as it was said.'"
    )
    op.execute(
        "COMMENT ON COLUMN channel_requests.taken_at IS 'When somebody began to serve it: turns go by it.'"
    )
    op.execute(
        """
        COMMENT ON COLUMN channel_requests.party
            IS 'Who takes turns: the tenant, or 0 for the access that belongs to nobody.'
        """
    )


def folder_channels() -> None:
    op.execute(
        """
        CREATE TABLE folder_channels (
            folder_id bigint NOT NULL REFERENCES followed_folders ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            PRIMARY KEY (folder_id, channel_id)
        )
        """
    )
    op.execute("CREATE INDEX folder_channels_channel ON folder_channels (channel_id)")
    system_table(
        "folder_channels",
        "What was in a followed folder at the last look, groups included: "
        "only what has changed since is acted on.",
    )
