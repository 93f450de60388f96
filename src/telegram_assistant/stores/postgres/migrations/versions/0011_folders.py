"""Logins by QR code, and folders of Telegram that are followed with what is put into them later."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    logins()
    wishes()
    folders()


def logins() -> None:
    # What is shown is sealed for the door that asked, under the key that it sent along.
    op.execute(
        """
        ALTER TABLE login_attempts
            ADD COLUMN way text NOT NULL DEFAULT 'phone' CHECK (way IN ('phone', 'qr')),
            ADD COLUMN door_key bytea,
            ADD COLUMN shown bytea
        """
    )


def wishes() -> None:
    op.execute("ALTER TABLE channel_wishes DROP CONSTRAINT channel_wishes_kind_check")
    op.execute(
        "ALTER TABLE channel_wishes ADD CONSTRAINT channel_wishes_kind_check CHECK (kind IN ('username', 'invite', 'dialogs', 'list', 'folder'))"
    )


def folders() -> None:
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
    system_table("followed_folders", "Folders of an account at Telegram whose channels a tenant follows, with what is put in or taken out later.")
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
    system_table("folder_channels", "What was in a followed folder at the last look, groups included: only what has changed since is acted on.")
    op.execute("ALTER TABLE subscriptions ADD COLUMN from_folder bigint REFERENCES followed_folders ON DELETE SET NULL")
    op.execute("CREATE INDEX subscriptions_from_folder ON subscriptions (from_folder) WHERE from_folder IS NOT NULL")
    op.execute("COMMENT ON COLUMN subscriptions.from_folder IS 'The folder that brought it; none where a person has asked for it.'")
