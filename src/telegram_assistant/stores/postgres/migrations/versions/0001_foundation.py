"""The ground floor: tenants, channels, posts, the ledger, the schedule and the outbox."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import (
    autovacuum_inserts,
    by_channel,
    subscribed_table,
    system_table,
    tenant_table,
)

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Begin with nothing."""
    system_table("alembic_version", "How far the schema has come.", system_may="SELECT")
    functions()
    tenants()
    accounts()
    channels()
    posts()
    projections()
    delivery()
    upkeep()


def functions() -> None:
    # Unset gives no tenant and so no rows; a transaction that never named its tenant sees nothing.
    op.execute(
        """
        CREATE FUNCTION current_tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
        AS $$ SELECT nullif(current_setting('app.tenant_id', true), '')::bigint $$
        """
    )


def tenants() -> None:
    op.execute(
        """
        CREATE TABLE tenants (
            tenant_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            public_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            name text NOT NULL UNIQUE,
            is_operator boolean NOT NULL DEFAULT false,
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    tenant_table("tenants", "Who the system works for.", "SELECT")


def accounts() -> None:
    op.execute(
        """
        CREATE TABLE telegram_accounts (
            account_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            public_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            tenant_id bigint NOT NULL REFERENCES tenants,
            phone_masked text,
            session bytea,
            key_id text,
            state text NOT NULL DEFAULT 'new',
            state_reason text,
            lease_owner text,
            lease_epoch bigint NOT NULL DEFAULT 0,
            lease_until timestamptz,
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("CREATE INDEX telegram_accounts_tenant ON telegram_accounts (tenant_id)")
    tenant_table(
        "telegram_accounts",
        "Logins that read channels. The session is a full login: encrypted, and readable for ingest only.",
        "SELECT (account_id, public_id, tenant_id, phone_masked, state, state_reason, lease_owner, lease_until, created_at)",
    )
    op.execute(
        """
        CREATE TABLE account_limits (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            method text NOT NULL,
            blocked_until timestamptz,
            last_wait_seconds int,
            tokens real,
            tokens_at timestamptz,
            used_today int NOT NULL DEFAULT 0,
            used_on date,
            PRIMARY KEY (account_id, method)
        )
        """
    )
    system_table("account_limits", "What Telegram asked each account to wait for, and how much of each budget is used.")
    op.execute(
        """
        CREATE TABLE account_channels (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            access_hash bigint NOT NULL,
            joined boolean NOT NULL DEFAULT false,
            read_at timestamptz,
            PRIMARY KEY (account_id, channel_id)
        )
        """
    )
    op.execute("CREATE INDEX account_channels_channel ON account_channels (channel_id)")
    system_table("account_channels", "Which account can open which channel: an access hash is valid for one account only.")
    op.execute(
        """
        CREATE TABLE push_state (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            pts bigint NOT NULL,
            seen_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (account_id, channel_id)
        ) WITH (fillfactor = 70)
        """
    )
    system_table("push_state", "How far the live updates of a channel have been seen by an account; channel 0 is the account itself.")
    op.execute(
        """
        CREATE TABLE login_attempts (
            attempt_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE CASCADE,
            kind text NOT NULL,
            state text NOT NULL DEFAULT 'wanted',
            detail jsonb NOT NULL DEFAULT '{}',
            error text,
            created_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz NOT NULL
        )
        """
    )
    system_table("login_attempts", "Logins in progress: a door asks, ingest answers.")


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
        ) WITH (fillfactor = 80)
        """
    )
    op.execute("CREATE INDEX channels_username ON channels (lower(username)) WHERE username IS NOT NULL")
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
            PRIMARY KEY (tenant_id, channel_id) INCLUDE (active)
        )
        """
    )
    op.execute("CREATE INDEX subscriptions_channel ON subscriptions (channel_id) WHERE active")
    # A tenant may not insert or activate: whether it may follow a private channel is not its own decision.
    tenant_table(
        "subscriptions",
        "Which tenant follows which channel. Everything a tenant sees, it sees through an active row here.",
        "SELECT, DELETE",
        "UPDATE (folder, priority, ai_policy, history_days, retention_days, wants_media)",
    )
    subscribed_table("channels", "Channels, once, whoever follows them.")
    op.execute(
        """
        CREATE TABLE poll_schedule (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE SET NULL,
            next_poll_at timestamptz NOT NULL DEFAULT now(),
            lease_epoch bigint NOT NULL DEFAULT 0,
            last_polled_at timestamptz,
            tier text NOT NULL DEFAULT 'normal',
            weight real NOT NULL DEFAULT 1,
            level real NOT NULL DEFAULT 0,
            level_at timestamptz,
            burst real NOT NULL DEFAULT 0,
            burst_at timestamptz,
            fail_count int NOT NULL DEFAULT 0
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)
        """
    )
    op.execute("CREATE INDEX poll_schedule_due ON poll_schedule (account_id, next_poll_at)")
    system_table("poll_schedule", "When each channel is read next, by which account, under which lease.")
    op.execute(
        """
        CREATE TABLE coverage (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            floor_id bigint NOT NULL,
            verified int8multirange COMPRESSION lz4 NOT NULL,
            verified_at timestamptz NOT NULL
        ) WITH (fillfactor = 70)
        """
    )
    subscribed_table("coverage", "Which message ids are proven to be read. A gap is what is missing between the floor and the newest.")


