"""Samples of texts are made with a key that only this installation knows, and lengths are compared too."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.execute("CREATE TABLE installation_keys (name text PRIMARY KEY, key bytea NOT NULL)")
    system_table("installation_keys", "Random keys of this installation that all of its processes share.", system_may="SELECT")
    op.execute("INSERT INTO installation_keys VALUES ('near_texts', uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))")
    # Samples of both kinds cannot be compared. Answers stay: whoever has the same words still finds them.
    op.execute("DELETE FROM near_texts")
    op.execute("ALTER TABLE near_texts ADD COLUMN length int NOT NULL DEFAULT 0")
