"""Periodic work waits in one queue: for a tenant, a person or the whole installation."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table

revision = "0075"
down_revision = "0074"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE due_work (
            work_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            kind text NOT NULL,
            urgency smallint NOT NULL,
            tenant_id bigint REFERENCES tenants ON DELETE CASCADE,
            user_id bigint REFERENCES users ON DELETE CASCADE,
            moment timestamptz,
            due_at timestamptz NOT NULL DEFAULT now(),
            jitter real NOT NULL DEFAULT 0,
            is_ready boolean NOT NULL DEFAULT false,
            leased_by text,
            attempts integer NOT NULL DEFAULT 0,
            failed_at timestamptz,
            error text,
            scheduled_at timestamptz NOT NULL DEFAULT now(),
            CONSTRAINT due_work_once UNIQUE NULLS NOT DISTINCT (kind, tenant_id, user_id)
        ) WITH (fillfactor = 70)
        """
    )
    op.execute("CREATE INDEX due_work_waits ON due_work (due_at) WHERE NOT is_ready")
    op.execute(
        "CREATE INDEX due_work_ready ON due_work (urgency, coalesce(tenant_id, 0), due_at) WHERE is_ready"
    )
    op.execute("CREATE INDEX due_work_of_tenant ON due_work (tenant_id)")
    op.execute("CREATE INDEX due_work_of_person ON due_work (user_id)")
    tenant_table(
        "due_work",
        "Periodic work that is due, or will be: claimed by any worker, in turns among tenants.",
        "SELECT (work_id, kind, tenant_id, user_id, moment, due_at)",
    )
    comments = {
        "tenant_id": "NULL: the work of the whole installation, which no tenant sees.",
        "user_id": "NULL: the work of everybody in the tenant.",
        "moment": "What the work is for: a digest is sent at it, and may be prepared before.",
        "due_at": "When it may be claimed; of claimed work the end of its lease.",
        "jitter": "From 0 to 1, equal for all work of a tenant: when it is due where much is due at once.",
        "is_ready": "Its time has come and nobody has claimed it. Only ready work takes part in turns.",
        "attempts": "Counted when it is claimed, so one that ended with its process counts, too.",
        "scheduled_at": "When it was last enqueued or claimed; a plan that changed later is looked at again.",
    }
    for column, comment in comments.items():
        op.execute(f"COMMENT ON COLUMN due_work.{column} IS '{comment}'")
