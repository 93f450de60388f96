"""The schema of the first release. Later steps only add to it."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.baseline.functions import FUNCTIONS
from telegram_assistant.stores.postgres.migrations.baseline.tables import TABLES

revision = "0033"
down_revision = None


def upgrade() -> None:
    current_tenant()
    op.execute("CREATE SEQUENCE lease_epochs")
    op.execute("GRANT USAGE ON SEQUENCE lease_epochs TO tga_system")
    for subject in (*TABLES, *FUNCTIONS):
        subject.create()
    first_rows()


def current_tenant() -> None:
    """Unset gives no tenant and so no rows: a transaction that never named its tenant sees nothing."""
    op.execute(
        """
        CREATE FUNCTION current_tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
        AS $$ SELECT nullif(current_setting('app.tenant_id', true), '')::bigint $$
        """
    )


def first_rows() -> None:
    op.execute("INSERT INTO preview_reader DEFAULT VALUES")
    op.execute(
        "INSERT INTO installation_keys VALUES ('near_texts', uuid_send(gen_random_uuid()) || "
        "uuid_send(gen_random_uuid()))"
    )
