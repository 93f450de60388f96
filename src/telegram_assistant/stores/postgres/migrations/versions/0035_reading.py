"""Each person's read posts, saved posts and mutes, and the searches that a tenant keeps."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import person_table, tenant_table

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    current_person()
    read_ledger()
    read_actions()
    saved_posts()
    mutes()
    visits()
    saved_searches()


def current_person() -> None:
    """Unset gives no person and so no rows, as with `current_tenant`."""
    op.execute(
        """
        CREATE FUNCTION current_person() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
        AS $$ SELECT nullif(current_setting('app.user_id', true), '')::bigint $$
        """
    )


OWNED = """
    tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
    user_id bigint NOT NULL DEFAULT current_person() REFERENCES users ON DELETE CASCADE
"""


def read_ledger() -> None:
    op.execute(
        f"""
        CREATE TABLE read_ledger ({OWNED},
            channel_id bigint NOT NULL,
            read int8multirange NOT NULL,
            PRIMARY KEY (tenant_id, user_id, channel_id)
        )
        """
    )
    person_table("read_ledger", "Which messages of a channel a person has read.", "SELECT, INSERT, UPDATE")


def read_actions() -> None:
    op.execute(
        f"""
        CREATE TABLE read_actions ({OWNED},
            action_id bigint GENERATED ALWAYS AS IDENTITY,
            at timestamptz NOT NULL DEFAULT now(),
            is_read boolean NOT NULL,
            channel_ids bigint[] NOT NULL,
            changed int8multirange[] NOT NULL,
            PRIMARY KEY (tenant_id, user_id, action_id)
        )
        """
    )
    person_table(
        "read_actions",
        "The last changes of the read ledger, so that they can be undone.",
        "SELECT, INSERT, DELETE",
    )
    op.execute(
        "COMMENT ON COLUMN read_actions.changed IS 'What became read, or unread, in each of the channels.'"
    )


def saved_posts() -> None:
    op.execute(
        f"""
        CREATE TABLE saved_posts ({OWNED},
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            saved_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, user_id, channel_id, message_id)
        )
        """
    )
    op.execute("CREATE INDEX saved_posts_newest ON saved_posts (tenant_id, user_id, saved_at)")
    person_table("saved_posts", "Posts that a person has saved.", "SELECT, INSERT, DELETE")


def mutes() -> None:
    op.execute(
        f"""
        CREATE TABLE mutes ({OWNED},
            word text NOT NULL DEFAULT '',
            channel_id bigint NOT NULL DEFAULT 0,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, user_id, word, channel_id),
            CHECK ((word = '') <> (channel_id = 0))
        )
        """
    )
    person_table(
        "mutes",
        "Words and channels that a person does not want in the feed. A row has one of them.",
        "SELECT, INSERT, DELETE",
    )


def visits() -> None:
    op.execute(
        f"""
        CREATE TABLE visits ({OWNED},
            began_at timestamptz NOT NULL DEFAULT now(),
            seen_at timestamptz NOT NULL DEFAULT now(),
            before_at timestamptz,
            floor_at timestamptz NOT NULL DEFAULT now() - interval '1 day',
            PRIMARY KEY (tenant_id, user_id)
        )
        """
    )
    person_table("visits", "When a person was here last.", "SELECT, INSERT, UPDATE")
    op.execute("COMMENT ON COLUMN visits.before_at IS 'The end of the visit before this one.'")
    op.execute("COMMENT ON COLUMN visits.floor_at IS 'Where reading the oldest posts first goes on.'")


def saved_searches() -> None:
    op.execute(
        """
        CREATE TABLE saved_searches (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            search_id uuid NOT NULL DEFAULT gen_random_uuid(),
            name text NOT NULL,
            query text NOT NULL,
            created_by text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, search_id),
            UNIQUE (tenant_id, name)
        )
        """
    )
    tenant_table("saved_searches", "Searches that a tenant keeps, by name.", "SELECT, INSERT, DELETE")
