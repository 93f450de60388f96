"""What was seen in files, once for each; what pictures look like; which albums were summed up."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0015"
down_revision = "0014"

BANDS = 4
BAND_BITS = 16


def upgrade() -> None:
    results()
    looks()
    albums()


def results() -> None:
    op.execute(
        """
        CREATE TABLE media_results (
            sha256 bytea NOT NULL REFERENCES media_objects ON DELETE CASCADE,
            tier text NOT NULL,
            provider text NOT NULL,
            model text NOT NULL,
            prompt_version text NOT NULL,
            same_as bytea,
            data jsonb COMPRESSION lz4 NOT NULL,
            made_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (sha256, tier)
        )
        """
    )
    op.execute("COMMENT ON COLUMN media_results.same_as IS 'The file with the same picture that was really looked at.'")
    system_table("media_results", "What was seen in a file, whichever post shows it. Tenants see it through their posts.")


def looks() -> None:
    """A near hash has one of four pieces that is nearly the same: each piece has an index."""
    op.execute("ALTER TABLE media_objects ADD phash_fine bytea")
    for band in range(BANDS):
        op.execute(f"CREATE INDEX media_objects_look_{band} ON media_objects ((phash >> {band * BAND_BITS} & 65535)) WHERE phash IS NOT NULL")


def albums() -> None:
    op.execute("ALTER TABLE media_groups ADD assembled_revision int NOT NULL DEFAULT 0")
    op.execute("COMMENT ON COLUMN media_groups.assembled_revision IS 'The newest revision that was summed up.'")
    op.execute("CREATE INDEX media_groups_waiting ON media_groups (closed_at) WHERE closed_at IS NOT NULL AND assembled_revision < revision")
