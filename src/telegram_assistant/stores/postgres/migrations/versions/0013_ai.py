"""Understanding and its price: results by content, budgets, what is reserved, what was used, consents, what a provider shall do later."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table, tenant_table

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    results()
    money()
    consents()


def results() -> None:
    op.execute(
        """
        CREATE TABLE ai_results (
            key bytea PRIMARY KEY,
            work text NOT NULL,
            provider text NOT NULL,
            model text NOT NULL,
            prompt_version text NOT NULL,
            data jsonb COMPRESSION lz4,
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("CREATE INDEX ai_results_created ON ai_results (created_at)")
    system_table("ai_results", "What providers answered, by hash of content, model and prompt version: nothing is paid for twice. No data: refused.")
    op.execute(
        """
        CREATE TABLE provider_wanted (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            work text NOT NULL,
            wanted_at timestamptz NOT NULL DEFAULT now(),
            taken_until timestamptz NOT NULL DEFAULT '-infinity',
            attempts smallint NOT NULL DEFAULT 0,
            PRIMARY KEY (channel_id, message_id, work)
        )
        """
    )
    op.execute("CREATE INDEX provider_wanted_newest ON provider_wanted (work, wanted_at DESC)")
    system_table("provider_wanted", "Posts that went on with a local result while a provider was wanted; worked off later, the newest first.")


def money() -> None:
    op.execute(
        """
        CREATE TABLE budgets (
            tenant_id bigint PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
            money_micro bigint NOT NULL CHECK (money_micro >= 0),
            tokens bigint CHECK (tokens >= 0),
            month date NOT NULL,
            used_micro bigint NOT NULL DEFAULT 0,
            used_tokens bigint NOT NULL DEFAULT 0,
            updated_at timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor = 70)
        """
    )
    tenant_table(
        "budgets", "What a tenant may spend on providers each month, and what this month has used; what is reserved counts as used.", "SELECT"
    )
    op.execute(
        """
        CREATE TABLE budget_reservations (
            call_id uuid NOT NULL,
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            month date NOT NULL,
            micro bigint NOT NULL,
            tokens bigint NOT NULL,
            work text NOT NULL,
            purpose text NOT NULL,
            provider text NOT NULL,
            model text NOT NULL,
            expires_at timestamptz NOT NULL,
            PRIMARY KEY (call_id, tenant_id)
        )
        """
    )
    op.execute("CREATE INDEX budget_reservations_expires ON budget_reservations (expires_at)")
    tenant_table("budget_reservations", "Calls under way, with what each payer has set aside. One that expires counts as spent.", "SELECT")
    op.execute(
        """
        CREATE TABLE usage (
            at timestamptz NOT NULL DEFAULT now(),
            call_id uuid NOT NULL,
            tenant_id bigint NOT NULL,
            work text NOT NULL,
            purpose text NOT NULL,
            provider text NOT NULL,
            model text NOT NULL,
            status text NOT NULL,
            micro bigint NOT NULL,
            tokens bigint NOT NULL,
            call_sent_tokens bigint NOT NULL,
            call_received_tokens bigint NOT NULL,
            call_micro bigint NOT NULL,
            payers int NOT NULL,
            latency_ms int NOT NULL,
            PRIMARY KEY (tenant_id, at, call_id)
        ) PARTITION BY RANGE (at)
        """
    )
    op.execute("CREATE TABLE usage_rest PARTITION OF usage DEFAULT")
    tenant_table("usage", "One row for each call and payer: the share of money and tokens, and what the whole call took.", "SELECT")


def consents() -> None:
    op.execute(
        """
        CREATE TABLE ai_consents (
            tenant_id bigint PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
            given_by text NOT NULL,
            given_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    tenant_table("ai_consents", "The word of an owner that texts may be sent to a provider; without it, provider means local.", "SELECT")