def posts() -> None:
    op.execute(
        """
        CREATE TABLE posts (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            posted_at timestamptz NOT NULL,
            stored_at timestamptz NOT NULL,
            edited_at timestamptz,
            deleted_at timestamptz,
            revision int NOT NULL DEFAULT 1,
            state_version int NOT NULL DEFAULT 1,
            content_hash bytea NOT NULL,
            kind text NOT NULL,
            text text NOT NULL,
            entities jsonb,
            reply_to bigint,
            fwd_channel_id bigint,
            fwd_message_id bigint,
            grouped_id bigint,
            lang text,
            author text,
            facts jsonb,
            PRIMARY KEY (channel_id, message_id)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("posts")
    autovacuum_inserts("posts")
    op.execute("CREATE INDEX posts_feed ON posts (channel_id, posted_at DESC, message_id DESC)")
    subscribed_table("posts", "Every post, once, whoever follows its channel.")
    op.execute(
        """
        CREATE TABLE post_versions (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            revision int NOT NULL,
            text text NOT NULL,
            entities jsonb,
            facts jsonb,
            content_hash bytea NOT NULL,
            edited_at timestamptz,
            replaced_at timestamptz NOT NULL,
            PRIMARY KEY (channel_id, message_id, revision)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("post_versions")
    subscribed_table("post_versions", "Every earlier text of a post that was edited.")
    op.execute(
        """
        CREATE TABLE post_raw (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            read_at timestamptz NOT NULL,
            layer int NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (channel_id, message_id, read_at)
        ) PARTITION BY RANGE (read_at)
        """
    )
    op.execute("ALTER TABLE post_raw ALTER body SET STORAGE EXTERNAL")
    op.execute("CREATE TABLE post_raw_rest PARTITION OF post_raw DEFAULT")
    system_table("post_raw", "Messages as Telegram sent them, for 30 days.")
    op.execute("CREATE TABLE erasures (channel_id bigint PRIMARY KEY, ids int8multirange NOT NULL, erased_at timestamptz NOT NULL DEFAULT now())")
    system_table("erasures", "Posts that were erased on request; landing does not bring them back.")


def projections() -> None:
    op.execute(
        """
        CREATE TABLE post_search (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            posted_at timestamptz NOT NULL,
            words tsvector NOT NULL,
            PRIMARY KEY (channel_id, message_id, posted_at)
        ) PARTITION BY RANGE (posted_at)
        """
    )
    op.execute("CREATE TABLE post_search_rest PARTITION OF post_search DEFAULT")
    op.execute("CREATE INDEX post_search_words ON post_search USING gin (words)")
    op.execute("CREATE INDEX post_search_time ON post_search (posted_at DESC, channel_id, message_id)")
    system_table("post_search", "The words of each post: a projection, outside row-level security, read through one function.")
    op.execute(
        """
        CREATE TABLE links (
            url_hash bytea PRIMARY KEY,
            url text NOT NULL,
            first_seen_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    system_table("links", "Addresses that posts link to, once.")
    op.execute(
        """
        CREATE TABLE post_links (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            url_hash bytea NOT NULL,
            url text NOT NULL,
            PRIMARY KEY (channel_id, message_id, url_hash)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("post_links")
    subscribed_table("post_links", "Which post links where.")
    op.execute(
        """
        CREATE TABLE forwards (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            from_channel_id bigint NOT NULL,
            from_message_id bigint,
            posted_at timestamptz NOT NULL,
            PRIMARY KEY (channel_id, message_id)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("forwards")
    op.execute("CREATE INDEX forwards_from ON forwards (from_channel_id, from_message_id)")
    subscribed_table("forwards", "Which post was forwarded from where.")


def delivery() -> None:
    op.execute(
        """
        CREATE TABLE outbox (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            revision int NOT NULL,
            lane text NOT NULL DEFAULT 'live',
            requested_by bigint,
            created_at timestamptz NOT NULL DEFAULT now(),
            announced_at timestamptz,
            attempts smallint NOT NULL DEFAULT 0,
            PRIMARY KEY (channel_id, message_id, revision)
        ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)
        """
    )
    op.execute("CREATE INDEX outbox_unannounced ON outbox (lane, created_at) WHERE announced_at IS NULL")
    system_table("outbox", "Post revisions that have not passed the pipeline yet: the announcement queue and the not-yet-done list at once.")
    op.execute(
        """
        CREATE TABLE dead_letters (
            dead_letter_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            stage text NOT NULL,
            entry_id text NOT NULL,
            channel_id bigint,
            message_id bigint,
            event jsonb NOT NULL,
            reason text NOT NULL,
            traceback text,
            attempts int NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            UNIQUE (stage, entry_id)
        )
        """
    )
    system_table("dead_letters", "Events that a stage could not process, with the reason.")


def upkeep() -> None:
    op.execute(
        """
        CREATE TABLE job_runs (
            job text NOT NULL,
            period_start timestamptz NOT NULL,
            instance text NOT NULL,
            lease_until timestamptz NOT NULL,
            started_at timestamptz NOT NULL DEFAULT now(),
            finished_at timestamptz,
            error text,
            PRIMARY KEY (job, period_start)
        )
        """
    )
    system_table("job_runs", "Which periodic job ran for which period: claimed once across all replicas.")
    # tga_system may not create tables. These two functions, which run as the owner, are all it gets: they touch
    # nothing but partitions of tables that are cut by time.
    op.execute(
        """
        CREATE FUNCTION make_partition(parent text, begins timestamptz, ends timestamptz) RETURNS text
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '5s' SET timezone = 'UTC' AS $$
        DECLARE
            name text := parent || to_char(begins, '"_"YYYY"_"MM');
            rest text := parent || '_rest';
            cut_by text := (SELECT a.attname FROM pg_partitioned_table t JOIN pg_attribute a ON a.attrelid = t.partrelid AND a.attnum = t.partattrs[0]
                            WHERE t.partrelid = to_regclass(quote_ident(parent)) AND t.partstrat = 'r');
        BEGIN
            IF cut_by IS NULL THEN
                RAISE EXCEPTION 'table % is not cut by time', parent;
            END IF;
            IF to_regclass(quote_ident(name)) IS NOT NULL THEN
                RETURN NULL;
            END IF;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION)', name, parent);
            -- Rows that came before their partition wait in the rest; a partition cannot be attached over them.
            EXECUTE format('WITH early AS (DELETE FROM %I WHERE %I >= $1 AND %I < $2 RETURNING *) INSERT INTO %I SELECT * FROM early',
                           rest, cut_by, cut_by, name) USING begins, ends;
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, begins, ends);
            RETURN name;
        END $$
        """
    )
    op.execute(
        """
        CREATE FUNCTION drop_partitions(parent text, older_than timestamptz) RETURNS text[]
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '5s' SET timezone = 'UTC' AS $$
        DECLARE
            old record;
            dropped text[] := '{}';
        BEGIN
            FOR old IN
                SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                JOIN pg_partitioned_table t ON t.partrelid = i.inhparent AND t.partstrat = 'r'
                WHERE i.inhparent = to_regclass(quote_ident(parent)) AND c.relname <> parent || '_rest'
                  AND substring(pg_get_expr(c.relpartbound, c.oid) FROM $re$TO \\('([^']+)'\\)$re$)::timestamptz <= older_than
                ORDER BY c.relname
            LOOP
                EXECUTE format('DROP TABLE %I', old.relname);
                dropped := dropped || old.relname::text;
            END LOOP;
            RETURN dropped;
        END $$
        """
    )
    for function in ("make_partition(text, timestamptz, timestamptz)", "drop_partitions(text, timestamptz)"):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO tga_system")
