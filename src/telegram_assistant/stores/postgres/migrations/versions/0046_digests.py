"""Digests of people: when they want one, those that were made, and what interests whom."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import person_table

revision = "0046"
down_revision = "0045"

OWNED = """
    tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
    user_id bigint NOT NULL DEFAULT current_person() REFERENCES users ON DELETE CASCADE
"""


def upgrade() -> None:
    digest_plans()
    digests()
    interests()


def digest_plans() -> None:
    op.execute(
        f"""
        CREATE TABLE digest_plans ({OWNED},
            times time[] NOT NULL,
            weekdays smallint[] NOT NULL,
            length text NOT NULL,
            zone text NOT NULL,
            changed_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, user_id)
        )
        """
    )
    person_table("digest_plans", "When a person wants digests, in their zone.", "SELECT, INSERT, UPDATE")
    op.execute("COMMENT ON COLUMN digest_plans.weekdays IS '1 is Monday.'")


def digests() -> None:
    op.execute(
        f"""
        CREATE TABLE digests ({OWNED},
            digest_id uuid PRIMARY KEY,
            since timestamptz NOT NULL,
            until timestamptz NOT NULL,
            content jsonb NOT NULL,
            made_at timestamptz NOT NULL DEFAULT now(),
            seen_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX digests_newest ON digests (tenant_id, user_id, until DESC)")
    person_table("digests", "The digests of a person.", "SELECT, INSERT", "UPDATE (seen_at)")


def interests() -> None:
    op.execute(
        f"""
        CREATE TABLE interests ({OWNED},
            topic text NOT NULL,
            weight real NOT NULL,
            source text NOT NULL,
            why text NOT NULL,
            changed_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, user_id, topic)
        )
        """
    )
    person_table(
        "interests",
        "Topics of a person: their own words, or learnt from what they liked.",
        "SELECT, INSERT, UPDATE, DELETE",
    )
    op.execute("ALTER TABLE saved_posts ADD COLUMN learnt_at timestamptz")
    op.execute("CREATE INDEX saved_posts_not_learnt ON saved_posts (tenant_id) WHERE (learnt_at IS NULL)")
