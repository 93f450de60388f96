"""What keeps an account safe: budgets and floods, where updates were seen, logins by phone, epochs that are never equal."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    leases()
    limits()
    updates()
    logins()


def leases() -> None:
    # Above everything that is in use, and far enough for what an older release may still count up by itself.
    op.execute("CREATE SEQUENCE lease_epochs")
    op.execute(
        """
        SELECT setval('lease_epochs', 1000 + greatest(
            (SELECT coalesce(max(lease_epoch), 0) FROM telegram_accounts), (SELECT coalesce(max(lease_epoch), 0) FROM poll_schedule)))
        """
    )
    op.execute("GRANT USAGE ON SEQUENCE lease_epochs TO tga_system")


def limits() -> None:
    # Nothing has been written into this table so far.
    op.execute(
        """
        ALTER TABLE account_limits
            DROP COLUMN last_wait_seconds, DROP COLUMN tokens, DROP COLUMN used_today, DROP COLUMN used_on,
            ADD COLUMN tokens double precision[],
            ADD COLUMN pace double precision NOT NULL DEFAULT 1,
            ADD COLUMN paced_at timestamptz NOT NULL DEFAULT now()
        """
    )


def updates() -> None:
    op.execute(
        """
        ALTER TABLE push_state
            ADD COLUMN qts bigint NOT NULL DEFAULT 0,
            ADD COLUMN seq bigint NOT NULL DEFAULT 0,
            ADD COLUMN moment timestamptz
        """
    )


def logins() -> None:
    # One Telegram account is one row: Telegram counts requests per account, so two rows would have twice its budget.
    op.execute("ALTER TABLE telegram_accounts ADD COLUMN user_id bigint UNIQUE, ADD COLUMN phone_print bytea")
    op.execute("CREATE UNIQUE INDEX telegram_accounts_phone ON telegram_accounts (phone_print) WHERE phone_print IS NOT NULL")
    op.execute(
        """
        ALTER TABLE login_attempts
            DROP COLUMN kind, DROP COLUMN detail,
            ADD COLUMN taken_by text,
            ADD COLUMN public_key bytea,
            ADD COLUMN question int NOT NULL DEFAULT 0,
            ADD COLUMN answer bytea
        """
    )
    op.execute("CREATE UNIQUE INDEX login_attempts_open ON login_attempts (account_id) WHERE state NOT IN ('done', 'failed', 'expired')")
